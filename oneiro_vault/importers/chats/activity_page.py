"""The page that Google makes of My Activity: a cell for each record, with local dates in the
language of the account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Final

from oneiro_vault.core.time.date_ranges import parse_range
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import Archive

_CHUNK: Final = 1 << 16
_LONGEST: Final = 8 << 20
"""Bytes between two tags; no answer is that long."""


def parted(cell: Cell) -> tuple[str, datetime | None, str]:
    """The prompt, its date and the answer: the line with the date parts them."""
    lines = cell.text.split("\n")
    for number, line in enumerate(lines[:2000]):
        if number and _TIME.search(line):
            return "\n".join(lines[:number]).strip(), shown_date(line), _tidy(lines[number + 1 :])
    return cell.text.strip(), None, ""


_ZONES: Final = {
    "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "MEZ": 1, "CEST": 2,
    "MESZ": 2, "EET": 2, "EEST": 3, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7,
    "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10, "JST": 9,
}  # fmt: skip
"""Hours; names that mean several are left out."""
_TIME: Final = re.compile(
    r"^(.{6,40}?),?\s+(\d{1,2})[:.](\d\d)[:.](\d\d)\s*([AaPp]\.?\s?[Mm]\.?)?\s+(\S{1,10})\s*$"
)
_OFFSET: Final = re.compile(r"(?:GMT|UTC)([+\-−])(\d{1,2})(?::?(\d\d))?")
_NUMBERS: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_ENGLISH: Final = re.compile(r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4})")
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)


def shown_date(line: str) -> datetime | None:
    """`Apr 12, 2026, 3:34:31 PM EDT`, and the like of other languages; None for a date or a zone
    that is not known: a guess could be a day off."""
    found = _TIME.match(_spaced(line))
    zone = _zone(found[6]) if found else None
    if found is None or zone is None:
        return None
    hour, half = int(found[2]), (found[5] or "").lower()[:1]
    if half:
        hour = hour % 12 + 12 * (half == "p")
    try:
        year, month, day = _day(found[1].strip(" ,"))
        return datetime(year, month, day, hour, int(found[3]), int(found[4]), tzinfo=zone)
    except (ValueError, InvalidInput):
        return None


def _spaced(text: str) -> str:
    return re.sub(r"[\u00a0\u202f\u2009]", " ", text).strip()


def _zone(name: str) -> timezone | None:
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        sign = 1 if offset[1] == "+" else -1
        return timezone(timedelta(minutes=sign * minutes)) if minutes < 24 * 60 else None
    hours = _ZONES.get(name)
    return None if hours is None else timezone(timedelta(hours=hours))


def _day(text: str) -> tuple[int, int, int]:
    if numbers := _NUMBERS.fullmatch(text):
        return int(numbers[3]), int(numbers[2]), int(numbers[1])
    english = _ENGLISH.fullmatch(text)
    if english and english[1] in _MONTHS:
        return int(english[3]), _MONTHS.index(english[1]) + 1, int(english[2])
    start, _ = parse_range(text, _ANY_DAY)
    if start is None:
        raise ValueError(text)
    found = datetime.fromtimestamp(start, UTC)
    return found.year, found.month, found.day


@dataclass
class Cell:
    """One record of a page: its product, and the text of its body, a line for each break."""

    product: str = ""
    text: str = ""


def cells(archive: Archive, name: str) -> Iterator[Cell]:
    """The records of a page, one after the other."""
    parser = _Page()
    with archive.open(name) as stream:
        rest = b""
        while data := stream.read(_CHUNK):
            data = rest + data
            cut = max(data.rfind(b">"), 0)  # a letter of several bytes is never parted
            parser.feed(data[:cut].decode("utf-8", "replace"))
            rest = data[cut:]
            if len(rest) > _LONGEST:
                raise InvalidInput(f"{name} is no page: it has {len(rest):,} bytes without a tag")
            yield from parser.taken()
        parser.feed(rest.decode("utf-8", "replace"))
        parser.finish()
        yield from parser.taken()


_BREAKS: Final = frozenset("br p div li tr h1 h2 h3 h4 h5 h6 pre ul ol table blockquote".split())
_UNSEEN: Final = frozenset(("script", "style", "head"))


_Attributes = list[tuple[str, str | None]]


class _Words(HTMLParser):
    """The words of a piece of HTML, with a line for each block and a mark for each item."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:  # noqa: ARG002 (its interface)
        self._hidden += tag in _UNSEEN
        if tag in _BREAKS:
            self.parts.append("\n")
        if tag == "li":
            self.parts.append("- ")
        if tag in ("p", "pre", "blockquote", "ul", "ol", "table"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _UNSEEN and self._hidden > 0
        if tag in _BREAKS - {"br", "li"}:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)


class _Page(_Words):
    """Cells of a page as they end."""

    def __init__(self) -> None:
        super().__init__()
        self._done: list[Cell] = []
        self._cell: Cell | None = None
        self._divs: list[str] = []
        self._header = False

    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:
        classes = dict(attrs).get("class") or ""
        if tag == "div":
            if "outer-cell" in classes:
                self.finish()
                self._cell, self.parts = Cell(), []
            self._divs.append(classes)
            if "content-cell" in classes:
                self.parts = []
        self._header = self._header or (tag == "p" and "title" in classes)
        super().handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if tag == "p":
            self._header = False
        if tag == "div" and self._divs:
            classes = self._divs.pop()
            if self._cell and "content-cell" in classes and "caption" not in classes:
                self._cell.text = self._cell.text or "".join(self.parts).strip()
                self.parts = []

    def handle_data(self, data: str) -> None:
        if self._header and self._cell:
            self._cell.product += data
        elif self._cell is not None:
            super().handle_data(_spaced_inside(data))

    def finish(self) -> None:
        """What is open is whole."""
        if self._cell is not None:
            self._done.append(self._cell)
        self._cell = None

    def taken(self) -> list[Cell]:
        """The cells that ended since the last time."""
        done, self._done = self._done, []
        return done


def _spaced_inside(text: str) -> str:
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def plain(html: str) -> str:
    """The words of an answer."""
    words = _Words()
    words.feed(html)
    words.close()
    return _tidy("".join(words.parts).split("\n"))


def _tidy(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()
