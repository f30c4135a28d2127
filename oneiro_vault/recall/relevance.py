"""What speaks for a row beside what a person just wrote, by signs that do not depend on the other
rows: how far its meaning is above what unrelated texts reach with this model, and the share of the
words that it has.

Which rows a prompt needs is learned from these signs and others (`gather`); here they are weighed
by themselves, for what is asked outright: what a text corrects, which principle bears on a
decision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.ranking import coverage
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.store import Index

ENOUGH: Final = 0.42
"""How much has to speak for a row: from .40 to .44 what is found moves by at most 4 points."""
_WORDS: Final = 0.20
"""What having all words of the question adds to the meaning; one shared word is chance and adds
nothing."""
_COVERED: Final = 0.60
"""Without vectors: the share of the question's words, each weighted by its rarity …"""
_SEVERAL: Final = 3
"""… and how many of them a row must have."""


@dataclass(frozen=True)
class Sign:
    """What speaks for one row: its `share` (0..1) of the question's words, how `many` that are, and
    how far its meaning reaches from what unrelated texts have (0) to the same text (1); NaN without
    a vector."""

    share: float
    many: int
    reach: float

    @property
    def weight(self) -> float:
        """To be compared with ENOUGH."""
        if math.isnan(self.reach):
            return (
                ENOUGH + self.share - _COVERED
                if self.many >= _SEVERAL and self.share >= _COVERED
                else 0.0
            )
        return self.reach + (_WORDS * self.share if self.many > 1 else 0.0)


def weigh(index: Index, query: str, vector: Vectors | None, rows: Sequence[Row]) -> list[float]:
    """What speaks for each row; from ENOUGH on it bears on the query beyond doubt."""
    return [sign.weight for sign in signs(index, query, vector, rows)]


def signs(index: Index, query: str, vector: Vectors | None, rows: Sequence[Row]) -> list[Sign]:
    """What speaks for each row."""
    if not rows:
        return []
    keys = [row.key for row in rows]
    matches, frequency, total = index.word_matches(index.terms(query), keys)
    shares = coverage(matches, frequency, total)
    reaches = _reaches(index, vector, keys)
    return [
        Sign(float(shares[at]), int(matches[:, at].sum()), reaches[at]) for at in range(len(keys))
    ]


def _reaches(index: Index, vector: Vectors | None, keys: Sequence[int]) -> list[float]:
    if vector is None:
        return [math.nan] * len(keys)
    floor = index.floor()
    found = index.cosines(vector, keys)
    return [(found[key].own - floor) / (1 - floor) for key in keys]
