"""When the memories of the vault came to be: how many in each year, month or day, and which."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.index.base import Filters
from oneiro_vault.operations.history import as_of_view
from oneiro_vault.operations.history.strength_curve import check_page
from oneiro_vault.operations.read.recall_show import REPORT, check_text, many, opened
from oneiro_vault.operations.runtime import House

MOST: Final = 800
"""Spans of one answer."""
_DAYS: Final = 62
_MONTHS: Final = 8 * 366
"""Days up to which a timeline is told by the day, and by the month."""


class _Count(NamedTuple):
    day: date
    type: str
    number: int


class _Asked(NamedTuple):
    """Local days [start, end), None for an end that is open."""

    start: date | None
    end: date | None

    def hold(self, day: date) -> bool:
        """Is it one of them?"""
        return (self.start is None or day >= self.start) and (self.end is None or day < self.end)


def timeline(
    house: House,
    within: str | None = None,
    type: str | Sequence[str] = (),
    limit: int = 50,
    offset: int = 0,
    as_of: str | None = None,
    progress: Progress = quiet,
) -> answers.Timeline:
    """How many memories came to be when, and some of them, newest first; reports of dreams only
    when their type is asked for. `within`: a year, a month, a day, in whatever words; None for
    ever; by the year, month or day, as suits that length. `as_of`: as it was known then. Not a use
    of any. Raises InvalidInput, NotFound for an `as_of` before the history."""
    check_page(limit, offset)
    kinds = many(type or ())
    check_text(*kinds, within)
    start, end = as_of_view.span(house.clock(), within) if within is not None else (None, None)
    asked = _Asked(*(None if edge is None else _local(edge) for edge in (start, end)))
    first = house.vault.log.first()
    with opened(house, as_of, progress) as view:
        filters = Filters(type=kinds, without=() if kinds else REPORT)
        every, undated = _read(view.index.by_day(Filters(without=REPORT)))
        wanted = every
        if kinds:
            wanted, undated = _read(view.index.by_day(filters))
        size, spans = _spans(every, asked)
        _fill(spans, wanted)
        rows = view.index.part(replace(filters, since=start, until=end), limit, offset)
        here = [one for one in every if asked.hold(one.day)]
        answer: answers.Timeline = {
            "schema": 1,
            "by": size,
            "spans": spans,
            "results": [{**view.known.line(row), **view.state(row)} for row in rows],
            "total": sum(one.number for one in wanted if asked.hold(one.day))
            + (undated if within is None else 0),
            "types": dict(_types(here).most_common()),
            "first": every[0].day.isoformat() if every else None,
            "last": every[-1].day.isoformat() if every else None,
            "undated": undated,
            "began": dates.iso(first.when)[:10] if first is not None else None,
        }
        return {**answer, **view.told(None, None, 0)}


def _read(found: Iterable[tuple[str | None, str, int]]) -> tuple[list[_Count], int]:
    """The counts of days, in order, and how many memories have no date."""
    counts: list[_Count] = []
    undated = 0
    for day, kind, number in found:
        with suppress(ValueError):
            counts.append(_Count(date.fromisoformat(day or ""), kind, number))
            continue
        undated += number
    return counts, undated


def _types(counts: Iterable[_Count]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in counts:
        found[one.type] += one.number
    return found


def _local(moment: float) -> date:
    return date.fromisoformat(dates.iso(moment)[:10])


def _later(day: date, days: int) -> date:
    """The calendar ends with the year 9999."""
    return day + timedelta(days=min(days, (date.max - day).days))


def _spans(every: Sequence[_Count], asked: _Asked) -> tuple[str, list[answers.Span]]:
    """The size of the spans and all of them, empty; none where there is nothing to show. What is
    open begins with the first memory and ends with the last. Of more years than an answer can hold,
    which one wrong date is enough for, only those that hold something."""
    inside = [one.day for one in every if asked.hold(one.day)]
    start = asked.start or (inside[0] if inside else None)
    end = asked.end or (_later(inside[-1], 1) if inside else None)
    if start is None or end is None:
        return "year", []
    length = (end - start).days
    size = "day" if length <= _DAYS else "month" if length <= _MONTHS else "year"
    spans: list[answers.Span] = []
    if length > (MOST - 1) * 365:
        years = dict.fromkeys(_begin(one, size) for one in inside)
        return size, [_span(year, size) for year in [*years][-MOST:]]
    at = _begin(start, size)
    while at < end:
        spans.append(_span(at, size))
        at = _after(at, size)
    return size, spans


def _span(start: date, size: str) -> answers.Span:
    return {"start": start.isoformat(), "end": _after(start, size).isoformat(), "types": {}}


def _begin(day: date, size: str) -> date:
    return day.replace(
        day=day.day if size == "day" else 1, month=1 if size == "year" else day.month
    )


def _after(day: date, size: str) -> date:
    """Where the next span begins."""
    if size == "day":
        return _later(day, 1)
    after = _begin(_later(day, 366 if size == "year" else 31), size)
    return after if after > day else date.max


def _fill(spans: Sequence[answers.Span], counts: Iterable[_Count]) -> None:
    starts = [one["start"] for one in spans]
    for one in counts:
        day = one.day.isoformat()
        at = bisect_right(starts, day) - 1
        if at >= 0 and day < spans[at]["end"]:
            types = spans[at]["types"]
            types[one.type] = types.get(one.type, 0) + one.number
