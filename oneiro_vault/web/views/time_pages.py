"""Timeline: when the memories came to be. Fading: what goes next, and keeping it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from starlette.responses import Response

from oneiro_vault.errors import InvalidInput
from oneiro_vault.web.page import ROWS, Handler, Page, this_day
from oneiro_vault.web.views.wording import COLOURED, colour

HORIZONS: Final = (7, 30, 90, 365)
"""Days ahead that Fading offers."""
_LOWEST: Final = 4
"""What a chart reaches up to at least: one of one would fill it."""
_CURVE: Final = 24
"""Steps of a small curve."""


@dataclass(frozen=True)
class Piece:
    """A part of a bar, of so many percent of the chart, from the bottom."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True)
class Bar:
    """A span of a chart: where it leads, what it is called, its pieces; `tick`: what stands below
    it, "" for nothing."""

    to: str
    name: str
    number: int
    pieces: Sequence[Piece]
    tick: str


@dataclass(frozen=True)
class Chart:
    """Bars up to `top`."""

    bars: Sequence[Bar]
    top: int


@dataclass(frozen=True)
class Life:
    """The curve of a memory from its last use: the paths behind and ahead, and where now is."""

    behind: str
    ahead: str
    now: float


def _chart(bars: Sequence[tuple[str, str, str, Mapping[str, int]]]) -> Chart:
    """Of (where to, name, tick, type -> how many)."""
    top = max((sum(types.values()) for *_, types in bars), default=0)
    top = max(_LOWEST, _round_up(top))
    return Chart([_bar(*bar, top) for bar in bars], top)


def _bar(to: str, name: str, tick: str, types: Mapping[str, int], top: int) -> Bar:
    pieces: list[Piece] = []
    reached = 0.0
    for kind in sorted(types, key=_order):
        height = 100 * types[kind] / top
        pieces.append(Piece(colour(kind), round(100 - reached - height, 3), round(height, 3)))
        reached += height
    return Bar(to, name, sum(types.values()), pieces, tick)


def _round_up(number: int) -> int:
    """The next number that reads well on an axis."""
    size: int = 10 ** max(0, len(str(number)) - 1)
    steps = (step * size // 10 for step in (10, 12, 15, 20, 25, 30, 40, 50, 60, 80))
    return next((step for step in steps if step >= number), 10 * size)


def _order(kind: str) -> tuple[int, str]:
    return (COLOURED.index(kind) if kind in COLOURED else len(COLOURED), kind)


# -- timeline


async def timeline(page: Page) -> Response:
    """The chart of a span, and the memories in it."""
    within, kind = page.asked("in").strip(), page.asked("kind")
    behind = page.part * ROWS
    found = await page.ops.timeline(
        within=within or None, type=kind, limit=ROWS, offset=behind, as_of=page.as_of
    )
    bars = [
        (
            page.query(**{"in": _called(one["start"], found["by"])}),
            *_named(one, found["by"], len(found["spans"])),
        )
        for one in found["spans"]
    ]
    days = [
        (day, list(rows))
        for day, rows in groupby(found["results"], key=lambda row: row["created"][:10])
    ]
    return page.html(
        "time/timeline.html",
        found=found,
        chart=_chart(bars) if len(bars) > 1 else None,
        days=days,
        within=within,
        trail=_trail(page, within),
        around=_around(page, within),
        closed=_first_day(within) is not None,
        kind=kind,
        behind=behind,
    )


def _called(day: str, size: str) -> str:
    return day[: {"year": 4, "month": 7, "day": 10}[size]]


def _named(span: Mapping[str, Any], size: str, spans: int) -> tuple[str, str, Mapping[str, int]]:
    """(name, tick, types); a tick of a chart of many spans only where there is room."""
    at, types = date.fromisoformat(span["start"]), span["types"]
    if size == "year":
        return at.strftime("%Y"), at.strftime("%Y") if spans < 20 or at.year % 5 == 0 else "", types
    if size == "month":
        roomy = spans <= 14 or (at.month % 3 == 1 and spans <= 48)
        tick = at.strftime("%b") if roomy else ""
        return at.strftime("%B %Y"), at.strftime("%Y") if at.month == 1 else tick, types
    tick = at.strftime("%-d") if spans <= 16 or at.day == 1 or at.day % 5 == 0 else ""
    return at.strftime("%-d %B %Y"), tick, types


def _trail(page: Page, within: str) -> list[tuple[str, str]]:
    """(where to, name) from all of time down to the span, which is the last."""
    found = [(page.query(**{"in": ""}), "All of time")]
    for length, form in ((4, "%Y"), (7, "%B"), (10, "%-d")):
        at = _first_day(within[:length]) if len(within) >= length else None
        if at is not None:
            found.append((page.query(**{"in": within[:length]}), at.strftime(form)))
    if within and len(found) == 1:
        found.append((page.query(), within))
    return found


def _first_day(text: str) -> date | None:
    """Of a year, a month, a day; the calendar's own ends are left alone."""
    try:
        day = date.fromisoformat({4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text))
    except ValueError:
        return None
    return day if 1 < day.year < date.max.year else None


def _around(page: Page, within: str) -> tuple[str, str] | None:
    """The queries of the spans before and after."""
    at = _first_day(within)
    if at is None:
        return None
    before, after = at - timedelta(days=1), _last_day(within) + timedelta(days=1)
    length = len(within)
    return (
        page.query(**{"in": before.isoformat()[:length]}),
        page.query(**{"in": after.isoformat()[:length]}),
    )


async def changed(page: Page) -> Response:
    """What became of each memory in a year, a month or a day: a part of the page, or one of its
    own."""
    within = page.asked("in").strip()
    first = _first_day(within)
    if first is None:
        raise InvalidInput(
            "what changed is told of a year, a month or a day", hint="Write it like 2026-03."
        )
    after = _last_day(within)
    found = await page.ops.diff(
        before=(first - timedelta(days=1)).isoformat(),
        after=None if after >= this_day() else after.isoformat(),
    )
    return page.html(
        "time/changed.html", found=found, within=within, name=_trail(page, within)[1:], most=ROWS
    )


def _last_day(within: str) -> date:
    first = _first_day(within) or date.max
    if len(within) == 10:
        return first
    month = 12 if len(within) == 4 else first.month
    return date(first.year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


# -- fading


async def fading(page: Page) -> Response:
    """What leaves passive recall soon, or has."""
    days = page.number("days", 30, 1, 3650)
    kind, gone = page.asked("kind"), page.asked("show") == "gone"
    behind = page.part * ROWS
    found = await page.ops.fading(
        days=days, type=kind, gone=gone, limit=ROWS, offset=behind, as_of=page.as_of
    )
    until = datetime.fromisoformat(found["until"])
    now = until - timedelta(days=days)
    rows = [(row, _curve(row, found["threshold"], now)) for row in found["results"]]
    return page.html(
        "time/fading.html",
        found=found,
        groups=[
            (name, list(some))
            for name, some in groupby(rows, key=lambda one: _when(one[0]["fades"], now.date()))
        ],
        chart=None if gone else _ahead(page, found, now.date(), days),
        days=days,
        horizons=HORIZONS,
        kind=kind,
        gone=gone,
        behind=behind,
    )


def _when(fades: str, today: date) -> str:
    """Under which heading it stands."""
    day = date.fromisoformat(fades[:10])
    ahead = (day - today).days
    for most, name in ((0, "Today"), (1, "Tomorrow"), (7, "Within a week")):
        if 0 <= ahead <= most:
            return name
    return day.strftime("In %B" if day.year == today.year else "In %B %Y")


def _firsts(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Day -> the first memory of it in the list, to which a bar of the chart leads."""
    found: dict[str, str] = {}
    for row in rows:
        found.setdefault(row["fades"][:10], row["id"])
    return found


def _ahead(page: Page, found: Any, today: date, days: int) -> Chart | None:
    """How many go on each day (or in each week, month) ahead."""
    counts, firsts = found["days"], _firsts(found["results"])
    if not counts:
        return None
    step = 1 if days <= 62 else 7 if days <= 400 else 31
    bars: list[tuple[str, str, str, Mapping[str, int]]] = []
    for ahead in range(0, days + 1, step):
        span = [(today + timedelta(days=ahead + more)).isoformat() for more in range(step)]
        first = date.fromisoformat(span[0])
        number = sum(counts.get(day, 0) for day in span)
        name = first.strftime("%-d %B") if step == 1 else f"from {first.strftime('%-d %B %Y')}"
        tick = first.strftime("%-d %b") if (ahead // step) % 5 == 0 else ""
        row = next((firsts[day] for day in span if day in firsts), None)
        to = f"{page.query()}#fade-{row}" if row else page.query()
        bars.append((to, name, tick, {"fading": number} if number else {}))
    return _chart(bars)


def _curve(row: Mapping[str, Any], threshold: float, now: datetime) -> Life:
    """In a box of 100 by 30: a little beyond the moment at which it fades."""
    lasts = -math.log(threshold) * row["stability"]
    width = 1.12 * lasts
    left = (datetime.fromisoformat(row["fades"]) - now).total_seconds() / 86_400
    gone = min(lasts, max(0.0, lasts - left))

    def path(start: float, end: float) -> str:
        days = [start + (end - start) * step / _CURVE for step in range(_CURVE + 1)]
        points = [(100 * day / width, 29 - 28 * math.exp(-day / row["stability"])) for day in days]
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)

    return Life(path(0, gone), path(gone, width), round(100 * gone / width, 1))


async def keep(page: Page) -> Response:
    """One more use of a memory, on purpose: it lasts longer than before."""
    ident = page.named("id")
    await page.ops.feedback(id=ident, useful=True, reason="kept from fading", actor="user")
    found = await page.ops.strength(id=ident, days=1)
    return _done(page, {"state": "kept", "id": found["id"], "title": found["title"],
                        "until": found["fades"]})  # fmt: skip


async def forget(page: Page) -> Response:
    """Out of the vault, before it fades; the history keeps it."""
    done = await page.ops.forget(id=page.named("id"), reason="let go", actor="user")
    return _done(page, {"state": "forgotten", "id": done["id"], "title": done["title"]})


async def restore(page: Page) -> Response:
    """What was let go by mistake."""
    done = await page.ops.restore(id=page.named("id"), actor="user")
    found = await page.ops.strength(id=done["id"], days=1)
    return _done(page, {"state": "back", "id": found["id"], "title": found["title"]})


def _done(page: Page, said: Mapping[str, Any]) -> Response:
    if page.fragment:
        return page.html("time/fading_done.html", said=said)
    return page.see("/ui/fading")


READS: Final[dict[str, Handler]] = {
    "/ui/timeline": timeline,
    "/ui/timeline/changed": changed,
    "/ui/fading": fading,
}
WRITES: Final[dict[str, Handler]] = {
    "/ui/fading/{id}/keep": keep,
    "/ui/fading/{id}/forget": forget,
    "/ui/fading/{id}/restore": restore,
}
