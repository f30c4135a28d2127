"""Whose words are whose: a note cut into sentences as a person reads them, and which of them were
in an earlier version already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from oneiro_vault.core.merge import units

_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=\S)|(?<=[。！？])")
_MANY: Final = 2_000
"""Sentences above which those that repeat a lot are not compared one by one."""


class Sentence(NamedTuple):
    """A piece of a note: `paragraph` counts paragraphs, headings, list items and quotes from 0; -1
    is the title."""

    paragraph: int
    text: str


def sentences(body: str, title: str = "") -> list[Sentence]:
    """The title, unless the body begins with it, and the sentences in their order; code stays in
    one piece."""
    found = [
        Sentence(at, text) for at, unit in enumerate(units.split(body)[1]) for text in _cut(unit)
    ]
    first = found[0].text.lstrip("#>-*+ \t") if found else ""
    repeats = not title or first.startswith(title.rstrip("…. "))
    return found if repeats else [Sentence(-1, title), *found]


def _cut(unit: units.Unit) -> Iterator[str]:
    if unit.kind == units.FENCE:
        yield unit.text
        return
    done = 0
    for cut in _SENTENCE.finditer(unit.text):
        yield unit.text[done : cut.end()].strip()
        done = cut.end()
    if rest := unit.text[done:].strip():
        yield rest


def said(text: str) -> str:
    """A sentence as it is compared: how its lines are broken says nothing."""
    return " ".join(text.split())


def inherited(new: Sequence[str], old: Sequence[str]) -> set[int]:
    """Positions in `new` of sentences that are in `old`, each of which counts once; those in the
    same order go first."""
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _MANY)
    found: set[int] = set()
    used: set[int] = set()
    for start, at, size in matcher.get_matching_blocks():
        found.update(range(at, at + size))
        used.update(range(start, start + size))
    left: dict[str, int] = {}
    for at, text in enumerate(old):
        if at not in used:
            left[text] = left.get(text, 0) + 1
    for at, text in enumerate(new):
        if at not in found and left.get(text, 0) > 0:
            left[text] -= 1
            found.add(at)
    return found
