"""A graph drawn in the languages of other programs: Mermaid, Graphviz DOT, JSON Canvas 1.0
(Obsidian)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from oneiro_vault.answers import Graphed, GraphEdge, GraphNode

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


def _card(node: GraphNode, x: int, y: int) -> Mapping[str, Any]:
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
    return brief(node["name"])


def brief(text: str) -> str:
    """A name, short enough for a drawing."""
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
