"""Is what a judge wants written in the orientation said by what it names? Words nobody said are not written, however well they describe.

A judge may say things in other words, leave out and join; it may not bring names, numbers or whole sentences of its own. What it argued in
a debate is no ground: only notes are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from oneiro_vault.core import claims
from oneiro_vault.core.query import fold
from oneiro_vault.mind.base import Note

WHOLE: Final = 0.5
"""Share of a text's content words that its ground must have, as for an insight (`synthesize`)."""
SENTENCE: Final = 0.4
"""Share that each sentence must have by itself, so that none rides along with others that are grounded: one of two, two of three or
five."""
SHORT: Final = 1
"""Sentences of so few content words are too short for a share."""
_NAMED: Final = re.compile(r"(?<=[^\W\d_][ ,;(]) ?(?<![.!?:] )[(\"“'‘]?([A-ZÀ-ÞА-Я][\w-]+)")
_WORD: Final = re.compile(r"\w+")
NOUNS: Final = 0.25
"""Share of capitalised words above which a text and its ground seem to capitalise their nouns, as German does: capitals name nobody
there."""


def unfounded(title: str, text: str, notes: Sequence[Note]) -> str:
    """What of these words the notes do not say, as the end of a sentence ("not written, because ..."); "" when all of it has its ground."""
    ground = "\n".join(_told(note) for note in notes)
    if strange := claims.numbers(f"{title}\n{text}") - claims.numbers(ground) - {"1", str(len(notes))}:
        return f"what it rests on has no {', '.join(sorted(strange)[:3])}"
    if names := _names(f"{title}\n{text}", ground):
        return f"what it rests on names no {', '.join(names[:3])}"
    if claims.share(text, ground) < WHOLE:
        return "what it rests on does not say that"
    for sentence in claims.split_sentences(text):
        if len(claims.content(sentence)) > SHORT and claims.share(sentence, ground) < SENTENCE:
            return f"what it rests on does not say {sentence[:60]!r}"
    return ""


def _told(note: Note) -> str:
    """All that a note tells: words, names, and its days, each also as its year."""
    m = note.memory
    days = [day[:10] for day in (m.created, m.timestamp, m.valid_from, m.valid_until) if day]
    return "\n".join((m.title, m.description, m.body, " ".join((*m.about, *m.tags, *m.topics)), *days, *(day[:4] for day in days)))


def _names(said: str, ground: str) -> list[str]:
    """Capitalised words inside sentences that the ground does not have in any case."""
    if _capitalises(said) and _capitalises(ground):
        return []
    known = set(_WORD.findall(fold(ground)))
    return [name for name in _inner(said) if not known.issuperset(_WORD.findall(fold(name)))]


def _capitalises(text: str) -> bool:
    return len(_inner(text)) > max(2, NOUNS * len(text.split()))


def _inner(text: str) -> list[str]:
    """Different capitalised words that begin no sentence."""
    return list(dict.fromkeys(found[1] for line in text.split("\n") for found in _NAMED.finditer(line)))
