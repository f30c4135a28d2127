"""A body as the pieces that a merge moves about: paragraphs, headings, list items, quotes, fenced
code, and the callout in which it keeps the words of the side that did not win (`> [!conflict] …`,
as Obsidian shows it). Lossless and without a parser.

`markdown.parse` knows more and costs 20 ms to load; a merge driver is started anew for every note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TEXT, HEADING, ITEM, QUOTE, FENCE = "text", "heading", "item", "quote", "fence"

_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_QUOTE: Final = re.compile(r" {0,3}>")
_FENCE: Final = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+|[ \t]*)(`{3,}(?=[^`]*$)|~{3,})")
_INDENTED: Final = re.compile(r"  |[ ]?\t")


class Unit(NamedTuple):
    """`text` without white space at its end, `gap` all white space behind it."""

    text: str
    gap: str = ""

    @property
    def kind(self) -> str:
        """What it is, from its first line."""
        return kind(self.text.partition("\n")[0])


def kind(line: str) -> str:
    """From the first line (a callout inside a list item is a piece of its own)."""
    if _FENCE.match(line):
        return ITEM if _ITEM.match(line) else FENCE
    return (
        ITEM
        if _ITEM.match(line)
        else HEADING
        if _HEADING.match(line)
        else QUOTE
        if _QUOTE.match(line)
        else TEXT
    )


def split(body: str) -> tuple[str, list[Unit]]:
    """Blank lines at the beginning, and the pieces; put together they are `body` again. Lines end
    with LF."""
    reader = _Reader()
    for line in body.split("\n"):
        reader.take(line)
    pieces = ["\n".join(lines) for lines in reader.found]
    lead = (
        pieces[0] + "\n"
        if len(pieces) > 1 and reader.found[0]
        else pieces[0]
        if len(pieces) == 1
        else ""
    )
    return lead, [
        _unit(piece, last)
        for piece, last in zip(pieces[1:], [*[False] * (len(pieces) - 2), True], strict=False)
    ]


def _unit(piece: str, last: bool) -> Unit:
    text = piece.rstrip()
    return Unit(text, piece[len(text) :] + ("" if last else "\n"))


class _Reader:
    """The first piece holds the blank lines before everything."""

    def __init__(self) -> None:
        self.found: list[list[str]] = [[]]
        self._kind = ""
        self._fence = ""
        self._blank = False

    def take(self, line: str) -> None:
        if self._fence:
            self.found[-1].append(line)
            bare = line.strip()
            if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
                self._fence = ""
            return
        if not line.strip():
            self.found[-1].append(line)
            self._blank = True
            return
        opened = _FENCE.match(line)
        if not self._kind or self._begins(line):
            self.found.append([])
            self._kind = QUOTE if is_callout(line) else kind(line)
        self.found[-1].append(line)
        self._blank, self._fence = False, opened[1] if opened else ""

    def _begins(self, line: str) -> bool:
        new = kind(line)
        if new in (ITEM, HEADING) or self._kind in (HEADING, FENCE):
            return True
        if is_callout(line):
            return True
        if self._kind == ITEM and _INDENTED.match(line):
            return False
        if self._blank or new == FENCE:
            return True
        return new == QUOTE and self._kind != QUOTE


def join(
    lead: str, units: Iterable[Unit], neighbours: frozenset[tuple[str, str]] = frozenset()
) -> str:
    """Pieces that would run into each other get a blank line; `neighbours` stood side by side
    before."""
    parts = [lead]
    before: Unit | None = None
    for unit in units:
        if before is not None:
            parts.append(_between(before, unit, neighbours))
        parts.append(unit.text)
        before = unit
    return "".join(parts) + (before.gap if before else "")


def _between(before: Unit, after: Unit, neighbours: frozenset[tuple[str, str]]) -> str:
    gap = before.gap if "\n" in before.gap else before.gap + "\n"
    if gap.count("\n") > 1 or (before.text, after.text) in neighbours:
        return gap
    _, apart = split(f"{before.text}\n{after.text}")
    quotes = before.kind == after.kind == QUOTE
    return (
        gap
        if [unit.text for unit in apart] == [before.text, after.text] and not quotes
        else gap + "\n"
    )


KIND: Final = "conflict"
"""The callout's kind, and the flag of a note that holds one."""
_LONE: Final = re.compile(r"(?<!\r)\n|\r(?!\n)")
_HEAD: Final = re.compile(rf"^[ \t]*>[ \t]*\[!{KIND}\]", re.M | re.I)
_LINE: Final = re.compile(r"[ \t]*>[ ]?")
_LISTED: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")


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
    """One at a time: a body may have very many callouts."""
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
    found = _LISTED.match(text)
    return " " * len(found[0].expandtabs(4)) if found else ""
