"""What a row shows of its note: the line that answers best, and whether it barely fits beside the
rows above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.quoting import without_comments
from oneiro_vault.core.text.query import QueryTerms, fts_expression
from oneiro_vault.core.text.snippet import Finder
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.recall.search import heard_of, names_somebody

_LONG: Final = 20_000
"""Characters of a body that are looked through; of a longer one only the passage that the index
finds best."""
_SCORE: Final = 0.5
"""A row barely fits below this share of the best score (no answer of the development set does) …"""
_WORDS: Final = 0.5
"""… when it has at most this share of the words that the best row has of the question …"""
_NEAR: Final = 0.75
"""… and is less near to it in meaning than this share of the nearest row: scores alone exaggerate
between few candidates."""
_SPEAKS: Final = 0.35
"""What must speak for the best row (`_evidence`), else all of them are weak: of 220 questions that
have nothing to do with one of eleven vaults of 5 to 385 notes 4 % reach it, of 133 that a note
answers 93 %; .33 makes 5 and 93 %, .40 4 and 89 %; whichever vault is left out, the others choose
.34 or .35. Of 395 and 250 questions of others .33 makes 3 and 95 %, .40 1 and 92 %."""
_OF_A_STRANGER: Final = 0.4
"""The same for a question that names somebody whom the vault never heard of: it may be the person
whose words it keeps, who seldom names themselves, and is more often somebody else."""
_BESIDE: Final = 3
"""Rows after the best one that it is compared with."""
_BY_WORDS: Final = 0.2
"""What having all words of the question adds to how near the meaning is."""
_COVERED: Final = 0.6
"""The share of the question's words that speaks for a row by itself, if the vault has heard of the
others; without vectors nothing else does."""


@dataclass(frozen=True)
class Shown:
    """`snippet`: one line of plain text, raw as the note has it. `weak`: the row barely fits beside
    better ones."""

    snippet: str
    weak: bool


def show(
    index: Answers,
    query: str,
    vector: Vectors | None,
    found: Sequence[tuple[Row, float]],
    asked_for: bool = False,
    replaced: Mapping[str, Row] = MappingProxyType({}),
) -> list[Shown]:
    """What to show of each row (with its score), in order; `asked_for`: the question said where to
    look, so that what is there is an answer; `replaced`: handle of a row -> what it replaced, which
    speaks for it."""
    rows = [row for row, _ in found]
    terms = index.terms(query)
    finder = Finder(terms.words, terms.language)
    keys = [row.key for row in rows]
    bodies = _bodies(index, terms, keys)
    spots = {key: finder.spots(body) for key, body in bodies.items()}
    lines = {key: finder.best(body, spots[key]) for key, body in bodies.items()}
    elsewhere = _by_meaning(index, vector, [key for key in keys if not lines.get(key)])
    snippets = [
        lines.get(row.key) or elsewhere.get(row.key) or row.description or row.title for row in rows
    ]
    shares = [
        finder.share(spots.get(row.key, ()), row.title, row.description, *row.tags, *row.about)
        for row in rows
    ]
    near = _near(index, vector, keys)
    for at, row in enumerate(replaced.get(row.handle) for row in rows):
        if row is not None:
            words = finder.spots(_bodies(index, terms, [row.key]).get(row.key, ""))
            own = finder.share(words, row.title, row.description, *row.tags, *row.about)
            shares[at] = max(shares[at], own)
            near[at] = float(np.fmax(near[at], _near(index, vector, [row.key])[0]))
    weak = _weak([score for _, score in found], shares, near)
    floor = index.floor() if vector is not None else math.nan
    least = _OF_A_STRANGER if names_somebody(terms) and not heard_of(index, terms) else _SPEAKS

    def heard() -> bool:
        return all(index.knows((word,)) for word in terms.words)

    if not asked_for and _evidence(shares, near, floor, len(terms.words), heard) < least:
        weak = [True] * len(weak)
    return [Shown(snippet, is_weak) for snippet, is_weak in zip(snippets, weak, strict=True)]


def _bodies(index: Answers, terms: QueryTerms, keys: Collection[int]) -> dict[int, str]:
    """The body of each note; of a long one its best passage by words, or its beginning."""
    bodies = index.bodies(keys)
    long = [key for key, body in bodies.items() if len(body) > _LONG]
    spans = index.best_passages(fts_expression(terms), long) if long else {}
    cut = bodies | {key: bodies[key][slice(*spans.get(key, (0, _LONG)))] for key in long}
    return {key: without_comments(body) for key, body in cut.items()}


def _by_meaning(index: Answers, vector: Vectors | None, keys: Collection[int]) -> dict[int, str]:
    """The first sentence of the nearest passage of each note that has several."""
    spans = index.nearest_passages(vector, keys) if vector is not None and keys else {}
    bodies = index.bodies(spans)
    return {
        key: parser.first_sentence(bodies[key][start:end])
        for key, (start, end) in spans.items()
        if key in bodies
    }


def _near(index: Answers, vector: Vectors | None, keys: Collection[int]) -> list[float]:
    """The best cosine of each note; NaN where there is none."""
    if vector is None:
        return [math.nan] * len(keys)
    found = index.cosines(vector, keys)
    return [
        max((cosine for cosine in found[key] if not math.isnan(cosine)), default=math.nan)
        for key in keys
    ]


def _weak(scores: Sequence[float], shares: Sequence[float], near: Sequence[float]) -> list[bool]:
    best_score, best_share = max(scores, default=0.0), max(shares, default=0.0)
    nearest = max((cosine for cosine in near if not math.isnan(cosine)), default=math.nan)
    return [
        score < _SCORE * best_score
        and share <= _WORDS * best_share
        and not cosine >= _NEAR * nearest
        for score, share, cosine in zip(scores, shares, near, strict=True)
    ]


def _evidence(
    shares: Sequence[float],
    near: Sequence[float],
    floor: float,
    words: int,
    heard: Callable[[], bool],
) -> float:
    """What speaks for the best of the rows on a scale of its own: how far its meaning reaches from
    what unrelated texts have (0) to the same text (1) and the words it has, and how far that is
    above the next rows, for what has nothing to do with a question fits it equally badly. One
    shared word of several is chance; most of them are enough, unless the vault never `heard` of one
    of the others: the rarest word of a question says most of what it is about."""
    several = [share if share == 1 or share * words > 1 else 0.0 for share in shares]
    most = max(several, default=0.0)
    if most >= _COVERED and (most == 1 or all(map(math.isnan, near)) or heard()):
        return 1.0
    values = [
        0.0 if math.isnan(cosine) else (cosine - floor) / (1 - floor) + _BY_WORDS * share
        for share, cosine in zip(several, near, strict=True)
    ]
    best, *others = sorted(values, reverse=True) or [0.0]
    others = others[:_BESIDE]
    return best + best - sum(others) / max(len(others), 1)
