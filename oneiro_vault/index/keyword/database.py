"""The SQLite file of the index: its tables, its version, one writer, a reader per thread, proof
that it is sound, a new one in its place.

SQLite before 3.51.3 can reset a write-ahead log that two connections checkpoint, so only the writer
ever checkpoints.
"""

from __future__ import annotations

import gc
import json
import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from oneiro_vault.core.text import language
from oneiro_vault.errors import IndexFull, IndexProblem
from oneiro_vault.index.base import Row

FILE: Final = "index.db"
SOUND: Final = "index.sound"
"""Written when the index is closed in order: size and time of the database. Without it the database
is checked."""

_BROKEN: Final = ("malformed", "no such", "disk I/O", "not a database", "unable to open")
"""What SQLite says in an OperationalError when the file is broken rather than busy or the disk
full."""

_T = TypeVar("_T")
log = logging.getLogger(__name__)
VERSION: Final = 14
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
CREATE TABLE edges (note INTEGER, relation TEXT, target TEXT, subject TEXT,
                    PRIMARY KEY (note, relation, target, subject)) WITHOUT ROWID;
CREATE INDEX edges_target ON edges (target);
CREATE INDEX edges_subject ON edges (subject) WHERE subject != '';
CREATE TABLE sessions (key INTEGER PRIMARY KEY, session TEXT UNIQUE, seal INTEGER);
CREATE TABLE places (note INTEGER PRIMARY KEY, before INTEGER);
CREATE TABLE touched (session TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE unshaped (note INTEGER PRIMARY KEY);
CREATE TABLE copies (note INTEGER PRIMARY KEY, id TEXT);
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
    "touched", "unshaped", "seals", "stats", "copies",
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
    """Move a damaged or outdated database out of the way; only the last one is kept."""
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
    """Faster while very much is written: no waiting for the disk, and room for pages."""
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


def put(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[object]]) -> None:
    """Insert rows of an FTS5 table: (key, column, …). The keys must not be in it."""
    columns = ("title", "description", "tags", "body") if table == "own" else ("body",)
    marks = ", ".join("?" * (len(columns) + 1))
    db.executemany(f"INSERT INTO {table} (rowid, {', '.join(columns)}) VALUES ({marks})", rows)


def drop(db: sqlite3.Connection, table: str, keys: Iterable[int]) -> None:
    """Take rows out of an FTS5 table."""
    db.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((key,) for key in keys))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = path.absolute().as_uri() + f"?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)


def _tune(db: sqlite3.Connection) -> None:
    """Durable enough for something that can be rebuilt: a crash loses nothing, a power cut at most
    the last moments."""
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("PRAGMA mmap_size=0")


class Database:
    """The index file in `folder`, opened or begun anew."""

    def __init__(self, folder: Path, faults: Callable[[sqlite3.Connection], str]) -> None:
        """`faults`: what is not in it as it was stored, "" when all is."""
        self.path = folder / FILE
        self._faults = faults
        self.lock = threading.RLock()
        self.damage: str | None = None
        self.life = 0
        """Changes whenever another file takes the place of the one in use."""
        self._gate = threading.Lock()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._proved = self._was_sound()
        self._open()

    def _open(self) -> None:
        db = open_writer(self.path)
        if db is None:
            put_aside(self.path)
            db = create(self.path)
            self._proved = True
        self.db = db
        self._state = self._stat()
        self.life += 1

    # -- asking

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writing connection, one thread at a time."""
        with self.lock:
            self._look()
            try:
                yield self.db
            finally:
                self._state = self._stat()

    def reading(self) -> sqlite3.Connection:
        """This thread's own connection to the file in use."""
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is not None and held[0] == self.life:
            return held[1]
        with self._gate:
            if held is not None and held[1] in self._readers:
                self._readers.remove(held[1])
                close(held[1])
            db = _connect(self.path, "ro")
            self._readers.append(db)
            self._local.held = (self.life, db)
            return db

    def ask(self, question: Callable[[sqlite3.Connection], _T]) -> _T:
        """Ask on this thread's connection; damage is remembered and becomes an IndexProblem."""
        try:
            return question(self.reading())
        except sqlite3.DatabaseError as error:
            raise self.hurt(error) from error

    def read(self, query: str, values: Collection[object] = ()) -> list[Any]:
        """The rows of one query."""
        return self.ask(lambda db: db.execute(query, tuple(values)).fetchall())

    def hurt(self, error: sqlite3.DatabaseError) -> IndexProblem:
        """The error for the caller; remembers that the file is broken, unless it was busy or the
        disk full."""
        if not isinstance(error, sqlite3.OperationalError) or any(
            words in str(error) for words in _BROKEN
        ):
            self.damage = f"the index is damaged and will be rebuilt ({error})"
            log.warning("index: %s", error)
        if (
            getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        ):  # errors of the module itself have no code
            return IndexFull(
                "the disk is full, so the index cannot answer",
                kept="The notes are untouched.",
                hint="Make room, then try again.",
            )
        return IndexProblem(
            f"the index cannot answer: {error}",
            kept="The notes are untouched.",
            hint="It is rebuilt at the next refresh.",
        )

    # -- proof

    def trusted(self) -> bool:
        """Is the file still there and sound? Checked in full after a disorderly end, and when
        somebody else wrote to it."""
        with self.lock:
            self._look()
            if self.damage is None and not self._proved:
                self.prove()
            return self.damage is None

    def _look(self) -> None:
        """Only our own writing changes the file: is it gone, or was it changed by somebody else?"""
        state = self._stat()
        if state[:1] != self._state[:1]:
            self.damage = "the index was deleted and will be rebuilt"
        elif state != self._state:
            self._proved, self._state = False, state

    def _stat(self) -> tuple[int, ...]:
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def prove(self) -> str:
        """Check everything: SQLite's structure, words against text, and the seals of what was
        stored. "" or what is wrong."""
        with self.lock:
            try:
                with closing(
                    open_prover(self.path)
                ) as db:  # one that remembers nothing of the file
                    wrong = self._faults(db)
            except (sqlite3.DatabaseError, OverflowError, ValueError) as error:
                wrong = str(error)
            if wrong:
                self.damage = f"the index is damaged and will be rebuilt ({wrong[:200]})"
            else:
                self._proved = True
            return wrong

    # -- ending

    def replace(self, fresh: Path) -> None:
        """Put a complete other file in the place of this one; readers notice at their next
        question."""
        with self.lock, self._gate:
            close(self.db)
            if self.damage:
                put_aside(self.path)
            for file in files(self.path)[1:]:
                file.unlink(missing_ok=True)  # the old write-ahead log must never meet the new file
            fresh.replace(self.path)
            self._open()
            self._proved, self.damage = True, None

    def close(self) -> None:
        """Close in order, so that the next start need not doubt the file."""
        with self.lock, self._gate:
            for reader in self._readers:
                close(reader)
            self._readers, self.life = [], self.life + 1
            with suppress(sqlite3.Error):
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            close(self.db)
            if self.damage is None and self._proved:
                with suppress(OSError):
                    self.path.with_name(SOUND).write_text(json.dumps(self._mark()))

    def _mark(self) -> list[int]:
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns]

    def _was_sound(self) -> bool:
        """Is the file as it was last closed in order? The note of that is taken away."""
        note = self.path.with_name(SOUND)
        try:
            mark = json.loads(note.read_text())
            note.unlink()
            return bool(mark == self._mark())
        except (OSError, ValueError):
            return False


class Asking:
    """Whoever asks an index file."""

    def __init__(self, database: Database) -> None:
        self._database = database


_A = TypeVar("_A", bound=Asking)
_P = ParamSpec("_P")


def question(
    asked: Callable[Concatenate[_A, sqlite3.Connection, _P], _T],
) -> Callable[Concatenate[_A, _P], _T]:
    """A method that asks on its thread's own connection, as `Database.ask`."""

    def ask(self: _A, /, *given: _P.args, **named: _P.kwargs) -> _T:
        return self._database.ask(lambda db: asked(self, db, *given, **named))

    update_wrapper(ask, asked)
    return ask
