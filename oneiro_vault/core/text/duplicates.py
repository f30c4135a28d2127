"""When two memories are one: the very same words, or all of the same words in another order."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import blake2b
from typing import Final

from oneiro_vault.core.text.query import analyse, tokens

_NOT_WORDS: Final = frozenset(
    "no not never none nobody nothing without cannot can't won't isn't don't".split()
)


def fingerprint(type_: str, title: str, body: str) -> str:
    """32 hex characters that are equal for the same words under the same title and type, however
    the file around them looks."""
    parts = (type_.strip().lower(), " ".join(title.split()), body.replace("\r\n", "\n").strip())
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def says_all(new: str, old: str, words: Collection[str], share: float) -> bool:
    """Does `old` say all of `new` already? `words` are the content words of `new`.

    Every one of them must stand in the old text, the overlap as a whole must reach `share`, and
    numbers and negations must be the same: "at 3" and "at 4" are two memories.
    """
    wanted, theirs = set(words), set(analyse(old).words)
    overlap = len(wanted & theirs) / len(wanted | theirs)
    return wanted <= theirs and overlap >= share and _exact(new) == _exact(old)


def _exact(text: str) -> list[str]:
    """The words whose change turns a sentence round: numbers and negations, in order."""
    return [
        word
        for word in tokens(text)
        if word in _NOT_WORDS or any(letter.isdigit() for letter in word)
    ]
