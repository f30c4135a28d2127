"""A canvas of Obsidian's (JSON Canvas 1.0) as text: its cards from top to bottom, those of a group
under its name, and what its arrows say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from oneiro_vault.importers.memories.written_note import line, prose

_LABEL: Final = 60
_EDGES: Final = "## Arrows"


def read(data: bytes) -> str:
    """The text of a canvas, "" when nothing is on it. Raises ValueError for what is none."""
    found = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    nodes = sorted(filter(_is_node, _list(found.get("nodes"))), key=_place)
    cards = [node for node in nodes if node.get("type") != "group"]
    parts: list[str] = []
    for group in (node for node in nodes if node.get("type") == "group"):
        inside = [card for card in cards if _within(card, group)]
        cards = [card for card in cards if card not in inside]
        parts += [f"## {line(group.get('label')) or 'Group'}", *filter(None, map(_text, inside))]
    parts = [*filter(None, map(_text, cards)), *parts]
    return "\n\n".join([*parts, *_arrows(nodes, _list(found.get("edges")))])


def _arrows(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Any]) -> Iterator[str]:
    named = {str(node.get("id")): _label(node) for node in nodes}
    lines = []
    for edge in filter(_is_node, edges):
        ends = [named.get(str(edge.get(key)), "") for key in ("fromNode", "toNode")]
        if all(ends):
            said = line(edge.get("label"))
            lines.append(f"- {ends[0]} → {ends[1]}{f': {said}' if said else ''}")
    if lines:
        yield _EDGES
        yield "\n".join(lines)


def _text(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    if kind == "file" and line(node.get("file")):
        return f"![[{_target(node)}]]"
    if kind == "link" and line(node.get("url")):
        return f"<{line(node.get('url'))}>"
    return prose(node.get("text"))


def _target(node: Mapping[str, Any]) -> str:
    return line(node.get("file")).removesuffix(".md") + line(node.get("subpath"))


def _label(node: Mapping[str, Any]) -> str:
    if node.get("type") == "file":
        return f"[[{_target(node)}]]"
    said = prose(node.get("text")) or line(node.get("label")) or line(node.get("url"))
    first = said.splitlines()[0].lstrip("#>-* ") if said else ""
    return first if len(first) <= _LABEL else first[: _LABEL - 1] + "…"


def _place(node: Mapping[str, Any]) -> tuple[float, float, str]:
    return _number(node.get("y")), _number(node.get("x")), str(node.get("id"))


def _within(card: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    return all(
        _number(group.get(at)) <= _number(card.get(at)) <= _number(group.get(at)) + size
        for at, size in (("x", _number(group.get("width"))), ("y", _number(group.get("height"))))
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_node(value: object) -> bool:
    return isinstance(value, dict)
