"""What is true now comes first: of memories that answer the same with different dates the newest leads, and what was replaced says so.

Of two notes that somebody filed, how near they are says whether they are two values of one thing. Of facts in the words of a conversation
it does not: of 28 that changed in three made-up months by three hands most lie no nearer to their successor than to half of the others.
What does say it is how well both answer the question that is asked, and whether each gives a value of the same kind (`_ENOUGH_TOLD`).
The newer one then takes a place just before the older: where it was wrong, nothing is lost but that place. (Before it changed places with
the older; in the language that the model does not know that cost a quarter of all answers.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import numpy as np

from oneiro_vault.core import claims, corrections
from oneiro_vault.core.captures import captured
from oneiro_vault.core.memory import epoch, no_weaker
from oneiro_vault.core.query import QueryTerms, content_words
from oneiro_vault.index.answers import Answers
from oneiro_vault.index.base import Row, Vectors

LASTS: Final = ("semantic", "procedure", "principle", "entity")
"""Types that say how things are. Of what happened on different days nothing replaces anything."""
APART: Final = 3600.0
"""Seconds between what replaces and what is replaced at least: a folder that was brought in at once has one date."""
FACT: Final = 600
"""Characters of a note that says one thing. Longer ones say many, and are alike where they have one subject."""
MOST: Final = 24
"""Rows that are compared with each other."""
_ENOUGH: Final = 1.42
"""Two rows answer the same when the second reaches so much: the share of the first one's meaning and words for this question that it has
(0-1), and how near the two are, from what unrelated texts have (0) to the same text (1). Between 1.3 and 1.56 no answer about what never
changed was lost; the lower, the more changed facts lead."""
_ENOUGH_TOLD: Final = 1.8
"""Of two facts in the words of a conversation, which no judge has compared: the shares of meaning and of words (1 each), and `_ANOTHER` for
another value of the same kind. On those months an older one stood before the present one 7 times of 28 (11 without this), the present one
was first 43 times of 102 (41), among the first ten 82 times (82); from 1.6 to 2.0 these move by one or two."""
_ANOTHER: Final = 0.5
_IN_WORDS: Final = 1.4
"""The same without vectors, nearness being the share of the shorter one's words that the other has."""
_LONGEST: Final = 2_000
"""Characters of a body that are compared."""
_BEGINS: Final = 60
"""Characters of a fact that tell whether it is in the words of its conversation."""

Same = Callable[[Row, Row], bool]
"""Does the second, which is newer, answer the question as the first does?"""


def holds(row: Row, now: float) -> str:
    """Nothing for what holds now, `ahead` for what begins later, `over` for what has ended."""
    begins, ends = epoch(row.valid_from), epoch(row.valid_until)
    return "over" if ends is not None and ends <= now else "ahead" if begins is not None and begins > now else ""


def leading(order: Sequence[str], rows: Mapping[str, Row], same: Same, now: float) -> tuple[list[str], dict[str, str]]:
    """(the order in which what holds now, and of that the newest, stands just before the first of all that answer the same; handle -> what
    came to stand before it)."""
    groups: list[list[str]] = []
    for handle in [one for one in order if rows[one].type in LASTS][:MOST]:
        for group in groups:
            if _comparable(rows[group[0]], rows[handle], same):
                group.append(handle)
                break
        else:
            groups.append([handle])
    moved: dict[str, str] = {}
    found = list(order)
    for group in groups:
        newest = min(group, key=lambda one: _rank(rows[one], now))
        if newest != group[0]:
            found.remove(newest)
            found.insert(found.index(group[0]), newest)
            moved |= dict.fromkeys(group[: group.index(newest)], newest)
    return found, moved


def _comparable(one: Row, other: Row, same: Same) -> bool:
    older, newer = sorted((one, other), key=lambda row: row.when or 0.0)
    if (newer.when or 0.0) - (older.when or 0.0) < APART or (newer.trust == "external" and not no_weaker(newer.trust, older.trust)):
        return False  # what comes from outside, however new, goes before nobody's words
    return same(one, other)


def _rank(row: Row, now: float) -> tuple[int, float]:
    return ("", "ahead", "over").index(holds(row, now)), -(row.when or 0.0)


class Likeness:
    """Which of the rows of one answer say the same thing of the same subject, with whatever value."""

    def __init__(
        self, index: Answers, terms: QueryTerms, rows: Collection[Row], words: Mapping[str, float], near: Mapping[str, float], floor: float
    ) -> None:
        """`words`: by handle the BM25 of a row; `near`: its cosine to the question, NaN without vectors; `floor`: see Evidence."""
        self._bm25, self._near, self._floor = words, near, floor
        keys = [row.key for row in rows]
        self._vectors: dict[int, Vectors] = index.vectors(keys) if not math.isnan(floor) else {}
        self._bodies = index.bodies(keys)
        self._words = {key: frozenset(content_words(body[:_LONGEST])) for key, body in self._bodies.items()}
        about = index.names_of(keys)
        known = {key: words | {word for name in about[key] for word in name.split()} for key, words in self._words.items()}
        self._told = self._in_passing(index, rows)
        self._named = {key: {name for name in terms.names if set(name.split()) <= words} for key, words in known.items()}

    def __call__(self, first: Row, second: Row) -> bool:
        """Does the second answer as the first does?"""
        if max(len(self._bodies.get(row.key, "")) for row in (first, second)) > FACT:
            return False
        if not self._of_the_same(first, second):
            return False
        words, meaning = _share(self._bm25, first, second), _share(self._near, first, second)
        if {first.key, second.key} <= self._told and not math.isnan(self._floor):
            missing = _ENOUGH_TOLD - words - meaning
            return missing <= 0 or (missing <= _ANOTHER and corrections.another_value(self._bodies[second.key], self._bodies[first.key]))
        if first.key in self._vectors and second.key in self._vectors:
            cosine = float(np.dot(self._vectors[first.key], self._vectors[second.key]))
            return (words + meaning) / 2 + (cosine - self._floor) / (1 - self._floor) >= _ENOUGH
        mine, theirs = self._words.get(first.key, frozenset()), self._words.get(second.key, frozenset())
        return bool(mine and theirs) and words + len(mine & theirs) / min(len(mine), len(theirs)) >= _IN_WORDS

    def _in_passing(self, index: Answers, rows: Collection[Row]) -> frozenset[int]:
        """Facts in the words of a conversation, which no judge has filed beside what else is known."""
        facts = [row for row in rows if row.derived_from and not row.level]
        sources = {one: row for one in {row.derived_from[0] for row in facts} for row in index.get(one)}
        bodies = index.bodies([row.key for row in sources.values() if captured(row)])
        said = {one: " ".join(bodies.get(row.key, "").split()) for one, row in sources.items()}
        begins = {row.key: " ".join(self._bodies.get(row.key, "").split()).partition(" [")[0][:_BEGINS] for row in facts}
        return frozenset(row.key for row in facts if begins[row.key] and begins[row.key] in said.get(row.derived_from[0], ""))

    def _of_the_same(self, first: Row, second: Row) -> bool:
        """Whom or what the question names and the first is about, the second must be about, too, unless it speaks of its speaker."""
        return self._named.get(first.key, set()) <= self._named.get(second.key, set()) or claims.speaks(self._bodies.get(second.key, ""))


def _share(sign: Mapping[str, float], first: Row, second: Row) -> float:
    """How much of what speaks for the first speaks for the second, at most all of it; nothing where it is not known."""
    whole, part = sign.get(first.handle, math.nan), sign.get(second.handle, math.nan)
    return min(part / whole, 1.0) if whole > 0 and part > 0 else float(whole <= 0 < part)
