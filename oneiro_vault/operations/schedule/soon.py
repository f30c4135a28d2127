"""Captures that have rested for some quiet minutes are encoded soon, and what a session needs of
them follows into the orientation, so that the next one has it whether or not this machine is awake
at night; nights do the rest."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from oneiro_vault.operations.schedule.scheduler import local_zone

from oneiro_vault.errors import Elsewhere
from oneiro_vault.judges.deferred import Nobody
from oneiro_vault.mind.loops import distil, encode
from oneiro_vault.operations.dream import choose_judge, run_now
from oneiro_vault.operations.dream.run_lease import current
from oneiro_vault.operations.remember.pending_captures import waiting
from oneiro_vault.operations.runtime import House

_FILE: Final = "soon.json"
"""Beside the journal: the `day`, the `calls` of it, and the ids of captures that were `tried`."""
_LOOPS: Final = (encode.LOOP.name, distil.LOOP.name)


def due(house: House) -> bool:
    """Has something new been captured, and nothing for `dreams.rest` minutes, with somebody who
    judges and questions left for today?"""
    rest = house.settings["dreams.rest"]
    if not rest or house.settings["dreams.judge"] == Nobody.name:
        return False
    state = _state(house)
    rows = waiting(house)
    new = {row.id for row in rows} - set(state["tried"])
    newest = max((row.when or 0.0 for row in rows), default=0.0)
    return (
        bool(new)
        and house.clock() - newest >= 60 * rest
        and _left(house, state) > 0
        and current(house.vault) is None
    )


def run(house: House) -> dict[str, Any]:
    """Encode what has rested, then distil. Each capture is tried once: what a ceiling or a failure
    left is the night's. `later`: nobody could say whether another machine does it."""
    state = _state(house)
    _note(house, state | {"tried": [row.id for row in waiting(house)]})
    try:
        done = run_now.dream(house, _LOOPS, scheduled=True, calls=_left(house, state))
    except Elsewhere as error:
        return {"runs": [], "later": error.later}
    spent = state["calls"] + sum(found["calls"] for found in done["runs"])
    _note(house, _state(house) | {"calls": spent})
    return {"runs": done["runs"], "later": False}


def _left(house: House, state: Mapping[str, Any]) -> int:
    return int(house.settings["dreams.soon"]) - int(state["calls"])


def _state(house: House) -> dict[str, Any]:
    """Today's. What was tried yesterday and still waits was the night's, and may be tried again;
    not by rules, which say the same again."""
    day = datetime.fromtimestamp(house.clock(), local_zone()).date().isoformat()
    with suppress(OSError, ValueError):
        found = json.loads((house.vault.folder / _FILE).read_bytes())
        if isinstance(found, dict) and isinstance(found.get("calls"), int):
            today, tried = found.get("day") == day, list(found.get("tried", ()))
            return {
                "day": day,
                "calls": found["calls"] if today else 0,
                "tried": tried if today or not _asks(house) else [],
            }
    return {"day": day, "calls": 0, "tried": []}


def _asks(house: House) -> bool:
    """Is somebody asked who may answer otherwise another time?"""
    return house.judges is not None or choose_judge.choice(house.settings, os.environ).ready


def _note(house: House, state: Mapping[str, Any]) -> None:
    path = house.vault.folder / _FILE
    temp = path.with_suffix(f".{os.getpid()}")
    temp.write_text(json.dumps(state), encoding="utf-8")
    temp.replace(path)
