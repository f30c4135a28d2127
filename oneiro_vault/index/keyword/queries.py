"""Everything the index can be asked; reading only, from any thread."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from oneiro_vault import answers
from oneiro_vault.core.ranking import Scale
from oneiro_vault.core.text.query import capitals, fold, spellings, without
from oneiro_vault.core.time.validity import Claim
from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Age, Edge, Filters, Hit, Near, Node, Row, Vectors
from oneiro_vault.index.embed.models import answering, fluent
from oneiro_vault.index.keyword import chunk_rows, edge_rows, fts, note_rows
from oneiro_vault.index.keyword.database import Database
from oneiro_vault.index.keyword.fts import Words
from oneiro_vault.index.vectors.service import Semantic

_T = TypeVar("_T", int, str)
Rows: TypeAlias = list[Row]
Hits: TypeAlias = list[Hit]
Edges: TypeAlias = list[Edge]
Chunks: TypeAlias = list[tuple[str, int, str]]
"""(text hash, note, kind)"""
Shown: TypeAlias = list[answers.Linked]

_OWN_RELATION: Final = "CASE WHEN e.subject = '' THEN e.relation ELSE 'mentions' END"
"""A relation between two others is, for the note that states it, a mention."""
_SHORTEST: Final = 4
"""Characters of a prefix that stands for an id."""
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


class Answers(Words, edge_rows.Edges, chunk_rows.Sessions):
    """The questions of `Index`. Keys are local to one index file and die with it: ask again after a
    rebuild."""

    def __init__(
        self, database: Database, semantic: Semantic, veil: Callable[[str], str] = str
    ) -> None:
        """`veil`: a text as it may be shown; titles, descriptions and bodies are handed out so."""
        super().__init__(database)
        self._semantic = semantic
        self._veil = _Veil(veil)
        self._ask = database.ask
        self._floor: tuple[str, float] = ("", math.nan)
        self._background: tuple[object, float, float] = (None, math.nan, math.nan)

    # -- notes

    def get(self, prefix_or_id: str) -> Rows:
        """Notes whose id (or handle) begins so, by path."""
        prefix = prefix_or_id.strip().lower()
        return (
            self._rows("handle >= ? AND handle < ?", (prefix, prefix + "\uffff"), "ORDER BY path")
            if prefix
            else []
        )

    def only(self, prefix_or_id: str) -> Row | None:
        """The one note whose id (or handle) begins so, by four characters or more; None for none
        and for several."""
        rows = self.get(prefix_or_id) if len(prefix_or_id) >= _SHORTEST else []
        return rows[0] if len(rows) == 1 else None

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
        """Fingerprint (`memory.fingerprint`) -> the notes with exactly these words, by turn and
        path."""
        query = (
            f"SELECT name, note FROM names WHERE name IN (SELECT value FROM json_each(?)) AND "
            f"role = '{note_rows.WORDS}'"
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
        return self.part(Filters(**filters), limit)

    def part(self, filters: Filters, limit: int, offset: int = 0) -> Rows:
        """Notes that fit, newest first, the first `offset` left out."""
        where, values = _where(filters)
        part = f"LIMIT {int(limit)} OFFSET {int(offset)}"
        return self._rows(where, values, f'ORDER BY "when" IS NULL, "when" DESC, path {part}')

    def by_day(self, filters: Filters) -> Sequence[tuple[str | None, str, int]]:
        """(local day, None where the note has no date; type; number of notes) of those that fit."""
        where, values = _where(filters)
        query = f"""SELECT date("when", 'unixepoch', 'localtime') AS day, type, count(*) FROM notes
                    WHERE {where} GROUP BY day, type ORDER BY day, type"""
        return self._database.read(query, values)

    def ages(self, status: str) -> Sequence[Age]:
        """Every note of a status that has an id of its own."""
        query = """SELECT key, id, type, "when", timestamp FROM notes WHERE status = ? AND id != ''
                   ORDER BY id"""
        return [Age(*row) for row in self._database.read(query, (status,))]

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

    def nodes(self, statuses: Collection[str]) -> Sequence[Node]:
        """Every note with one of these statuses."""
        query = """SELECT key, handle, title, type, kind, created, status, project FROM notes
                   WHERE status IN (SELECT value FROM json_each(?)) ORDER BY handle, path"""
        found = map(Node._make, self._database.read(query, (json.dumps([*statuses]),)))
        return [one._replace(title=self._veil(one.title)) for one in found]

    def unread(self) -> int:
        """Notes and sessions that were taken in, and whose links are not followed yet."""
        return self._ask(chunk_rows.waiting)

    def state(self) -> tuple[int, int]:
        """Differs whenever the index may answer differently."""
        query = "SELECT value FROM meta WHERE name = 'generation'"
        return self._database.life, int(self._database.read(query)[0][0])

    # -- words

    def holding(self, words: Collection[str], kind: str, limit: int) -> Rows:
        """The shortest active notes of a type with every one of these words, as
        `core.text.query.analyse` gives them."""
        keys = self._ask(lambda db: fts.holding(db, words, kind, limit))
        rows = self.rows(keys)
        return [rows[key] for key in keys if key in rows]

    def knows(self, names: Collection[str]) -> bool:
        """Is any of these names in a note, as a word or as what a note is about?"""
        found = self._ask(lambda db: any(self._frequencies.all(db, "own", names).values()))
        return found or bool(self.named(names))

    # -- meaning

    def query(self, text: str, *, asks: bool = True) -> Vectors:
        """The vector of what answers a text, or of its like where it asks nothing, of the model
        whose vectors serve. A name that a tenth of the notes has tells none from another: it is
        left out. Raises EmbedderProblem."""
        names = capitals(text)
        known = self._ask(lambda db: self._frequencies.all(db, "own", names)) if names else {}
        total = max(1, self._frequencies.total)
        everywhere = [
            name for name, count in known.items() if count >= max(_MANY, _EVERYWHERE * total)
        ]
        asked = self._semantic.asked
        vector = asked.query(without(text, everywhere))
        return answering(vector, asked.name) if asks else vector

    def warm(self) -> bool:
        """Would `query` answer without loading a model?"""
        return self._semantic.asked.warm()

    def search_vectors(
        self, vector: Vectors, limit: int, allowed: Collection[int] | None = None
    ) -> Hits:
        """The nearest chunk of each of up to `limit` notes, own words and context apart, nearest
        first; without an open store there are no hits."""
        if allowed is not None and len(allowed) <= _EXACT:
            return self._first(self._exact(vector, allowed), limit)
        wanted = limit * 2
        while True:
            try:
                near = dict(self._semantic.search(vector, wanted))
            except IndexProblem:
                return []
            chunks = self._chunks("hash", near)
            hits = _best((one for one in chunks if allowed is None or one[1] in allowed), near)
            if len({hit.key for hit in hits}) >= limit or len(near) < wanted or wanted >= _MOST:
                return self._first(hits, limit)
            wanted = min(wanted * 4, _MOST)

    def cosines(self, vector: Vectors, keys: Collection[int]) -> dict[int, Near]:
        """Exact cosines of these notes, NaN where there is no vector."""
        chunks = self._chunks("note", keys)
        cosines = self._semantic.cosines({name for name, _, _ in chunks}, vector)
        kinds, nothing = _by_kind(chunks, cosines), (math.nan, "")
        own, context = kinds["own"], kinds["context"]
        whole = {key: cosines.get(name, math.nan) for name, key, kind in chunks if kind == "note"}
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
        query = """SELECT hash, note, start, "end" FROM chunks
                   WHERE note IN (SELECT value FROM json_each(?)) AND kind = 'window' ORDER BY note,
                   start, "end" """
        places = self._database.read(query, (json.dumps(list(keys)),))
        cosines = self._semantic.cosines({name for name, _, _, _ in places}, vector)
        best: dict[int, tuple[float, tuple[int, int]]] = {}
        for name, key, start, end in places:
            if name in cosines and (key not in best or cosines[name] > best[key][0]):
                best[key] = cosines[name], (start, end)
        return {key: span for key, (_, span) in best.items()}

    def background(self) -> tuple[float, float]:
        """Mean and standard deviation of the cosine between notes drawn at random: what "unrelated"
        means here. A vault of a few notes borrows unrelated sentences, so that the measure fits any
        model."""
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
        """A cosine that unrelated texts hardly reach with this model: their mean and two
        deviations."""
        model = self._semantic.asked.name
        if self._floor[0] != model:
            vectors = self._semantic.asked.encode(_UNRELATED)
            pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
            self._floor = (model, float(pairs.mean() + 2 * pairs.std()))
        return self._floor[1]

    def fluent(self, language: str) -> bool:
        """Does the model know a language?"""
        return fluent(self._semantic.asked.name, language)

    def near(self, cosine: float) -> float:
        """What says as much as a cosine of the packaged model. Where unrelated texts are near each
        other (multilingual-e5-small: .78), others differ by a third as much: of the labelled pairs
        .95 finds as many of those that are the same there (.86) as .85 does here (.87)."""
        return 1 - (1 - cosine) / _CROWDED if self.floor() > _FAR else cosine

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

    def named(
        self, names: Collection[str], keys: Collection[int] | None = None
    ) -> dict[int, float]:
        """Notes about any of the names (also by alias, speaker, title of an entity, a word of a
        short name) -> share (0..1) of those names that some note knows."""
        read, about = self._database.read, note_rows.ABOUT
        exists = f"SELECT 1 FROM names WHERE name = ? AND role IN {about} LIMIT 1"
        known = [one for one in dict.fromkeys(map(fold, names)) if read(exists, (one,))]
        if not known:
            return {}
        within = "" if keys is None else "AND note IN (SELECT value FROM json_each(?))"
        values = [json.dumps(known)] + ([] if keys is None else [json.dumps(list(keys))])
        query = f"""SELECT note, count(DISTINCT name) FROM names
                    WHERE name IN (SELECT value FROM json_each(?)) AND role IN {about} {within}
                    GROUP BY note"""
        return {key: count / len(known) for key, count in read(query, values)}

    def names_of(self, keys: Collection[int]) -> dict[int, frozenset[str]]:
        """The folded names each note is about (aliases, speaker and entity title included)."""
        found: dict[int, set[str]] = {key: set() for key in keys}
        query = f"""SELECT note, name FROM names WHERE note IN (SELECT value FROM json_each(?))
                    AND role IN {note_rows.ABOUT} AND role != 'part'"""
        for key, name in self._database.read(query, (json.dumps(list(keys)),)):
            found[key].add(name)
        return {key: frozenset(value) for key, value in found.items()}

    def neighbours(self, keys: Collection[int], relations: Collection[str] | None = None) -> Edges:
        """Every link that starts or ends at one of `keys`, a name that fits several notes pointing
        to all of them."""
        targets = note_rows.TARGETS
        outward = f"""SELECT e.note, {_OWN_RELATION}, n.note FROM edges e JOIN names n
                      ON n.name = e.target AND n.role IN {targets}
                      WHERE e.note IN (SELECT value FROM json_each(?)) AND n.note != e.note"""
        inward = f"""SELECT e.note, {_OWN_RELATION}, n.note FROM names n JOIN edges e
                     ON e.target = n.name WHERE n.note IN (SELECT value FROM json_each(?))
                     AND n.role IN {targets} AND n.note != e.note"""
        listed = (json.dumps(list(keys)),)
        found = {
            Edge(*row) for query in (outward, inward) for row in self._database.read(query, listed)
        }
        return sorted(edge for edge in found if relations is None or edge.relation in relations)

    def meant_by(self, target: str, path: str = "") -> Rows:
        """The notes that a link to `target` may mean that stands in the note at `path`: those of
        that id or path before those of that title, and those before an alias."""
        names, roles = list(note_rows.targets(target, path)), note_rows.TARGETS
        query = f"""SELECT note, role FROM names WHERE role IN {roles}
                    AND name IN (SELECT value FROM json_each(?))"""
        best: dict[int, int] = {}
        for key, role in self._database.read(query, (json.dumps(names),)) if names else ():
            best[key] = min(best.get(key, len(roles)), roles.index(role))
        rows = self.rows(best)
        return sorted(rows.values(), key=lambda row: (best[row.key], row.path))

    def made_of(self, handles: Collection[str]) -> dict[str, set[int]]:
        """Handle -> the notes derived from it, and what replaced those since; no profile of an
        entity, which quotes its sources and stands for none of them."""
        query = """WITH RECURSIVE made (source, note) AS (
                     SELECT target, note FROM edges JOIN notes ON notes.key = note
                     WHERE relation = 'derived_from' AND type != 'entity'
                     AND target IN (SELECT value FROM json_each(?))
                     UNION
                     SELECT made.source, later.key FROM made JOIN notes AS old
                     ON old.key = made.note JOIN notes AS later
                     ON later.handle = old.superseded_by WHERE old.superseded_by != ''
                   ) SELECT source, note FROM made"""
        return self._sets(query, handles)

    def succession(self, keys: Collection[int]) -> dict[int, set[int]]:
        """Key -> the notes it replaced, what replaced it, and so on both ways."""
        query = """WITH RECURSIVE
                     later (start, note) AS (
                       SELECT key, key FROM notes WHERE key IN (SELECT value FROM json_each(?))
                       UNION
                       SELECT start, heir.key FROM later JOIN notes AS old ON old.key = later.note
                       JOIN notes AS heir ON heir.handle = old.superseded_by
                       WHERE old.superseded_by != ''
                     ),
                     both (start, note) AS (
                       SELECT start, note FROM later
                       UNION
                       SELECT start, edges.note FROM both JOIN notes AS heir
                       ON heir.key = both.note JOIN edges ON edges.target = heir.handle
                       AND edges.relation = 'superseded_by'
                     )
                   SELECT start, note FROM both WHERE start != note"""
        return self._sets(query, keys)

    def _sets(self, query: str, wanted: Collection[_T]) -> dict[_T, set[int]]:
        found: dict[_T, set[int]] = {}
        for one, key in self._database.read(query, (json.dumps(list(wanted)),)) if wanted else ():
            found.setdefault(one, set()).add(key)
        return found

    def _ancestors(self, key: int) -> dict[int, str]:
        """Every note that one was made of or replaced, and what those were -> the relation that
        leads to it; itself left out."""
        found: dict[int, str] = {}
        todo = {key}
        while todo:
            edges = self.neighbours(todo, ("derived_from", "supersedes", "superseded_by"))
            steps = {
                edge.source: "supersedes"
                for edge in edges
                if edge.relation == "superseded_by" and edge.target in todo
            }
            steps |= {
                edge.target: edge.relation
                for edge in edges
                if edge.relation != "superseded_by" and edge.source in todo
            }
            steps.pop(key, None)
            todo = steps.keys() - found.keys()
            found = steps | found
        return found

    def lineage_of(self, key: int) -> Shown:
        """What one note was made of or replaced, and what those were; as JSON-ready rows."""
        return self._linked([(relation, other) for other, relation in self._ancestors(key).items()])

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

    # -- inside

    def _rows(self, where: str, values: Collection[object] = (), tail: str = "") -> Rows:
        return [
            row._replace(title=self._veil(row.title), description=self._veil(row.description))
            for row in self._ask(lambda db: list(note_rows.rows(db, where, values, tail)))
        ]

    def _linked(self, pairs: Sequence[tuple[str, int]]) -> Shown:
        rows = self.rows({key for _, key in pairs})
        found: Shown = [_shown(relation, rows[key]) for relation, key in pairs if key in rows]
        return sorted(found, key=lambda link: (link["relation"], link["path"]))

    def _first(self, hits: Hits, limit: int) -> Hits:
        found: Hits = []
        for kind in ("own", "context"):
            found += fts.first(
                [hit for hit in hits if hit.kind == kind],
                limit,
                lambda hit: hit.cosine,
                lambda hit: hit.key,
                lambda keys: self._ask(lambda db: fts.of_notes(db, keys)),
            )
        return sorted(found, key=lambda hit: (-hit.cosine, hit.key, hit.kind))

    def _exact(self, vector: Vectors, keys: Collection[int]) -> Hits:
        chunks = self._chunks("note", keys)
        return _best(chunks, self._semantic.cosines({name for name, _, _ in chunks}, vector))

    def _chunks(self, column: str, wanted: Collection[object]) -> Chunks:
        """Every chunk of these notes (`note`), or with these texts (`hash`)."""
        query = "SELECT hash, note, kind FROM chunks WHERE {} IN (SELECT value FROM json_each(?))"
        return self._database.read(query.format(column), (json.dumps(list(wanted)),))


_FAR: Final = 0.5
"""A cosine that unrelated texts do not reach in most models."""
_CROWDED: Final = 3.0
"""How many times nearer all texts are to each other in such a model."""
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
    parts: list[str] = ["1"]
    values: list[object] = []
    for name in ("type", "kind", "status", "session", "project", "source"):
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
            f"role IN {note_rows.ABOUT})"
        )
        values.append(json.dumps(spellings(entity)))
    if filters.level is not None:
        parts.append("level >= ?")
        values.append(filters.level)
    for sign, moment in ((">=", filters.since), ("<", filters.until)):
        if moment is not None:
            parts.append(f'"when" {sign} ?')
            values.append(moment)
    return " AND ".join(parts), values


def _several(wanted: str | Collection[str] | None) -> list[str]:
    return [] if wanted is None else [wanted] if isinstance(wanted, str) else [*wanted]


def _best(found: Iterable[tuple[str, int, str]], cosines: Mapping[str, float]) -> list[Hit]:
    kept = _by_kind(found, cosines)
    hits = [
        Hit(key, cosine, name, kind)
        for kind, of_kind in kept.items()
        for key, (cosine, name) in of_kind.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.cosine, hit.key, hit.kind))


def _by_kind(
    found: Iterable[tuple[str, int, str]], cosines: Mapping[str, float]
) -> dict[str, dict[int, tuple[float, str]]]:
    """`own` and `context` -> note -> (cosine, text hash) of its nearest chunk of that kind."""
    kept: dict[str, dict[int, tuple[float, str]]] = {"own": {}, "context": {}}
    for name, key, kind in found:
        cosine = cosines.get(name)
        if cosine is None:
            continue
        of_kind = kept["context" if kind == "context" else "own"]
        held = of_kind.get(key)
        if held is None or cosine > held[0] or (cosine == held[0] and name < held[1]):
            of_kind[key] = cosine, name
    return kept
