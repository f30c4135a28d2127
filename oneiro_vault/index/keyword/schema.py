"""The SQLite file of the index: its tables, its version, how it is opened, and how a bad one is put
aside.

One connection writes; every reading thread has its own read-only connection. SQLite before 3.51.3
can reset a write-ahead log that two connections checkpoint, so only the writer ever checkpoints.
"""

from __future__ import annotations

import gc
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from oneiro_vault.core.text import language
from oneiro_vault.index.base import Row

VERSION: Final = 10
"""Raised with every change of the tables or of what is put into them: an index of another version
is rebuilt."""

NOTE_COLUMNS: Final = Row._fields[1:]
_TYPES: Final = {
    "when": "REAL", "importance": "REAL", "confidence": "REAL", "level": "INTEGER",
    "turn": "INTEGER", "core": "INTEGER",
    "budget": "INTEGER", "priority": "INTEGER", "size": "INTEGER",
}  # fmt: skip
_ROOM: Final = 64_000
"""KB of pages kept in memory during a bulk load."""
_TOKENS: Final = "tokenize='porter unicode61 remove_diacritics 2'"

_TABLES: Final = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE notes (key INTEGER PRIMARY KEY,
{", ".join(f'"{name}" {_TYPES.get(name, "TEXT")} ' for name in NOTE_COLUMNS)}, seal INTEGER);
CREATE UNIQUE INDEX notes_path ON notes (path);
CREATE INDEX notes_handle ON notes (handle);
CREATE INDEX notes_session ON notes (session);
CREATE INDEX notes_when ON notes ("when");
CREATE TABLE bodies (note INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE chunks (note INTEGER, kind TEXT, start INTEGER, "end" INTEGER, length INTEGER, hash
TEXT,
                     PRIMARY KEY (note, kind, start, "end", hash)) WITHOUT ROWID;
CREATE INDEX chunks_hash ON chunks (hash);
CREATE TABLE names (name TEXT, role TEXT, note INTEGER, PRIMARY KEY (name, role, note)) WITHOUT
ROWID;
CREATE INDEX names_note ON names (note);
CREATE TABLE edges (note INTEGER, relation TEXT, target TEXT, PRIMARY KEY (note, relation, target))
WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target);
CREATE TABLE sessions (key INTEGER PRIMARY KEY, session TEXT UNIQUE, seal INTEGER);
CREATE TABLE places (note INTEGER PRIMARY KEY, before INTEGER);
CREATE TABLE touched (session TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE unshaped (note INTEGER PRIMARY KEY);
CREATE TABLE seals (note INTEGER PRIMARY KEY, seal INTEGER);
CREATE TABLE stats (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, ctime INTEGER, inode
INTEGER) WITHOUT ROWID;
CREATE TABLE unreadable (path TEXT PRIMARY KEY, reason TEXT, refused INTEGER, head TEXT) WITHOUT
ROWID;
CREATE TABLE stored (store TEXT, hash TEXT, PRIMARY KEY (store, hash)) WITHOUT ROWID;
CREATE VIRTUAL TABLE own USING fts5(title, description, tags, body, {_TOKENS});
CREATE VIRTUAL TABLE context USING fts5(body, {_TOKENS});
CREATE TABLE passages (key INTEGER PRIMARY KEY, note INTEGER, start INTEGER, "end" INTEGER);
CREATE INDEX passages_note ON passages (note);
CREATE VIRTUAL TABLE passage USING fts5(body, {_TOKENS});
CREATE VIRTUAL TABLE whole USING fts5(body, {_TOKENS});
"""

_NEEDED: Final = (
    "own", "context", "whole", "passage", "notes", "chunks", "names", "edges", "places", "stored",
    "touched", "unshaped", "seals", "stats",
)  # fmt: skip


def create(path: Path) -> sqlite3.Connection:
    """Make an empty index at `path` (which must not exist) and return its writing connection."""
    db = _connect(path, "rwc")
    db.execute("PRAGMA page_size=8192")
    _tune(db)
    with transaction(db):
        for statement in filter(str.strip, _TABLES.split(";\n")):
            db.execute(statement)
        db.execute(
            "INSERT INTO meta VALUES ('complete', 0), ('generation', ?)", (secrets.randbits(40),)
        )  # never that of another file
        set_meta(db, "words", language.version())
        db.execute(f"PRAGMA user_version={VERSION}")
    return db


def open_writer(path: Path) -> sqlite3.Connection | None:
    """The writing connection of an index of this version; None if there is no file, another
    version, or not an index at all."""
    if not path.is_file():
        return None
    try:
        db = _connect(path, "rw")
    except sqlite3.DatabaseError:
        return None
    try:
        if (
            db.execute("PRAGMA user_version").fetchone()[0] == VERSION
            and meta(db, "words") == language.version()
        ):
            _tune(db)
            db.execute("SELECT value FROM meta WHERE name = 'complete'").fetchone()[0] + 0
            for table in _NEEDED:
                db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()
            return db
    except (sqlite3.DatabaseError, TypeError):
        pass
    close(db)
    return None


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection for one thread."""
    return _connect(path, "ro")


def open_prover(path: Path) -> sqlite3.Connection:
    """A connection for a moment that may run FTS5's integrity check, which counts as writing, but
    never checkpoints."""
    db = _connect(path, "rw")
    db.execute("PRAGMA wal_autocheckpoint=0")
    return db


def close(db: sqlite3.Connection) -> None:
    """Close, whatever state the file is in."""
    with suppress(sqlite3.Error):
        db.close()


def files(path: Path) -> tuple[Path, ...]:
    """The database file and the two that SQLite keeps beside it."""
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def put_aside(path: Path) -> None:
    """Move a damaged or outdated database out of the way; only the last one is kept, for whoever
    wants to look."""
    for file in files(path):
        if file.exists():
            file.replace(file.with_name(file.name.replace(path.name, path.name + ".bad")))


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def bulk(db: sqlite3.Connection) -> Iterator[None]:
    """Faster while very much is written: no waiting for the disk, and room for the pages that are
    written again and again."""
    db.execute("PRAGMA synchronous=OFF")
    db.execute(f"PRAGMA cache_size=-{_ROOM}")
    try:
        with without_garbage_collection():
            yield
    finally:
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA cache_size=-2000")


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """The collector would walk again and again over very many new objects that are all still
    needed."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def meta(db: sqlite3.Connection, name: str, default: object = None) -> object:
    """One value of the `meta` table."""
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return default if row is None else row[0]


def set_meta(db: sqlite3.Connection, name: str, value: object) -> None:
    """Set one value of the `meta` table."""
    db.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = path.absolute().as_uri() + f"?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)


def _tune(db: sqlite3.Connection) -> None:
    """Durable enough for something that can be rebuilt: a crash loses nothing, a power cut at most
    the last moments."""
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("PRAGMA mmap_size=0")
