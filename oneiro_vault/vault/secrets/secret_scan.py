"""Secrets are found before anything is committed: the history is append-only, so what went in
cannot be taken back.

Only shapes that ordinary sentences do not have: keys of services by how they begin, passwords by
what stands before them or above them in a table, cards by their check digit (`shapes.toml`); and
the patterns of detect-secrets, which are loaded (.2 s, 20 MB) only for a text that holds something
long enough. What merely looks random (a hash, an id) or stands for a secret in an example
(`<token>`, `xxxx`) is none. What is in history already is no news, so that a note with an old
secret can still be changed, archived or forgotten.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Final

from oneiro_vault.answers import Json
from oneiro_vault.errors import OneiroError, SecretFound
from oneiro_vault.vault.change import Change, Operation, Write


@dataclass(frozen=True, slots=True)
class Found:
    """`kind` names what it is without a character of it. `vague`: only told by what stands
    before."""

    kind: str
    start: int
    end: int
    vague: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """`anchors`: one of them is in every text (in small letters) that can hold it, and `sign`
    stands there, so that most texts cost nothing; the last group of the pattern is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    proves: Callable[[str], bool]
    sign: re.Pattern[str] | None = None


_DATA: Final[Json] = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text("utf-8"))


def _pattern(said: str | list[str]) -> re.Pattern[str]:
    whole = "".join(said)
    for name in ("password", "marks"):
        whole = whole.replace(f"{{{name}}}", "".join(_DATA[name]))
    return re.compile(whole)


_STANDS_FOR: Final = _pattern(_DATA["stands_for"])
_EXAMPLE: Final = _pattern(_DATA["example"])
_MANUAL: Final = re.compile(r"EXAMPLE(?:KEY)?\Z")
_DOCUMENTED: Final = frozenset(_DATA["documented"])
_HOST: Final = re.compile(r"@(\[[\da-fA-F:.]+\]|[\w.-]*\w)")
_NOWHERE: Final = _pattern(_DATA["nowhere"])
_ESCAPED: Final = re.compile(r"%[\da-fA-F]{2}")
_HERE: Final = re.compile(r"[^.:]+\Z|127\.[\d.]+\Z|\[::1\]\Z")
_LONGEST_KEY: Final = 400
_FEWEST: Final = 5
_UUID: Final = re.compile(r"(?i)(?<![a-z\d])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![a-z\d])")
_SHORT: Final = 8
_IDEOGRAPHS: Final = "\u2e80"
"""From here on a word is a sentence."""
_JOINTS: Final = re.compile(r"[-_./:@]")
_CHANGES: Final = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
_PIECE: Final = 12
"""Characters of one piece of a key: names of models, versions, addresses and times are made of
shorter ones."""
_TURNS: Final = 6
"""Changes of kind that make a key of shorter pieces as well (`A1B2-C3D4-E5F6`)."""


def plausible(value: str) -> bool:
    """Could somebody have drawn this at random?"""
    return _mixed(value) and len(set(value)) >= _FEWEST and not _STANDS_FOR.match(value)


def _drawn(value: str) -> bool:
    """A name that people gave is words and short numbers."""
    pieces = _JOINTS.split(value)
    return plausible(value) and (
        len(_CHANGES.findall(value)) >= _TURNS
        or bool(_UUID.search(value))
        or any(
            len(piece) >= _PIECE
            and (_mixed(piece) or (piece[1:].lower() != piece[1:] and not piece.isupper()))
            for piece in pieces
        )
    )


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _password(value: str) -> bool:
    return plausible(value) and "(" not in value and max(value) < _IDEOGRAPHS


def _webhook(value: str) -> bool:
    last = value.rpartition("/")[2]
    return len(set(last)) >= _SHORT and not _STANDS_FOR.match(last)


def _beside(value: str) -> bool:
    """A table also says what a password is like (`varchar64`)."""
    return (
        _password(value)
        and len(value) >= _SHORT
        and (len(_CHANGES.findall(value)) > 1 or any(not c.isalnum() for c in value))
    )


def _in_address(value: str) -> bool:
    return len(value) >= 3 and not _STANDS_FOR.match(value)


def _card(value: str) -> bool:
    digits = [int(c) for c in reversed(value) if c.isdigit()]
    return sum(d if at % 2 == 0 else d * 2 - 9 * (d > 4) for at, d in enumerate(digits)) % 10 == 0


_ADDRESS: Final = "password in an address"
_PROOFS: Final[dict[str, Callable[[str], bool]]] = {
    "plausible": plausible,
    "drawn": _drawn,
    "any": lambda _value: True,
    "password": _password,
    "webhook": _webhook,
    "in_address": _in_address,
}
_ANCHORS: Final = tuple(_DATA["password_anchors"])


def _rules() -> Iterator[_Rule]:
    for one in _DATA["keys"]:
        heads = "|".join(map(re.escape, one["begins"]))
        anchors = tuple(head.lower() for head in one["begins"])
        pattern = re.compile(rf"(?<![A-Za-z0-9])((?:{heads}){one['follows']})")
        yield _Rule(one["kind"], anchors, pattern, plausible)
    for one in _DATA["shapes"]:
        sign = _pattern(one["sign"]) if "sign" in one else None
        anchors = tuple(one["anchors"]) or _ANCHORS
        yield _Rule(one["kind"], anchors, _pattern(one["pattern"]), _PROOFS[one["proof"]], sign)


_RULES: Final = tuple(_rules())


def _by_mark(anchors: Iterable[str]) -> dict[str, list[str]]:
    """By a character of theirs that most texts have not."""
    found: dict[str, list[str]] = {}
    for anchor in sorted(set(anchors)):
        marks = [one for one in anchor if not (one.isascii() and one.isalpha())]
        found.setdefault(min(marks, default="", key="-:. ".find), []).append(anchor)
    return found


_EVERY: Final = _by_mark((*_ANCHORS, *(anchor for rule in _RULES for anchor in rule.anchors)))
_CARDS: Final = _pattern(_DATA["card"])
_CELL: Final = _pattern(_DATA["cell"])
_RULED: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BARE: Final = re.compile(r"\s*[\"'*_`]*([^\s|\"'`*]{6,200}?)[\"'*_`]*\s*")
_WIDEST: Final = 2_000
_VAGUE: Final = frozenset(("password", "key"))
_CHOSEN: Final = frozenset(("password", _ADDRESS, "hash of a password"))
"""What people choose themselves may be any word."""
INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-"
    "\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
)
"""What nobody sees between the letters of a word, as the inside of a character class."""
_UNSEEN: Final = re.compile(f"[{INVISIBLE}]")
_LONGEST_WHOLE: Final = 20_000
_DATA_INSIDE: Final = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{60,}+(?:\r?\n)?+)++")
"""A picture as base64: keys of services are told by a `-`, `_` or `.` in them, passwords by what
stands before them, so neither is inside."""
_WIDER: Final = re.compile("[\uff01-\uff5e]")
_WIDE: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}


def find(text: str) -> list[Found]:
    """Every secret of a text, in order; where shapes overlap, one. Characters that nobody sees hide
    none, nor do the wide forms of letters."""
    plain, places = _seen(text)
    return [
        Found(one.kind, places[start + one.start], places[start + one.end - 1] + 1, one.vague)
        for start, end in _stretches(plain)
        for one in _in_stretch(plain[start:end])
    ]


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """All but the inside of pictures, by far the largest part of a note that has one."""
    start = 0
    for run in _DATA_INSIDE.finditer(text) if len(text) > 2 * _LONGEST_WHOLE else ():
        if run.end() - run.start() > 2 * _LONGEST_WHOLE:
            yield start, run.start() + _LONGEST_WHOLE
            start = run.end() - _LONGEST_WHOLE
    yield start, len(text)


def _in_stretch(text: str) -> list[Found]:
    return [one for one in joined([*_all(text), *_known(text)]) if not _in_a_manual(text, one)]


def _in_a_manual(text: str, one: Found) -> bool:
    """Is this the key of an example, which opens nothing?"""
    value = text[one.start : one.end]
    if len(value) > _LONGEST_KEY:
        return False
    if one.kind == _ADDRESS and (host := _HOST.match(text, one.end)):
        return _for_show(
            text[text.rfind("://", 0, one.start) + 3 : one.start - 1],
            _ESCAPED.sub("%", value),
            host[1],
        )
    said = _MANUAL.search(value) or (one.kind not in _CHOSEN and _EXAMPLE.search(value))
    return bool(said) or value in _DOCUMENTED


def _for_show(user: str, password: str, host: str) -> bool:
    """On a host that nobody can own, unless it could have been drawn at random; on this machine,
    what programs come with (`guest:guest`)."""
    if password == user:
        return bool(_HERE.match(host) or _NOWHERE.match(host))
    word = password.rstrip("0123456789!")
    return bool(_NOWHERE.match(host)) and (
        (len(password) < _PIECE and not plausible(password)) or bool(_STANDS_FOR.match(word))
    )


def _seen(text: str) -> tuple[str, Sequence[int]]:
    """The text as a reader has it, and where each of its characters stood."""
    if text.isascii():
        return text, range(len(text))
    plain = text.translate(_WIDE) if _WIDER.search(text) else text
    if not _UNSEEN.search(plain):
        return plain, range(len(text))
    places = [at for at, c in enumerate(plain) if not _UNSEEN.match(c)]
    return _UNSEEN.sub("", plain), places


def _all(text: str) -> Iterator[Found]:
    small = text.lower()
    there = {
        anchor
        for mark, anchors in _EVERY.items()
        if mark in small
        for anchor in anchors
        if anchor in small
    }
    for rule in _RULES:
        if not there.isdisjoint(rule.anchors) and (rule.sign is None or rule.sign.search(text)):
            for match in rule.pattern.finditer(text):
                if rule.proves(match[1]):
                    yield Found(rule.kind, *match.span(1), rule.kind in _VAGUE)
    if "|" in text and not there.isdisjoint(_ANCHORS):
        for start, end, beside in _cells(text):
            if (_beside if beside else _password)(text[start:end]):
                yield Found("password", start, end, vague=True)
    for match in _CARDS.finditer(text):
        if _card(match[1]):
            yield Found("card number", *match.span(1))


def _cells(text: str) -> Iterator[tuple[int, int, bool]]:
    columns: list[int] = []
    before: tuple[int, str] | None = None
    at = 0
    for line in text.split("\n"):
        if "|" not in line or len(line) > _WIDEST:
            columns = []
            beside = before
            before = None
        elif before is not None and _RULED.fullmatch(" ".join(line.lstrip(" \t>").split())):
            columns = [
                number for number, (_, cell) in enumerate(_row(*before)) if _CELL.fullmatch(cell)
            ]
            beside = before = None
        else:
            beside, before = before, (at, line)
            for number, (start, cell) in enumerate(_row(at, line)):
                if number in columns and (found := _BARE.fullmatch(cell)):
                    yield start + found.start(1), start + found.end(1), False
        if beside is not None:
            yield from _pairs(*beside)
        at += len(line) + 1
    if before is not None:
        yield from _pairs(*before)


def _row(at: int, line: str) -> list[tuple[int, str]]:
    edge = len(line) - len(line.lstrip(" \t>|"))
    found, start = [], edge
    for cell in line[edge:].split("|"):
        found.append((at + start, cell))
        start += len(cell) + 1
    return found


def _pairs(at: int, line: str) -> Iterator[tuple[int, int, bool]]:
    row = _row(at, line)
    for (_, name), (start, cell) in pairwise(row):
        if _CELL.fullmatch(name) and (found := _BARE.fullmatch(cell)):
            yield start + found.start(1), start + found.end(1), True


def joined(found: list[Found]) -> list[Found]:
    """In order, what overlaps as one, named by the longest; what is vague gives way."""
    done: list[Found] = []
    for one in sorted(found, key=lambda f: (f.start, -f.end)):
        if not done or one.start >= done[-1].end:
            done.append(one)
        elif one.vague == done[-1].vague:
            last = done.pop()
            kind = last.kind if last.end - last.start >= one.end - one.start else one.kind
            done.append(Found(kind, last.start, max(last.end, one.end), last.vague))
        elif not one.vague:
            done[-1] = one
    return done


REMOVED: Final = "[secret removed]"
_KEPT: Final = "Nothing was written."
_LONG: Final = re.compile(r"[A-Za-z0-9_-]{20,}")
_SHORTEST: Final = 16
_WINDOW: Final = 4_000
_OVERLAP: Final = 1_000
"""No key and its name are longer."""
TEXT: Final = tuple(
    ".md .jsonl .toml .txt .json .yml .yaml .csv .org .canvas .env .ini .cfg .sh .py".split()
)
"""How the names of texts end: looked at even with a NUL in them."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEGINNING: Final = 8192
_LARGEST: Final = 4_000_000
"""Bytes that are looked at of a file that is no note and no table (1 MB: half a second)."""


@dataclass(frozen=True, slots=True)
class Secret:
    """What it is, in which line, and the hash by which a person may allow it. Never the secret
    itself."""

    kind: str
    line: int
    sha256: str


class Secrets:
    """`mode`: a secret in what is about to be written is refused (block), taken out (redact) or
    neither (off); `allowed`: the sha256 of what looks like a secret and is none."""

    def __init__(self, mode: str = "block", allowed: Collection[str] = ()) -> None:
        self.mode = mode
        self._allowed = frozenset(mark.lower() for mark in allowed)

    def find(self, text: str) -> list[Secret]:
        """Every secret of a text that nobody allowed, whatever the mode."""
        return [
            Secret(one.kind, text.count("\n", 0, one.start) + 1, _mark(text, one))
            for one in self._spans(text)
        ]

    def inside(self, path: str, data: bytes) -> list[Secret]:
        """Those of a file and of its name; what is no text (a picture) has none."""
        if path.lower().endswith(TEXT):
            return self.find(path) + self.find(_text(data))
        return self.find(path) + ([] if _picture(data) else self.find(_text(data[:_LARGEST])))

    def cleaned(self, text: str) -> str:
        """The text without its secrets, unless the mode is `off`."""
        return self._cut(text) if self.mode != "off" else text

    def shown(self, data: bytes) -> bytes:
        """The bytes of a note without its secrets, as it is recalled, unless the mode is `off`."""
        text = data.decode("utf-8", "surrogateescape")
        left = self.cleaned(text)
        return data if left == text else left.encode("utf-8", "surrogateescape")

    def outgoing(self, path: str, data: bytes) -> bytes | None:
        """A file that is no note as others may have it: a text without its secrets; None for one
        whose name holds one, or that is no UTF-8 to be rewritten."""
        found = self.inside(path, data) if self.mode != "off" else []
        if not found:
            return data
        return self.shown(data) if is_utf8(data) and not self.find(path) else None

    def redacted(self, text: str) -> str:
        """The text without its secrets when the mode is `redact`."""
        return self._cut(text) if self.mode == "redact" else text

    def new(self, path: str, data: bytes, before: Iterable[bytes]) -> list[Secret]:
        """Secrets of a file that none of its earlier texts has; nothing when the mode is `off`."""
        found = self.inside(path, data) if self.mode != "off" else []
        if not found:
            return []
        known = {one.sha256 for text in before for one in self.find(_text(text))}
        return [one for one in found if one.sha256 not in known]

    def of_person(
        self, ready: Mapping[str, bytes | None], head: Callable[[str], bytes]
    ) -> dict[str, list[Secret]]:
        """Path -> new secrets of what a person left on disk (None = deleted); `head` as in
        `screened`."""
        gone = [path for path, data in ready.items() if data is None]
        pairs = (
            (path, self.new(path, data, map(head, [path, *gone])))
            for path, data in ready.items()
            if data
        )
        return {path: found for path, found in pairs if found}

    def screened(
        self,
        changes: Sequence[Change],
        operation: Operation,
        head: Callable[[str], bytes],
        refused: dict[int, OneiroError] | None = None,
    ) -> tuple[list[Change], Operation]:
        """The changes and what the commit says of them, as they may be written. `head`: path ->
        what history has there, b"" for nothing.

        Raises SecretFound for a new secret, or notes it in `refused` by its position, unless the
        mode is `redact`; then it is taken out of texts (one in a name is refused).
        """
        if self.mode == "off":
            return list(changes), operation
        done = list(changes)
        for position, change in enumerate(changes):
            if refused and position in refused:
                continue
            try:
                if isinstance(change, Write):
                    done[position] = self._screened(change, changes, head)
            except SecretFound as error:
                if refused is None:
                    raise
                refused.setdefault(position, error)
        return done, self._said(operation)

    def _screened(
        self, change: Write, changes: Sequence[Change], head: Callable[[str], bytes]
    ) -> Write:
        files = [(change.path, change.data), *([change.proposal] if change.proposal else [])]
        found = [one for path, data in files for one in self.new(path, data, ())]
        if found:  # most texts have none, and history need not be asked
            before = (self.find(_text(head(other.path))) for other in changes)
            known = {one.sha256 for secrets in before for one in secrets}
            found = [one for one in found if one.sha256 not in known]
        if not found:
            return change
        if self.mode == "block" or any(
            self.find(path) or not is_utf8(data) for path, data in files
        ):
            raise refusal(
                "the text", found
            )  # its path may be made of its words; and what is no UTF-8 is not rewritten
        cut = [
            (path, self._cut(data.decode("utf-8", "replace"), known).encode())
            for path, data in files
        ]
        return replace(change, data=cut[0][1], proposal=cut[1] if change.proposal else None)

    def _said(self, operation: Operation) -> Operation:
        """The title is taken from a note whose text was looked at; the reason is said."""
        found = self.find(operation.reason)
        if found and self.mode == "block":
            raise refusal("the reason", found)
        return replace(
            operation, title=self._cut(operation.title), reason=self._cut(operation.reason)
        )

    def _cut(self, text: str, known: Collection[str] = ()) -> str:
        for one in reversed(self._spans(text)):
            if _mark(text, one) not in known:
                text = text[: one.start] + REMOVED + text[one.end :]
        return text

    def _spans(self, text: str) -> list[Found]:
        found = find(text)
        return (
            [one for one in found if _mark(text, one) not in self._allowed]
            if self._allowed
            else found
        )


OFF: Final = Secrets("off")
"""Nothing is looked for: a vault that is opened without settings."""


def refusal(where: str, found: Sequence[Secret]) -> SecretFound:
    """The error that says what was found, and where, and not one character of it."""
    return SecretFound(
        f"{where} holds what looks like {told(found)}, and history could never lose it again",
        kept=_KEPT,
        hint="Say it without the secret, and where that is kept. If it is none, a person can "
        "allow it in oneiro.toml, and agree by `oneiro trust`: "
        f"secrets.allowed = {quoted(found)}",
    )


def told(found: Sequence[Secret]) -> str:
    """`a GitHub token`, `a password and 2 more`."""
    kind, more = found[0].kind, len({one.sha256 for one in found}) - 1
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}" + (
        f" and {more} more" if more else ""
    )


def quoted(found: Iterable[Secret]) -> str:
    """What to add to `secrets.allowed`, as TOML."""
    return '"' + " ".join(dict.fromkeys(one.sha256 for one in found)) + '"'


def _mark(text: str, one: Found) -> str:
    return sha256(text[one.start : one.end].encode("utf-8", "replace")).hexdigest()


def _picture(data: bytes) -> bool:
    return b"\0" in data[:_BEGINNING] and not data.startswith(_UTF16)


def is_utf8(data: bytes) -> bool:
    """Is it text in UTF-8?"""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(data: bytes) -> str:
    return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8", "replace")


def _known(text: str) -> Iterator[Found]:
    for first, last in _lines(text):
        for kind, patterns in _library().items():
            for pattern in patterns:
                for match in pattern.finditer(text, first, last):
                    start, end = _secret_of(match)
                    if end - start >= _SHORTEST and plausible(text[start:end]):
                        yield Found(kind, start, end)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Lines with a long, mixed word, in windows: one of the patterns takes the square of what it
    sees."""
    last = -1
    for match in _LONG.finditer(text):
        if match.start() > last and _mixed(match[0]):
            first, last = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
            last = len(text) if last < 0 else last
            for start in range(first, max(first + 1, last - _OVERLAP), _WINDOW):
                yield start, min(start + _WINDOW + _OVERLAP, last)


def _secret_of(match: re.Match[str]) -> tuple[int, int]:
    parts = [match.span(number) for number in range(1, match.re.groups + 1)]
    return max(
        (part for part in parts if part[1] - part[0] >= _SHORTEST),
        key=lambda part: part[1] - part[0],
        default=match.span(),
    )


@cache
def _library() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    from detect_secrets.plugins.base import RegexBasedDetector

    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    for name in _DATA["detectors"]:
        for one in vars(import_module(f"detect_secrets.plugins.{name}")).values():
            if (
                isinstance(one, type)
                and issubclass(one, RegexBasedDetector)
                and one is not RegexBasedDetector
            ):
                # It says `property` where it is a list.
                found[str(one.secret_type)] = tuple(one.denylist)  # type: ignore[arg-type]
    return found
