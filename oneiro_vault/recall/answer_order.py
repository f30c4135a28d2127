"""The order of an answer: what is true now comes first, captured conversations behind their facts.

**Newer first.** Of memories that answer the same with different dates the newest leads, and what
was replaced says so. Of two notes that somebody filed, how near they are says whether they are two
values of one thing. Of facts in the words of a conversation it does not by itself: of 55 that
changed in six made-up months by six hands most lie no nearer to their successor than to others. How
near they are for this vault, another value of the same kind, and how closely they follow each other
in the answer tell it together (`_ENOUGH_TOLD`). The newer one that does so best then takes a place
just before the older: where that was wrong nothing is lost but a place. (Before, the two changed
places; in a language that the model does not know that cost a quarter of all answers.)

**Captures.** That something was asked before is no memory of its answer. A capture of which nothing
was filed (it waits for encoding, or was judged to hold nothing) stands behind everything else, and
is shown where the rest barely fits. One whose facts may answer lends the best of them its score and
follows it where it fits: not all that was said was filed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from oneiro_vault.core.conversation.turns import quoted
from oneiro_vault.core.memory import captured, epoch, no_weaker
from oneiro_vault.core.ranking import Features, Scored, Weights, fuse
from oneiro_vault.core.text import claims, corrections
from oneiro_vault.core.text.query import QueryTerms, content_words
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.keyword.queries import Answers

LASTS: Final = ("semantic", "procedure", "principle", "entity")
"""Types that say how things are. Of what happened on different days nothing replaces anything."""
BLOCK: Final = "orientation"
"""The type of what is made of facts for every session; until the next night it says what they
said."""
APART: Final = 3600.0
"""Seconds between what replaces and what is replaced at least: a folder that was brought in at once
has one date."""
FACT: Final = 600
"""Characters of a note that says one thing. Longer ones say many, and are alike where they have one
subject."""
MOST: Final = 24
"""Rows that are compared with each other."""
_ENOUGH: Final = 1.42
"""Two rows answer the same when the second reaches so much: the share of the first one's meaning
and words for this question that it has (0-1), and how near the two are, from what unrelated texts
have (0) to the same text (1), less `_BEHIND`. Between 1.3 and 1.56 no answer about what never
changed was lost; the lower, the more changed facts lead."""
_ENOUGH_TOLD: Final = 0.25
"""The same of two facts in the words of a conversation, which no judge has compared: how near they
are, from what any two memories of this vault have (0) to the same text (1), and `_ANOTHER` for
another value of the same kind, less `_BEHIND`. The three are a logistic regression (divided by its
weight of nearness, 4.0) over 1,981 pairs of rows in the answers to 202 questions of those months
(22 pairs are an older and a newer version), cut where one in twenty is right: a wrong one costs
one place. An older one stands before the present one 14 times of 55 (25 without this; 15 with each
month's weights fitted to the five others), the present one is first 74 times of 204 (72), and
among the first ten 167 times (167). From .22 to .28 one or two differ."""
_ANOTHER: Final = 0.3
_BEHIND: Final = 0.35
"""Times the logarithm of how many places the second stands behind the first. Of filed notes it
costs no changed fact its lead, and where many say nearly the same (turns of conversations kept as
notes) 2.5 answers more of 100 are among the first ten."""
_IN_WORDS: Final = 1.4
"""The same without vectors, or in a language that the model does not know (all is alike to it:
whatever came last led), nearness being the share of the shorter one's words that the other has …"""
_ANOTHER_IN_WORDS: Final = 0.5
"""… and this for another value. In a made-up month in German 3 of 9 changed facts have an older one
before the present one, with or without it; in a week of 19 questions 13 are answered first, 5
before."""
_LONGEST: Final = 2_000
"""Characters of a body that are compared."""

Same = Callable[[Row, Row, int], float]
"""How clearly the second, which is newer and stands so many places behind (1 or more), answers the
question as the first does: from 0 on it does."""


def holds(row: Row, now: float) -> str:
    """Nothing for what holds now, `ahead` for what begins later, `over` for what has ended."""
    begins, ends = epoch(row.valid_from), epoch(row.valid_until)
    return (
        "over"
        if ends is not None and ends <= now
        else "ahead"
        if begins is not None and begins > now
        else ""
    )


def leading(
    order: Sequence[str], rows: Mapping[str, Row], same: Same, now: float
) -> tuple[list[str], dict[str, str]]:
    """(the order in which what holds now, and of that the newer, stands just before what answers
    the same and the blocks made of that; handle -> what came to stand before it)."""
    found = list(order)
    moved: dict[str, str] = {}
    some = [one for one in order if rows[one].type in LASTS][:MOST]
    blocks = [one for one in order if rows[one].type == BLOCK]
    ranks = {one: _rank(rows[one], now) for one in some}
    for older in some:
        made = [one for one in blocks if older in rows[one].derived_from]
        own, place = found.index(older), min(map(found.index, (older, *made)))
        ahead = holds(rows[older], now) == "ahead"
        sure = {  # what is announced answers like what holds, however much better its words fit
            one: same(rows[older], rows[one], 1 if ahead else max(1, at - own))
            for at, one in enumerate(found)
            if at > place
            and one in ranks
            and ranks[one] < ranks[older]
            and _comparable(rows[older], rows[one])
        }
        newer = max(sure, key=lambda one: sure[one], default="")
        if newer and sure[newer] >= 0:
            found.remove(newer)
            found.insert(place, newer)
            moved[older] = newer
    return found, moved


def _comparable(one: Row, other: Row) -> bool:
    """May the newer of them, by when it was written and who said it, go before the other?"""
    older, newer = sorted((one, other), key=lambda row: row.when or 0.0)
    if newer.trust == "external" and not no_weaker(newer.trust, older.trust):
        return False  # what comes from outside, however new, goes before nobody's words
    return (newer.when or 0.0) - (older.when or 0.0) >= APART


def _rank(row: Row, now: float) -> tuple[int, float]:
    return ("", "ahead", "over").index(holds(row, now)), -(row.when or 0.0)


class Likeness:
    """Which of the rows of one answer say the same thing of the same subject, with whatever value:
    a `Same`, which gives for two rows a number without a unit, 0 or more for yes, -inf for no."""

    def __init__(
        self,
        index: Answers,
        terms: QueryTerms,
        rows: Collection[Row],
        words: Mapping[str, float],
        near: Mapping[str, float],
        floor: float,
    ) -> None:
        """`words`: handle -> BM25 of a row's own text (0 and more); `near`: handle -> its cosine to
        the question (-1..1), NaN without vectors; `floor`: see `ranking.Evidence`, NaN too."""
        self._bm25, self._near, self._floor = words, near, floor
        self._usual = index.background()[0] if not math.isnan(floor) else math.nan
        keys = [row.key for row in rows]
        self._vectors: dict[int, Vectors] = index.vectors(keys) if not math.isnan(floor) else {}
        self._bodies = index.bodies(keys)
        self._words = {
            key: frozenset(content_words(body[:_LONGEST])) for key, body in self._bodies.items()
        }
        about = index.names_of(keys)
        known = {
            key: words | {word for name in about[key] for word in name.split()}
            for key, words in self._words.items()
        }
        self._told = self._in_passing(index, rows)
        self._named = {
            key: {name for name in terms.names if set(name.split()) <= words}
            for key, words in known.items()
        }

    def __call__(self, first: Row, second: Row, gap: int) -> float:
        """How far beyond enough it is that the second, `gap` places behind, answers as the
        first."""
        if max(len(self._bodies.get(row.key, "")) for row in (first, second)) > FACT:
            return -math.inf
        sure = self._sure(first, second, gap)
        return sure if sure >= 0 and self._of_the_same(first, second) else -math.inf

    def _sure(self, first: Row, second: Row, gap: int) -> float:
        if first.key not in self._vectors or second.key not in self._vectors:
            mine, theirs = (
                self._words.get(first.key, frozenset()),
                self._words.get(second.key, frozenset()),
            )
            fewer = min(len(mine), len(theirs))
            shared = len(mine & theirs) / fewer if fewer else -math.inf
            sure = _share(self._bm25, first, second) + shared - _IN_WORDS
            return self._surer(sure, _ANOTHER_IN_WORDS, first, second)
        cosine = float(np.dot(self._vectors[first.key], self._vectors[second.key]))
        if not {first.key, second.key} <= self._told:
            shares = _share(self._bm25, first, second) + _share(self._near, first, second)
            return shares / 2 + _above(cosine, self._floor) - _BEHIND * math.log(gap) - _ENOUGH
        near = max(0.0, _above(cosine, self._usual))
        sure = near - _BEHIND * math.log(gap) - _ENOUGH_TOLD
        return self._surer(sure, _ANOTHER, first, second)

    def _surer(self, sure: float, more: float, first: Row, second: Row) -> float:
        """How sure it is with so much `more` where one fact has another value of the same kind than
        the other: looked at only where that decides."""
        if sure < -more or not {first.key, second.key} <= self._told:
            return sure
        old, new = (self._bodies.get(row.key, "") for row in (first, second))
        return sure + more * corrections.another_value(new, old)

    def _in_passing(self, index: Answers, rows: Collection[Row]) -> frozenset[int]:
        """Facts in the words of a conversation, which no judge has filed beside what else is
        known."""
        facts = [row for row in rows if row.derived_from and not row.level]
        sources = {
            one: row for one in {row.derived_from[0] for row in facts} for row in index.get(one)
        }
        bodies = index.bodies([row.key for row in sources.values() if captured(row)])
        said = {one: bodies.get(row.key, "") for one, row in sources.items()}
        return frozenset(
            row.key
            for row in facts
            if quoted(self._bodies.get(row.key, ""), [said.get(row.derived_from[0], "")])
        )

    def _of_the_same(self, first: Row, second: Row) -> bool:
        """Whom or what the question names and the first is about, the second must be about, too,
        unless it speaks of its speaker."""
        return self._named.get(first.key, set()) <= self._named.get(
            second.key, set()
        ) or claims.speaks(self._bodies.get(second.key, ""))


def _above(cosine: float, nothing: float) -> float:
    """How near two texts are, from what `nothing` is (0) to the same text (1)."""
    return (cosine - nothing) / (1 - nothing)


def _share(sign: Mapping[str, float], first: Row, second: Row) -> float:
    """How much of what speaks for the first speaks for the second, at most all of it; nothing where
    it is not known."""
    whole, part = sign.get(first.handle, math.nan), sign.get(second.handle, math.nan)
    return min(part / whole, 1.0) if whole > 0 and part > 0 else float(whole <= 0 < part)


BARELY: Final = 0.5
"""A row that fits less than this share as well as a capture leaves its place in the answer to
it."""


@dataclass(frozen=True)
class Captures:
    """Captures among the candidates, by handle: `empty` ones have no facts, `facts` names those of
    the others that may answer."""

    empty: frozenset[str]
    facts: Mapping[str, frozenset[str]]

    def __contains__(self, handle: str) -> bool:
        return handle in self.empty or handle in self.facts

    def ranked(
        self, features: Features, weights: Weights, rows: Sequence[Row]
    ) -> tuple[list[Scored], dict[str, float]]:
        """(the others, best first and scored as if there were no captures, then the captures;
        handle -> how well it fits beside all)."""
        together = fuse(features, weights)
        fit = {rows[one.index].handle: one.score for one in together}
        if not self.empty and not self.facts:
            return together, fit
        plain = [number for number, row in enumerate(rows) if row.handle not in self]
        alone = {
            rows[plain[one.index]].handle: replace(one, index=plain[one.index])
            for one in fuse(features.of(plain), weights)
        }
        for capture, facts in self.facts.items():
            best = max(facts, key=lambda fact: (alone[fact].score, fact))
            gain = fit[capture] - alone[best].score
            if gain > 0:
                alone[best] = replace(
                    alone[best], score=fit[capture], parts=alone[best].parts | {"its capture": gain}
                )
            fit[best] = max(fit[best], fit[capture])
        captures = [one for one in together if rows[one.index].handle in self]
        return sorted(alone.values(), key=lambda one: -one.score) + captures, fit

    def cut(self, scored: Sequence[Scored], rows: Sequence[Row], most: int) -> list[Scored]:
        """The first `most` of the captures behind the first `most` of the others."""
        captures = [one for one in scored if rows[one.index].handle in self]
        return [one for one in scored if rows[one.index].handle not in self][:most] + captures[
            :most
        ]

    def behind(self, order: Sequence[str], fit: Mapping[str, float], k: int) -> list[str]:
        """The first `k` of an answer, empty captures last; rows that barely fit beside a capture
        make room for it."""
        shown = self._following(order, fit, k // 2)[:k]
        captures = sorted(
            (one for one in order if one in self and one not in shown), key=lambda one: -fit[one]
        )
        room = k - len(shown)
        clear = [one for one in captures if fit[one] >= BARELY * max(fit.values())]
        while room < len(clear) and shown and fit[shown[-1]] < BARELY * fit[clear[room]]:
            shown.pop()
            room += 1
        return shown + captures[:room]

    def _following(self, order: Sequence[str], fit: Mapping[str, float], most: int) -> list[str]:
        """What is no capture, and between it at most so many captures that fit better than what
        comes next, each behind a fact of its own."""
        notes = [one for one in order if one not in self]
        told = sorted((one for one in order if one in self.facts), key=lambda one: -fit[one])
        found: list[str] = []
        for note in notes:
            behind = [one for one in told if not self.facts[one].isdisjoint(found)]
            ready = [one for one in behind if fit[one] >= fit[note]][:most]
            told = [one for one in told if one not in ready]
            found += [*ready, note]
            most -= len(ready)
        return found

    def capped(self, order: Sequence[str], score: Mapping[str, float]) -> dict[str, float]:
        """Handle -> the score that is shown: no capture has more than what stands before it."""
        least = min((score[one] for one in order if one not in self), default=1.0)
        return {one: min(score[one], least) if one in self else score[one] for one in order}


def among(rows: Sequence[Row], made: Mapping[str, Collection[int]]) -> Captures:
    """The captures among candidates. `made`: handle of a capture -> keys of what was filed of
    it."""
    handles = {row.key: row.handle for row in rows}
    captures = [row.handle for row in rows if captured(row)]
    facts = {
        one: frozenset(handles[key] for key in made.get(one, ()) if key in handles)
        for one in captures
    }
    return Captures(
        frozenset(captures) - made.keys(), {one: known for one, known in facts.items() if known}
    )
