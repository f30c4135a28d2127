"""Captures that have rested for some quiet minutes are encoded soon, where a judge can be asked at any time; nights do the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from oneiro_vault.errors import Elsewhere
from oneiro_vault.mind import encode
from oneiro_vault.operations.dreaming import asking, judging
from oneiro_vault.operations.dreaming.lease import current
from oneiro_vault.operations.dreaming.timing import local_zone
from oneiro_vault.operations.house import House
from oneiro_vault.operations.queued import waiting

_FILE: Final = "soon.json"
"""Beside the journal: the `day`, the `calls` of it, and the ids of captures that were `tried`."""


def due(house: House) -> bool:
    """Has something new been captured, and nothing for `dreams.rest` minutes, with a judge to ask and questions left for today?"""
    rest = house.settings["dreams.rest"]
    if not rest or not (house.judges or judging.choice(house.settings, os.environ).ready):
        return False
    state = _state(house)
    rows = waiting(house)
    new = {row.id for row in rows} - set(state["tried"])
    newest = max((row.when or 0.0 for row in rows), default=0.0)
    return bool(new) and house.clock() - newest >= 60 * rest and _left(house, state) > 0 and current(house.vault) is None


def run(house: House) -> dict[str, Any]:
    """Encode what has rested. Each capture is tried once: what a ceiling or a failure left is the night's. `later`: nobody could say
    whether another machine does it."""
    state = _state(house)
    _note(house, state | {"tried": [row.id for row in waiting(house)]})
    try:
        done = asking.dream(house, [encode.LOOP.name], scheduled=True, calls=_left(house, state))
    except Elsewhere as error:
        return {"runs": [], "later": error.later}
    spent = state["calls"] + sum(found["calls"] for found in done["runs"])
    _note(house, _state(house) | {"calls": spent})
    return {"runs": done["runs"], "later": False}


def _left(house: House, state: Mapping[str, Any]) -> int:
    return int(house.settings["dreams.soon"]) - int(state["calls"])


def _state(house: House) -> dict[str, Any]:
    """Today's; what was tried yesterday and still waits was the night's, and may be tried again."""
    day = datetime.fromtimestamp(house.clock(), local_zone()).date().isoformat()
    with suppress(OSError, ValueError):
        found = json.loads((house.vault.folder / _FILE).read_bytes())
        if isinstance(found, dict) and found.get("day") == day and isinstance(found.get("calls"), int):
            return {"day": day, "calls": found["calls"], "tried": list(found.get("tried", ()))}
    return {"day": day, "calls": 0, "tried": []}


def _note(house: House, state: Mapping[str, Any]) -> None:
    path = house.vault.folder / _FILE
    temp = path.with_suffix(f".{os.getpid()}")
    temp.write_text(json.dumps(state), encoding="utf-8")
    temp.replace(path)
