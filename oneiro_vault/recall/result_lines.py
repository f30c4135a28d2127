"""What a row shows of its note: the line that answers best, and whether it barely fits beside the
rows above it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
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
SURE: Final = 0.7
"""How likely a question must be answered by the rows (`classifier.answered`), else all of them are
weak. Each vault left out of what the others teach, 5 % of 480 unrelated questions to eight months
of conversations reach it (16 % with thresholds by hand before), and .67 of their own that have an
answer among five (.73); of 300 to ten vaults of notes 1 % (2), and .86 of 113 (.92)."""
_BESIDE: Final = 3
"""Rows after the nearest one that it is compared with."""
_ASKED: Final = 32
"""Words of a question that are looked up: a hook may hand over a page as its question."""
_ALL: Final = 3
"""Words of a question that speak for a row by themselves, where it has all of them: so do 51 of 560
questions to their own vault and none of 820 unrelated ones."""
_COVERED: Final = 0.6
"""The share of the words somebody looks for, or asks about where there are no vectors, that speaks
for a row by itself, if the vault has heard of the others."""


@dataclass(frozen=True)
class Shown:
    """`snippet`: one line of plain text, raw as the note has it. `weak`: the row barely fits beside
    better ones."""

    snippet: str
    weak: bool


@dataclass(frozen=True)
class Fit:
    """How each of some rows fits a question: the line that answers best, the share of the words
    asked for (0-1), and the nearest cosine, NaN without vectors."""

    terms: QueryTerms
    snippets: Sequence[str]
    shares: Sequence[float]
    near: Sequence[float]


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
    one = fit(index, query, vector, [row for row, _ in found], replaced)
    weak = _weak([score for _, score in found], one.shares, one.near)
    if found and not asked_for and not _answered(index, query, one):
        weak = [True] * len(weak)
    return [Shown(snippet, is_weak) for snippet, is_weak in zip(one.snippets, weak, strict=True)]


def fit(
    index: Answers,
    query: str,
    vector: Vectors | None,
    rows: Sequence[Row],
    replaced: Mapping[str, Row] = MappingProxyType({}),
) -> Fit:
    """How rows fit a question; `replaced` as for `show`."""
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
    return Fit(terms, snippets, shares, near)


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


def _answered(index: Answers, query: str, found: Fit) -> bool:
    """Do the rows most likely answer, on a scale that is the same for all vaults?"""
    blind, asked = all(map(math.isnan, found.near)), len(found.terms.words)
    several = [share if share == 1 or share * asked > 1 else 0.0 for share in found.shares]
    most, looked_for = max(several), blind or not query.rstrip().endswith("?")
    if most == 1 and (looked_for or asked >= _ALL):
        return True
    if looked_for and most >= _COVERED and (blind or _unheard(index, found.terms) == 0):
        return True
    if blind:
        return False
    from oneiro_vault.classify.classifier import answered  # as in `drafts`

    return answered(signs(index, found)) >= SURE


def signs(index: Answers, found: Fit) -> list[float]:
    """What speaks for rows answering a question: how far the nearest reaches from what unrelated
    texts have (0) to the same text (1), and how far that is above the next ones, for what has
    nothing to do with a question fits it equally badly; the share of its words that the vault never
    heard of; how many of them one row has; how far the first row reaches; whether the vault knows
    somebody it names; and how much is in the vault, where more is alike by chance."""
    floor, terms = index.floor(), found.terms
    reaches = [
        max(0.0, 0.0 if math.isnan(one) else (one - floor) / (1 - floor)) for one in found.near
    ]
    best, *others = sorted(reaches, reverse=True)
    others = others[:_BESIDE] or [0.0]
    return [
        best,
        best - sum(others) / len(others),
        _unheard(index, terms),
        max(round(share * len(terms.words)) for share in found.shares),
        reaches[0],
        float(names_somebody(terms) and heard_of(index, terms)),
        math.log1p(index.scale(by_meaning=False).notes),
    ]


def _unheard(index: Answers, terms: QueryTerms) -> float:
    words = terms.words[:_ASKED]
    return sum(not index.knows((word,)) for word in words) / max(1, len(words))
