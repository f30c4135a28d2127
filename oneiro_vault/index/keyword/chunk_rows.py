"""The second step of indexing: what a body is made of. Chunks for vectors, passages of long notes,
links, contexts inside sessions.

Words can be searched after the first step (`note_rows`); this one takes twice as long, so after a
large change it runs beside searches.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from oneiro_vault.core.markdown import parser
from oneiro_vault.core.text.query import segment
from oneiro_vault.index.base import Progress
from oneiro_vault.index.keyword import chunking, fts, links, note_rows, schema, sessions

_BATCH: Final = 1_000
_BULK: Final = 2_000


@dataclass(slots=True)
class Shape:
    """What was found in one body."""

    key: int
    chunks: list[chunking.Chunk]
    edges: set[tuple[str, str]]
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
            with schema.bulk(db) if left > _BULK else nullcontext():
                done += _some(db)
        if progress:
            progress("structure", done, done + left)


def _some(db: sqlite3.Connection) -> int:
    """Look at the next notes, or at sessions if all notes are done; returns how many."""
    keys = [
        key for (key,) in db.execute("SELECT note FROM unshaped ORDER BY note LIMIT ?", (_BATCH,))
    ]
    if not keys:
        return sessions.settle(db)
    with schema.transaction(db):
        store(db, list(of(db, keys)))
        db.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    return len(keys)


def of(db: sqlite3.Connection, keys: Collection[int]) -> Iterator[Shape]:
    """The shapes of these notes, from their indexed bodies."""
    bodies = note_rows.bodies(db, keys)
    query = """SELECT key, path, title, coalesce(nullif(created, ''), timestamp), language FROM
        notes
               WHERE key IN (SELECT value FROM json_each(?))"""
    for key, path, title, created, language in db.execute(
        query, (json.dumps(list(keys)),)
    ).fetchall():
        body = bodies.get(key, "")
        structure = parser.parse(body)
        found = chunking.chunk(
            body,
            title=title,
            when=note_rows.day(created),
            sections=structure.sections,
            items=structure.items,
        )
        yield Shape(key, found, links.written(structure, path), language)


def store(db: sqlite3.Connection, shapes: list[Shape]) -> None:
    """Put shapes in."""
    rows = {shape.key: shape.rows() for shape in shapes}
    db.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)",
        ((key, *row) for key, found in rows.items() for row in found),
    )
    db.executemany(
        "INSERT OR IGNORE INTO edges VALUES (?, ?, ?)",
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
    fts.put(db, "passage", ((first + i, passage[3]) for i, passage in enumerate(passages)))
    keys = [shape.key for shape in shapes]
    db.executemany("DELETE FROM unshaped WHERE note = ?", ((key,) for key in keys))
    db.executemany("INSERT OR REPLACE INTO seals VALUES (?, ?)", _seals(db, keys))


def broken_seals(db: sqlite3.Connection) -> int:
    """How many notes have chunks or links that are not what was put in."""
    held = db.execute("SELECT note, seal FROM seals").fetchall()
    now = dict(_seals(db, [key for key, _ in held]))
    return sum(now[key] != seal for key, seal in held)


def _seals(db: sqlite3.Connection, keys: Collection[int]) -> Iterator[tuple[int, int]]:
    """(note, checksum over its chunks and links)."""
    found: dict[int, list[tuple[object, ...]]] = {key: [] for key in keys}
    listed = json.dumps(list(keys))
    for query in (
        """SELECT note, kind, start, "end", hash FROM chunks WHERE kind != 'context' AND note IN
            (SELECT value FROM json_each(?))
           ORDER BY kind, start, "end", hash""",
        "SELECT note, relation, target FROM edges WHERE note IN (SELECT value FROM json_each(?)) "
        "ORDER BY relation, target",
    ):
        for key, *row in db.execute(query, (listed,)):
            found[key].append(tuple(row))
    yield from (
        (key, crc32(repr(rows).encode("utf-8", "backslashreplace"))) for key, rows in found.items()
    )
