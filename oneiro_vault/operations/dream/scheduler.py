"""The schedule: which loops are due on this machine, and running them, never twice for one time.
Captures that have rested are encoded soon and distilled, so that the next session has what it needs
of them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.conversation.turns import imported
from oneiro_vault.errors import Elsewhere, SettingsError
from oneiro_vault.index.base import Row
from oneiro_vault.judges.deferred import Nobody
from oneiro_vault.mind.loops import distil, encode
from oneiro_vault.operations.dream import choose_judge, run_lease, run_now
from oneiro_vault.operations.dream.run_lease import current
from oneiro_vault.operations.dream.run_now import LOOPS
from oneiro_vault.operations.remember.store_captures import waiting
from oneiro_vault.operations.runtime import House

_FILE: Final = "schedule.json"
"""`ran`, loop -> when its last scheduled run was begun (epoch seconds), and `since`, from when its
times count."""


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


def due(house: House) -> list[str]:
    """The loops whose time has come. One that was never looked at here counts from now on."""
    wanted, marks = times(house), _marks(house)
    since = marks["since"]
    fresh = {name: house.clock() for name in wanted if name not in since}
    if fresh:
        _keep(house, marks | {"since": since | fresh})
    return overdue(since | fresh, house.clock(), wanted, local_zone())


def scheduled(house: House, judge: str | None = None, progress: Progress = quiet) -> answers.Dreamt:
    """Run what is due, if anything is, each marked before it begins. `elsewhere`: why another
    machine does it; `later`: nobody could say, so it stays due."""
    with house.vault.gate.locked():
        names = due(house)
        before = _marks(house)
        busy = current(house.vault) is not None
        if names and not busy:
            now = dict.fromkeys(names, house.clock())
            _keep(house, {name: known | now for name, known in before.items()})
    if not names or busy:
        return _nothing()
    try:
        done = run_now.run(house, names, judge, progress=progress, scheduled=True)
        return {**_nothing(), **done}
    except Elsewhere as error:
        if error.later:
            again = _marks(house)
            _keep(house, {name: _put_back(again[name], before[name], names) for name in again})
        return {**_nothing(), "elsewhere": str(error), "later": error.later}


def _nothing() -> answers.Dreamt:
    return {
        "schema": 1, "dry_run": False, "runs": [], "waiting": 0, "note": None, "elsewhere": None,
        "later": False,
    }  # fmt: skip


def schedule(house: House, begin: bool = False) -> answers.Schedule:
    """For each loop its local times, its last and next run by them (RFC 3339); who may run them
    (the remote is asked). `begin`: loops that never ran by the schedule count from now on."""
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
        "sharing": run_lease.holder(house.vault, house.settings, ask=True),
    }


def _shown(moment: float | None, zone: tzinfo) -> str | None:
    return (
        None
        if moment is None
        else datetime.fromtimestamp(moment, zone).isoformat(timespec="seconds")
    )


def _marks(house: House) -> dict[str, dict[str, float]]:
    """`since` and `ran`; what cannot be read was never noted."""
    return {name: _moments(house.dreams.noted(_FILE).get(name)) for name in ("since", "ran")}


def _keep(house: House, marks: Mapping[str, Mapping[str, float]]) -> None:
    house.dreams.note(_FILE, marks, "when the loops were begun")


def _moments(found: object) -> dict[str, float]:
    if not isinstance(found, dict):
        return {}
    return {name: float(at) for name, at in found.items() if isinstance(at, int | float)}


def _put_back(
    now: Mapping[str, float], before: Mapping[str, float], names: Collection[str]
) -> dict[str, float]:
    return {name: at for name, at in now.items() if name not in names} | {
        name: at for name, at in before.items() if name in names
    }


_SOON: Final = "soon.json"
"""What a `_Day` says."""
_LOOPS: Final = (encode.name, distil.name)


def soon_due(house: House) -> bool:
    """Has something new been captured, and nothing for `dreams.rest` minutes, with a judge and
    questions left for today? What was imported is for nights."""
    rest = house.settings["dreams.rest"]
    if not rest or house.settings["dreams.judge"] == Nobody.name:
        return False
    state = _today(house)
    rows = _captured(house)
    new = {row.id for row in rows}.difference(state.tried)
    newest = max((row.when or 0.0 for row in rows), default=0.0)
    return (
        bool(new)
        and house.clock() - newest >= 60 * rest
        and _left(house, state) > 0
        and current(house.vault) is None
    )


def run_soon(house: House) -> answers.Dreamt:
    """Encode what has rested, then distil. Each capture is tried once: what a ceiling or a failure
    left is the night's."""
    state = _today(house)
    _tried(house, state._replace(tried=[row.id for row in _captured(house)]))
    try:
        done = run_now.run(house, _LOOPS, scheduled=True, calls=_left(house, state))
    except Elsewhere as error:
        return {**_nothing(), "elsewhere": str(error), "later": error.later}
    spent = state.calls + sum(found["calls"] for found in done["runs"])
    _tried(house, _today(house)._replace(calls=spent))
    return {**_nothing(), **done}


def _captured(house: House) -> list[Row]:
    """What waits and was captured here."""
    return [row for row in waiting(house) if not imported(row.source)]


class _Day(NamedTuple):
    """The questions that captures of a `day` have cost, and the ids of those that were `tried`."""

    day: str
    calls: int
    tried: Sequence[str]


def _tried(house: House, state: _Day) -> None:
    house.dreams.note(_SOON, state._asdict(), "which captures were tried")


def _left(house: House, state: _Day) -> int:
    return int(house.settings["dreams.soon"]) - state.calls


def _today(house: House) -> _Day:
    """What was tried yesterday and still waits may be tried again; not by rules, which say the same
    again."""
    day = datetime.fromtimestamp(house.clock(), local_zone()).date().isoformat()
    found = house.dreams.noted(_SOON)
    today, calls, tried = (found.get(name) for name in ("day", "calls", "tried"))
    return _Day(
        day,
        calls if today == day and isinstance(calls, int) else 0,
        tried if isinstance(tried, list) and (today == day or not _asks(house)) else [],
    )


def _asks(house: House) -> bool:
    return house.dreams.judges is not None or choose_judge.choice(house.settings, os.environ).ready


_PART: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)((?:\s+[a-z]+)*)")


def parse(text: str, loops: Sequence[str]) -> dict[str, list[str]]:
    """`"00:00, 18:00 dialectic"` as {loop: its times of day}. A time that names no loop is for all
    that no time names; an unknown loop is left out. Raises ValueError saying what is wrong."""
    named: dict[str, list[str]] = {}
    others: list[str] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(
                f"{part[:40]!r} is no time of day with loops: write 00:00, or 18:00 dialectic"
            )
        at, names = f"{int(found[1]):02d}:{found[2]}", found[3].split()
        for name in names:
            named.setdefault(name, []).append(at)
        if not names:
            others.append(at)
    wanted = {name: named.get(name, others) for name in loops}
    return {name: sorted(set(times)) for name, times in wanted.items() if times}


def next_due(last: float | None, now: float, times: Sequence[str], zone: tzinfo) -> float | None:
    """Epoch seconds at which a loop is due next: not after `now` when it is due already. `last`:
    its last start; None means there is nothing to catch up on."""
    if not times:
        return None
    since = now if last is None else last
    passed = [slot for slot in _slots(now, times, zone, -1) if since < slot <= now]
    if passed:
        return max(passed)
    after = max(now, since)
    return min((slot for slot in _slots(after, times, zone, 1) if slot > after), default=None)


def overdue(
    last: Mapping[str, float], now: float, wanted: Mapping[str, Sequence[str]], zone: tzinfo
) -> list[str]:
    """The loops that are due now, in the order of `wanted`; one without a last time is not."""
    found = {
        name: next_due(last[name], now, times, zone)
        for name, times in wanted.items()
        if name in last
    }
    return [name for name, moment in found.items() if moment is not None and moment <= now]


def _slots(around: float, times: Sequence[str], zone: tzinfo, way: int) -> list[float]:
    today = datetime.fromtimestamp(around, zone).date()
    days = [today + timedelta(days=step * way) for step in range(-1, 3)]
    return [instant(day, at, zone) for day in days for at in times]


def instant(day: date, at: str, zone: tzinfo) -> float:
    """Epoch seconds of a time of day (`18:00`) on a local day."""
    hour, _, minute = at.partition(":")
    return datetime.combine(day, time(int(hour), int(minute)), zone).astimezone(UTC).timestamp()
