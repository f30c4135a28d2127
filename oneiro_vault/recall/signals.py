"""What the index and the ledger say of each candidate for a question: its features, from which its
score is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

import numpy as np

from oneiro_vault.core.ranking import Features
from oneiro_vault.core.text.language import CAPITALISING
from oneiro_vault.core.text.query import (
    QueryTerms,
    asks,
    date_shares,
    name_shares,
    of_speaker,
    quoted,
)
from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.recall.request import Ledger

DAY: Final = 86_400.0
HALF_LIFE: Final = 7.0
"""Days in which recency halves (Alma)."""
SAID: Final = "said"
"""The trust of a person's own words: a name that the vault never heard of may be theirs."""
BUSY: Final = 20
"""Uses on so many days count as the most frequent."""


class Signs:
    """The features of candidates, over one index and one ledger."""

    def __init__(self, index: Answers, ledger: Ledger) -> None:
        self.index = index
        self.ledger = ledger

    def of(
        self,
        query: str,
        terms: QueryTerms,
        expression: str,
        vector: Vectors | None,
        rows: Sequence[Row],
    ) -> Features:
        """The features of `rows`, in their order; `expression` and `vector` are the question for
        keywords and for meaning."""
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
            features.speaker_cosine = self._of_speaker(query, terms, rows)
        seen = features.cosine is not None and not np.isnan(features.cosine).all()
        features.scale = self.index.scale(by_meaning=bool(seen))
        self._beliefs(features, rows)
        return features

    def _keywords(
        self,
        features: Features,
        expression: str,
        rows: Sequence[Row],
        everyone: list[int],
        asking: dict[int, int],
    ) -> None:
        keys = [row.key for row in rows]
        own, context = (
            self.index.text_scores(expression, everyone),
            self.index.context_scores(expression, keys),
        )
        session, passage = (
            self.index.session_scores(expression, keys),
            self.index.passage_scores(expression, keys),
        )
        features.bm25 = _array(keys, lambda key: own.get(key, 0.0))
        features.question_bm25 = _array(
            keys, lambda key: own.get(asking[key], 0.0) if key in asking else math.nan
        )
        features.context_bm25 = _array(keys, lambda key: context.get(key, math.nan))
        features.session_bm25 = _array(keys, lambda key: session.get(key, math.nan))
        features.passage_bm25 = _array(keys, lambda key: passage.get(key, math.nan))

    def _meaning(
        self,
        features: Features,
        vector: Vectors,
        keys: list[int],
        everyone: list[int],
        asking: dict[int, int],
    ) -> None:
        found = self.index.cosines(vector, everyone)
        features.cosine = _array(keys, lambda key: found[key].own)
        features.context_cosine = _array(keys, lambda key: found[key].context)
        features.whole_cosine = _array(keys, lambda key: found[key].whole)
        features.question_cosine = _array(
            keys, lambda key: found[asking[key]].own if key in asking else math.nan
        )

    def _of_speaker(self, query: str, terms: QueryTerms, rows: Sequence[Row]) -> Any:
        """How near a person's own words are to the question as they would put it: people seldom
        name themselves. Where they name whom the question names, it is asked as it stands."""
        said = {row.key for row in rows if row.trust == SAID}
        if not said or not terms.names or terms.language:
            return None
        named = " OR ".join(quoted(part) for name in terms.names for part in name.split())
        said -= self.index.text_scores(named, said).keys()
        try:
            found = self.index.cosines(self.index.query(of_speaker(query, terms.names)), said)
        except EmbedderProblem:  # the question as it stands has been answered
            return None
        keys = [row.key for row in rows]
        return _array(keys, lambda key: found[key].own if key in found else math.nan)

    def _beliefs(self, features: Features, rows: Sequence[Row]) -> None:
        """What the vault believes of each memory; missing values are neutral."""
        features.importance = np.array(
            [math.nan if row.importance is None else row.importance for row in rows]
        )
        features.strength = np.array([self.ledger.strength(row) for row in rows])
        features.recency = np.array([self._recency(row) for row in rows])
        features.frequency = np.array(
            [min(1.0, math.log1p(self.ledger.days(row)) / math.log1p(BUSY)) for row in rows]
        )

    def _recency(self, row: Row) -> float:
        last = self.ledger.last(row)
        return (
            math.nan
            if last is None
            else math.exp(-math.log(2) * max(0.0, self.ledger.now - last) / DAY / HALF_LIFE)
        )


def names_somebody(terms: QueryTerms) -> bool:
    """Does a question name somebody or something? In languages that capitalise all nouns that
    cannot be seen."""
    return bool(terms.names) and terms.language not in CAPITALISING


def heard_of(index: Answers, terms: QueryTerms) -> bool:
    """Is one of the names of a question anywhere in the vault?"""
    return index.knows((*terms.names, *(other for _, other in terms.spellings)))


def _array(keys: Sequence[int], value: Callable[[int], float]) -> Any:
    return np.array([value(key) for key in keys], dtype=np.float64)


def _day(row: Row) -> date | None:
    """The day it was created, as written (in its own time zone)."""
    try:
        return date.fromisoformat(row.created[:10])
    except ValueError:
        return None
