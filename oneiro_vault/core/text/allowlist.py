"""Which sentences may stand in the orientation without anybody who understands them: a few closed
shapes about somebody with a name (`allowlist.toml`).

`Name verb object`, one verb a sentence, nobody else who does anything, and no word that belongs to
whoever answers, to what may be done, or to how anything is said. What fits no shape only waits for
a judge.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from oneiro_vault.core.text import claims

SENTENCES: Final = 2
"""A block says one thing, or two of the same person."""
LONGEST: Final = 160
"""Characters."""

_DATA: Final[Mapping[str, Any]] = tomllib.loads(
    files(__package__).joinpath("allowlist.toml").read_text("utf-8")
)


def _pattern(said: list[str]) -> str:
    whole = "".join(said)
    for part in ("thing", "tongue", "length", "manner", "name", "word"):
        whole = whole.replace(f"{{{part}}}", "".join(_DATA[part]))
    return whole


_WHO: Final = _pattern(["(?P<who>{name}(?: {name}){0,2})"])
_SHAPES: Final = tuple(re.compile(rf"{_WHO} (?:{_pattern(shape)})\.") for shape in _DATA["shapes"])
_NOT: Final = re.compile("".join(_DATA["not"]), re.IGNORECASE)
_NOBODY: Final = frozenset(" ".join(_DATA["nobody"]).split())


def lasts(text: str) -> bool:
    """Only one or two sentences of the closed shapes, about the same somebody."""
    return bool(subject(text))


def subject(text: str) -> str:
    """Of whom such sentences speak; "" when they fit no shape."""
    said = claims.split_sentences(text.strip())
    if not 1 <= len(said) <= SENTENCES or len(text) > LONGEST or "\n" in text.strip():
        return ""
    found = {_subject(sentence) for sentence in said}
    return found.pop() if len(found) == 1 else ""


def title(given: str, text: str) -> str:
    """The given one when all its words are the text's, else who it is about."""
    words = {word.lower() for word in claims.tokens(text)}
    own = bool(given.strip()) and all(
        word.lower() in words for word in claims.tokens(given.rstrip("…."))
    )
    return given.strip() if own else subject(text)


def _subject(sentence: str) -> str:
    for shape in _SHAPES:
        if found := shape.fullmatch(sentence):
            free = " ".join(value for value in found.groupdict().values() if value)
            who: str = found["who"]
            return "" if _NOT.search(free) or who.split()[0].lower() in _NOBODY else who
    return ""
