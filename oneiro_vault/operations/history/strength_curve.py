"""How much of one memory is left: its curve so far, as it will go on if nobody looks, and the uses
that it rests on. And what fades if nobody looks, for a person who may want to keep some of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.core.time import strength as curve
from oneiro_vault.core.time.strength import DAY
from oneiro_vault.errors import InvalidInput
from oneiro_vault.index.base import Age, Row
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.read.recall_show import check_text, check_whole, many, opened
from oneiro_vault.operations.runtime import DOUBT, House, Remembered, View

POINTS: Final = 61
"""Points of a curve, at equal distances."""
LONGEST: Final = 36_500
"""Days ahead that are asked for at most."""
BEFORE: Final = 90
"""Days back that a curve shows at most."""
MOST: Final = 1_000
"""Rows of one answer."""
_USES: Final = 50
"""Uses of one memory that are told one by one."""


def strength(house: House, id: str, days: int = 30) -> answers.Strength:
    """The curve of one memory, from 90 days ago at most to `days` ahead. Not a use of it."""
    check_whole("days", days, 1, LONGEST)
    row = house.indexing.resolve(id)
    known = house.uses.remembered()
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


def usage(house: House, id: str) -> answers.Usage:
    """The deliberate uses of one memory, and when it was called wrong; forgotten memories too.
    Raises NotFound, AmbiguousId."""
    house.indexing.converge()
    ident, path = recall_show.anyone(house.indexing, id)
    row = house.index.by_path(path) if path else None
    events = [
        event
        for event in house.vault.ledger.events()
        if event.get("e") in ("use", DOUBT) and ident and event.get("id") == ident
    ]
    events.sort(key=lambda event: str(event.get("t", "")), reverse=True)
    return {
        "schema": 1,
        "id": ident or (row.handle if row else id),
        "title": row.title if row else "",
        "uses": [_looked(event) for event in events[:_USES]],
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


def fading(
    house: House,
    days: int = 30,
    type: str | Sequence[str] = (),
    gone: bool = False,
    limit: int = 100,
    offset: int = 0,
    as_of: str | None = None,
    progress: Progress = quiet,
) -> answers.Fading:
    """Memories that leave passive recall within `days` if nobody uses them, the next first; with
    `gone` those that have, the latest first. Not a use of any. What somebody said to be wrong is
    neither: it does not come back by being kept. Raises InvalidInput, NotFound for an `as_of`
    before the history."""
    check_whole("days", days, 1, LONGEST)
    check_page(limit, offset)
    kinds = many(type or ())
    check_text(*kinds)
    with opened(house, as_of, progress) as view:
        until = view.known.now + days * DAY
        over, ahead = _forecast(view, until)
        every = over if gone else ahead
        found = [one for one in every if not kinds or one[1].type in kinds]
        answer: answers.Fading = {
            "schema": 1,
            "results": _rows(view, found[offset : offset + limit]),
            "total": len(found),
            "until": dates.iso(until),
            "threshold": view.known.faded,
            "days": dict(Counter(dates.iso(when)[:10] for when, _ in found)),
            "types": dict(Counter(one.type for _, one in every).most_common()),
            "faded": len(over),
        }
        return {**answer, **view.told(None, None, 0)}


def check_page(limit: int, offset: int) -> None:
    """Raise InvalidInput for a part of a list that is none: 1 to 1,000 rows, after `offset`."""
    if not 1 <= limit <= MOST or not 0 <= offset < 2**53:
        raise InvalidInput(f"limit is from 1 to {MOST}, offset from 0")


def _forecast(view: View, until: float) -> tuple[list[tuple[float, Age]], list[tuple[float, Age]]]:
    """(when, note) of what has faded, the latest first, and of what will by `until`, the next
    first."""
    known = view.known
    found = [
        (when, one)
        for one in view.index.ages("active")
        if (when := known.fades(one)) <= until and not known.doubted(one)
    ]
    over = sorted((one for one in found if one[0] <= known.now), key=lambda one: -one[0])
    ahead = sorted((one for one in found if one[0] > known.now), key=lambda one: one[0])
    return over, ahead


def _rows(view: View, found: Sequence[tuple[float, Age]]) -> list[answers.FadingRow]:
    rows, known = view.index.rows([one.key for _, one in found]), view.known
    return [
        {
            **known.line(row),
            **view.state(row),
            "fades": dates.iso(when),
            "stability": round(known.stability(row), 2),
            "uses": {
                "days": known.days(row),
                "last": dates.iso(use.last) if (use := known.use(row)) and use.last else None,
            },
        }
        for when, one in found
        if (row := rows.get(one.key)) is not None
    ]
