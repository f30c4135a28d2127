"""Numbers over time and by size as bars: SVG for any viewer, light or dark, without a script or
anything from elsewhere, and lines of blocks for a terminal. What differs, differs by pattern
too."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from itertools import accumulate
from typing import Final

from oneiro_vault.answers import Influencing, Plots
from oneiro_vault.core.markdown.diagrams import brief
from oneiro_vault.core.markdown.quoting import one_line

PERIODS: Final = 32
"""Bars in a row at most: days, where that is enough, else weeks, else months, the last ones."""
PANELS: Final = 40
"""Memories in one chart."""
TYPES: Final = 5
"""Types of memories that growth tells apart; the others are one."""
_LEFT: Final = 48
_ACROSS: Final = 636
_WIDTH: Final = 720
_UP: Final = 48
_DOWN: Final = 20
_TALL: Final = 120
"""Pixels: where the bars begin, how wide and high all of them are, also in a chart of one panel."""
_LINES: Final = 52
_HEAD: Final = 64
_PATTERNS: Final = (
    "",
    "M0 0V8",
    "M0 0H8",
    "M4 4h.1",
    "M0 0V8M0 0H8",
    "M0 0L8 8",
)
"""What is drawn over a colour, eight pixels square: nothing, stripes, lines, dots, squares."""


@dataclass(frozen=True)
class Series:
    """One kind of bars: its name and its colour on light and on dark; `below`: drawn downwards."""

    key: str
    name: str
    light: str
    dark: str
    below: bool = False


@dataclass(frozen=True)
class Panel:
    """One row of bars: `labels` and the `values` of each series have the same length."""

    title: str
    said: str
    labels: Sequence[str]
    values: Mapping[str, Sequence[float]]
    id: str = ""


@dataclass(frozen=True)
class Chart:
    """Panels of the same series, on one scale. `about`: what it shows, in a sentence; `unit` of the
    numbers."""

    title: str
    about: str
    series: Sequence[Series]
    panels: Sequence[Panel]
    unit: str = ""

    @property
    def empty(self) -> bool:
        """Is there nothing to see?"""
        values = (
            value for panel in self.panels for some in panel.values.values() for value in some
        )
        return not any(values)


USES: Final = (
    Series("found", "looked at after a question had found it", "#1d4ed8", "#60a5fa"),
    Series("looked", "looked at otherwise", "#93b8f5", "#2f5fb3"),
    Series("useful", "called useful", "#15803d", "#4ade80"),
    Series("wrong", "called wrong", "#c2410c", "#fb923c", below=True),
)
_MANY: Final = (
    ("#1d4ed8", "#60a5fa"), ("#15803d", "#4ade80"), ("#b45309", "#fbbf24"),
    ("#7c3aed", "#a78bfa"), ("#0f766e", "#2dd4bf"), ("#6b7280", "#9ca3af"),
)  # fmt: skip
_STRENGTHS: Final = (
    Series("kept", "loaded by itself", "#15803d", "#4ade80"),
    Series("faded", "found by a search only", "#6b7280", "#9ca3af"),
)
_TOKENS: Final = (
    Series("tokens_in", "tokens asked", "#1d4ed8", "#60a5fa"),
    Series("tokens_out", "tokens answered", "#b45309", "#fbbf24"),
)


# -- days


def periods(days: Iterable[str]) -> list[date]:
    """The first days of the days, weeks (from Monday) or months in which these are, without
    gaps."""
    known = sorted({date.fromisoformat(day) for day in days})
    if not known:
        return []
    first, last = known[0], known[-1]
    if (last - first).days < PERIODS:
        return [first + timedelta(n) for n in range((last - first).days + 1)]
    monday = first - timedelta(first.weekday())
    if (last - monday).days < 7 * PERIODS:
        return [monday + timedelta(7 * n) for n in range((last - monday).days // 7 + 1)]
    months = range(12 * first.year + first.month - 1, 12 * last.year + last.month)
    return [date(month // 12, month % 12 + 1, 1) for month in months[-PERIODS:]]


def binned(days: Mapping[str, float], starts: Sequence[date]) -> list[float]:
    """How many of them fall into each period."""
    found: list[float] = [0] * len(starts)
    for day, number in days.items():
        place = bisect_right(starts, date.fromisoformat(day)) - 1
        if place >= 0:
            found[place] += number
    return found


def length(starts: Sequence[date]) -> str:
    """What each period is."""
    apart = (starts[1] - starts[0]).days if len(starts) > 1 else 1
    return {1: "a day", 7: "a week"}.get(apart, "a month")


def all_days(rows: Iterable[Influencing]) -> set[str]:
    """Every day on which any of them was used or judged."""
    return {day for row in rows for days in row["days"].values() for day in days}


# -- what is charted


def influence(rows: Sequence[Influencing]) -> Chart:
    """How often each was looked at, called useful (up) and wrong (down), a panel each."""
    shown, starts = rows[:PANELS], periods(all_days(rows))
    panels = [
        Panel(
            row["title"],
            f"{row['uses']} uses, {row['useful']} useful, {row['wrong']} wrong",
            [str(start) for start in starts],
            _used(row["days"], starts),
            row["id"],
        )
        for row in shown
    ]
    return Chart("Influence", "How often each was looked at, called useful and wrong", USES, panels)


def _used(days: Mapping[str, Mapping[str, int]], starts: Sequence[date]) -> dict[str, list[float]]:
    found = {one.key: binned(days.get(one.key, {}), starts) for one in USES}
    pairs = zip(found["looked"], found["found"], strict=True)
    return {**found, "looked": [number - part for number, part in pairs]}


def growth(plots: Plots) -> Chart:
    """How many memories there were, by type."""
    counts = {name: sum(days.values()) for name, days in plots["growth"].items()}
    names = sorted(counts, key=lambda name: (-counts[name], name))
    starts = periods(day for days in plots["growth"].values() for day in days)
    first = str(starts[0]) if starts else ""
    shown, rest = names[:TYPES], names[TYPES:]
    values: dict[str, list[float]] = {name: [0] * len(starts) for name in shown}
    values |= {"other": [0] * len(starts)} if rest else {}
    for name, days in plots["growth"].items():
        before = sum(number for day, number in days.items() if day < first)
        grown = accumulate(binned(days, starts), initial=before)
        into = values[name if name in shown else "other"]
        into[:] = [one + more for one, more in zip(into, [*grown][1:], strict=True)]
    series = [Series(f"type{at}", name, *_MANY[at % len(_MANY)]) for at, name in enumerate(values)]
    total = sum(counts.values())
    panel = Panel(
        f"{total:,} {'memory' if total == 1 else 'memories'}",
        f"at the end of {length(starts)}",
        [str(start) for start in starts],
        {one.key: values[one.name] for one in series},
    )
    return Chart("Growth", "How many memories there were, by type", series, [panel], "memories")


def strengths(plots: Plots) -> Chart:
    """How many memories are how strong."""
    counts, left = plots["strengths"], plots["faded"]
    wide, faded = 1 / max(len(counts), 1), list[int]()
    for number in counts:
        faded.append(min(number, left))
        left -= faded[-1]
    values = {"kept": [a - b for a, b in zip(counts, faded, strict=True)], "faded": faded}
    labels = [f"{at * wide:.0%} to {(at + 1) * wide:.0%}" for at in range(len(counts))]
    lasting = plots["lasting"]
    panel = Panel(
        f"{sum(counts):,} that fade", f"{lasting:,} do not fade" if lasting else "", labels, values
    )
    about = "How many memories are how strong now"
    return Chart("Strength", about, _STRENGTHS, [panel], "memories")


def uses(plots: Plots) -> Chart:
    """How memories were used."""
    starts = periods(day for days in plots["uses"].values() for day in days)
    total = {kind: sum(days.values()) for kind, days in plots["uses"].items()}
    panel = Panel(
        f"{total.get('looked', 0):,} looks",
        f"a bar is {length(starts)}",
        [str(start) for start in starts],
        _used(plots["uses"], starts),
    )
    about = "How often memories were looked at, and called useful or wrong"
    return Chart("Recall use", about, USES, [panel], "uses")


def nights(plots: Plots) -> Chart:
    """What loops asked of judges."""
    found = plots["nights"]
    starts = periods(one["day"] for one in found)
    sent, answered = dict[str, float](), dict[str, float]()
    for one in found:
        sent[one["day"]] = sent.get(one["day"], 0) + one["tokens_in"]
        answered[one["day"]] = answered.get(one["day"], 0) + one["tokens_out"]
    values = {"tokens_in": binned(sent, starts), "tokens_out": binned(answered, starts)}
    cost = sum(one["cost"] for one in found)
    spent = f"about {cost:.2f} spent; " if cost else ""
    asked = sum(one["questions"] for one in found)
    panel = Panel(
        f"{len(found):,} runs, {asked:,} questions",
        f"{spent}a bar is {length(starts)}",
        [str(start) for start in starts],
        values,
    )
    about = "How many tokens the loops asked and were answered"
    return Chart("Cost of nights", about, _TOKENS, [panel], "tokens")


def all_of(plots: Plots) -> dict[str, Chart]:
    """Every chart, by its name in an address."""
    return {
        "growth": growth(plots),
        "strength": strengths(plots),
        "uses": uses(plots),
        "influence": influence(plots["influence"]),
        "nights": nights(plots),
    }


# -- SVG


def svg(charts: Sequence[Chart]) -> str:
    """The charts, one below the other, as one picture."""
    tops, high = [], 0
    for chart in charts:
        tops.append(high)
        high += _high(chart)
    title = charts[0].about if len(charts) == 1 else "The memory in numbers"
    said = "; ".join(_summary(chart) for chart in charts)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {high}" '
            f'width="{_WIDTH}" height="{high}" role="img" aria-labelledby="title desc" '
            f'font-family="system-ui, sans-serif" font-size="12">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(said)}</desc>',
            f"<style>{_style(charts)}</style>",
            f"<defs>{''.join(_patterns(charts))}</defs>",
            f'<rect class="ground" width="{_WIDTH}" height="{high}"/>',
            *(
                line
                for number, (chart, top) in enumerate(zip(charts, tops, strict=True))
                for line in _chart(chart, number, top, len(charts) > 1)
            ),
            "</svg>",
            "",
        ]
    )


def _summary(chart: Chart) -> str:
    """For those who cannot see it."""
    panels = [
        f"{_clean(panel.title)} ({panel.said})" if panel.said else _clean(panel.title)
        for panel in chart.panels[:8]
    ]
    return f"{chart.about}: {', '.join(panels) or 'nothing yet'}"


def _clean(text: str) -> str:
    return brief(one_line(text))


def _up(chart: Chart) -> int:
    return _UP if len(chart.panels) > 1 or chart.series is USES else _TALL


def _down(chart: Chart) -> int:
    return _DOWN if any(one.below for one in chart.series) else 0


def _high(chart: Chart) -> int:
    rows = max(1, -(-sum(map(_long, chart.series)) // (_WIDTH - _LEFT)))
    panel = _up(chart) + _down(chart) + _LINES
    return _HEAD + 18 * (rows - 1) + panel * max(1, len(chart.panels))


def _long(one: Series) -> int:
    return 37 + 6 * len(one.name)


def _style(charts: Sequence[Chart]) -> str:
    every = [(f"s{n}-{one.key}", one) for n, chart in enumerate(charts) for one in chart.series]
    light = "".join(f".{name}{{fill:{one.light}}}" for name, one in every)
    dark = "".join(f".{name}{{fill:{one.dark}}}" for name, one in every)
    return (
        "text{fill:#1f2937}.ground{fill:#fff}.axis{stroke:#9ca3af}.small{font-size:10px}"
        ".over{stroke:#fff;stroke-width:1.5;stroke-linecap:round;fill:none}"
        f"{light}@media (prefers-color-scheme:dark){{text{{fill:#e5e7eb}}.ground{{fill:#111827}}"
        f".axis{{stroke:#4b5563}}.over{{stroke:#111827}}{dark}}}"
    )


def _patterns(charts: Sequence[Chart]) -> Iterator[str]:
    for number, chart in enumerate(charts):
        for at, one in enumerate(chart.series):
            name, over = f"s{number}-{one.key}", _PATTERNS[at % len(_PATTERNS)]
            yield (
                f'<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
                f'<rect class="{name}" width="8" height="8"/>'
                + (f'<path class="over" d="{over}"/>' if over else "")
                + "</pattern>"
            )


def _chart(chart: Chart, number: int, top: int, headed: bool) -> Iterator[str]:
    if headed:
        yield (
            f'<text x="{_LEFT}" y="{top + 14}" font-size="14" font-weight="600">'
            f"{escape(chart.title)}</text>"
        )
    x, y = _LEFT, top + 24
    for one in chart.series:
        if x > _LEFT and x + _long(one) > _WIDTH:
            x, y = _LEFT, y + 18
        fill = f"url(#s{number}-{one.key})"
        yield f'<rect fill="{fill}" x="{x}" y="{y - 4}" width="12" height="12" rx="2"/>'
        yield f'<text x="{x + 17}" y="{y + 6}">{escape(_clean(one.name))}</text>'
        x += _long(one)
    high = _scale(chart)
    y += _HEAD - 24
    for panel in chart.panels:
        yield from _panel(chart, panel, number, y, high)
        y += _up(chart) + _down(chart) + _LINES
    if not chart.panels:
        yield f'<text x="{_LEFT}" y="{y + 4}">nothing yet</text>'


def _scale(chart: Chart) -> float:
    """The number at the top of every panel."""
    up, down = _up(chart), max(_down(chart), 1)
    most = 1.0
    for panel in chart.panels:
        for at in range(len(panel.labels)):
            above, below = _sums(chart, panel, at)
            most = max(most, above, -(-below * up // down))
    return most


def _sums(chart: Chart, panel: Panel, at: int) -> tuple[float, float]:
    above = sum(panel.values[one.key][at] for one in chart.series if not one.below)
    return above, sum(panel.values[one.key][at] for one in chart.series if one.below)


def _panel(chart: Chart, panel: Panel, number: int, top: int, most: float) -> Iterator[str]:
    up = _up(chart)
    zero, right = top + 16 + up, _LEFT + _ACROSS
    yield (
        f'<text x="{_LEFT}" y="{top + 4}" font-weight="600">{escape(_clean(panel.title))}</text>'
    )
    yield (
        f'<text x="{right}" y="{top + 4}" text-anchor="end" class="small">'
        f"{escape(panel.said)}</text>"
    )
    yield f'<line class="axis" x1="{_LEFT}" y1="{zero}" x2="{right}" y2="{zero}"/>'
    yield (
        f'<text x="{_LEFT - 6}" y="{zero - up + 8}" text-anchor="end" class="small">'
        f"{amount(most)}</text>"
    )
    step = _ACROSS / max(len(panel.labels), 1)
    every = -(-len(panel.labels) // 6)
    for at, label in enumerate(panel.labels):
        x = _LEFT + step * at + step / 8
        yield from _bar(chart, panel, at, number, (x, min(step * 3 / 4, 40)), (zero, up / most))
        if at % every == 0:
            low = zero + _down(chart) + 14
            yield f'<text x="{x:.1f}" y="{low}" class="small">{escape(label)}</text>'


def _bar(
    chart: Chart,
    panel: Panel,
    at: int,
    number: int,
    across: tuple[float, float],
    up: tuple[int, float],
) -> Iterator[str]:
    (x, width), (zero, unit) = across, up
    above = float(zero)
    for one in chart.series:
        value = panel.values[one.key][at]
        high = value * unit
        y = zero + 1.0 if one.below else above - high
        above -= 0.0 if one.below else high
        if value:
            yield (
                f'<rect fill="url(#s{number}-{one.key})" x="{x:.1f}" y="{y:.1f}" '
                f'width="{width:.1f}" height="{high:.1f}"><title>'
                f"{escape(f'{panel.labels[at]}: {amount(value)} {_clean(one.name)}')}"
                "</title></rect>"
            )


def amount(number: float) -> str:
    """A whole number as people read it, else two places."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.2f}"


# -- lines of blocks

EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
"""Nothing, one eighth, …, all of a line's height."""


def blocks(values: Sequence[float], most: float) -> str:
    """One line of bars, a character each; what is more than nothing is seen."""
    return "".join(EIGHTHS[min(8, int(-(-8 * value // most)))] if most else " " for value in values)


def columns(values: Sequence[float], most: float, rows: int) -> list[str]:
    """The same, so many lines high, from the top."""
    lines = []
    for row in range(rows - 1, -1, -1):
        cells = [max(0.0, min(8.0, (value * rows / most - row) * 8)) for value in values]
        # a little is seen in the lowest line
        whole = [-(-cell // 1) if row == 0 else round(cell) for cell in cells]
        lines.append("".join(EIGHTHS[int(cell)] for cell in whole))
    return lines
