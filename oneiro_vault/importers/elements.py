"""Lists of JSON as a stream: one element after the other, whatever the size of the file, and a
broken one stops no other; and rows of other memory tools, which stand in such a list or in several
under the keys of one object."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from oneiro_vault.answers import Json
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.records import Skipped

LONGEST: Final = 64 << 20
"""Characters of one element; the longest conversations have a tenth of it."""
_TOO_LONG: Final = "it has {:,} characters, more than any conversation"
_CHUNK: Final = 1 << 20
_BLANK: Final = re.compile(r"[\s\ufeff]*")
_MARK: Final = re.compile(r'["\[\]{},]')
_STRING_END: Final = re.compile(r'["\\]')
_CUT: Final = 32
"""An error so near to the end of what was read may come from the end."""


@dataclass(frozen=True)
class Damaged:
    """One element that cannot be decoded: its number in the list, from 0, and why."""

    index: int
    why: str


def elements(
    stream: BinaryIO, most: int = LONGEST, keys: Collection[str] = ()
) -> Iterator[object | Damaged]:
    """What a JSON list holds, one after the other, or the list under one of `keys` of an object;
    a broken element or one of more than `most` characters is `Damaged`, and the next ones follow.

    Raises InvalidInput for what is no such list, and for one that is cut, after what came before.
    """
    text = _Text(stream, most)
    first = text.peek()
    if first == "{" and keys:
        first = text.enter(keys)
    if first != "[":
        raise InvalidInput("it is not a list of records", kept=UNTOUCHED)
    text.at += 1
    index = 0
    while (head := text.peek()) != "]":
        if not head:
            raise text.ends(index)
        if head in ",}:":
            text.at += 1
            continue
        yield text.value(index)
        index += 1


class _Text:
    """JSON as it is read, a buffer at a time; `buffer[at:]` is what is next."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream, self._most = stream, most
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")
        self._json = json.JSONDecoder(strict=False)
        self.buffer, self.at, self.ended = "", 0, False

    def more(self) -> bool:
        """Twice as much as there is, so that a long element is not tried a thousand times."""
        if self.ended:
            return False
        left = len(self.buffer) - self.at
        data = self._stream.read(max(_CHUNK, left))
        self.ended = not data
        self.buffer = self.buffer[self.at :] + self._bytes.decode(data, final=self.ended)
        self.at = 0
        return bool(data)

    def peek(self) -> str:
        """The next character that is not blank, "" at the end."""
        while True:
            self.at = cast("re.Match[str]", _BLANK.match(self.buffer, self.at)).end()
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if not self.more():
                return ""

    def enter(self, keys: Collection[str]) -> str:
        """Go to the list under one of the keys of the object that begins here: `[`, else ""."""
        self.at += 1
        while (head := self.peek()) not in ("", "}"):
            if head != '"':
                self.at += 1
                continue
            key = self.value(0)
            if self.peek() == ":":
                self.at += 1
            if self.peek() == "[" and key in keys:
                return "["
            self.pass_over()
        return ""

    def value(self, index: int) -> object | Damaged:
        """The element that begins here; behind it afterwards. Raises InvalidInput when the file
        ends in it."""
        while True:
            try:
                found, end = self._json.raw_decode(self.buffer, self.at)
            except (ValueError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                cut = self._cut(error)
            else:
                after = self.buffer[end : end + 1]
                cut = isinstance(found, int | float) and (not after or after in ".eE")
                if not cut or self.ended:
                    size, self.at = end - self.at, end
                    if size > self._most:
                        return Damaged(index, _TOO_LONG.format(size))
                    return cast("object", found)
            if cut and not self.ended and len(self.buffer) - self.at <= self._most:
                self.more()
                continue
            size = self.pass_over()
            if not self.peek():
                raise self.ends(index)
            if size > self._most:
                return Damaged(index, _TOO_LONG.format(size))
            return Damaged(index, f"it is broken JSON ({why})")

    def _cut(self, error: Exception) -> bool:
        if not isinstance(error, json.JSONDecodeError):
            return False
        return error.msg.startswith("Unterminated") or error.pos > len(self.buffer) - _CUT

    def ends(self, index: int) -> InvalidInput:
        """What to say of a file that was cut."""
        return InvalidInput(
            f"the file ends in the middle, after {index:,} whole records",
            hint="Fetch the export once more; what is whole is taken now.",
        )

    def pass_over(self) -> int:
        """Leave the element that begins here behind, whatever is in it: how many characters."""
        depth, inside, passed = 0, False, 0
        while True:
            found = (_STRING_END if inside else _MARK).search(self.buffer, self.at)
            end = found.start() if found else len(self.buffer)
            passed += end - self.at
            self.at = end
            if found is None:
                if not self.more():
                    return passed
                continue
            mark = found[0]
            if not (inside or depth) and mark in ",]}":
                return passed
            step = 1 + (mark == "\\")
            if end + step > len(self.buffer) and not self.more():
                step = 1
            self.at += step
            passed += step
            if mark == '"':
                inside = not inside
            elif not inside:
                depth += (mark in "[{") - (mark in "]}")


Row = Json
_MOST_FILES: Final = 200


@dataclass(frozen=True)
class Place:
    """Where a row stands, for a message."""

    name: str
    index: int

    def __str__(self) -> str:
        return f"{self.name}, record {self.index + 1:,}"


def rows(
    archive: Archive,
    name: str,
    keys: Collection[str] = (),
    what: str = "a record",
    lists: bool = False,
) -> Iterator[tuple[Place, Row] | Skipped]:
    """The objects of one list of a file; nothing where there is no such list. Raises InvalidInput
    for a file that is cut, after what came before, and (`lists`) where there is no list."""
    with archive.open(name) as stream:
        try:
            for index, one in enumerate(elements(stream, keys=keys)):
                place = Place(name, index)
                if isinstance(one, dict):
                    yield place, one
                elif isinstance(one, Damaged):
                    yield Skipped(str(place), one.why)
                else:
                    yield Skipped(str(place), f"it is not {what}")
        except InvalidInput as error:
            if lists:
                raise
            if error.kept != UNTOUCHED:  # it is a list, and it was cut
                raise InvalidInput(f"{name}: {error}", hint=error.hint) from error


def files(archive: Archive) -> list[str]:
    """The JSON files of an archive, as many as any store has."""
    return [name for name in archive.names() if name.lower().endswith(".json")][:_MOST_FILES]


class Kind:
    """The rows of an archive that are of one kind; `keys`: of the lists they are in, `what`: what
    they should be, for a message; `seen`: how many rows there were so far; `lists`: each of its
    files is one."""

    def __init__(
        self,
        archive: Archive,
        keys: Collection[str],
        fits: Callable[[Row], bool],
        what: str,
        lists: bool = False,
    ) -> None:
        self._archive, self._keys, self._lists = archive, keys, lists
        self._fits, self._what = fits, what
        self.seen = 0
        self._fitting = 0

    def rows(self, name: str) -> Iterator[tuple[Place, Row] | Skipped]:
        """Of one file. Raises InvalidInput for one that is cut, after what came before."""
        for found in rows(self._archive, name, self._keys, self._what, self._lists):
            self.seen += 1
            if isinstance(found, Skipped):
                yield found
            elif self._fits(found[1]):
                self._fitting += 1
                yield found
            else:
                yield Skipped(str(found[0]), f"it is not {self._what}")

    def refuse_none(self) -> None:
        """Raise InvalidInput where there were rows, and none of the kind."""
        if self.seen and not self._fitting:
            raise InvalidInput(
                f"none of the {self.seen:,} records in {self._archive.name} is {self._what}",
                kept=UNTOUCHED,
                hint="It may be another tool's export, or a later version's: "
                "`oneiro import --help` names what is read.",
            )
