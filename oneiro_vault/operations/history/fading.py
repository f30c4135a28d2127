"""What fades if nobody looks, and what has: the forecast of the loop `decay`, for a person who may
want to keep some of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.core.time.strength import DAY
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.index.base import Age
from oneiro_vault.operations.history.strength_curve import LONGEST
from oneiro_vault.operations.read.recall_show import check_text, many, opened
from oneiro_vault.operations.runtime import House, View, quiet

MOST: Final = 1_000
"""Rows of one answer."""


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
    if not 1 <= days <= LONGEST:
        raise InvalidInput(f"days must be a whole number from 1 to {LONGEST}, not {shown(days)}")
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
            "days": dict(Counter(_day(when) for when, _ in found)),
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


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()
