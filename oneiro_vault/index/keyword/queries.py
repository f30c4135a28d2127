"""Everything the index can be asked; reading only, from any thread."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from oneiro_vault import answers
from oneiro_vault.core.ranking import Scale
from oneiro_vault.core.text.query import (
    QueryTerms,
    analyse,
    capitals,
    fitting,
    fold,
    spellings,
    without,
)
from oneiro_vault.core.time.validity import Claim
from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Edge, Filters, Hit, Near, Row, Vectors
from oneiro_vault.index.keyword import fts, links, note_rows, sessions
from oneiro_vault.index.keyword.database import Database
from oneiro_vault.index.vectors import nearest
from oneiro_vault.index.vectors.service import Semantic

Rows: TypeAlias = list[Row]
Scores: TypeAlias = list[tuple[int, float]]
"""(key, score), best first."""
Hits: TypeAlias = list[Hit]
Edges: TypeAlias = list[Edge]
Words: TypeAlias = tuple[npt.NDArray[np.bool_], list[int], int]
Shown: TypeAlias = list[answers.Linked]

_EXACT: Final = 2_000
"""So many candidates get exact cosines rather than an approximate search."""
_MOST: Final = 4_000
"""Chunks an approximate search may go through to find enough notes."""
_EVERYWHERE: Final = 0.1
"""Share of the notes from which on a name says nothing of any of them. From a quarter on, Recall@10
of turns of conversations as plain notes is 2.2 points worse; from a twentieth on, 1 point better,
and questions about one product have .3 points of nDCG@10 less."""
_MANY: Final = 10
"""Notes that have it, at least."""
_LINE: Final = 300
_PAGE: Final = 20_000
"""Characters of texts of which many, and of which some, are remembered as they may be shown."""
_MOST_WORDS: Final = 32
"""Words of a question that are looked at one by one."""
_SAMPLE: Final = 100
_SOME: Final = 10


class _Veil:
    """Texts as they may be shown; the last are remembered, for most are asked for again."""

    def __init__(self, veil: Callable[[str], str]) -> None:
        self._lines, self._pages = lru_cache(1 << 14)(veil), lru_cache(1 << 9)(veil)
        self._veil = veil

    def __call__(self, text: str) -> str:
        if len(text) > _PAGE:
            return self._veil(text)
        return (self._pages if len(text) > _LINE else self._lines)(text)


class Answers:
    """The questions of `Index`. Keys are local to one index file and die with it: ask again after a
    rebuild."""

    def __init__(
        self, database: Database, semantic: Semantic, veil: Callable[[str], str] = str
    ) -> None:
        """`veil`: a text as it may be shown; titles, descriptions and bodies are handed out so."""
        self._database = database
        self._semantic = semantic
        self._veil = _Veil(veil)
        self._ask = database.ask
        self._frequencies = fts.Frequencies()
        self._floor: tuple[str, float] = ("", math.nan)
        self._background: tuple[object, float, float] = (None, math.nan, math.nan)

    # -- notes
    # ----------------------------------------------------------------------------------------------

    def get(self, prefix_or_id: str) -> Rows:
        """Notes whose id (or handle) begins so, by path; several for an ambiguous prefix or an id
        used twice."""
        prefix = prefix_or_id.strip().lower()
        return (
            self._rows("handle >= ? AND handle < ?", (prefix, prefix + "\uffff"), "ORDER BY path")
            if prefix
            else []
        )

    def by_path(self, path: str) -> Row | None:
        """The note at a path."""
        return next(iter(self._rows("path = ?", (path,))), None)

    def rows(self, keys: Collection[int]) -> dict[int, Row]:
        """Rows by key; keys that are gone are left out."""
        return {
            row.key: row
            for row in self._rows(
                "key IN (SELECT value FROM json_each(?))", (json.dumps(list(keys)),)
            )
        }

    def same(self, fingerprints: Collection[str]) -> dict[str, Rows]:
        """Fingerprint (`core.text.equality`) -> the notes with exactly these words, by turn and
        path; those that no note has are left out."""
        query = (
            f"SELECT name, note FROM names WHERE name IN (SELECT value FROM json_each(?)) AND "
            f"role = '{links.WORDS}'"
        )
        pairs = self._database.read(query, (json.dumps([*fingerprints]),))
        rows = self.rows({key for _, key in pairs})
        found: dict[str, Rows] = {}
        for name, key in pairs:
            if key in rows:
                found.setdefault(name, []).append(rows[key])
        return {
            name: sorted(fitting, key=lambda row: (row.turn or 0, row.path))
            for name, fitting in found.items()
        }

    def list(self, *, limit: int = 100, **filters: Any) -> Rows:  # the fields of Filters
        """Notes that fit (see Filters), newest first."""
        where, values = _where(Filters(**filters))
        return self._rows(
            where, values, f'ORDER BY "when" IS NULL, "when" DESC, path LIMIT {int(limit)}'
        )

    def matching(self, filters: Filters) -> set[int] | None:
        """Keys of all notes that fit: what the searches take as `allowed`. None if nothing is
        asked."""
        where, values = _where(filters)
        return (
            {key for (key,) in self._database.read(f"SELECT key FROM notes WHERE {where}", values)}
            if values
            else None
        )

    def claims(self) -> Sequence[Claim]:
        """What the validity of every note depends on."""
        columns = "key, handle, status, created, timestamp, valid_from, valid_until, superseded_by"
        return [Claim(*row) for row in self._database.read(f"SELECT {columns} FROM notes")]

    def count(self) -> int:
        """Number of notes."""
        return int(self._database.read("SELECT count(*) FROM notes")[0][0])

    def types(self) -> Sequence[str]:
        """Every type that some note has, in alphabetical order."""
        return [
            name for (name,) in self._database.read("SELECT DISTINCT type FROM notes ORDER BY type")
        ]

    def languages(self) -> dict[str, int]:
        """Language (`core.text.language`) -> number of notes in it, the commonest first."""
        return dict(
            self._database.read(
                "SELECT language, count(*) FROM notes GROUP BY language ORDER BY count(*) DESC, "
                "language"
            )
        )

    def flagged(self) -> Rows:
        """Notes with open questions that still stand for something, newest first."""
        where = "flags != '' AND status NOT IN ('superseded', 'archived')"
        return self._rows(where, (), 'ORDER BY "when" IS NULL, "when" DESC, path')

    def with_pictures(self) -> Sequence[tuple[str, str]]:
        """(path, body) of the notes that show any picture."""
        query = """SELECT path, coalesce(bodies.body, own.body) FROM notes JOIN own ON own.rowid =
            key LEFT JOIN bodies ON note = key
                   WHERE instr(coalesce(bodies.body, own.body), '![') ORDER BY path"""
        return self._database.read(query)

    def body(self, key: int) -> str:
        """The indexed body of a note; "" if it is not searched."""
        return self.bodies([key]).get(key, "")

    def bodies(self, keys: Collection[int]) -> dict[int, str]:
        """The indexed bodies of several notes."""
        found = self._ask(lambda db: note_rows.bodies(db, keys))
        return {key: self._veil(body) for key, body in found.items()}

    def chunk(self, key: int, text_hash: str) -> tuple[str, int, int] | None:
        """(kind, start, end) of a chunk: where in the note's body the text with that hash
        stands."""
        query = (
            'SELECT kind, start, "end" FROM chunks WHERE note = ? AND hash = ? ORDER BY "end" - '
            "start LIMIT 1"
        )
        found = self._database.read(query, (key, text_hash))
        return found[0] if found else None

    # -- words
    # ----------------------------------------------------------------------------------------------

    def terms(self, question: str) -> QueryTerms:
        """A question taken apart as the languages of the notes want it."""
        self._ask(self._frequencies.refresh)
        terms = analyse(question, self._frequencies.spoken)
        return (
            self._ask(lambda db: fts.formed(db, terms, self._frequencies))
            if terms.languages
            else terms
        )

    def search_text(
        self, expression: str, limit: int, allowed: Collection[int] | None = None
    ) -> Scores:
        """The notes whose own words fit an FTS5 expression best: (key, weighted BM25)."""
        return self._search("own", expression, limit, allowed)

    def holding(self, words: Collection[str], kind: str, limit: int) -> Rows:
        """The shortest active notes of a type with every one of these words, as
        `core.text.query.analyse` gives them."""
        keys = self._ask(lambda db: fts.holding(db, words, kind, limit))
        rows = self.rows(keys)
        return [rows[key] for key in keys if key in rows]

    def search_context(
        self, expression: str, limit: int, allowed: Collection[int] | None = None
    ) -> Scores:
        """The same over episodes together with their neighbours."""
        return self._search("context", expression, limit, allowed)

    def search_passages(
        self, expression: str, limit: int, allowed: Collection[int] | None = None
    ) -> Scores:
        """The same over the passages of long notes: the best passage of each."""
        return self._ask(
            lambda db: fts.search_passages(db, expression, limit, allowed, self._frequencies)
        )

    def text_scores(self, expression: str, keys: Collection[int]) -> dict[int, float]:
        """Exact BM25 of these notes; those that do not match are left out."""
        return self._ask(lambda db: fts.scores(db, "own", expression, keys, self._frequencies))

    def context_scores(self, expression: str, keys: Collection[int]) -> dict[int, float]:
        """Exact BM25 of these notes with their neighbours: 0 for no match, left out if a note has
        no neighbours."""
        return self._ask(
            lambda db: fts.all_scores(db, "context", expression, keys, self._frequencies)
        )

    def session_scores(
        self, expression: str, keys: Collection[int] | None = None
    ) -> dict[int, float]:
        """BM25 of the whole session of each note: 0 for no match, left out if a note has no
        session."""
        return self._ask(lambda db: sessions.scores(db, expression, keys))

    def passage_scores(self, expression: str, keys: Collection[int]) -> dict[int, float]:
        """BM25 of the best passage of each long note: 0 for no match, left out if a note is a
        single chunk."""
        return self._ask(lambda db: fts.passage_scores(db, expression, keys, self._frequencies))

    def best_passages(self, expression: str, keys: Collection[int]) -> dict[int, tuple[int, int]]:
        """Where in the body of each long note the passage stands that fits best (characters); notes
        without a match are left out."""
        return self._ask(lambda db: fts.best_passages(db, expression, keys, self._frequencies))

    def word_matches(self, terms: QueryTerms, keys: Sequence[int]) -> Words:
        """(words x keys: is it in the note?, in how many notes each word is, how many notes there
        are), for the first words asked for."""
        words = [" OR ".join(fitting(terms, word)) for word in terms.words[:_MOST_WORDS]]
        return self._ask(lambda db: fts.word_matches(db, words, keys, self._frequencies))

    def knows(self, names: Collection[str]) -> bool:
        """Is any of these names in a note, as a word or as what a note is about?"""
        found = self._ask(lambda db: any(self._frequencies.all(db, "own", names).values()))
        return found or bool(self.named(names))

    # -- meaning
    # ----------------------------------------------------------------------------------------------

    def query(self, question: str) -> Vectors:
        """The vector of a question for `search_vectors` and `cosines` (of the model whose vectors
        serve). Raises EmbedderProblem.

        A name that a tenth of the notes (ten notes at least) has tells none from another: it is
        left out.
        """
        names = capitals(question)
        known = self._ask(lambda db: self._frequencies.all(db, "own", names)) if names else {}
        total = max(1, self._frequencies.total)
        everywhere = [
            name for name, count in known.items() if count >= max(_MANY, _EVERYWHERE * total)
        ]
        return self._semantic.asked.query(without(question, everywhere))

    def warm(self) -> bool:
        """Would `query` answer without loading a model?"""
        return self._semantic.asked.warm()

    def search_vectors(
        self, vector: Vectors, limit: int, allowed: Collection[int] | None = None
    ) -> Hits:
        """The nearest chunk of each of up to `limit` notes, own words and context apart, nearest
        first.

        Without an open store there are no hits (`degraded()` says why).
        """
        if allowed is not None and len(allowed) <= _EXACT:
            return self._first(self._exact(vector, allowed), limit)
        wanted = limit * 2
        while True:
            try:
                near = dict(self._semantic.search(vector, wanted))
            except IndexProblem:
                return []
            hits = self._near(near, allowed)
            if len({hit.key for hit in hits}) >= limit or len(near) < wanted or wanted >= _MOST:
                return self._first(hits, limit)
            wanted = min(wanted * 4, _MOST)

    def cosines(self, vector: Vectors, keys: Collection[int]) -> dict[int, Near]:
        """Exact cosines of these notes, NaN where there is no vector."""
        pairs = self._ask(lambda db: nearest.pairs(db, keys))
        cosines = self._semantic.cosines({name for name, _, _ in pairs}, vector)
        kinds, nothing = nearest.by_kind(pairs, cosines), (math.nan, "")
        own, context = kinds["own"], kinds["context"]
        whole = {key: cosines.get(name, math.nan) for name, key, kind in pairs if kind == "note"}
        return {
            key: Near(
                own.get(key, nothing)[0],
                context.get(key, nothing)[0],
                whole.get(key, math.nan),
            )
            for key in keys
        }

    def nearest_passages(
        self, vector: Vectors, keys: Collection[int]
    ) -> dict[int, tuple[int, int]]:
        """Where in the body of each note of several chunks the nearest of them stands
        (characters)."""
        places = self._ask(lambda db: nearest.places(db, keys))
        cosines = self._semantic.cosines({name for name, _, _, _ in places}, vector)
        best: dict[int, tuple[float, tuple[int, int]]] = {}
        for name, key, start, end in places:
            if name in cosines and (key not in best or cosines[name] > best[key][0]):
                best[key] = cosines[name], (start, end)
        return {key: span for key, (_, span) in best.items()}

    def background(self) -> tuple[float, float]:
        """Mean and standard deviation of the cosine between notes of this vault drawn at random:
        what "unrelated" means here.

        A vault of a few notes borrows sentences that have nothing to do with one another, so that
        the measure fits any model.
        """
        version = (
            self._semantic.asked.name,
            self._database.read("SELECT value FROM meta WHERE name = 'generation'")[0][0],
        )
        if self._background[0] != version:
            names = [name for (name,) in self._database.read(_RANDOM, (_SAMPLE,))]
            vectors = self._semantic.vectors(names)[1]
            if len(vectors) < _SOME:
                vectors = self._semantic.asked.encode(_UNRELATED)
            pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
            self._background = (
                version if len(vectors) >= len(names) else None,
                float(pairs.mean()),
                float(pairs.std()),
            )
        return self._background[1], self._background[2]

    def floor(self) -> float:
        """A cosine that texts with nothing to do with each other hardly reach with this model:
        their mean and two deviations."""
        model = self._semantic.asked.name
        if self._floor[0] != model:
            vectors = self._semantic.asked.encode(_UNRELATED)
            pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
            self._floor = (model, float(pairs.mean() + 2 * pairs.std()))
        return self._floor[1]

    def scale(self, *, by_meaning: bool) -> Scale:
        """What the values of `text_scores` and, if vectors are asked, of `cosines` amount to
        here."""
        notes = max(1, self._frequencies.total)
        return Scale(notes, self.background()[0], self.floor()) if by_meaning else Scale(notes)

    def vectors(self, keys: Collection[int]) -> dict[int, Vectors]:
        """The vector of each note as a whole (its first chunk), for those that have one."""
        query = (
            "SELECT note, hash FROM chunks WHERE kind = 'note' AND note IN (SELECT value FROM "
            "json_each(?))"
        )
        hashes = dict(self._database.read(query, (json.dumps(list(keys)),)))
        names, vectors = self._semantic.vectors(set(hashes.values()))
        held = dict(zip(names, vectors, strict=True))
        return {key: held[name] for key, name in hashes.items() if name in held}

    # -- names and links
    # ----------------------------------------------------------------------------------------------

    def named(
        self, names: Collection[str], keys: Collection[int] | None = None
    ) -> dict[int, float]:
        """Notes about any of the names -> share (0..1) of those names, as far as some note knows
        them, that the note is about.

        What a note is about: `about`, its speaker, aliases, an entity's title, and single words of
        a two- or three-word name.
        """
        return self._ask(lambda db: links.named(db, [fold(name) for name in names], keys))

    def names_of(self, keys: Collection[int]) -> dict[int, frozenset[str]]:
        """The folded names each note is about."""
        return self._ask(lambda db: links.names_of(db, keys))

    def neighbours(self, keys: Collection[int], relations: Collection[str] | None = None) -> Edges:
        """Links from and to these notes, as (source, relation, target) keys."""
        return self._ask(lambda db: links.neighbours(db, keys, relations))

    def made_of(self, handles: Collection[str]) -> dict[str, set[int]]:
        """Handle -> the notes derived from it, and what replaced those since; one of which nothing
        was made is left out."""
        found: dict[str, set[int]] = {}
        for handle, key in self._ask(lambda db: links.made_of(db, handles)) if handles else ():
            found.setdefault(handle, set()).add(key)
        return found

    def succession(self, keys: Collection[int]) -> dict[int, set[int]]:
        """Key -> the notes it replaced, what replaced it, and so on both ways; one that has no such
        history is left out."""
        found: dict[int, set[int]] = {}
        for key, other in self._ask(lambda db: links.succession(db, keys)) if keys else ():
            found.setdefault(key, set()).add(other)
        return found

    def lineage_of(self, key: int) -> Shown:
        """What one note was made of or replaced, and what those were, nothing that came of it; as
        JSON-ready rows."""
        return self._linked(
            [
                (relation, other)
                for other, relation in self._ask(lambda db: links.ancestors(db, key)).items()
            ]
        )

    def links_from(self, key: int) -> Shown:
        """What a note points to, as JSON-ready rows."""
        return self._linked(
            [(edge.relation, edge.target) for edge in self.neighbours([key]) if edge.source == key]
        )

    def links_to(self, key: int) -> Shown:
        """What points to a note, as JSON-ready rows."""
        return self._linked(
            [(edge.relation, edge.source) for edge in self.neighbours([key]) if edge.target == key]
        )

    def previous(self, keys: Collection[int]) -> dict[int, int]:
        """The episode just before each one in its session."""
        return self._ask(lambda db: sessions.previous(db, keys))

    # -- inside
    # ----------------------------------------------------------------------------------------------

    def _rows(self, where: str, values: Collection[object] = (), tail: str = "") -> Rows:
        return [
            row._replace(title=self._veil(row.title), description=self._veil(row.description))
            for row in self._ask(lambda db: list(note_rows.rows(db, where, values, tail)))
        ]

    def _linked(self, pairs: Sequence[tuple[str, int]]) -> Shown:
        rows = self.rows({key for _, key in pairs})
        found: Shown = [_shown(relation, rows[key]) for relation, key in pairs if key in rows]
        return sorted(found, key=lambda link: (link["relation"], link["path"]))

    def _search(
        self, table: str, expression: str, limit: int, allowed: Collection[int] | None
    ) -> Scores:
        return self._ask(
            lambda db: fts.search(db, table, expression, limit, allowed, self._frequencies)
        )

    def _first(self, hits: Hits, limit: int) -> Hits:
        return self._ask(lambda db: nearest.first(db, hits, limit))

    def _near(self, near: dict[str, float], allowed: Collection[int] | None) -> Hits:
        return self._ask(lambda db: nearest.of_hashes(db, near, allowed))

    def _exact(self, vector: Vectors, keys: Collection[int]) -> Hits:
        pairs = self._ask(lambda db: nearest.pairs(db, keys))
        return nearest.best(pairs, self._semantic.cosines({pair[0] for pair in pairs}, vector))


_UNRELATED: Final = (
    "The ferry to the islands leaves at seven in the morning.",
    "Copper conducts electricity better than iron.",
    "My grandmother plays chess on Sundays.",
    "The invoice for March has not been paid yet.",
    "Run the tests before you merge the branch.",
    "Tomatoes need a lot of sun and little wind.",
    "She is allergic to cats and pollen.",
    "The parliament was dissolved after the vote.",
    "Tighten the bolts of the front wheel crosswise.",
    "He sings tenor in the village choir.",
    "The password policy asks for twelve characters.",
    "Glaciers shaped these valleys long ago.",
)
_RANDOM: Final = "SELECT DISTINCT hash FROM chunks WHERE kind = 'note' ORDER BY hash LIMIT ?"
"""Hashes are random enough, and the same notes are drawn every time."""


def _shown(relation: str, row: Row) -> answers.Linked:
    return {
        "relation": relation,
        "id": row.handle,
        "path": row.path,
        "title": row.title,
        "status": row.status,
    }


def _where(filters: Filters) -> tuple[str, list[object]]:
    """The filters as an SQL condition and its values."""
    parts: list[str] = ["1"]
    values: list[object] = []
    for name in ("type", "status", "session", "project", "source"):
        wanted = _several(getattr(filters, name))
        if wanted:
            parts.append(f"{name} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(wanted))
    if filters.without:
        parts.append("type NOT IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(_several(filters.without)))
    for tag in _several(filters.tag):
        parts.append("key IN (SELECT note FROM names WHERE name = ? AND role = 'tag')")
        values.append(fold(tag.strip("#/ ")))
    for entity in _several(filters.entity):
        parts.append(
            f"key IN (SELECT note FROM names WHERE name IN (SELECT value FROM json_each(?)) AND "
            f"role IN {links.ABOUT})"
        )
        values.append(json.dumps(spellings(entity)))
    for sign, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            parts.append(f'"when" {sign} ?')
            values.append(moment)
    return " AND ".join(parts), values


def _several(wanted: str | Collection[str] | None) -> list[str]:
    return [] if wanted is None else [wanted] if isinstance(wanted, str) else [*wanted]
