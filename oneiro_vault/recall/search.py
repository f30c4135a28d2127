"""From a question to rows: gather candidates from every list, give each every score, fuse, and say
why.

The recipe and its constants are `core.ranking`'s; what is asked of the index here is only what that
recipe needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

import numpy as np

from oneiro_vault import answers
from oneiro_vault.core.memory import LIVE, captured, profile
from oneiro_vault.core.ranking import (
    Evidence,
    Features,
    Scored,
    Weights,
    coverage,
    diversify,
    fuse,
    rationed,
    relevant,
    voices,
)
from oneiro_vault.core.text.language import CAPITALISING
from oneiro_vault.core.text.query import (
    QueryTerms,
    asks,
    content_words,
    date_shares,
    fts_expression,
    name_shares,
    of_speaker,
    quoted,
    verbatim,
)
from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import Filters, Row, Vectors
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.recall import answer_order
from oneiro_vault.recall.answer_order import Captures, among
from oneiro_vault.recall.request import EVER, Asked, Found, Ledger

TOP: Final = 100
"""Candidates from each list; from 50 to 200 nothing changes on the development set."""
LEAST: Final = 0.001
"""A score below which nothing speaks for a memory: the noise of vectors that have nothing in
common."""
HALF: Final = 0.5
"""How near a memory's date must be to one in the question to count as asked for: within a week."""
OUTSIDER: Final = "external"
"""The trust of what came from outside."""
OUTSIDE: Final = 0.2
"""Share of an answer that what came from outside gets at least, while other memories fit about as
well; more where more of what may answer came from there. On a development set with a tenth, a
fifth, half, four fifths and all of its sessions from outside this costs 0, 0.4, 0.4, 0.8 and 0
points of Recall@10 (a share for every single conversation cost 0, 0.8, 3.2, 5.3 and 7.1)."""
_HEARD: Final = 30
"""Rows from outside that are compared with each other, and characters of each."""
_WORDS: Final = 2_000


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


@dataclass(frozen=True)
class _Answer:
    """A question and everything known of its candidates: `fit` is how well each does beside all,
    `verbatim` the handles of those that have its very words."""

    asked: Asked
    terms: QueryTerms
    rows: Sequence[Row]
    features: Features
    captures: Captures
    fit: Mapping[str, float]
    verbatim: frozenset[str]
    replaced: Mapping[str, Row]

    @property
    def of_now(self) -> bool:
        """Is it asked how things are, not how they were or what was said at some time? A date that
        no candidate has is what things are about: "what do we do in July?"."""
        asked = self.asked
        return not (
            asked.alike or asked.history or self.dated or self.verbatim or asked.only is not None
        )

    @property
    def dated(self) -> frozenset[str]:
        """The handles of what has a date that the question mentions."""
        return frozenset(handle for handle, near in self.column("dates").items() if near > HALF)

    def column(self, name: str) -> dict[str, float]:
        """Handle -> that sign, NaN where there is none."""
        values = getattr(self.features, name)
        return {
            row.handle: math.nan if values is None else float(values[at])
            for at, row in enumerate(self.rows)
        }


class Search:
    """Recall over one index, with what a ledger knows at this moment."""

    def __init__(self, index: Answers, ledger: Ledger, weights: Weights | None = None) -> None:
        self.index = index
        self.ledger = ledger
        self.weights = weights or Weights()

    def run(self, asked: Asked, vector: Vectors | None) -> list[Found]:
        """The best `k` rows; nothing when no memory is relevant. Without a vector: by keywords
        alone."""
        terms = self.index.terms(asked.query)
        expression = fts_expression(terms)
        allowed = _both(self.index.matching(asked.filters), asked.only)
        exact = self._verbatim(asked, allowed)
        known = self.index.rows(self._candidates(expression, vector, allowed) | exact)
        made = self.index.made_of([row.handle for row in known.values() if captured(row)])
        facts = {key for keys in made.values() for key in keys if allowed is None or key in allowed}
        known |= self.index.rows(facts - known.keys()) if facts else {}
        old, successors = self._replaced(known, asked, allowed)
        fitting = (row for row in known.values() if self._answers(row, asked))
        rows = sorted(
            fitting, key=lambda row: row.path
        )  # equals stay in this order, and keys differ from index to index
        if not rows:
            return []
        every = [*rows, *old]
        signs = Signs(self.index, self.ledger).of(asked.query, terms, expression, vector, every)
        features = signs.of(range(len(rows))) if old else signs
        captures = among(rows, made)
        scored, fit = captures.ranked(features, self.weights, rows)
        better: Mapping[str, Row] = {}
        if old:
            fits = {every[one.index].handle: one.score for one in fuse(signs, self.weights)}
            better = _better(old, successors, fits)
            scored = _raised(scored, rows, better, fits)
        exactly = frozenset(
            row.handle for row in rows if row.key in exact and row.handle not in captures
        )
        scored = _leading(scored, [row.handle in exactly for row in rows])
        fit |= dict.fromkeys(exactly, max(fit.values()))
        others = [number for number, row in enumerate(every) if row.handle not in captures.empty]
        if not others or not relevant(
            scored,
            self._evidence(asked, terms, signs.of(others), [every[number] for number in others]),
        ):
            scored = [
                one for one in scored if rows[one.index].handle in captures.empty
            ]  # they speak for none but themselves
            scored = scored and relevant(scored, self._evidence(asked, terms, features, rows))
        answer = _Answer(asked, terms, rows, features, captures, fit, exactly, better)
        return self._top(answer, scored)

    def _verbatim(self, asked: Asked, allowed: set[int] | None) -> set[int]:
        """The notes with the very words of a question, as a person types a phrase to find its
        note; what a prompt said before is no answer to it."""
        wanted = "" if asked.passive or asked.alike else verbatim(asked.query)
        return {key for key, _ in self.index.search_text(wanted, TOP, allowed)}

    def _candidates(
        self, expression: str, vector: Vectors | None, allowed: set[int] | None
    ) -> set[int]:
        """The union of the best of every list."""
        found = [key for key, _ in self.index.search_text(expression, TOP, allowed)]
        found += [key for key, _ in self.index.search_context(expression, TOP, allowed)]
        found += [key for key, _ in self.index.search_passages(expression, TOP, allowed)]
        if vector is not None:
            found += [hit.key for hit in self.index.search_vectors(vector, TOP, allowed)]
        return set(found)

    def _answers(self, row: Row, asked: Asked) -> bool:
        live = (
            asked.filters.status is not None
            or asked.only is not None
            or row.status in (EVER if asked.history else LIVE)
        )
        if row.handle in asked.without or not live or (captured(row) and not asked.captures):
            return False
        if profile(row) and not asked.filters.type:
            return False  # a profile quotes what answers by itself
        return not asked.passive or row.type != "orientation"

    def _replaced(
        self, known: dict[int, Row], asked: Asked, allowed: set[int] | None
    ) -> tuple[list[Row], dict[str, str]]:
        """The candidates that were replaced, and handle -> what holds now in its place, which
        `known` has from here on: a correction seldom repeats what it is about."""
        if asked.alike or asked.history or asked.only is not None or asked.filters.status:
            return [], {}
        old = [row for row in known.values() if row.status == "superseded"]
        lines = self.index.succession([row.key for row in old]) if old else {}
        known |= self.index.rows({key for keys in lines.values() for key in keys} - known.keys())
        found: dict[str, str] = {}
        for row in old:
            living = [
                known[key]
                for key in lines.get(row.key, ())
                if key in known
                and self._answers(known[key], asked)
                and (allowed is None or key in allowed)
            ]
            if living:
                found[row.handle] = max(living, key=lambda one: (one.when or 0.0, one.path)).handle
        return sorted((row for row in old if row.handle in found), key=lambda row: row.path), found

    def _evidence(
        self, asked: Asked, terms: QueryTerms, features: Features, rows: Sequence[Row]
    ) -> Evidence:
        """What speaks for an answer; the words are only counted when nothing else does, because
        that is the dearest question."""
        named = names_somebody(terms)
        known = named and heard_of(self.index, terms)
        named = named and (
            known or not any(row.trust == SAID for row in rows)
        )  # people seldom name themselves
        seen = features.cosine is not None and not np.isnan(features.cosine).all()
        cosine = (
            float(np.nanmax(features.cosine)) if seen and features.cosine is not None else math.nan
        )
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

    def _top(self, answer: _Answer, scored: Sequence[Scored]) -> list[Found]:
        """The first `k`: the episodes that a better row came from behind all others, and much from
        one outside origin behind what else fits; of what answers the same, what holds now first."""
        rows, k, captures = answer.rows, answer.asked.k, answer.captures
        best = [
            (rows[one.index], one)
            for one in captures.cut(
                [one for one in scored if one.score > LEAST], rows, max(4 * k, 40)
            )
        ]
        by_handle = {row.handle: (row, one) for row, one in best}
        notes = {handle: row for handle, (row, _) in by_handle.items()}
        order = list(by_handle)
        moved: dict[str, str] = {}
        if not answer.asked.alike:
            order = diversify(
                order, {handle: _ancestors(row, notes) for handle, row in notes.items()}
            )
        shown = {handle: one.score for handle, (_, one) in by_handle.items()}
        if answer.of_now:
            scores = [shown[one] for one in order]
            order, moved = answer_order.leading(
                order, notes, self._likeness(answer, order, notes), self.ledger.now
            )
            shown = dict(zip(order, scores, strict=True)) if moved else shown
        if not answer.asked.alike:
            order = self._rationed(order, by_handle, rows, k)
        if answer.asked.passive:
            order = self._unfaded(order, notes, moved)
        order = captures.behind(order, answer.fit, k)
        dated = answer.dated
        later = heirs(self.index, [notes[handle] for handle in order])
        order.sort(key=lambda one: bool(later.get(one)) and one in captures)
        order.sort(key=lambda one: self.ledger.doubted(notes[one]))
        shown = captures.capped(order, shown)
        found = [
            Found(
                notes[one],
                shown[one],
                _why(*by_handle[one], shown[one], one in captures),
                later.get(one, ""),
                moved.get(one, ""),
                one in dated,
                answer.replaced.get(one),
            )
            for one in order
        ]
        return unfolded(self.index, found)[:k] if answer.asked.history else found

    def _unfaded(
        self, order: Sequence[str], notes: Mapping[str, Row], moved: Mapping[str, str]
    ) -> list[str]:
        """Without what has faded, unless it is the newer answer of what has not."""
        fresh = {one for one in order if self.ledger.strength(notes[one]) >= self.ledger.faded}
        fresh |= {newer for older, newer in moved.items() if older in fresh}
        return [one for one in order if one in fresh]

    def _likeness(
        self, answer: _Answer, order: Sequence[str], notes: Mapping[str, Row]
    ) -> answer_order.Same:
        near = answer.column("cosine")
        # To a model all of a language that it does not know is alike.
        told = self.index.fluent(answer.terms.language) and not all(map(math.isnan, near.values()))
        floor = self.index.floor() if told else math.nan
        rows = [notes[one] for one in order if notes[one].type in answer_order.LASTS][
            : answer_order.MOST
        ]
        return answer_order.Likeness(
            self.index, answer.terms, rows, answer.column("bm25"), near, floor
        )

    def _rationed(
        self, order: list[str], found: Mapping[str, tuple[Row, Scored]], rows: Sequence[Row], k: int
    ) -> list[str]:
        """What came from outside says one thing so often, and all of it together gets no more of
        the answer than its share."""
        outside = [handle for handle in order if found[handle][0].trust == OUTSIDER]
        least = max(1, round(OUTSIDE * k))
        if len(outside) <= least:
            return order
        scores = {handle: one.score for handle, (_, one) in found.items()}
        bodies = self.index.bodies([found[handle][0].key for handle in outside[:_HEARD]])
        said = {
            handle: content_words(bodies.get(found[handle][0].key, "")[:_WORDS])
            for handle in outside[:_HEARD]
        }
        share = sum(row.trust == OUTSIDER for row in rows) / len(rows)
        order = rationed(order, voices(said), scores, least)
        return rationed(
            order, dict.fromkeys(outside, OUTSIDER), scores, max(least, round(share * k))
        )


def _leading(scored: Sequence[Scored], exact: Sequence[bool]) -> list[Scored]:
    """The same order with the very words first, which fit no less than the best of the others."""
    best = max((one.score for one in scored), default=0.0)
    words = [
        replace(one, score=best, parts=one.parts | {"the very words": best - one.score})
        for one in scored
        if exact[one.index]
    ]
    return [*words, *(one for one in scored if not exact[one.index])]


def _better(
    old: Sequence[Row], successors: Mapping[str, str], fits: Mapping[str, float]
) -> dict[str, Row]:
    """Handle -> what it replaced that fits the question best, where that fits better than it."""
    found: dict[str, Row] = {}
    for row in sorted(old, key=lambda row: fits[row.handle]):
        if fits[row.handle] > fits[successors[row.handle]]:
            found[successors[row.handle]] = row
    return found


def _raised(
    scored: Sequence[Scored],
    rows: Sequence[Row],
    better: Mapping[str, Row],
    fits: Mapping[str, float],
) -> list[Scored]:
    """What replaced another fits no less than that did: beside the best of the others as much
    better as it does among all."""
    top = max((one.score for one in scored), default=0.0)
    beside = max(fits[rows[one.index].handle] for one in scored)
    found: list[Scored] = []
    for one in scored:
        row = better.get(rows[one.index].handle)
        least = min(1.0, top * fits[row.handle] / max(beside, LEAST)) if row else 0.0
        parts = one.parts | {"what it replaced": least - one.score}
        found.append(replace(one, score=least, parts=parts) if least > one.score else one)
    return sorted(found, key=lambda one: -one.score)


def _both(one: set[int] | None, other: frozenset[int] | None) -> set[int] | None:
    return one if other is None else set(other) if one is None else one & other


def _ancestors(row: Row, known: Mapping[str, Row]) -> set[str]:
    """The episodes a note came from, also by way of others in the answer, as far as they are in it.
    The facts that an insight or a block draws together are no less an answer than it is."""
    found: set[str] = set()
    todo = [row]
    while todo:
        fresh = {*todo.pop().derived_from} & known.keys() - found
        found |= fresh
        todo += [known[handle] for handle in fresh]
    return {handle for handle in found - {row.handle} if known[handle].type == "episodic"}


def _why(row: Row, one: Scored, score: float, capture: bool) -> answers.RowWhy:
    """The date, and the parts that add up to the score."""
    moved = (
        {"a capture" if capture else "its date": score - one.score} if score != one.score else {}
    )
    parts = {name: round(part, 4) for name, part in (one.parts | moved).items()}
    return {"date": row.created[:10] or None, "parts": parts}


def heirs(index: Answers, rows: Sequence[Row]) -> dict[str, str]:
    """Handle -> what replaced it; for an episode: what replaced something that was made of it, if
    that is among these rows."""
    found = {
        row.handle: row.superseded_by
        for row in rows
        if row.status == "superseded" and row.superseded_by
    }
    episodes = [row.handle for row in rows if row.type == "episodic"]
    here = {row.key: row.handle for row in rows}
    made = index.made_of(episodes) if episodes else {}
    known = index.rows({key for keys in made.values() for key in keys})
    for handle, keys in made.items():
        own = [known[key] for key in keys if key in known]
        left = {row.handle for row in own if row.status == "superseded"}
        heir = next(
            (row.handle for row in own if row.key in here and left & set(row.supersedes)), ""
        )
        if heir:
            found[handle] = heir
    return found


def unfolded(index: Answers, found: Sequence[Found]) -> list[Found]:
    """Each row with what it replaced and what replaced it, the oldest first, where the best of them
    stood."""
    lines = index.succession([one.row.key for one in found])
    more = index.rows(
        {key for keys in lines.values() for key in keys} - {one.row.key for one in found}
    )
    known = {one.row.key: one for one in found}
    done: dict[int, Found] = {}
    for one in found:
        line = [
            known.get(key) or Found(more[key], one.score, {})
            for key in lines.get(one.row.key, ())
            if key in known or key in more
        ]
        kept = [other for other in line if other.row.status in EVER]
        for other in sorted(
            [one, *kept], key=lambda other: (other.row.when or 0.0, other.row.path)
        ):
            row, heir = other.row, other.row.superseded_by or other.heir
            done.setdefault(
                row.key,
                replace(
                    other,
                    score=one.score,
                    why=other.why or {"date": row.created[:10] or None, "parts": {}},
                    heir=heir,
                ),
            )
    return list(done.values())
