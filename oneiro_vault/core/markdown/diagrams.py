"""A graph drawn in the languages of other programs: Mermaid, Graphviz DOT, JSON Canvas 1.0
(Obsidian); and how often memories were used over time, as bars in SVG."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from html import escape
from typing import Any, Final

from oneiro_vault.answers import Graphed, GraphEdge, GraphNode, Influencing

LONGEST: Final = 60
"""Characters of a name in a drawing."""
_WIDE: Final = 260
_HIGH: Final = 80
_APART: Final = 340
"""Pixels of a card on a canvas, and from one ring of cards to the next."""
_UNSAFE: Final = re.compile(r"[^\w\s.,:;!?'()+@/&-]")


def mermaid(found: Graphed) -> str:
    """A flowchart; entities are rounded, notes are boxes, bare names are dashed."""
    names = {node["ref"]: f"n{number}" for number, node in enumerate(found["nodes"])}
    lines = ["flowchart LR"]
    for node in found["nodes"]:
        opened, closed = ("([", "])") if node["type"] == "entity" else ("[", "]")
        bare = ":::name" if node["type"] == "name" else ""
        lines.append(f'  {names[node["ref"]]}{opened}"{_label(node)}"{closed}{bare}')
    for edge in found["edges"]:
        relation = _plain(edge["relation"])
        lines.append(f"  {names[edge['source']]} -->|{relation}| {names[edge['target']]}")
    return "\n".join([*lines, "  classDef name stroke-dasharray: 4 3", ""])


def dot(found: Graphed) -> str:
    """A digraph."""
    shapes = {"entity": "ellipse", "name": "plaintext"}
    lines = ["digraph memory {", "  rankdir=LR;", "  node [fontname=sans];"]
    for node in found["nodes"]:
        shape = shapes.get(node["type"], "box")
        lines.append(f"  {_string(node['ref'])} [label={_string(_name(node))}, shape={shape}];")
    for edge in found["edges"]:
        ends = f"{_string(edge['source'])} -> {_string(edge['target'])}"
        lines.append(f"  {ends} [label={_string(edge['relation'])}];")
    return "\n".join([*lines, "}", ""])


def canvas(found: Graphed) -> str:
    """A canvas: the first node in the middle, the others in rings by how far they are. Notes are
    files of the vault, names are text."""
    places = _rings(found["nodes"])
    nodes = [_card(node, *places[node["ref"]]) for node in found["nodes"]]
    edges = [
        _arrow(number, edge, places[edge["source"]], places[edge["target"]])
        for number, edge in enumerate(found["edges"])
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent="\t") + "\n"


FORMATS: Final[Mapping[str, Callable[[Graphed], str]]] = {
    "mermaid": mermaid, "dot": dot, "canvas": canvas,
}  # fmt: skip


def _rings(nodes: list[GraphNode]) -> dict[str, tuple[int, int]]:
    rings: dict[int, list[str]] = {}
    for node in nodes:
        rings.setdefault(node["hops"], []).append(node["ref"])
    places: dict[str, tuple[int, int]] = {}
    radius = 0.0
    for hop in sorted(rings):
        around = len(rings[hop]) * (_WIDE + 40) / (2 * math.pi)
        radius = max(radius + _APART, around) if hop else 0.0
        for number, ref in enumerate(rings[hop]):
            angle = 2 * math.pi * number / len(rings[hop])
            places[ref] = round(radius * math.cos(angle)), round(radius * math.sin(angle))
    return places


def _card(node: GraphNode, x: int, y: int) -> dict[str, Any]:
    card: dict[str, Any] = {
        "id": node["ref"], "x": x - _WIDE // 2, "y": y - _HIGH // 2, "width": _WIDE,
        "height": _HIGH,
    }  # fmt: skip
    if node["path"] is not None:
        return card | {"type": "file", "file": node["path"]}
    return card | {"type": "text", "text": node["name"]}


def _arrow(
    number: int, edge: GraphEdge, begin: tuple[int, int], end: tuple[int, int]
) -> dict[str, str]:
    right, down = end[0] - begin[0], end[1] - begin[1]
    if abs(right) >= abs(down):
        sides = ("right", "left") if right >= 0 else ("left", "right")
    else:
        sides = ("bottom", "top") if down >= 0 else ("top", "bottom")
    return {
        "id": f"edge-{number}", "fromNode": edge["source"], "fromSide": sides[0],
        "toNode": edge["target"], "toSide": sides[1], "label": edge["relation"],
    }  # fmt: skip


def _name(node: GraphNode) -> str:
    return _brief(node["name"])


def _brief(text: str) -> str:
    name = " ".join(text.split())
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1].rstrip()}…"


def _label(node: GraphNode) -> str:
    return (
        _name(node)
        .replace("&", "&amp;")
        .replace('"', "&quot;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )


def _plain(text: str) -> str:
    return " ".join(_UNSAFE.sub(" ", text).split()) or "-"


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


PERIODS: Final = 32
"""Bars in a row at most: days, where that is enough, else weeks, else months, the last ones."""
PANELS: Final = 40
"""Memories in one chart."""
_LEFT: Final = 36
_ACROSS: Final = 648
_UP: Final = 48
_DOWN: Final = 20
_PANEL: Final = _UP + _DOWN + 52
"""Pixels: where the bars begin, how wide and high all of them are, and a panel with its lines."""
_SHADES: Final = (
    ("found", "looked at after a question had found it", "#1d4ed8", "#60a5fa"),
    ("looked", "looked at otherwise", "#93b8f5", "#2f5fb3"),
    ("useful", "called useful", "#15803d", "#4ade80"),
    ("wrong", "called wrong", "#c2410c", "#fb923c"),
)
"""Of a kind of use: its class, its name, its colour on light and on dark."""


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


def binned(days: Mapping[str, int], starts: Sequence[date]) -> list[int]:
    """How many of them fall into each period."""
    found = [0] * len(starts)
    for day, number in days.items():
        place = bisect_right(starts, date.fromisoformat(day)) - 1
        if place >= 0:
            found[place] += number
    return found


def all_days(rows: Iterable[Influencing]) -> set[str]:
    """Every day on which any of them was used or judged."""
    return {day for row in rows for days in row["days"].values() for day in days}


def svg(rows: Sequence[Influencing]) -> str:
    """A chart of how often each was looked at, called useful (up) and wrong (down), a panel each;
    for light and dark, without anything from elsewhere."""
    shown, starts = rows[:PANELS], periods(all_days(rows))
    panels = [_stacks(row, starts) for row in shown]
    most = max((sum(bar[:3]) for bars in panels for bar in bars), default=0)
    most = max([most, 1, *(-(-bar[3] * _UP // _DOWN) for bars in panels for bar in bars)])
    high = 64 + _PANEL * len(shown)
    title = "How often each was looked at, called useful and wrong"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {high}" width="720" '
        f'height="{high}" role="img" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f"<style>{_style()}</style>",
        f'<rect class="ground" width="720" height="{high}"/>',
        *_legend(),
    ]
    for number, (row, bars) in enumerate(zip(shown, panels, strict=True)):
        parts += _panel(row, bars, starts, most, 64 + _PANEL * number)
    return "\n".join([*parts, "</svg>", ""])


def _stacks(row: Influencing, starts: Sequence[date]) -> list[tuple[int, int, int, int]]:
    found, looked, useful, wrong = (binned(row["days"][kind], starts) for kind, *_ in _SHADES)
    others = [number - part for number, part in zip(looked, found, strict=True)]
    return list(zip(found, others, useful, wrong, strict=True))


def _style() -> str:
    light = "".join(f".{kind}{{fill:{colour}}}" for kind, _, colour, _ in _SHADES)
    dark = "".join(f".{kind}{{fill:{colour}}}" for kind, _, _, colour in _SHADES)
    return (
        "text{fill:#1f2937}.ground{fill:#fff}.axis{stroke:#9ca3af}.small{font-size:10px}"
        f"{light}@media (prefers-color-scheme:dark){{text{{fill:#e5e7eb}}.ground{{fill:#111827}}"
        f".axis{{stroke:#4b5563}}{dark}}}"
    )


def _legend() -> list[str]:
    parts, x = [], _LEFT
    for kind, name, *_ in _SHADES:
        parts.append(f'<rect class="{kind}" x="{x}" y="18" width="12" height="12" rx="2"/>')
        parts.append(f'<text x="{x + 17}" y="28">{name}</text>')
        x += 37 + 6 * len(name)
    return parts


def _panel(
    row: Influencing,
    bars: Sequence[tuple[int, int, int, int]],
    starts: Sequence[date],
    most: int,
    top: int,
) -> list[str]:
    zero = top + 16 + _UP
    title = "".join(c if c.isprintable() else " " for c in row["title"])
    said = f"{row['uses']} uses, {row['useful']} useful, {row['wrong']} wrong"
    right = _LEFT + _ACROSS
    parts = [
        f'<text x="{_LEFT}" y="{top + 4}" font-weight="600">{escape(_brief(title))}</text>',
        f'<text x="{right}" y="{top + 4}" text-anchor="end" class="small">{said}</text>',
        f'<line class="axis" x1="{_LEFT}" y1="{zero}" x2="{right}" y2="{zero}"/>',
        f'<text x="{_LEFT - 6}" y="{zero - _UP + 8}" text-anchor="end" class="small">{most}</text>',
    ]
    step = _ACROSS / max(len(starts), 1)
    every = -(-len(starts) // 6)
    for number, (start, bar) in enumerate(zip(starts, bars, strict=True)):
        x = _LEFT + step * number
        parts += _bar(bar, start, x + step / 8, min(step * 3 / 4, 40), zero, _UP / most)
        if number % every == 0:
            parts.append(
                f'<text x="{x + step / 8:.1f}" y="{zero + _DOWN + 14}" class="small">{start}</text>'
            )
    return parts


def _bar(
    bar: Sequence[int], start: date, x: float, width: float, zero: int, unit: float
) -> list[str]:
    parts, above = [], float(zero)
    for number, (kind, name, *_) in zip(bar, _SHADES, strict=True):
        height = number * unit
        y = zero + 1.0 if kind == "wrong" else above - height
        above -= 0.0 if kind == "wrong" else height
        if number:
            parts.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{height:.1f}"><title>{start}: {number} {name}</title></rect>'
            )
    return parts
