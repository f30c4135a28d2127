"""Shapes of secrets in a text: keys of services by how they begin, passwords by what stands before
them or above them in a table, cards by their check digit. Patterns and words are in `shapes.toml`.

Only shapes that ordinary sentences do not have; what merely looks random (a hash, an id) is none. A
library knows more of them (`secret_scan`); these are the ones it lacks, and those of which it does
not say where they end. What stands for a secret in an example (`<token>`, `${TOKEN}`, `xxxx`) is
none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final


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


_DATA: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("shapes.toml").read_text("utf-8")
)


def _pattern(said: str | list[str]) -> re.Pattern[str]:
    whole = "".join(said)
    for name in ("password", "marks"):
        whole = whole.replace(f"{{{name}}}", "".join(_DATA[name]))
    return re.compile(whole)


_STANDS_FOR: Final = _pattern(_DATA["stands_for"])
_EXAMPLE: Final = _pattern(_DATA["example"])
_MANUAL: Final = re.compile(r"EXAMPLE(?:KEY)?\Z")
"""The keys of a cloud's manuals."""
_DOCUMENTED: Final = frozenset(_DATA["documented"])
_HOST: Final = re.compile(r"@(\[[\da-fA-F:.]+\]|[\w.-]*\w)")
_NOWHERE: Final = _pattern(_DATA["nowhere"])
_ESCAPED: Final = re.compile(r"%[\da-fA-F]{2}")
_HERE: Final = re.compile(r"[^.:]+\Z|127\.[\d.]+\Z|\[::1\]\Z")
"""This machine, or one without a domain."""
_LONGEST_KEY: Final = 400
_FEWEST: Final = 5
"""Different characters of a secret."""
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
    """By its check digit (Luhn)."""
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
_KEY: Final = 20_000
"""Characters of the longest key of which all is found."""
_DATA_INSIDE: Final = re.compile(r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{60,}+(?:\r?\n)?+)++")
"""A picture as base64: keys of services are told by a `-`, `_` or `.` in them, passwords by what
stands before them, so neither is inside."""
_WIDER: Final = re.compile("[\uff01-\uff5e]")
_WIDE: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}


def find(text: str, more: Callable[[str], Iterator[Found]] = lambda _text: iter(())) -> list[Found]:
    """Every secret of a text, in order; where shapes overlap, one. `more` finds others. Characters
    that nobody sees hide none, nor do the wide forms of letters."""
    plain, places = _seen(text)
    found = [
        Found(one.kind, start + one.start, start + one.end, one.vague)
        for start, end in _stretches(plain)
        for one in _in_stretch(plain[start:end], more)
    ]
    return (
        [Found(one.kind, places[one.start], places[one.end - 1] + 1, one.vague) for one in found]
        if places
        else found
    )


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """All but the inside of pictures, by far the largest part of a note that has one."""
    start = 0
    for run in _DATA_INSIDE.finditer(text) if len(text) > 2 * _KEY else ():
        if run.end() - run.start() > 2 * _KEY:
            yield start, run.start() + _KEY
            start = run.end() - _KEY
    yield start, len(text)


def _in_stretch(text: str, more: Callable[[str], Iterator[Found]]) -> list[Found]:
    return [one for one in joined([*_all(text), *more(text)]) if not _in_a_manual(text, one)]


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


def _seen(text: str) -> tuple[str, list[int]]:
    """The text as a reader has it, and where each of its characters stood ([]: where it stands)."""
    if text.isascii():
        return text, []
    plain = text.translate(_WIDE) if _WIDER.search(text) else text
    if not _UNSEEN.search(plain):
        return plain, []
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
    """What a table has under such a word, or (True) beside it."""
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


def joined(found: Iterator[Found] | list[Found]) -> list[Found]:
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
