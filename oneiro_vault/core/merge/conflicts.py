"""The callout in which a merge keeps the words of the side that did not win: `> [!conflict] …`, as
Obsidian shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

KIND: Final = "conflict"
"""The callout's kind, and the flag of a note that holds one."""
_LONE: Final = re.compile(r"(?<!\r)\n|\r(?!\n)")
_HEAD: Final = re.compile(rf"^[ \t]*>[ \t]*\[!{KIND}\]", re.M | re.I)
_LINE: Final = re.compile(r"[ \t]*>[ ]?")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


def line_ends(text: str) -> tuple[str, str]:
    """A text with LF line ends, and what they were; one that mixes them stays as it is."""
    crlf = "\r\n" in text and not _LONE.search(text)
    return (text.replace("\r\n", "\n"), "\r\n") if crlf else (text, "\n")


def callout(text: str, what: str, date: str, indent: str = "") -> str:
    """`text` as a callout that says `what` it is and from when."""
    head = f"[!{KIND}] {what}{f' ({date})' if date else ''}"
    return "\n".join(f"{indent}> {line}".rstrip() for line in (head, *text.split("\n")))


def fenced(text: str) -> str:
    """`text` as code that ends where `text` ends, whatever fences it has itself."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def is_callout(text: str) -> bool:
    """Is a piece of a body such a callout?"""
    return _HEAD.match(text) is not None


def held(body: str) -> list[tuple[str, ...]]:
    """What each callout of a body holds: its lines, without the fence around a whole file."""
    found = []
    for head in _HEAD.finditer(body):
        lines = []
        for line in _lines_after(body, head.end()):
            mark = _LINE.match(line)
            if not mark or _HEAD.match(line):
                break
            lines.append(line[mark.end() :].strip())
        if len(lines) > 1 and lines[0] == lines[-1] and not lines[0].strip("`"):
            lines = lines[1:-1]
        found.append(tuple(filter(None, lines)))
    return found


def _lines_after(body: str, place: int) -> Iterator[str]:
    """The lines below the one that holds `place`, one at a time: a body may have very many
    callouts."""
    start = body.find("\n", place) + 1
    while start:
        end = body.find("\n", start)
        yield body[start : end if end >= 0 else None]
        start = end + 1


def plain(text: str) -> str:
    """The words of a text, one blank between them."""
    return " ".join(text.split())


def says(text: str, words: str) -> bool:
    """Does a text of `plain` words hold these, one after the other?"""
    return f" {plain(words)} " in f" {text} "


def below(body: str, note: str) -> str:
    """A body with one more piece at its end, unless it has that already."""
    if note in body:
        return body
    end = body[len(body.rstrip()) :] or "\n"
    return f"{body.rstrip()}\n\n{note}{end}" if body.strip() else f"{body}{note}\n"


def inset(text: str) -> str:
    """The white space that puts a line inside a list item; "" when `text` is none."""
    found = _ITEM.match(text)
    return " " * len(found[0].expandtabs(4)) if found else ""
