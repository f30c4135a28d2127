"""The second step of indexing: what a body is made of (chunks for vectors, passages of long notes,
links), and sessions: an episode a second time together with its neighbours, a session as a whole.

Words can be searched after the first step (`note_rows`); this one takes twice as long, so after a
large change it runs beside searches. The order inside a session is (created, turn, path). When one
note of a session changes, everything of that session is made again, and only what came out
different is written.

A model reads the first 256 tokens of what it is given and ignores the rest, so a long note as one
text loses a third of its findability. Measured on long notes, pieces of 60 to 120 words are equally
good, 180 are worse, and overlap brings nothing where a cut falls between sentences; so pieces
overlap only in a wall of words. A list is cut twice as fine: its items have less to do with each
other than sentences have; a vector for every item besides would double the work.
"""

from __future__ import annotations

import json
import re
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final
from zlib import crc32

from oneiro_vault.api import Progress
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.taxonomy import STATED
from oneiro_vault.core.text.query import segment
from oneiro_vault.index.keyword import database, fts, note_rows
from oneiro_vault.index.keyword.database import Asking, question

_NOTES: Final = 1_000
_SESSIONS: Final = 100
_BULK: Final = 2_000


@dataclass(slots=True)
class Shape:
    """What was found in one body."""

    key: int
    chunks: list[Chunk]
    edges: set[tuple[str, str, str]]
    language: str

    def rows(self) -> set[tuple[str, int, int, int, str]]:
        """(kind, start, end, length, hash) of each chunk."""
        return {
            (c.kind, c.start, c.end, len(c.text), note_rows.text_hash(c.text)) for c in self.chunks
        }


def waiting(db: sqlite3.Connection) -> int:
    """Notes and sessions that were not looked at yet."""
    return int(
        db.execute(
            "SELECT (SELECT count(*) FROM unshaped) + (SELECT count(*) FROM touched)"
        ).fetchone()[0]
    )


def settle(
    writing: Callable[[], AbstractContextManager[sqlite3.Connection]],
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Look at all that waits, a batch at a time, so that other writers get their turn."""
    done = 0
    while not stop():
        with writing() as db:
            left = waiting(db)
            if not left:
                return
            with database.bulk(db) if left > _BULK else nullcontext():
                done += _some(db)
        if progress:
            progress("structure", done, done + left)


def _some(db: sqlite3.Connection) -> int:
    keys = [
        key for (key,) in db.execute("SELECT note FROM unshaped ORDER BY note LIMIT ?", (_NOTES,))
    ]
    if not keys:
        return _settle_sessions(db)
    with database.transaction(db):
        store(db, list(of(db, keys)))
        db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    return len(keys)


def of(db: sqlite3.Connection, keys: Collection[int]) -> Iterator[Shape]:
    """The shapes of these notes, from their indexed bodies."""
    bodies = note_rows.bodies(db, keys)
    query = """SELECT key, path, trim(title || ' ' || "trigger"),
                      coalesce(nullif(created, ''), timestamp), language FROM notes
               WHERE key IN (SELECT value FROM json_each(?))"""
    for key, path, title, created, language in db.execute(
        query, (json.dumps(list(keys)),)
    ).fetchall():
        body = bodies.get(key, "")
        structure = parser.parse(body)
        found = chunk(
            body,
            title=title,
            when=note_rows.day(created),
            sections=structure.sections,
            items=structure.items,
        )
        yield Shape(key, found, note_rows.written(structure, path), language)


def store(db: sqlite3.Connection, shapes: list[Shape]) -> None:
    """Put shapes in."""
    rows = {shape.key: shape.rows() for shape in shapes}
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
        ((key, *row) for key, found in rows.items() for row in found),
    )
    db.executemany(
        "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?)",
        ((shape.key, *edge) for shape in shapes for edge in shape.edges),
    )
    passages = [
        (shape.key, c.start, c.end, segment(c.text, shape.language))
        for shape in shapes
        for c in shape.chunks
        if c.kind == "window"
    ]
    first = db.execute("SELECT coalesce(max(key), 0) + 1 FROM passages").fetchone()[0]
    db.executemany(
        "INSERT INTO passages VALUES (?, ?, ?, ?)",
        ((first + i, *passage[:3]) for i, passage in enumerate(passages)),
    )
    database.put(db, "passage", ((first + i, passage[3]) for i, passage in enumerate(passages)))
    keys = [shape.key for shape in shapes]
    db.executemany("DELETE FROM unshaped WHERE note = ?", ((key,) for key in keys))
    db.executemany("INSERT OR REPLACE INTO seals VALUES (?, ?)", _seals(db, keys))


def _broken_seals(db: sqlite3.Connection) -> int:
    held = db.execute("SELECT note, seal FROM seals").fetchall()
    now = dict(_seals(db, [key for key, _ in held]))
    broken: int = sum(now[key] != seal for key, seal in held)
    return broken + _broken_sessions(db)


def _seals(db: sqlite3.Connection, keys: Collection[int]) -> Iterator[tuple[int, int]]:
    found: dict[int, list[tuple[object, ...]]] = {key: [] for key in keys}
    listed = json.dumps(list(keys))
    for query in (
        """SELECT note, kind, start, "end", hash FROM chunks WHERE kind != 'context' AND note IN
            (SELECT value FROM json_each(?))
           ORDER BY kind, start, "end", hash""",
        "SELECT note, relation, target, subject FROM edges WHERE note IN (SELECT value FROM "
        "json_each(?)) ORDER BY relation, target, subject",
    ):
        for key, *row in db.execute(query, (listed,)):
            found[key].append(tuple(row))
    yield from (
        (key, crc32(repr(rows).encode("utf-8", "backslashreplace"))) for key, rows in found.items()
    )


_WHOLE: Final = 200_000
"""Characters of a session that count for its own score, so that a long one does not slow every
write to it."""
_LONGEST: Final = 4_000
"""Characters of one episode that its neighbours see."""
_ORDER: Final = 'n."when" IS NULL, n."when", n.turn IS NULL, n.turn, n.path'
_SEARCHED: Final = "n.status NOT IN ({})".format(
    ", ".join(f"'{status}'" for status in note_rows.INERT)
)


@dataclass(slots=True)
class Turn:
    """One episode in its session."""

    key: int
    title: str
    when: str
    body: str
    language: str

    def words(self) -> Turn:
        """The same as its words are searched."""
        return replace(
            self, title=segment(self.title, self.language), body=segment(self.body, self.language)
        )


def turns(db: sqlite3.Connection, session: str) -> list[Turn]:
    """The notes of a session in their order."""
    query = f"""SELECT n.key, n.title, coalesce(nullif(n.created, ''), n.timestamp),
        coalesce(b.body, o.body), n.language
                FROM notes n JOIN own o ON o.rowid = n.key LEFT JOIN bodies b ON b.note = n.key
                WHERE n.session = ? AND {_SEARCHED} ORDER BY {_ORDER}"""
    return [
        Turn(
            key, "" if note_rows.taken(title, body) else title, note_rows.day(when), body, language
        )
        for key, title, when, body, language in db.execute(query, (session,))
    ]


def contexts(ordered: Sequence[Turn], span: int) -> Iterator[str]:
    """The text of each turn with up to `span` neighbours on either side; "" for one that is
    alone."""
    bodies = [turn.body for turn in ordered]
    for i, turn in enumerate(ordered):
        yield context_text(
            bodies[max(0, i - span) : i],
            bodies[i],
            bodies[i + 1 : i + 1 + span],
            title=turn.title,
            when=turn.when,
        )


class Sessions(Asking):
    """The questions about sessions."""

    @question
    def session_scores(
        self, db: sqlite3.Connection, expression: str, keys: Collection[int] | None = None
    ) -> dict[int, float]:
        """BM25 of the whole session of each note that has one: 0 if it does not match. `keys` None
        = all notes."""
        found = fts.scores(db, "whole", expression, None)
        query = (
            "SELECT n.key, s.key FROM notes n JOIN sessions s ON s.session = n.session WHERE "
            "n.session != ''"
        )
        values: tuple[str, ...] = ()
        if keys is not None:
            query += " AND n.key IN (SELECT value FROM json_each(?))"
            values = (json.dumps(list(keys)),)
        return {key: found.get(session, 0.0) for key, session in db.execute(query, values)}

    @question
    def previous(self, db: sqlite3.Connection, keys: Collection[int]) -> dict[int, int]:
        """The note just before each of these in its session."""
        query = "SELECT note, before FROM places WHERE note IN (SELECT value FROM json_each(?))"
        return dict(db.execute(query, (json.dumps(list(keys)),)))


def _settle_sessions(db: sqlite3.Connection) -> int:
    names = [
        name
        for (name,) in db.execute(
            "SELECT session FROM touched ORDER BY session LIMIT ?", (_SESSIONS,)
        )
    ]
    if names:
        with database.transaction(db):
            for name in names:
                _settle(db, name)
            db.execute(
                "DELETE FROM touched WHERE session IN (SELECT value FROM json_each(?))",
                (json.dumps(names),),
            )
            db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    return len(names)


def _settle(db: sqlite3.Connection, session: str) -> None:
    ordered = turns(db, session)
    keys = [turn.key for turn in ordered]
    listed = json.dumps(keys)
    seen = [replace(turn, body=turn.body[:_LONGEST]) for turn in ordered]
    texts = zip(keys, contexts([turn.words() for turn in seen], CONTEXT_TEXT_SPAN), strict=True)
    _replace(db, "context", {key: words for key, words in texts if words}, listed)
    vectors = zip(keys, contexts(seen, CONTEXT_VECTOR_SPAN), strict=True)
    wanted = {(key, len(words), note_rows.text_hash(words)) for key, words in vectors if words}
    query = (
        "SELECT note, length, hash FROM chunks WHERE kind = 'context' AND note IN (SELECT value "
        "FROM json_each(?))"
    )
    held = set(db.execute(query, (listed,)))
    db.executemany(
        "DELETE FROM chunks WHERE note = ? AND kind = 'context' AND hash = ?",
        ((key, found) for key, _, found in held - wanted),
    )
    db.executemany("INSERT INTO chunks VALUES (?, 'context', 0, 0, ?, ?)", wanted - held)
    db.execute("DELETE FROM places WHERE note IN (SELECT value FROM json_each(?))", (listed,))
    db.executemany("INSERT INTO places VALUES (?, ?)", zip(keys[1:], keys, strict=False))
    _settle_whole(db, session, ordered)
    db.execute("UPDATE sessions SET seal = ? WHERE session = ?", (_seal(db, keys), session))


def _seal(db: sqlite3.Connection, keys: Collection[int]) -> int:
    query = (
        "SELECT note, length, hash FROM chunks WHERE kind = 'context' AND note IN (SELECT value "
        "FROM json_each(?)) ORDER BY note"
    )
    return crc32(repr(db.execute(query, (json.dumps(list(keys)),)).fetchall()).encode())


def _broken_sessions(db: sqlite3.Connection) -> int:
    found = db.execute(
        "SELECT session, seal FROM sessions WHERE session NOT IN (SELECT session FROM touched)"
    ).fetchall()
    return sum(
        _seal(db, [turn.key for turn in turns(db, session)]) != seal for session, seal in found
    )


def _settle_whole(db: sqlite3.Connection, session: str, ordered: Sequence[Turn]) -> None:
    found = db.execute("SELECT key FROM sessions WHERE session = ?", (session,)).fetchone()
    if not ordered:
        if found:
            database.drop(db, "whole", found)
            db.execute("DELETE FROM sessions WHERE key = ?", found)
        return
    key: Any = (
        found[0]
        if found
        else db.execute("INSERT INTO sessions (session) VALUES (?)", (session,)).lastrowid
    )
    words = "\n".join(turn.words().body for turn in ordered)[:_WHOLE]
    _replace(db, "whole", {key: words}, json.dumps([key]))


def _replace(db: sqlite3.Connection, table: str, wanted: dict[int, str], listed: str) -> None:
    held = dict(
        db.execute(
            f"SELECT rowid, body FROM {table} WHERE rowid IN (SELECT value FROM json_each(?))",
            (listed,),
        )
    )
    changed = {key: words for key, words in wanted.items() if held.get(key) != words}
    database.drop(db, table, [key for key in held if held[key] != wanted.get(key)])
    database.put(db, table, sorted(changed.items()))


def faults(db: sqlite3.Connection) -> str:
    """What is not in the index as it was stored, "" when all is."""
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found == "ok":  # that its rows are in order only the slower check looks at
        found = db.execute("PRAGMA integrity_check(stored)").fetchone()[0]
    if found != "ok":
        return str(found)
    if wrong := fts.sound(db):
        return wrong
    broken = note_rows.broken_seals(db) + _broken_seals(db)
    return f"{broken} notes are not as they were stored" if broken else ""


CONTEXT_VECTOR_SPAN = 1
"""Neighbours on either side of an episode in its context chunk: two do not fit the model's window
much of the time."""
CONTEXT_TEXT_SPAN = 2
"""The same for keywords, where nothing is cut: 1 is .4 points of nDCG@10 worse, 3 is equal."""

_WINDOW = 240
"""Tokens of a piece: 120 words by an upper estimate for prose with its punctuation, so that
they and a title stay inside 256."""
_FEW = 8
"""Tokens below which a section has no chunk of its own."""
_TITLE = 80
"""Characters of a title that are repeated in front of every chunk."""
_LONGEST_CHUNK = 4_000
"""Characters of a chunk: more than any window we know. Only blanks, which are no tokens, make one
longer."""
_BEGINNING = 600
"""Characters of a long note that stand for all of it, where its first window is much shorter than
others; else that window does, and needs no second vector. A text of its own of 600 characters makes
.05 points of Recall@10 more where whole conversations are the notes, one of 1,200 .2; notes of 2 KB
take a seventh and a third longer then."""
_LIST = 2
"""In how many windows is cut what would be one, if most of it are list items."""
_OVERLAP = 6
"""A cut inside a sentence repeats a sixth of the piece before it."""
_TOKEN = re.compile(r"[A-ZÀ-Þ]?[a-zß-ɏ]{1,3}|\S")
"""What a word-piece model makes of text, estimated from above."""
_ELSEWHERE = r"\]\((?:[A-Za-z][\w+.-]*:|[^()\s]*attachments/[0-9a-f]{2}/)"
_UNREAD = re.compile(
    rf"""
    !?\[(?=[^\[\]]{{0,300}}{_ELSEWHERE})
    | {_ELSEWHERE}[^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:[ ]"[^"\n]*")?\)
    | <!--(?:(?!<!--|-->).){{0,2000}}--> | %%[^%]{{0,2000}}%%
    | </[A-Za-z][\w-]*> | <[A-Za-z][\w-]*[ ][^<>\n]{{0,500}}> | <br>
    """,
    re.VERBOSE | re.DOTALL,
)
"""What nobody reads of a text, and a model would take for what it says: where links and pictures
lead outside, tags, comments."""
_PARAGRAPH = re.compile(r"\n+[ \t]*")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One text for the vector index: `start`..`end` are characters of the body, `text` is what gets
    embedded."""

    kind: str
    """note, window or context."""
    start: int
    end: int
    text: str


def chunk_header(title: str, when: str = "") -> str:
    """The line in front of a chunk: what the note is about, and when; "" if neither is known.
    Without the date, of what changed in eight made-up months an older version stands first 19 times
    of 77 instead of 13."""
    return " · ".join(part for part in (" ".join(title.split())[:_TITLE].strip(), when) if part)


def chunk(
    body: str,
    *,
    title: str,
    when: str = "",
    sections: Sequence[tuple[int, int, str]],
    items: Sequence[tuple[int, int]],
) -> list[Chunk]:
    """A note of one window as a whole; a longer one in windows, so that every character is in a
    piece that fits, and before them, as `note`, what stands for the whole: the first window, or the
    beginning where that is short. `sections` (start, end, heading) and `items` (start, end) are the
    parser's."""
    ruler = _Ruler(_read(body, " "), _WINDOW)
    head = _heads(body, title, when)
    if ruler.fits(0, len(body)):
        return [Chunk("note", 0, len(body), _join(head[0], _read(body)[:_LONGEST_CHUNK]))]
    outline = _Outline(sections, len(body))
    pieces = [
        Chunk(
            "window",
            low,
            high,
            _join(head[low > 0], outline.above(low), _read(body[low:high])[:_LONGEST_CHUNK]),
        )
        for low, high in _pieces(ruler, outline, sorted(items))
    ]
    first = pieces[0]
    stands = 2 * ruler.size(first.start, first.end) > ruler.window
    whole = first.text if stands else _join(head[0], _read(body[:_BEGINNING]))
    return [Chunk("note", 0, len(body), whole), *pieces]


def context_text(
    previous: Sequence[str], own: str, following: Sequence[str], *, title: str, when: str = ""
) -> str:
    """An episode between its neighbours (nearest last before it, nearest first after it); "" for
    one without any."""
    if not previous and not following:
        return ""
    return _join(chunk_header(title, when), *map(_read, (*previous, own, *following)))


def _heads(body: str, title: str, when: str) -> tuple[str, str]:
    """What stands in front of the chunk that begins the body, and of the others. A title that is
    the body's first words would only repeat them."""
    start = body.lstrip()
    taken = bool(title) and start.startswith(title.rstrip("…. "))
    shown = taken or (bool(title) and start.lstrip("#").lstrip().startswith(title))
    return chunk_header("" if shown else title, when), chunk_header("" if taken else title, when)


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _read(text: str, blank: str = "") -> str:
    """The text without what nobody reads of it, each character of which becomes `blank`."""
    if "]] " in text:  # relations are read as such
        text = STATED.sub(lambda found: blank * len(found[0]), text)
    if not any(mark in text for mark in ("](", "<", "%%")):
        return text
    return _UNREAD.sub(lambda found: blank * len(found[0]), text)


def _pieces(
    ruler: _Ruler, outline: _Outline, items: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    starts = [start for start, _ in items]
    listed = [0, *accumulate(end - start for start, end in items)]
    for low, high in _full(ruler, outline):
        among = listed[bisect_left(starts, high)] - listed[bisect_left(starts, low)]
        yield from (
            ruler.windows(low, high, ruler.window // _LIST)
            if 2 * among > high - low
            else ((low, high),)
        )


def _full(ruler: _Ruler, outline: _Outline) -> Iterator[tuple[int, int]]:
    """The windows of each long section; short ones that fit into one together share it."""
    begun = done = 0
    for start, end in outline.sections(ruler):
        if not ruler.fits(begun, end):
            if begun < done:
                yield begun, done
            begun = start
            if not ruler.fits(start, end):
                yield from ruler.windows(start, end, ruler.window)
                begun = end
        done = end
    if begun < done:
        yield begun, done


class _Outline:
    def __init__(self, sections: Sequence[tuple[int, int, str]], end: int) -> None:
        self._headings = {
            0: "",
            **{start: heading for start, _, heading in sections if 0 <= start < end},
        }
        self._starts = sorted(self._headings)
        self._end = end

    def sections(self, ruler: _Ruler) -> Iterator[tuple[int, int]]:
        """Spans without gaps; one that is nearly empty is joined to the next."""
        start = 0
        for high in (*self._starts[1:], self._end):
            if high == self._end or ruler.size(start, high) >= _FEW:
                yield start, high
                start = high

    def above(self, place: int) -> str:
        """The heading of the section around a place; "" where it begins there, and so is in the
        text."""
        at = self._starts[bisect_right(self._starts, place) - 1]
        return "" if at == place else self._headings[at]


class _Ruler:
    """Measures and cuts a body in tokens, in time linear in its length."""

    def __init__(self, body: str, window: int) -> None:
        self.end = len(body)
        self.window = window
        self.tokens = [match.start() for match in _TOKEN.finditer(body)]
        self.paragraphs = [match.end() for match in _PARAGRAPH.finditer(body)]
        self.sentences = [match.end() for match in _SENTENCE.finditer(body)]

    def size(self, start: int, end: int) -> int:
        """Estimated tokens in a span."""
        return bisect_left(self.tokens, end) - bisect_left(self.tokens, start)

    def fits(self, start: int, end: int) -> bool:
        """Whether a span fits the window."""
        return self.size(start, end) <= self.window

    def windows(self, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
        """Spans of at most so many tokens that together cover `start`..`end`."""
        while self.size(start, end) > most:
            first = bisect_left(self.tokens, start)
            half, limit = self.tokens[first + most // 2], self.tokens[first + most]
            cut = _last(self.paragraphs, half, limit) or _last(self.sentences, half, limit)
            yield start, cut or limit
            start = cut or self.tokens[first + most - most // _OVERLAP]
        yield start, end


def _last(places: Sequence[int], above: int, until: int) -> int:
    """The last place in (above, until]; 0 if there is none."""
    at = bisect_right(places, until) - 1
    return places[at] if at >= 0 and places[at] > above else 0
