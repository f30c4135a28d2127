"""Are two texts about the same? What a judge says of that is checked, for of two facts about
different things none replaces the other."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from oneiro_vault.core.text import polarity
from oneiro_vault.core.text.language import CAPITALISING, detect
from oneiro_vault.core.text.numbers import unsaid
from oneiro_vault.mind.base import Note, Snapshot
from oneiro_vault.mind.grounding.support import capitalised, strange_names

PERVASIVE: Final = 0.1
"""Share of what is known of which a word may be part and still tell one subject from another."""
FEW: Final = 1
"""Memories of which any word may be part."""
SAMPLE: Final = 2_000
"""The newest memories, of which the words are counted."""
MOST: Final = 0.5
"""Share of the shorter text's words that the other has, where all of them are everywhere."""
_CALLOUT: Final = re.compile(r"^>.*$", re.MULTILINE)
_PART: Final = 4
"""Letters of a word that is part of a compound."""
_ENDING: Final = 2
_STATES: Final = {
    word: state
    for state, words in {
        "home": "live rent move resid home hous apart flat address wohn leb zieh zog gezog umzog "
        "miet hous vive viv mud habit",
        "work": "work job employ hire posit arbeit stell beruf trabaj travaill",
        "wedding": "wed marri marriag hochzeit heirat boda mariag",
        "cost": "pay paid cost price rate fee salari earn zahl kost preis gehalt",
    }.items()
    for word in words.split()
}
"""Stems that speak of one state in different words."""


def shared(snapshot: Snapshot, fact: str, existing: Note) -> bool:
    """Does a fact share a word with a memory that tells its subject from others, or most of its
    words? A name that both have is none of them: of one person much is known that does not replace
    each other."""
    other = f"{existing.memory.title}\n{_CALLOUT.sub('', existing.memory.body)}"
    language = detect(f"{fact}\n{other}") or "en"
    mine, theirs = _stems(fact, language), _stems(other, language)
    named = _names(f"{fact}\n{other}", language)
    known = _counted(snapshot)
    if mine - named and theirs - named:
        mine, theirs = mine - named, theirs - named
    common = [one for one in mine if any(_alike(one, two) for two in theirs)]
    return any(known.tells(one) for one in common) or (
        bool(common) and len(common) >= MOST * min(len(mine), len(theirs))
    )


def covers(keeper: Note, other: Note) -> bool:
    """Can one stand for the other: has it all its numbers, days and names, and does not deny it?"""
    mine, theirs = f"{keeper.memory.title}\n{keeper.memory.body}", other.memory.body
    missing = unsaid(theirs, mine, keeper.memory.created) or strange_names(theirs, mine)
    return not missing and not polarity.contrary(theirs, keeper.memory.body)


@dataclass(frozen=True)
class _Known:
    """Of how many memories each word is part, and how many were counted."""

    words: Counter[str]
    notes: int

    def tells(self, word: str) -> bool:
        """Does it tell one subject from others?"""
        return self.words[word] <= max(FEW, PERVASIVE * self.notes)


def _counted(snapshot: Snapshot) -> _Known:
    found = snapshot.memo.get(__name__)
    if not isinstance(found, _Known):
        bodies = [note.memory.body for note in snapshot.of("semantic") if note.memory.level == 0][
            -SAMPLE:
        ]
        found = _Known(
            Counter(one for body in bodies for one in _stems(body, detect(body) or "en")),
            len(bodies),
        )
        snapshot.memo[__name__] = found
    return found


@lru_cache(maxsize=4096)
def _stems(text: str, language: str) -> frozenset[str]:
    found = polarity.stems(text, language)
    return frozenset(found | {_STATES[one] for one in found if one in _STATES})


def _names(text: str, language: str) -> frozenset[str]:
    """Stems of words with a capital, in languages that write names so and nothing else."""
    return (
        frozenset() if language in CAPITALISING else _stems(" ".join(capitalised(text)), language)
    )


def _alike(one: str, other: str) -> bool:
    """The same, or one a part of the other's compound, whatever ending a stemmer left."""
    short, long = sorted((one, other), key=len)
    part = short[:-_ENDING] if len(short) >= _PART + _ENDING + 1 else short
    return one == other or (len(short) >= _PART and part in long)
