"""From a question to rows: gather candidates from every list, give each every score, fuse, and say why.

The recipe and its constants are `core.ranking`'s; what is asked of the index here is only what that recipe needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final, Protocol

import numpy as np

from oneiro_vault.core.captures import captured
from oneiro_vault.core.query import QueryTerms, asks, content_words, date_shares, fts_expression, name_shares
from oneiro_vault.core.ranking import Evidence, Features, Scored, Weights, coverage, diversify, rationed, relevant, voices
from oneiro_vault.index.answers import Answers
from oneiro_vault.index.base import Filters, Row, Vectors
from oneiro_vault.recall.echo import Captures, among

TOP: Final = 100
"""Candidates from each list; from 50 to 200 nothing changes on the development set."""
LIVE: Final = ("active", "dormant")
"""Statuses that answer a question. `pending` is inert until reviewed; superseded and archived notes answer only when asked for."""
DAY: Final = 86_400.0
HALF_LIFE: Final = 7.0
"""Days in which recency halves (Alma)."""
HALF: Final = 0.5
"""How near a memory's date must be to one in the question to count as asked for: within a week."""
BUSY: Final = 20
"""Uses on so many days count as the most frequent."""
OUTSIDER: Final = "external"
"""The trust of what came from outside."""
OUTSIDE: Final = 0.2
"""Share of an answer that what came from outside gets at least, while other memories fit about as well; more where more of what may
answer came from there. On a development set with a tenth, a fifth, half, four fifths and all of its sessions from outside this costs 0,
0.4, 0.4, 0.8 and 0 points of Recall@10 (a share for every single conversation cost 0, 0.8, 3.2, 5.3 and 7.1)."""
_HEARD: Final = 30
"""Rows from outside that are compared with each other, and characters of each."""
_WORDS: Final = 2_000


class Ledger(Protocol):
    """What is known of a memory's use at one moment."""

    @property
    def now(self) -> float:
        """Epoch seconds."""
        ...

    @property
    def faded(self) -> float:
        """Strength below which a memory leaves automatic loads."""
        ...

    def last(self, row: Row) -> float | None:
        """When it was last used on purpose, else created (epoch seconds)."""
        ...

    def days(self, row: Row) -> int:
        """On how many days it was used on purpose."""
        ...

    def strength(self, row: Row) -> float:
        """How much of it is left, 0-1."""
        ...


@dataclass(frozen=True)
class Asked:
    """One question: its text, how many rows, which notes may answer, and whether it is an automatic load (`passive`).

    An automatic load brings nothing that has faded, and no orientation: that is loaded anyway. `without`: handles of notes that are to be
    left out as if they were not there; `only`: the keys of those that may answer, whatever their status. `captures`: may captured
    conversations answer, too?
    """

    query: str
    k: int
    filters: Filters = field(default_factory=Filters)
    passive: bool = False
    without: frozenset[str] = frozenset()
    only: frozenset[int] | None = None
    captures: bool = True


@dataclass(frozen=True)
class Found:
    """A row of the answer: the note, its score 0-1, and the parts that add up to it."""

    row: Row
    score: float
    why: dict[str, Any]


class Search:
    """Recall over one index, with what a ledger knows at this moment."""

    def __init__(self, index: Answers, ledger: Ledger, weights: Weights | None = None) -> None:
        self.index = index
        self.ledger = ledger
        self.weights = weights or Weights()

    def run(self, asked: Asked, vector: Vectors | None) -> list[Found]:
        """The best `k` rows; nothing when no memory is relevant. Without a vector: by keywords alone."""
        terms = self.index.terms(asked.query)
        expression = fts_expression(terms)
        allowed = _both(self.index.matching(asked.filters), asked.only)
        known = self.index.rows(self._candidates(expression, vector, allowed))
        made = self.index.made_of([row.handle for row in known.values() if captured(row)])
        facts = {key for keys in made.values() for key in keys if allowed is None or key in allowed}
        known |= self.index.rows(facts - known.keys()) if facts else {}
        fitting = (row for row in known.values() if self._answers(row, asked))
        rows = sorted(fitting, key=lambda row: row.path)  # equals stay in this order, and keys differ from index to index
        if not rows:
            return []
        features = self._features(terms, expression, vector, rows)
        captures = among(rows, made)
        scored, fit = captures.ranked(features, self.weights, rows)
        others = [number for number, row in enumerate(rows) if row.handle not in captures.empty]
        if not others or not relevant(scored, self._evidence(asked, terms, features.of(others), [rows[number] for number in others])):
            scored = [one for one in scored if rows[one.index].handle in captures.empty]  # they speak for none but themselves
            scored = scored and relevant(scored, self._evidence(asked, terms, features, rows))
        return self._top(scored, rows, asked.k, captures, fit)

    def _candidates(self, expression: str, vector: Vectors | None, allowed: set[int] | None) -> set[int]:
        """The union of the best of every list."""
        found = [key for key, _ in self.index.search_text(expression, TOP, allowed)]
        found += [key for key, _ in self.index.search_context(expression, TOP, allowed)]
        found += [key for key, _ in self.index.search_passages(expression, TOP, allowed)]
        if vector is not None:
            found += [hit.key for hit in self.index.search_vectors(vector, TOP, allowed)]
        return set(found)

    def _answers(self, row: Row, asked: Asked) -> bool:
        live = asked.filters.status is not None or asked.only is not None or row.status in LIVE
        if row.handle in asked.without or not live or (captured(row) and not asked.captures):
            return False
        return not asked.passive or (row.type != "orientation" and self.ledger.strength(row) >= self.ledger.faded)

    def _features(self, terms: QueryTerms, expression: str, vector: Vectors | None, rows: Sequence[Row]) -> Features:
        keys = [row.key for row in rows]
        before = self.index.previous(keys)
        bodies = self.index.bodies(set(before.values())) if before else {}
        asking = {key: other for key, other in before.items() if asks(bodies.get(other, ""))}
        everyone = [*keys, *(other for other in asking.values() if other not in set(keys))]
        about = self.index.names_of(keys)
        features = Features(
            names=np.array(name_shares(terms, [about[key] for key in keys])),
            dates=np.array(date_shares(terms, [_day(row) for row in rows])),
        )
        if expression:
            self._keywords(features, expression, rows, everyone, asking)
        if vector is not None:
            self._meaning(features, vector, keys, everyone, asking)
        self._beliefs(features, rows)
        return features

    def _keywords(self, features: Features, expression: str, rows: Sequence[Row], everyone: list[int], asking: dict[int, int]) -> None:
        keys = [row.key for row in rows]
        own, context = self.index.text_scores(expression, everyone), self.index.context_scores(expression, keys)
        session, passage = self.index.session_scores(expression, keys), self.index.passage_scores(expression, keys)
        features.bm25 = _array(keys, lambda key: own.get(key, 0.0))
        features.question_bm25 = _array(keys, lambda key: own.get(asking[key], 0.0) if key in asking else math.nan)
        features.context_bm25 = _array(keys, lambda key: context.get(key, math.nan))
        features.session_bm25 = _array(keys, lambda key: session.get(key, math.nan))
        features.passage_bm25 = _array(keys, lambda key: passage.get(key, math.nan))

    def _meaning(self, features: Features, vector: Vectors, keys: list[int], everyone: list[int], asking: dict[int, int]) -> None:
        found = self.index.cosines(vector, everyone)
        nothing = (math.nan, math.nan)
        features.cosine = _array(keys, lambda key: found.get(key, nothing)[0])
        features.context_cosine = _array(keys, lambda key: found.get(key, nothing)[1])
        features.question_cosine = _array(keys, lambda key: found.get(asking[key], nothing)[0] if key in asking else math.nan)

    def _beliefs(self, features: Features, rows: Sequence[Row]) -> None:
        """What the vault believes of each memory; missing values are neutral."""
        features.importance = np.array([math.nan if row.importance is None else row.importance for row in rows])
        features.strength = np.array([self.ledger.strength(row) for row in rows])
        features.recency = np.array([self._recency(row) for row in rows])
        features.frequency = np.array([min(1.0, math.log1p(self.ledger.days(row)) / math.log1p(BUSY)) for row in rows])

    def _recency(self, row: Row) -> float:
        last = self.ledger.last(row)
        return math.nan if last is None else math.exp(-math.log(2) * max(0.0, self.ledger.now - last) / DAY / HALF_LIFE)

    def _evidence(self, asked: Asked, terms: QueryTerms, features: Features, rows: Sequence[Row]) -> Evidence:
        """What speaks for an answer; the words are only counted when nothing else does, because that is the dearest question."""
        named = bool(terms.names)
        known = named and self.index.knows((*terms.names, *(other for _, other in terms.spellings)))
        seen = features.cosine is not None and not np.isnan(features.cosine).all()
        cosine = float(np.nanmax(features.cosine)) if seen and features.cosine is not None else math.nan
        background, spread = self.index.background() if seen else (math.nan, math.nan)
        dated = features.dates is not None and bool((features.dates > HALF).any())
        floor = self.index.floor() if seen else math.nan
        asked_for = asked.filters != Filters() or asked.only is not None or dated
        evidence = Evidence(named, known, 0.0, cosine, background, spread, floor, asked_for)
        if evidence.asked_for or known or cosine > (background + spread if named else floor):
            return evidence
        matches, frequency, total = self.index.word_matches(terms, [row.key for row in rows])
        shares = coverage(matches, frequency, total)
        return replace(evidence, coverage=float(shares.max()) if shares.size else 0.0)

    def _top(self, scored: Sequence[Scored], rows: Sequence[Row], k: int, captures: Captures, fit: Mapping[str, float]) -> list[Found]:
        """The first `k`: sources and products of a better row behind all others, and much from one outside origin behind what else fits."""
        best = [(rows[one.index], one) for one in captures.cut([one for one in scored if one.score > 0], rows, max(4 * k, 40))]
        by_handle = {row.handle: (row, one) for row, one in best}
        order = diversify(by_handle, {handle: _ancestors(row, by_handle) for handle, (row, _) in by_handle.items()})
        scores = {handle: one.score for handle, (_, one) in by_handle.items()}
        order = captures.behind(self._rationed(order, by_handle, rows, k), fit, k)
        shown = captures.capped(order, scores)
        return [Found(by_handle[handle][0], shown[handle], _why(*by_handle[handle], shown[handle])) for handle in order]

    def _rationed(self, order: list[str], found: Mapping[str, tuple[Row, Scored]], rows: Sequence[Row], k: int) -> list[str]:
        """What came from outside says one thing so often, and all of it together gets no more of the answer than its share."""
        outside = [handle for handle in order if found[handle][0].trust == OUTSIDER]
        least = max(1, round(OUTSIDE * k))
        if len(outside) <= least:
            return order
        scores = {handle: one.score for handle, (_, one) in found.items()}
        bodies = self.index.bodies([found[handle][0].key for handle in outside[:_HEARD]])
        said = {handle: content_words(bodies.get(found[handle][0].key, "")[:_WORDS]) for handle in outside[:_HEARD]}
        share = sum(row.trust == OUTSIDER for row in rows) / len(rows)
        order = rationed(order, voices(said), scores, least)
        return rationed(order, dict.fromkeys(outside, OUTSIDER), scores, max(least, round(share * k)))


def _both(one: set[int] | None, other: frozenset[int] | None) -> set[int] | None:
    return one if other is None else set(other) if one is None else one & other


def _ancestors(row: Row, known: Mapping[str, tuple[Row, Scored]]) -> set[str]:
    """What a note was derived from or replaced, and what those were, as far as they are in the answer."""
    found: set[str] = set()
    todo = [row]
    while todo:
        one = todo.pop()
        fresh = {*one.derived_from, *one.supersedes} - found
        found |= fresh
        todo += [known[handle][0] for handle in fresh if handle in known]
    return found - {row.handle}


def _day(row: Row) -> date | None:
    """The day it was created, as written (in its own time zone)."""
    try:
        return date.fromisoformat(row.created[:10])
    except ValueError:
        return None


def _array(keys: Sequence[int], value: Callable[[int], float]) -> Any:
    return np.array([value(key) for key in keys], dtype=np.float64)


def _why(row: Row, one: Scored, score: float) -> dict[str, Any]:
    """The date, and the parts that add up to the score."""
    parts = one.parts | ({"a capture": score - one.score} if score != one.score else {})
    return {"date": row.created[:10] or None, "parts": {name: round(part, 4) for name, part in parts.items()}}
