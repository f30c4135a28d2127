"""Finding a text however a file writes it, and taking it out so that the file stays readable.

In any case, composed or decomposed, folded over lines, quoted for Markdown, YAML or JSON,
percent-encoded, in UTF-16 or Latin-1, with invisible characters in it, and as a file name; not in
other words, in base64, in what is compressed or encrypted, or in a picture.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter.yaml_block import find_block
from oneiro_vault.errors import InvalidInput, UnreadableNote
from oneiro_vault.vault.secrets.secret_scan import INVISIBLE

MARK: Final = "[purged]"
"""What stands where the text was."""
_IN_YAML: Final = "(purged)"
SHORTEST: Final = 4
RUN: Final = 5
"""So many words in a row that are a memory's are taken from it."""
_DRESS: Final = r"[>*_`~\[\]#]*"
_GAP: Final = rf"{_DRESS}(?:(?:\\[nrt]|%20|&nbsp;|\\?\s){_DRESS})+"
_UNSEEN: Final = f"[{INVISIBLE}]*"
_WORD: Final = re.compile(r"\w+")
_EDGE: Final = re.compile(r"^[\s>#*+\-\d.\[\]]+|[\s*_`]+$")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}


class Text:
    """`literals` word for word, and in `echoes` of memories whatever has RUN of their words in a
    row."""

    def __init__(self, literals: Iterable[str] = (), echoes: Iterable[str] = ()) -> None:
        echoes = list(echoes)
        self._runs = {run for echo in echoes for run in _runs(_words(echo))}
        patterns = [*map(pattern, literals), *map(pattern, _short(echoes))]
        self._literal = (
            re.compile("|".join(dict.fromkeys(patterns)), re.IGNORECASE) if patterns else None
        )
        self._wide = (
            [_wide(text, code) for text in literals for code in ("utf-16-le", "utf-16-be")]
            if not echoes
            else []
        )

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where it stands, in order, without overlaps."""
        found = [match.span() for match in self._literal.finditer(text)] if self._literal else []
        return _joined([*found, *self._echoed(text)])

    def _echoed(self, text: str) -> Iterator[tuple[int, int]]:
        words = (
            [(_plain(match[0]), match.start(), match.end()) for match in _WORD.finditer(text)]
            if self._runs
            else []
        )
        for first in range(len(words) - RUN + 1):
            if tuple(word for word, _, _ in words[first : first + RUN]) in self._runs:
                yield words[first][1], words[first + RUN - 1][2]

    def count(self, data: bytes) -> int:
        """How often a file holds it, in whatever encoding."""
        return len(self.spans(_decoded(data))) + sum(len(wide.findall(data)) for wide in self._wide)

    def cleaned(self, data: bytes, note: bool = False) -> bytes:
        """The file without it. Raises InvalidInput for a `note` whose form is made of it."""
        text = _decoded(data)
        spans = self.spans(text)
        end = _head(text) if note else 0
        for start, stop in reversed(spans):
            text = text[:start] + (_IN_YAML if start < end else MARK) + text[stop:]
        done = text.encode("utf-8", "surrogateescape")
        if spans and end and _form(data) not in (None, _form(done)):
            raise InvalidInput(
                "the text is part of how notes are written (a key, an id, a type or a date)",
                kept="Nothing was changed.",
                hint="Give more of it, with the words around it.",
            )
        return done

    def renamed(self, path: str) -> str:
        """A path without it."""
        for start, stop in reversed(self.spans(path)):
            path = f"{path[:start]}purged{path[stop:]}"
        return path


def checked(text: str) -> str:
    """A text that can be looked for. Raises InvalidInput."""
    plain = unicodedata.normalize("NFC", text).strip()
    if len("".join(plain.split())) < SHORTEST or not any(c.isalnum() for c in plain):
        raise InvalidInput(
            f"the text is too short to be looked for: at least {SHORTEST} characters",
            kept="Nothing was changed.",
            hint="Give more of it.",
        )
    return plain


def pattern(text: str) -> str:
    """A regular expression for one text."""
    words = unicodedata.normalize("NFC", text).split()
    found = _GAP.join(_UNSEEN.join(map(_character, word)) for word in words)
    named = memories.slug(text)
    return f"{found}|{re.escape(named)}" if "-" in named and len(named) >= 2 * SHORTEST else found


def _character(c: str) -> str:
    if c.isascii() and c.isalnum():
        return c
    units = c.encode("utf-16-be")
    escaped = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    percent = "".join(f"%{byte:02x}" for byte in c.encode())
    forms = {
        c,
        unicodedata.normalize("NFD", c),
        escaped,
        percent,
        _ENTITIES.get(c, c),
        f"\\{c}" if c.isascii() else c,
    }
    cases = [ord(case) for case in {c, c.lower(), c.upper()} if len(case) == 1]
    forms |= {
        chr(0xDC00 + number) for number in cases if 0x80 <= number < 0x100
    }  # a file in Latin-1, as `_decoded` has it
    forms |= {f"\\x{ord(c):02x}"} if ord(c) < 256 else {f"\\U{ord(c):08x}"}
    forms |= {"''", "\u2019"} if c == "'" else {"\\\\"} if c == "\\" else set()
    return f"(?:{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"


def _wide(text: str, code: str) -> re.Pattern[bytes]:
    blanks = b"(?:" + b"|".join(re.escape(blank.encode(code)) for blank in " \t\r\n\u00a0") + b")+"
    return re.compile(
        blanks.join(b"".join(_wide_character(c, code) for c in word) for word in text.split())
    )


def _wide_character(c: str, code: str) -> bytes:
    cases = {c, c.lower(), c.upper()}
    forms = {
        unicodedata.normalize(form, case).encode(code) for case in cases for form in ("NFC", "NFD")
    }
    return (
        b"(?:" + b"|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) + b")"
    )


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        elif stop > start:
            found.append((start, stop))
    return found


def _head(text: str) -> int:
    try:
        block = find_block(text)
    except UnreadableNote:
        return 0
    return block.stop if block else 0


def _form(data: bytes) -> object:
    """What must not change in a note, None for one that cannot be read."""
    try:
        found = memories.parse("note.md", data)
    except UnreadableNote:
        return None
    return found.id, found.type, found.created, found.timestamp, found.status, sorted(found.extra)


def words_of(data: bytes) -> list[str]:
    """What a version of a memory says: title, description, and the lines of its body."""
    try:
        found = memories.parse("note.md", data)
    except UnreadableNote:
        return _decoded(data).splitlines()
    return [found.title, found.description, found.body]


def _words(text: str) -> list[str]:
    return [_plain(word) for word in _WORD.findall(text)]


def _plain(word: str) -> str:
    return (
        word.casefold()
        if word.isascii()
        else "".join(
            c
            for c in unicodedata.normalize("NFKD", word.casefold())
            if not unicodedata.combining(c)
        )
    )


def _runs(words: Collection[str]) -> Iterator[tuple[str, ...]]:
    words = list(words)
    for first in range(len(words) - RUN + 1):
        yield tuple(words[first : first + RUN])


def _short(echoes: Iterable[str]) -> Iterator[str]:
    for echo in echoes:
        lines = [_EDGE.sub("", line) for line in echo.splitlines()]
        for line in lines:
            words = _WORD.findall(line)
            if (
                len(line) >= SHORTEST
                and 0 < len(words) < RUN
                and (len(words) > 1 or any(c.isdigit() for c in line))
            ):
                yield line
