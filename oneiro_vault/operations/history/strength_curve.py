"""How much of one memory is left: its curve so far, as it will go on if nobody looks, and the uses
that it rests on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.time import strength as curve
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.index.base import Row
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.runtime import DOUBT, House, Remembered

POINTS: Final = 61
"""Points of a curve, at equal distances."""
LONGEST: Final = 36_500
"""Days ahead that are asked for at most."""
BEFORE: Final = 90
"""Days back that a curve shows at most."""
MOST: Final = 1_000
"""Uses of one answer."""


def strength(house: House, id: str, days: int = 30) -> answers.Strength:
    """The curve of one memory, from 90 days ago at most to `days` ahead. Not a use of it."""
    if not 1 <= days <= LONGEST:
        raise InvalidInput(f"days must be a whole number from 1 to {LONGEST}, not {shown(days)}")
    row = house.resolve(id)
    known = house.remembered()
    looks, learned = _looks(row, known)
    stability, fades = known.stability(row), known.fades(row)
    return {
        "schema": 1,
        "id": row.handle,
        "title": row.title,
        "type": row.type,
        "strength": round(known.strength(row), 4),
        "stability": None if math.isinf(stability) else round(stability, 2),
        "threshold": known.faded,
        "uses": {"days": known.days(row), "last": _iso(looks[-1]) if looks else None},
        "learned": _iso(learned) if learned is not None else None,
        "fades": None if math.isinf(fades) else _iso(fades),
        "faded": known.strength(row) < known.faded,
        "points": _points(row, known, looks, learned, days),
    }


def usage(house: House, id: str, limit: int = 50) -> answers.Usage:
    """The deliberate uses of one memory, and when it was called wrong; forgotten memories too.
    Raises InvalidInput, NotFound, AmbiguousId."""
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST}, not {shown(limit)}")
    house.converge()
    ident, path = recall_show.anyone(house, id)
    row = house.index.by_path(path) if path else None
    events = [
        event
        for event in house.vault.events()
        if event.get("e") in ("use", DOUBT) and ident and event.get("id") == ident
    ]
    events.sort(key=lambda event: str(event.get("t", "")), reverse=True)
    return {
        "schema": 1,
        "id": ident or (row.handle if row else id),
        "title": row.title if row else "",
        "uses": [_looked(event) for event in events[:limit]],
        "total": len(events),
    }


def _looked(event: answers.Json) -> answers.Looked:
    why = "wrong" if event.get("e") == DOUBT else str(event.get("why", ""))
    return {
        "when": str(event.get("t", "")),
        "why": why,
        "question": str(event.get("q", "")),
        "actor": str(event.get("actor", "")),
        "reason": str(event.get("reason", "")),
    }


def _looks(row: Row, known: Remembered) -> tuple[list[float], float | None]:
    """(moments of deliberate use, one a day, in order; when it was learned)."""
    use = known.use(row)
    days = sorted(use.days) if use is not None else []
    looks = [moment for day in days if (moment := memories.epoch(day)) is not None]
    if use is not None and use.last is not None and looks:
        looks[-1] = use.last  # only of the last use the hour is known; noon does for the others
    looks = [
        moment if at == len(looks) - 1 else moment + curve.DAY / 2
        for at, moment in enumerate(looks)
    ]
    learned = max(
        (moment for moment in (row.when, memories.epoch(row.timestamp)) if moment is not None),
        default=None,
    )
    return sorted(looks), learned


def _points(
    row: Row, known: Remembered, looks: Sequence[float], learned: float | None, days: int
) -> list[answers.Point]:
    first = min([known.now, *looks, *([learned] if learned is not None else [])])
    start, end = max(first, known.now - BEFORE * curve.DAY), known.now + days * curve.DAY
    found: list[answers.Point] = []
    for step in range(POINTS):
        moment = start + (end - start) * step / (POINTS - 1)
        before = [look for look in looks if look <= moment]
        since = max(
            [*before, *([learned] if learned is not None and learned <= moment else [])],
            default=learned,
        )
        left = curve.strength(
            row.type,
            since,
            moment,
            len(before),
            base=known.base,
        )
        found.append(
            {"when": _iso(moment), "strength": round(left, 4), "ahead": moment > known.now}
        )
    return found


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
