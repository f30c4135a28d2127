"""The schedule: which loops are due on this machine, and running them, never twice for one time.

Captures that have rested for some quiet minutes are encoded soon, and what a session needs of them
follows into the orientation, so that the next one has it whether or not this machine is awake at
night; nights do the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from oneiro_vault import answers
from oneiro_vault.errors import Elsewhere, SettingsError
from oneiro_vault.judges.deferred import Nobody
from oneiro_vault.mind.due import next_due, overdue, parse
from oneiro_vault.mind.loops import distil, encode
from oneiro_vault.mind.registry import LOOPS
from oneiro_vault.operations.dream import choose_judge, run_now, which_machine
from oneiro_vault.operations.dream.run_lease import current
from oneiro_vault.operations.remember.pending_captures import waiting
from oneiro_vault.operations.runtime import House, Progress, quiet
from oneiro_vault.vault.write import disk

_FILE: Final = "schedule.json"
"""Beside the journal: `ran`, loop -> when its last scheduled run was begun (epoch seconds), and
`since`, from when its times count."""


def local_zone() -> tzinfo:
    """This machine's time zone with its rules; its present offset where the rules cannot be
    found."""
    with suppress(KeyError, ValueError, OSError):  # an unknown zone is a KeyError of its own
        return ZoneInfo(
            os.environ.get("TZ", "").lstrip(":")
            or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        )
    return datetime.now().astimezone().tzinfo or ZoneInfo("UTC")


def times(house: House) -> dict[str, list[str]]:
    """{loop: its local times of day}. Raises SettingsError."""
    try:
        return parse(house.settings["dreams.schedule"], list(LOOPS))
    except ValueError as error:
        raise SettingsError(
            f"dreams.schedule: {error}", kept="Nothing was run.", hint="Correct it in oneiro.toml."
        ) from error


def due(house: House, zone: tzinfo | None = None) -> list[str]:
    """The loops whose time has come. A loop that was never looked at here counts from now on: there
    is nothing to catch up on."""
    wanted, marks = times(house), _marks(house)
    since = marks["since"]
    fresh = {name: house.clock() for name in wanted if name not in since}
    if fresh:
        _note(house, marks | {"since": since | fresh})
    return overdue(since | fresh, house.clock(), wanted, zone or local_zone())


def scheduled(
    house: House, zone: tzinfo | None = None, judge: str | None = None, progress: Progress = quiet
) -> answers.Dreamt:
    """Run what is due, if anything is. Each is marked before it begins: whatever happens then, it
    is not begun a second time.

    What another machine does at that time is not done here (`elsewhere` says why not); what nobody
    could say stays due (`later`).
    """
    nothing: answers.Dreamt = {
        "schema": 1,
        "dry_run": False,
        "runs": [],
        "waiting": 0,
        "note": None,
        "elsewhere": None,
        "later": False,
    }
    with house.vault.gate.locked():
        names = due(house, zone)
        before = _marks(house)
        busy = current(house.vault) is not None
        if names and not busy:
            _note(
                house,
                {
                    name: known | dict.fromkeys(names, house.clock())
                    for name, known in before.items()
                },
            )
    if not names or busy:
        return nothing
    try:
        done = run_now.dream(house, names, judge, progress=progress, scheduled=True)
        return {**nothing, **done}
    except Elsewhere as error:
        if error.later:
            _note(
                house,
                {
                    name: _put_back(known, before[name], names)
                    for name, known in _marks(house).items()
                },
            )
        return {**nothing, "elsewhere": str(error), "later": error.later}


def schedule(house: House, begin: bool = False) -> answers.Schedule:
    """For each loop: its local times, when it last ran by them and when it will next (RFC 3339),
    and the zone they are local to; and who may run them, where a vault lives on several machines
    (`sharing.holder`; the remote is asked).

    `begin`: loops that never ran by the schedule count from now on.
    """
    if begin:
        due(house)
    zone, marks, now = local_zone(), _marks(house), house.clock()
    last, since = marks["ran"], marks["since"]
    rows: list[answers.LoopTimes] = [
        {
            "loop": name,
            "times": at,
            "last": _shown(last.get(name), zone),
            "next": _shown(next_due(since.get(name), now, at, zone), zone),
        }
        for name, at in times(house).items()
    ]
    return {
        "schema": 1,
        "zone": str(zone),
        "loops": rows,
        "sharing": which_machine.holder(house, ask=True),
    }


def _shown(moment: float | None, zone: tzinfo) -> str | None:
    return (
        None
        if moment is None
        else datetime.fromtimestamp(moment, zone).isoformat(timespec="seconds")
    )


def _marks(house: House) -> dict[str, dict[str, float]]:
    """`since` and `ran`; what cannot be read was never noted."""
    try:
        found = json.loads((house.vault.folder / _FILE).read_bytes())
    except (OSError, ValueError):
        found = {}
    return {
        name: _moments(found.get(name) if isinstance(found, dict) else None)
        for name in ("since", "ran")
    }


def _moments(found: object) -> dict[str, float]:
    return (
        {str(name): float(at) for name, at in found.items() if isinstance(at, int | float)}
        if isinstance(found, dict)
        else {}
    )


def _put_back(
    now: Mapping[str, float], before: Mapping[str, float], names: Collection[str]
) -> dict[str, float]:
    """Marks as they are now, but those of some loops as they were."""
    return {name: at for name, at in now.items() if name not in names} | {
        name: at for name, at in before.items() if name in names
    }


def _note(house: House, marks: Mapping[str, Mapping[str, float]]) -> None:
    disk.note("Noting the schedule", house.vault.folder / _FILE, json.dumps(marks))


_SOON: Final = "soon.json"
"""Beside the journal: the `day`, the `calls` of it, and the ids of captures that were `tried`."""
_LOOPS: Final = (encode.LOOP.name, distil.LOOP.name)


def soon_due(house: House) -> bool:
    """Has something new been captured, and nothing for `dreams.rest` minutes, with somebody who
    judges and questions left for today?"""
    rest = house.settings["dreams.rest"]
    if not rest or house.settings["dreams.judge"] == Nobody.name:
        return False
    state = _today(house)
    rows = waiting(house)
    new = {row.id for row in rows} - set(state["tried"])
    newest = max((row.when or 0.0 for row in rows), default=0.0)
    return (
        bool(new)
        and house.clock() - newest >= 60 * rest
        and _left(house, state) > 0
        and current(house.vault) is None
    )


def run_soon(house: House) -> dict[str, Any]:
    """Encode what has rested, then distil. Each capture is tried once: what a ceiling or a failure
    left is the night's. `later`: nobody could say whether another machine does it."""
    state = _today(house)
    _keep(house, state | {"tried": [row.id for row in waiting(house)]})
    try:
        done = run_now.dream(house, _LOOPS, scheduled=True, calls=_left(house, state))
    except Elsewhere as error:
        return {"runs": [], "later": error.later}
    spent = state["calls"] + sum(found["calls"] for found in done["runs"])
    _keep(house, _today(house) | {"calls": spent})
    return {"runs": done["runs"], "later": False}


def _left(house: House, state: Mapping[str, Any]) -> int:
    return int(house.settings["dreams.soon"]) - int(state["calls"])


def _today(house: House) -> dict[str, Any]:
    """Today's. What was tried yesterday and still waits was the night's, and may be tried again;
    not by rules, which say the same again."""
    day = datetime.fromtimestamp(house.clock(), local_zone()).date().isoformat()
    with suppress(OSError, ValueError):
        found = json.loads((house.vault.folder / _SOON).read_bytes())
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


def _keep(house: House, state: Mapping[str, Any]) -> None:
    disk.note("Noting what was tried", house.vault.folder / _SOON, json.dumps(state))
