"""When loops are due, in local time: once a local day for each time of day, whatever the clocks do.

A time that a spring day skips (02:30) is kept an hour later; one that an autumn day has twice
counts the first time. A machine that slept over several days catches up once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final

_PART: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)((?:\s+[a-z]+)*)")


def parse(text: str, loops: Sequence[str]) -> dict[str, list[str]]:
    """`"00:00, 18:00 dialectic"` as {loop: its times of day}. A time that names no loop is for all
    that no time names; a loop that a newer version may have is left out. Raises ValueError saying
    what is wrong.
    """
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
    """Epoch seconds at which a loop is due next: not after `now` when it is due already, None
    without times.

    `last`: when it was started last. None (it never was) means there is nothing to catch up on.
    """
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
    """The instants of these times of day on the local days next to a moment."""
    today = datetime.fromtimestamp(around, zone).date()
    days = [today + timedelta(days=step * way) for step in range(-1, 3)]
    return [instant(day, at, zone) for day in days for at in times]


def instant(day: date, at: str, zone: tzinfo) -> float:
    """Epoch seconds of a time of day (`18:00`) on a local day."""
    hour, _, minute = at.partition(":")
    return datetime.combine(day, time(int(hour), int(minute)), zone).astimezone(UTC).timestamp()
