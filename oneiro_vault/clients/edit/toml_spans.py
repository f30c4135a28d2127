"""TOML edited by splicing whole statements: comments, order, quotes and line ends of everything
else stay as they are.

Every function takes a text that `tomllib` has read already; this module only finds where its
statements stand.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[str, ...]
_KEY: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_DOT: Final = re.compile(r"[ \t]*\.[ \t]*")
_GAP: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_TOKEN: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*|[\[{]|[\]}]|\r?\n|[^"'\#\[\]{}\n\r]+|\r''',
    re.DOTALL,
)
_EQUALS: Final = re.compile(r"[ \t=]*")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Statement:
    """A table header (`value` is None) or a key with its value; `path` is its full name, `start`
    and `stop` its whole lines."""

    path: Path
    start: int
    stop: int
    value: tuple[int, int] | None


def statements(text: str) -> Iterator[Statement]:
    """Headers and pairs in order; comments and blank lines belong to none."""
    table: Path = ()
    position = begin = 1 if text.startswith("\ufeff") else 0
    while True:
        position = _past(_GAP, text, position)
        if position >= len(text):
            return
        start = max(text.rfind("\n", 0, position) + 1, begin)
        if text[position] == "[":
            table, after = _key(text, position + (2 if text.startswith("[[", position) else 1))
            stop = _line_end(text, after)
            yield Statement(table, start, stop, None)
        else:
            name, after = _key(text, position)
            first = _past(_EQUALS, text, after)
            last = _value_end(text, first)
            stop = _line_end(text, last)
            yield Statement(table + name, start, stop, (first, last))
        position = stop


def append(text: str, path: Path, values: Mapping[str, Any]) -> tuple[str, str]:
    """The text with a table more at its end, and the glue that was put before it."""
    newline = _newline(text)
    ended = not text.strip("\ufeff") or text.endswith(newline * 2)
    glue = "" if ended else newline if text.endswith("\n") else newline * 2
    lines = [
        f"[{'.'.join(map(_name, path))}]",
        *(f"{_name(key)} = {literal(value)}" for key, value in values.items()),
    ]
    return text + glue + "".join(line + newline for line in lines), glue


def remove(text: str, path: Path, glue: str | None = None) -> str:
    """The text without every statement at or below `path`, and without the glue (None: a blank
    line) before the first."""
    runs: list[list[int]] = []
    before = -1
    for number, found in enumerate(statements(text)):
        if found.path[: len(path)] == path:
            if runs and before == number - 1:
                runs[-1][1] = found.stop
            else:
                runs.append([found.start, found.stop])
            before = number
    for number in range(len(runs) - 1, -1, -1):
        start, stop = runs[number]
        text = _cut(text, start, stop, glue if number == 0 else "")
    return text


def replace(text: str, path: Path, value: Any) -> str | None:
    """The text with another value of one key; None when no statement names that key."""
    for found in statements(text):
        if found.path == path and found.value is not None:
            first, last = found.value
            return text[:first] + literal(value) + text[last:]
    return None


def _cut(text: str, start: int, stop: int, glue: str | None) -> str:
    head, rest = text[:start], text[stop:]
    newline = _newline(text)
    if glue is None:
        glue = (
            newline if head.endswith(newline * 2) and (not rest or rest.startswith(newline)) else ""
        )
    if glue and head.endswith(glue):
        head = head.removesuffix(glue)
        if (
            rest and head and not head.endswith("\n")
        ):  # somebody wrote below: two lines must not become one
            head += newline
    return head + rest


def _key(text: str, position: int) -> tuple[Path, int]:
    """A dotted key and where it ends."""
    position = _past(_EQUALS, text, position)
    parts = []
    while found := _KEY.match(text, position):
        parts.append(_decoded(found[0]))
        dot = _DOT.match(text, found.end())
        if dot is None:
            return tuple(parts), found.end()
        position = dot.end()
    return tuple(parts), position


def _decoded(token: str) -> str:
    if token[0] == "'":
        return token[1:-1]
    return str(next(iter(tomllib.loads(f"{token} = 0")))) if token[0] == '"' else token


def _value_end(text: str, position: int) -> int:
    """Where the value that begins here ends, without the white space behind it."""
    depth = 0
    stop = position
    while found := _TOKEN.match(text, position):
        token = found[0]
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if not depth and (token[0] == "#" or (token.endswith("\n") and token[0] in "\r\n")):
            return stop
        if token.strip():
            stop = found.end() - len(token) + len(token.rstrip())
        position = found.end()
    return stop


def _past(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where the text that fits a pattern ends."""
    found = pattern.match(text, position)
    return found.end() if found else position


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def _newline(text: str) -> str:
    found = text.find("\n")
    return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"


def _name(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else literal(key)


def literal(value: Any) -> str:
    """A string, bool, number or list of them as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
