"""Keyword search: FTS5 tables (a note's own words, an episode with its neighbours, passages, whole
sessions) and exact BM25 for candidates; a higher score is better.

BM25 of every row that holds a common word costs 20 ms at 100,000 notes, so in a big vault rows are
found by the rarest words of the question and then scored with all of them (2 ms).
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from oneiro_vault.core.text.query import (
    MAX_TERMS,
    QueryTerms,
    analyse,
    beginnings,
    fitting,
    forms,
    quoted,
)
from oneiro_vault.index.keyword.database import Asking, Database, question

Scores: TypeAlias = list[tuple[int, float]]
"""(key, score), best first."""
WEIGHTS: Final = (4.0, 2.0, 2.0, 1.0)
"""BM25 weights of title, description, tags (with aliases) and body."""

_BIG: Final = 5_000
"""Notes above which a question is narrowed to its rarest words."""
_ROWS: Final = 4_000
"""Rows that the words kept for finding may bring in, if all words would bring in twice as many; the
rarest word is always kept."""
_COMMON: Final = 0.12
"""Share of the notes of a big vault above which a word counts for nothing beside rarer ones."""
_FEW: Final = 2_000
_RESCORED: Final = 4
"""How many times `limit` rows are scored with all words after narrowing."""
_REMEMBERED: Final = 6
_REQUIRED: Final = 16
"""Words, the longest, that are asked for when all must be there."""
_PER_NOTE: Final = 3
"""Passages looked at for each note that is wanted."""
_RARE: Final = 2
"""A word may be in so many times as many notes as its stem in another language, which else would
weigh more than the word itself."""
_PLAIN: Final = re.compile(r'"[^"]*"\*?(?: OR "[^"]*"\*?)*')
_MOST_WORDS: Final = 32
"""Words of a question that are looked at one by one."""
_WEIGHTS: Final = {"own": WEIGHTS, "context": (1.0,), "passage": (1.0,), "whole": (1.0,)}


@dataclass
class Frequencies:
    """How many rows hold each phrase, and what the last questions brought, remembered until the
    index changes."""

    big: int = _BIG
    rows: int = _ROWS
    generation: int = -1
    total: int = 0
    spoken: dict[str, float] = field(default_factory=dict)
    """What else than English some notes are in, and the share of them."""
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    scored: dict[tuple[str, str], dict[int, float]] = field(default_factory=dict)
    """Scores of all rows for the last few questions."""

    def of(self, db: sqlite3.Connection, table: str, phrase: str) -> int:
        """Rows of `table` that fit `phrase` (as FTS5 reads it, or several with OR); all rows for
        ""."""
        found = self.counts.get((table, phrase))
        if found is None:
            fitting, values = (
                (f"{table} WHERE {table} MATCH ?", (phrase,))
                if phrase
                else (f"{table}_docsize", ())
            )
            found = int(db.execute(f"SELECT count(*) FROM {fitting}", values).fetchone()[0])
            if len(self.counts) > 4096:
                self.counts.clear()
            self.counts[table, phrase] = found
        return found

    def all(self, db: sqlite3.Connection, table: str, phrases: Iterable[str]) -> dict[str, int]:
        """The same for several phrases as people write them."""
        self.refresh(db)
        return {phrase: self.of(db, table, quoted(phrase)) for phrase in phrases}

    def refresh(self, db: sqlite3.Connection) -> None:
        """Forget the counts if the index has changed since."""
        generation = int(
            db.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()[0]
        )
        if generation != self.generation:
            self.generation, self.counts, self.scored = generation, {}, {}
            self.total = int(db.execute("SELECT count(*) FROM notes").fetchone()[0])
            found = db.execute(
                "SELECT language, count(*) FROM notes WHERE language != '' GROUP BY language "
                "ORDER BY language"
            )
            self.spoken = {name: count / self.total for name, count in found}

    def everything(
        self, db: sqlite3.Connection, table: str, expression: str, enough: float
    ) -> dict[int, float]:
        """The score of every row that matches. A word in more than half of the rows gets a
        millionth by BM25: where `enough` rows hold another one, it is not looked for."""
        found = scores(db, table, self.weighty(db, table, expression, enough), None)
        while len(self.scored) >= _REMEMBERED:
            self.scored.pop(next(iter(self.scored)), None)
        self.scored[table, expression] = found
        return found

    def weighty(self, db: sqlite3.Connection, table: str, expression: str, enough: float) -> str:
        """The expression without the words of more than half of the rows, if one of the others is
        in `enough` rows."""
        if not _PLAIN.fullmatch(expression):
            return expression
        half = self.of(db, table, "") / 2
        counts = self._counts(db, table, expression)
        kept = [phrase for phrase, count in counts.items() if count <= half]
        return (
            " OR ".join(kept)
            if max((counts[phrase] for phrase in kept), default=0) >= enough
            else expression
        )

    def _counts(self, db: sqlite3.Connection, table: str, expression: str) -> dict[str, int]:
        phrases = dict.fromkeys(expression.split(" OR "))
        return {phrase: self.of(db, table, phrase) for phrase in phrases}

    def telling(self, db: sqlite3.Connection, table: str, expression: str) -> str:
        """The expression without words that are in every eighth note of a big vault, if others
        remain."""
        self.refresh(db)
        if self.total < self.big or not _PLAIN.fullmatch(expression):
            return expression
        counts = self._counts(db, table, expression)
        kept = [phrase for phrase, count in counts.items() if count <= _COMMON * self.total]
        return " OR ".join(kept) if any(counts[phrase] for phrase in kept) else expression

    def narrow(self, db: sqlite3.Connection, table: str, expression: str) -> str:
        """The expression reduced to its rarest words if the vault is big; the same expression
        otherwise."""
        self.refresh(db)
        if self.total < self.big or not _PLAIN.fullmatch(expression):
            return expression
        phrases = sorted(
            (self.of(db, table, phrase), phrase) for phrase in set(expression.split(" OR "))
        )
        if sum(count for count, _ in phrases) <= 2 * self.rows:
            return expression
        phrases = [pair for pair in phrases if pair[0]] or phrases[:1]
        kept: list[str] = []
        rows = 0
        for count, phrase in phrases:
            rows += count
            if kept and rows > self.rows:
                break
            kept.append(phrase)
        return " OR ".join(kept)


def search(
    db: sqlite3.Connection,
    table: str,
    expression: str,
    limit: int,
    allowed: Collection[int] | None,
    frequencies: Frequencies,
) -> list[tuple[int, float]]:
    """The best `limit` rows of `table` as (key, score), best first; only keys in `allowed` if
    given."""
    if not expression or (allowed is not None and not allowed):
        return []
    expression = frequencies.telling(db, table, expression)
    if allowed is not None and len(allowed) <= _FEW:
        return _best(db, table, scores(db, table, expression, allowed).items(), limit)
    narrowed = frequencies.narrow(db, table, expression)
    if narrowed == expression:
        found = frequencies.everything(
            db, table, expression, limit if allowed is None else math.inf
        )
        return _best(
            db,
            table,
            found.items()
            if allowed is None
            else ((key, found[key]) for key in allowed if key in found),
            limit,
        )
    keys = [key for key, _ in _top(db, table, narrowed, limit * _RESCORED, allowed)]
    return _best(db, table, scores(db, table, expression, keys).items(), limit)


def holding(db: sqlite3.Connection, words: Collection[str], kind: str, limit: int) -> list[int]:
    """Keys of the shortest active notes of a type with every one of these words, without BM25,
    which would read all rows."""
    longest = sorted(words, key=lambda word: (-len(word), word))[:_REQUIRED]
    query = """SELECT own.rowid FROM own JOIN notes ON notes.key = own.rowid LEFT JOIN stats ON
        stats.path = notes.path
               WHERE own MATCH ? AND notes.type = ? AND notes.status = 'active' ORDER BY
               stats.size, notes.path LIMIT ?"""
    expression = " AND ".join(map(quoted, longest))
    return [key for (key,) in db.execute(query, (expression, kind, limit))] if expression else []


def scores(
    db: sqlite3.Connection,
    table: str,
    expression: str,
    keys: Collection[int] | None,
    frequencies: Frequencies | None = None,
) -> dict[int, float]:
    """BM25 of the rows among `keys` (None = all) that match. The unary plus keeps SQLite from
    asking FTS5 once per key: one scan of the matches is ten times faster."""
    if not expression or (keys is not None and not keys):
        return {}
    if frequencies is not None and keys is not None:
        expression = frequencies.telling(db, table, expression)
        known = frequencies.scored.get((table, expression))
        if known is not None:
            return {key: known[key] for key in keys if key in known}
    query = f"SELECT rowid, {_score(table)} FROM {table} WHERE {table} MATCH ?"
    if keys is None:
        return dict(db.execute(query, (expression,)))
    return dict(
        db.execute(
            query + " AND +rowid IN (SELECT value FROM json_each(?))",
            (expression, json.dumps(list(keys))),
        )
    )


class Words(Asking):
    """The questions about words. Keys are local to one index file."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._frequencies = Frequencies()

    @question
    def terms(self, db: sqlite3.Connection, asked: str) -> QueryTerms:
        """A question taken apart as the languages of the notes want it. A stem that stands in far
        fewer notes than the word would outweigh it; so it is asked for only in the question's own
        language. A word that no note has is looked for in compounds."""
        self._frequencies.refresh(db)
        terms = analyse(asked, self._frequencies.spoken)
        if not terms.languages:
            return terms
        return replace(
            terms, forms={word: self._worth(db, word, terms) for word in terms.words[:MAX_TERMS]}
        )

    def _worth(self, db: sqlite3.Connection, word: str, terms: QueryTerms) -> tuple[str, ...]:
        plain, *others = fitting(terms, word)
        count = {phrase: self._frequencies.of(db, "own", phrase) for phrase in (plain, *others)}
        if not any(count.values()):
            return (plain, *beginnings(word, terms.languages))
        own = [quoted(form) for form in forms(word, [terms.language])]
        worth = [one for one in others if one in own or _RARE * count[one] >= count[plain]]
        return (plain, *worth)

    @question
    def search_text(
        self,
        db: sqlite3.Connection,
        expression: str,
        limit: int,
        allowed: Collection[int] | None = None,
    ) -> Scores:
        """The notes whose own words fit an FTS5 expression best: (key, weighted BM25)."""
        return search(db, "own", expression, limit, allowed, self._frequencies)

    @question
    def search_context(
        self,
        db: sqlite3.Connection,
        expression: str,
        limit: int,
        allowed: Collection[int] | None = None,
    ) -> Scores:
        """The same over episodes together with their neighbours."""
        return search(db, "context", expression, limit, allowed, self._frequencies)

    @question
    def search_passages(
        self,
        db: sqlite3.Connection,
        expression: str,
        limit: int,
        allowed: Collection[int] | None = None,
    ) -> Scores:
        """The same over the passages of long notes: the best passage of each."""
        inside: list[int] | None = None
        if allowed is not None:
            query = "SELECT key FROM passages WHERE note IN (SELECT value FROM json_each(?))"
            inside = [key for (key,) in db.execute(query, (json.dumps(list(allowed)),))]
        found = search(db, "passage", expression, limit * _PER_NOTE, inside, self._frequencies)
        query = "SELECT key, note FROM passages WHERE key IN (SELECT value FROM json_each(?))"
        owners = dict(db.execute(query, (json.dumps([key for key, _ in found]),)))
        best: dict[int, float] = {}
        for key, score in found:
            best.setdefault(owners[key], score)
        return _best(db, "own", best.items(), limit)

    @question
    def text_scores(
        self, db: sqlite3.Connection, expression: str, keys: Collection[int]
    ) -> dict[int, float]:
        """Exact BM25 of these notes; those that do not match are left out."""
        return scores(db, "own", expression, keys, self._frequencies)

    @question
    def context_scores(
        self, db: sqlite3.Connection, expression: str, keys: Collection[int]
    ) -> dict[int, float]:
        """Exact BM25 of these notes with their neighbours: 0 for no match, left out if a note has
        no neighbours."""
        query = "SELECT rowid FROM context WHERE rowid IN (SELECT value FROM json_each(?))"
        found = db.execute(query, (json.dumps(list(keys)),))
        there = dict.fromkeys((key for (key,) in found), 0.0)
        return there | scores(db, "context", expression, there, self._frequencies)

    @question
    def passage_scores(
        self, db: sqlite3.Connection, expression: str, keys: Collection[int]
    ) -> dict[int, float]:
        """BM25 of the best passage of each long note: 0 for no match."""
        query = "SELECT key, note FROM passages WHERE note IN (SELECT value FROM json_each(?))"
        owners = dict(db.execute(query, (json.dumps(list(keys)),)))
        best = dict.fromkeys(owners.values(), 0.0)
        for key, score in scores(db, "passage", expression, owners, self._frequencies).items():
            best[owners[key]] = max(score, best[owners[key]])
        return best

    @question
    def best_passages(
        self, db: sqlite3.Connection, expression: str, keys: Collection[int]
    ) -> dict[int, tuple[int, int]]:
        """Where in the body of each long note the passage stands that fits best (characters)."""
        query = """SELECT key, note, start, "end" FROM passages
                   WHERE note IN (SELECT value FROM json_each(?)) ORDER BY start"""
        rows = db.execute(query, (json.dumps(list(keys)),)).fetchall()
        found = scores(db, "passage", expression, [key for key, *_ in rows], self._frequencies)
        best: dict[int, tuple[float, tuple[int, int]]] = {}
        for key, note, start, end in rows:
            if key in found and (note not in best or found[key] > best[note][0]):
                best[note] = found[key], (start, end)
        return {note: span for note, (_, span) in best.items()}

    @question
    def word_matches(
        self, db: sqlite3.Connection, terms: QueryTerms, keys: Sequence[int]
    ) -> tuple[npt.NDArray[np.bool_], list[int], int]:
        """(words x keys: is it in the note?, in how many notes each word is, how many notes there
        are), for the first words asked for."""
        words = [" OR ".join(fitting(terms, word)) for word in terms.words[:_MOST_WORDS]]
        self._frequencies.refresh(db)
        counts = [self._frequencies.of(db, "own", word) for word in words]
        found = np.zeros((len(words), len(keys)), dtype=np.bool_)
        query = (
            "SELECT rowid FROM own WHERE own MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"
        )
        listed, column = json.dumps(list(keys)), {key: i for i, key in enumerate(keys)}
        for row, word in zip(found, words, strict=True):
            row[[column[key] for (key,) in db.execute(query, (word, listed))]] = True
        return found, counts, self._frequencies.total


def sound(db: sqlite3.Connection) -> str:
    """ "" if the three indexes hold exactly the words of their rows, else what SQLite says. Needs
    the writing connection."""
    try:
        for table in _WEIGHTS:
            db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return f"the keyword index does not fit its text ({error})"
    return ""


def _top(
    db: sqlite3.Connection, table: str, expression: str, limit: int, allowed: Collection[int] | None
) -> list[tuple[int, float]]:
    where, values = f"{table} MATCH ?", [expression]
    if allowed is not None:
        where += " AND +rowid IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(allowed)))
    query = (
        f"SELECT rowid, {_score(table)} AS score FROM {table} WHERE {where} ORDER BY score DESC, "
        f"rowid LIMIT ?"
    )
    found = db.execute(query, (*values, limit))
    return [(int(key), float(score)) for key, score in found]


def _best(
    db: sqlite3.Connection, table: str, pairs: Iterable[tuple[int, float]], limit: int
) -> list[tuple[int, float]]:
    pairs = list(pairs)
    if len(pairs) > limit:  # sorting all of them takes longer than finding them
        least = np.partition(
            np.fromiter(map(itemgetter(1), pairs), np.float64, len(pairs)), -limit
        )[-limit]
        pairs = [pair for pair in pairs if pair[1] >= least]
    ranked = sorted(sorted(pairs), key=itemgetter(1), reverse=True)
    places = of_passages if table == "passage" else of_notes
    return first(ranked, limit, itemgetter(1), itemgetter(0), lambda keys: places(db, keys))


def _score(table: str) -> str:
    return f"-bm25({table}, {', '.join(map(str, _WEIGHTS[table]))})"


_T = TypeVar("_T")

Places: TypeAlias = Callable[[Collection[int]], Mapping[int, tuple[object, ...]]]
"""key -> what tells it from any other, the same in every index of the same files."""


def first(
    ranked: Sequence[_T],
    limit: int,
    score: Callable[[_T], float],
    key: Callable[[_T], int],
    places: Places,
) -> list[_T]:
    """The first `limit` of a list that is best first; of those that equal the last one, the first
    by place: an index of the same files, made anew, has other keys and must choose the same."""
    if len(ranked) <= limit or score(ranked[limit - 1]) != score(ranked[limit]):
        return list(ranked[:limit])
    least = score(ranked[limit])
    better = [one for one in ranked[:limit] if score(one) > least]
    equal = [one for one in ranked[len(better) :] if score(one) == least]
    placed = places({key(one) for one in equal})
    return better + sorted(equal, key=lambda one: placed.get(key(one), ()))[: limit - len(better)]


def of_notes(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, tuple[object, ...]]:
    """Note -> (path,)."""
    query = "SELECT key, path FROM notes WHERE key IN (SELECT value FROM json_each(?))"
    return {key: (path,) for key, path in db.execute(query, (json.dumps(list(keys)),))}


def of_passages(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, tuple[object, ...]]:
    """Passage -> (its note's path, where it begins)."""
    query = """SELECT passages.key, path, start FROM passages JOIN notes ON notes.key = note
               WHERE passages.key IN (SELECT value FROM json_each(?))"""
    return {key: (path, start) for key, path, start in db.execute(query, (json.dumps(list(keys)),))}
