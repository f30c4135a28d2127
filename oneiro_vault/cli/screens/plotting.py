"""Charts in a terminal, as wide as it is, and as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.cells import set_cell_size

from oneiro_vault import answers
from oneiro_vault.cli import render
from oneiro_vault.cli.context import Face
from oneiro_vault.cli.output import Output, Style, cut, line
from oneiro_vault.core.markdown import charts
from oneiro_vault.core.markdown.charts import Chart, Panel
from oneiro_vault.errors import DiskProblem, InvalidInput

KEPT: Final = "No file was changed."
_ROWS: Final = 5
_WIDE: Final = 80
"""Columns where nobody says how wide the terminal is."""
_MARGIN: Final = 9
_NAMES: Final = 24
_USES: Final = {
    "looked": ("looked at", "cyan"),
    "found": ("of these after a question", "cyan"),
    "useful": ("called useful", "green"),
    "wrong": ("called wrong", "red"),
}
"""Kind of use -> its name, its colour."""


def drawn(found: Sequence[Chart], style: Style) -> str:
    """Charts one below the other: bars of everything, and a line for each kind."""
    width = style.width or _WIDE
    return "\n\n".join("\n".join(_chart(chart, width, style)) for chart in found)


def _chart(chart: Chart, width: int, style: Style) -> Iterator[str]:
    yield style(chart.title, "bold")
    if chart.empty:
        yield style("  nothing yet", "dim")
    elif len(chart.panels) > 1 or chart.series is charts.USES:
        for panel in chart.panels:
            yield from _lines(chart, panel, width, style)
    else:
        yield from _columns(chart, chart.panels[0], width, style)


def _columns(chart: Chart, panel: Panel, width: int, style: Style) -> Iterator[str]:
    """Bars of the sums, their axis, and how much of the last one each kind is."""
    sums = [
        sum(panel.values[one.key][at] for one in chart.series) for at in range(len(panel.labels))
    ]
    most = max(sums)
    wide = max(1, min(6, (width - _MARGIN) // max(len(sums), 1)))
    shown = sums[-((width - _MARGIN) // wide) :]
    for row, text in enumerate(charts.columns(shown, most, _ROWS)):
        label = charts.amount(most) if row == 0 else "0" if row == _ROWS - 1 else ""
        bars = "".join(block * (wide - (wide > 2)) + " " * (wide > 2) for block in text)
        yield f"{style(f'{label:>{_MARGIN - 1}}', 'dim')} {style(bars.rstrip(), 'cyan')}".rstrip()
    first, last = panel.labels[len(sums) - len(shown)], panel.labels[-1]
    between = "…" if " to " in first else "to"
    span = f"{first} {between} {last}" if first != last else first
    said = ", ".join(filter(None, (span, line(panel.title), panel.said)))
    yield style(cut(f"{'':{_MARGIN}}{said}", width), "dim")
    together = [
        f"{line(one.name)} {charts.amount(total)}"
        for one in chart.series
        if (total := _told(chart, panel, one.key))
    ]
    if together:
        yield cut(f"{'':{_MARGIN}}{'; '.join(together)}", width)


def _told(chart: Chart, panel: Panel, key: str) -> float:
    """Of what grows the last number says all, else the sum does."""
    values = panel.values[key]
    return values[-1] if chart.title == "Growth" else sum(values)


def _lines(chart: Chart, panel: Panel, width: int, style: Style) -> Iterator[str]:
    """A line of bars for each kind, all on one scale."""
    most = max(max(panel.values[one.key], default=0) for one in chart.series)
    room = max(1, width - _NAMES - 10)
    wide = max(1, min(4, room // max(len(panel.labels), 1)))
    if panel.title:
        yield cut(f"  {line(panel.title)}", width)
    for one in chart.series:
        values = panel.values[one.key][-room:]
        if any(values):
            name = set_cell_size(cut(one.name, _NAMES - 2), _NAMES - 2)
            yield f"  {name} {_bars(one.key, values, most, wide, style)}"
    labels = panel.labels[-room:]
    if labels and len(chart.panels) == 1:
        said = f"{labels[0]} to {labels[-1]}; {panel.said}, the highest is {charts.amount(most)}"
        yield style(cut(f"  {said}", width), "dim")


def _bars(kind: str, values: Sequence[float], most: float, wide: int, style: Style) -> str:
    """Bars so many characters wide, in the colour of a kind of use, and their sum."""
    bars = charts.blocks([value for value in values for _ in range(wide)], most)
    return f"{style(bars, _USES[kind][1])}  {charts.amount(sum(values))}"


def influence(rows: Sequence[answers.Influencing], style: Style) -> str:
    """A line of bars for each kind of use of each memory, over the same days, weeks or months."""
    starts = charts.periods(charts.all_days(rows))
    series = {
        (row["id"], kind): charts.binned(row["days"][kind], starts)
        for row in rows
        for kind in _USES
    }
    most = max((max(counts, default=0) for counts in series.values()), default=0)
    wide = max(1, min(4, 48 // max(len(starts), 1)))
    text = []
    for row in rows:
        text.append(f"{style(line(row['title']), 'bold')}  {render.short(line(row['id']))}")
        told = [
            f"  {name:<26} {_bars(kind, counts, most, wide, style)}"
            for kind, (name, _) in _USES.items()
            if any(counts := series[row["id"], kind])
        ]
        text += told or ["  nobody has looked at it yet"]
    if starts:
        each = f"a bar is {charts.length(starts)}, the highest is {charts.amount(most)}"
        text.append(style(f"{starts[0]} to {starts[-1]}; {each}", "dim"))
    return "\n".join(text)


def written(face: Face, name: str, found: Sequence[Chart], data: Mapping[str, Any]) -> Output:
    """The charts as a file, or (`-`) to standard output. A file that is no chart stays. Raises
    InvalidInput, DiskProblem."""
    text = charts.svg(found)
    if name == "-":
        return Output(text.rstrip("\n"), data)
    path = Path(face.request.cwd, name)
    try:
        if path.exists() and not path.read_bytes().startswith(b"<svg"):
            hint = "Choose another name."
            raise InvalidInput(f"{path} is there and is no chart", kept=KEPT, hint=hint)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise DiskProblem(f"the chart could not be written to {path}: {why}", kept=KEPT) from error
    left = len(data["results"]) - charts.PANELS if "results" in data else 0
    rest = f"; the {left} least used are left out" if left > 0 else ""
    return Output(f"Wrote {line(str(path))}{rest}", data)
