"""Edits of JSON and JSONC texts: every character that is not part of the edit stays as it is.

Removing what was just inserted gives the text from before, except inside a container that was
empty: whoever inserts remembers what stood there (`Document.interior`).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from oneiro_vault.clients.edit.jsonc import SPACE, Document, Element, Node

_MARGIN: Final = re.compile(r"[ \t]*")
_BREAK: Final = re.compile("\r\n|\n|\r")


def replace(document: Document, node: Node, value: Any) -> str:
    """The text with another value in a node's place."""
    layout = _Layout(document)
    inline = not _BREAK.search(document.text, node.start, node.stop)
    return (
        document.text[: node.start]
        + layout.written(value, layout.margin(node.start), inline)
        + document.text[node.stop :]
    )


def insert(document: Document, node: Node, value: Any, key: str = "") -> str:
    """The text with one more element at the end of a container, written as its neighbours are."""
    text, layout = document.text, _Layout(document)
    close = node.stop - 1
    at = len(text[:close].rstrip(SPACE))
    last = node.elements[-1] if node.elements else None
    indent, inline = layout.of_new(node, last)
    name = (
        f"{json.dumps(key, ensure_ascii=False)}:{'' if layout.minified else ' '}"
        if node.kind == "object"
        else ""
    )
    written = name + layout.written(value, indent, inline)
    lead = layout.newline + indent if not inline else " " if last and not layout.minified else ""
    if last is None:
        tail = (
            ""
            if inline or _BREAK.search(text, at, close)
            else layout.newline + layout.margin(node.start)
        )
        return text[:at] + lead + written + tail + text[at:]
    if last.comma >= 0:  # their list ends in a comma, so ours does
        return text[:at] + lead + written + "," + text[at:]
    return text[: last.stop] + "," + text[last.stop : at] + lead + written + text[at:]


def remove(document: Document, node: Node, index: int) -> str:
    """The text without one element of a container, its comma, and the white space before it;
    comments around it stay."""
    text, element = document.text, node.elements[index]
    last = index == len(node.elements) - 1
    start = len(text[: element.start].rstrip(SPACE))
    after = (
        text[element.stop :]
        if element.comma < 0
        else text[element.stop : element.comma] + text[element.comma + 1 :]
    )
    rest = after.lstrip(SPACE)
    if index == 0 and not last and not _BREAK.search(text, start, element.start):
        return text[: element.start] + rest
    glued = start in document.line_ends and not _BREAK.search(after, 0, len(after) - len(rest))
    if glued or rest.startswith("/"):  # a comment stays on a line of its own
        start = element.start
    before = node.elements[index - 1].comma if index and element.comma < 0 else -1
    return (text[:start] if before < 0 else text[:before] + text[before + 1 : start]) + after


class _Layout:
    """How a text is laid out: its line ends, its indentation, its spaces."""

    def __init__(self, document: Document) -> None:
        text, root = document.text, document.root
        self._text, self._root = text, root
        self._many_lines = bool(_BREAK.search(text, root.start, root.stop))
        found = _BREAK.search(text)
        self.newline = found[0] if found else "\n"
        self.minified = (
            bool(root.elements) and not self._many_lines and not re.search(r'":[ \t]', text)
        )
        first = root.elements[0].start if root.elements else 0
        self._unit = (self.margin(first) if self._line_start(first) else "") or "  "

    def margin(self, position: int) -> str:
        """The white space its line begins with."""
        found = _MARGIN.match(self._text, self._line_start(position))
        return found[0] if found else ""

    def written(self, value: Any, indent: str, inline: bool) -> str:
        """A value as JSON, its later lines indented by `indent` and more."""
        if inline:
            return json.dumps(
                value, ensure_ascii=False, separators=(",", ":") if self.minified else None
            )
        return (self.newline + indent).join(
            json.dumps(value, ensure_ascii=False, indent=self._unit).split("\n")
        )

    def of_new(self, node: Node, last: Element | None) -> tuple[str, bool]:
        """The indentation of a new element, and whether it stays on its container's line."""
        deeper = self.margin(node.start) + self._unit
        if last is None:
            return deeper, not self._many_lines and node is not self._root
        for neighbour in (last, node.elements[0]):
            begin = self._line_start(neighbour.start)
            lead = self._text[begin : neighbour.start]
            if begin and not lead.strip(" \t"):
                return lead, False
        return deeper, not _BREAK.search(self._text, last.stop, node.stop - 1)

    def _line_start(self, position: int) -> int:
        return max(self._text.rfind("\n", 0, position), self._text.rfind("\r", 0, position)) + 1
