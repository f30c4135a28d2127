"""Sessions: an episode is indexed a second time together with its neighbours, and a session once as
a whole.

The order inside a session is (created, turn, path). When one note of a session changes, everything
of that session is made again, and only what came out different is written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

from oneiro_vault.core.text.query import segment
from oneiro_vault.index.keyword import chunking, fts, note_rows, schema

_WHOLE: Final = 200_000
"""Characters of a session that count for its own score: a session without end must not make every
write to it slow."""
_LONGEST: Final = 4_000
"""Characters of one episode that its neighbours see."""
_BATCH: Final = 100
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
        yield chunking.context_text(
            bodies[max(0, i - span) : i],
            bodies[i],
            bodies[i + 1 : i + 1 + span],
            title=turn.title,
            when=turn.when,
        )


def scores(
    db: sqlite3.Connection, expression: str, keys: Collection[int] | None
) -> dict[int, float]:
    """BM25 of the whole session of each note that has one: 0 if it does not match. `keys` None =
    all notes."""
    found = fts.scores(db, "whole", expression, None)
    query = (
        "SELECT n.key, s.key FROM notes n JOIN sessions s ON s.session = n.session WHERE "
        "n.session != ''"
    )
    if keys is None:
        return {key: found.get(session, 0.0) for key, session in db.execute(query)}
    query += " AND n.key IN (SELECT value FROM json_each(?))"
    return {
        key: found.get(session, 0.0)
        for key, session in db.execute(query, (json.dumps(list(keys)),))
    }


def previous(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, int]:
    """The note just before each of these in its session."""
    query = "SELECT note, before FROM places WHERE note IN (SELECT value FROM json_each(?))"
    return dict(db.execute(query, (json.dumps(list(keys)),)))


def settle(db: sqlite3.Connection) -> int:
    """Make some of what was touched again, in one transaction; returns how many sessions."""
    names = [
        name
        for (name,) in db.execute("SELECT session FROM touched ORDER BY session LIMIT ?", (_BATCH,))
    ]
    if names:
        with schema.transaction(db):
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
    texts = zip(
        keys, contexts([turn.words() for turn in seen], chunking.CONTEXT_TEXT_SPAN), strict=True
    )
    _replace(db, "context", {key: words for key, words in texts if words}, listed)
    vectors = zip(keys, contexts(seen, chunking.CONTEXT_VECTOR_SPAN), strict=True)
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
    """A checksum over the context chunks of a session."""
    query = (
        "SELECT note, length, hash FROM chunks WHERE kind = 'context' AND note IN (SELECT value "
        "FROM json_each(?)) ORDER BY note"
    )
    return crc32(repr(db.execute(query, (json.dumps(list(keys)),)).fetchall()).encode())


def broken_seals(db: sqlite3.Connection) -> int:
    """How many sessions have context chunks that are not what was put in."""
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
            fts.drop(db, "whole", found)
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
    fts.drop(db, table, [key for key in held if held[key] != wanted.get(key)])
    fts.put(db, table, sorted(changed.items()))
