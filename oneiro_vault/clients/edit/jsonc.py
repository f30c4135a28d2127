"""JSON and JSONC (comments, trailing commas) read with the place of everything: for `splice` to
edit, and for errors to point at."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

BOM: Final = "\ufeff"
SPACE: Final = " \t\r\n"
_DEEPEST: Final = 100
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_LINE_COMMENT: Final = re.compile(r"//[^\r\n]*")
_BLOCK_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_WORD: Final = re.compile(r'"[^"\r\n]{0,30}"?|[^\s,:\[\]{}"/]+')


class JsonError(ValueError):
    """The text is not JSON; `line` and `column` (from 1, in characters) say where."""

    def __init__(self, what: str, text: str, position: int) -> None:
        super().__init__(what)
        self.line, self.column = place(text, position)


def place(text: str, position: int) -> tuple[int, int]:
    """Line and column, both from 1, of a position in a text."""
    breaks = [found.end() for found in re.finditer("\r\n|\n|\r", text[:position])]
    return len(breaks) + 1, position - (breaks[-1] if breaks else text.startswith(BOM)) + 1


@dataclass(frozen=True)
class Node:
    """A value: `kind` is `object`, `array` or `scalar`; `data` of a scalar is its value;
    `text[start:stop]` is how it is written."""

    kind: str
    start: int
    stop: int
    data: Any = None
    elements: tuple[Element, ...] = ()

    def get(self, key: str) -> Element | None:
        """The last member of that name, as every JSON reader takes it."""
        return next((found for found in reversed(self.elements) if found.key == key), None)

    def value(self) -> Any:
        """The value as Python data."""
        if self.kind == "object":
            return {found.key: found.node.value() for found in self.elements}
        return (
            [found.node.value() for found in self.elements] if self.kind == "array" else self.data
        )


@dataclass(frozen=True)
class Element:
    """A member of an object (`key`) or an item of an array (key is ""); `comma` is where the one
    behind it stands, or -1."""

    key: str
    start: int
    stop: int
    comma: int
    node: Node


class Document:
    """A parsed text. `comments` allows comments and trailing commas; `line_ends` is where `//`
    comments end. Raises JsonError."""

    def __init__(self, text: str, comments: bool = True) -> None:
        self.text = text
        self._comments = comments
        self.line_ends: set[int] = set()
        start = self._skip(len(BOM) if text.startswith(BOM) else 0)
        self.root = self._value(start, 0)
        rest = self._skip(self.root.stop)
        if rest < len(text):
            raise self._error(rest, f"{self._seen(rest)} after the end")

    def _error(self, position: int, what: str) -> JsonError:
        return JsonError(what, self.text, position)

    def _seen(self, position: int) -> str:
        """What stands there, for a message."""
        word = _WORD.match(self.text, position)
        return (
            repr(word[0][:32] if word else self.text[position])
            if position < len(self.text)
            else "the end of the file"
        )

    def _skip(self, position: int) -> int:
        """The next position that is neither white space nor comment."""
        while True:
            position = _blank(self.text, position)
            if self.text[position : position + 2] not in ("//", "/*"):
                return position
            line = _LINE_COMMENT.match(self.text, position)
            found = line or _BLOCK_COMMENT.match(self.text, position)
            if found is None:
                raise self._error(position, "a comment that does not end")
            if not self._comments:
                raise self._error(position, "a comment, which JSON does not have")
            position = found.end()
            if line:
                self.line_ends.add(line.start() + len(line[0].rstrip(SPACE)))

    def _value(self, position: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self._error(position, f"nested more than {_DEEPEST} deep")
        first = self.text[position : position + 1]
        if first in ("{", "["):
            return self._container(position, depth)
        found = _STRING.match(self.text, position) or _PLAIN.match(self.text, position)
        if found is None:
            what = (
                "a string that does not end on its line, or has a bad escape"
                if first == '"'
                else f"{self._seen(position)} is no value"
            )
            raise self._error(position, what)
        return Node("scalar", position, found.end(), _scalar(found[0]))

    def _container(self, start: int, depth: int) -> Node:
        is_object = self.text[start] == "{"
        closing = "}" if is_object else "]"
        elements: list[Element] = []
        position = self._skip(start + 1)
        while self.text[position : position + 1] != closing:
            if elements and elements[-1].comma < 0:
                raise self._error(
                    position, f"',' or '{closing}' is missing before {self._seen(position)}"
                )
            element = self._element(position, is_object, depth)
            position = self._skip(element.stop)
            if self.text[position : position + 1] == ",":
                element = Element(element.key, element.start, element.stop, position, element.node)
                position = self._skip(position + 1)
            elements.append(element)
        if elements and elements[-1].comma >= 0 and not self._comments:
            raise self._error(
                elements[-1].comma, "a comma before the closing bracket, which JSON does not allow"
            )
        return Node("object" if is_object else "array", start, position + 1, None, tuple(elements))

    def _element(self, start: int, is_object: bool, depth: int) -> Element:
        if not is_object:
            node = self._value(start, depth + 1)
            return Element("", start, node.stop, -1, node)
        found = _STRING.match(self.text, start)
        if found is None:
            raise self._error(
                start, f"a name in double quotes is missing before {self._seen(start)}"
            )
        colon = self._skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self._error(colon, f"':' is missing before {self._seen(colon)}")
        node = self._value(self._skip(colon + 1), depth + 1)
        return Element(_scalar(found[0]), start, node.stop, -1, node)

    def interior(self, node: Node) -> str:
        """What stands between the brackets of a container."""
        return self.text[node.start + 1 : node.stop - 1]


def _blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _scalar(token: str) -> Any:
    """A string, number or word; a number too long for an int is a float."""
    if token[0] in '"tfn':
        return json.loads(token)
    return int(token) if len(token) < 1000 and token.lstrip("-").isdigit() else float(token)
