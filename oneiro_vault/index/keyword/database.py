"""The file of the keyword index in use: one writer, a reader per thread, proof that it is sound, a
new one in its place."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from oneiro_vault.errors import IndexFull, IndexProblem
from oneiro_vault.index.keyword import chunk_rows, fts, note_rows, schema, sessions

FILE: Final = "index.db"
SOUND: Final = "index.sound"
"""Written when the index is closed in order: size and time of the database. Without it the database
is checked before it is trusted."""

_BROKEN: Final = ("malformed", "no such", "disk I/O", "not a database", "unable to open")
"""What SQLite says in an OperationalError when the file is broken rather than busy or the disk
full."""

_T = TypeVar("_T")
log = logging.getLogger(__name__)


class Database:
    """The index file in `folder`, opened, or put aside and begun anew when it is damaged or of
    another version."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
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
        db = schema.open_writer(self.path)
        if db is None:
            schema.put_aside(self.path)
            db = schema.create(self.path)
            self._proved = True
        self.db = db
        self._state = self._stat()
        self.life += 1

    # -- asking
    # ----------------------------------------------------------------------------------------------

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
                schema.close(held[1])
            db = schema.open_reader(self.path)
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
        """The error for the caller; remembers that the file is broken, unless it was merely busy or
        the disk full."""
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
    # ----------------------------------------------------------------------------------------------

    def trusted(self) -> bool:
        """Is the file still there and sound? Checked in full after a disorderly end, and when
        somebody else wrote to it."""
        with self.lock:
            self._look()
            if self.damage is None and not self._proved:
                self.prove()
            return self.damage is None

    def _look(self) -> None:
        """Notice that the file is gone, or was changed by somebody else; only our own writing
        changes it otherwise."""
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
                    schema.open_prover(self.path)
                ) as db:  # one that remembers nothing of the file
                    wrong = _faults(db)
            except (sqlite3.DatabaseError, OverflowError, ValueError) as error:
                wrong = str(error)
            if wrong:
                self.damage = f"the index is damaged and will be rebuilt ({wrong[:200]})"
            else:
                self._proved = True
            return wrong

    # -- ending
    # ----------------------------------------------------------------------------------------------

    def replace(self, fresh: Path) -> None:
        """Put a complete other file in the place of this one; readers notice at their next
        question."""
        with self.lock, self._gate:
            schema.close(self.db)
            if self.damage:
                schema.put_aside(self.path)
            for file in schema.files(self.path)[1:]:
                file.unlink(missing_ok=True)  # the old write-ahead log must never meet the new file
            fresh.replace(self.path)
            self._open()
            self._proved, self.damage = True, None

    def close(self) -> None:
        """Close in order, so that the next start need not doubt the file."""
        with self.lock, self._gate:
            for reader in self._readers:
                schema.close(reader)
            self._readers, self.life = [], self.life + 1
            with suppress(sqlite3.Error):
                self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            schema.close(self.db)
            if self.damage is None and self._proved:
                with suppress(OSError):
                    self.path.with_name(SOUND).write_text(json.dumps(self._mark()))

    def _mark(self) -> list[int]:
        found = self.path.stat()
        return [found.st_size, found.st_mtime_ns]

    def _was_sound(self) -> bool:
        """Is the file as it was when it was last closed in order? The note of that is taken away:
        from now on it may be damaged."""
        note = self.path.with_name(SOUND)
        try:
            mark = json.loads(note.read_text())
            note.unlink()
            return bool(mark == self._mark())
        except (OSError, ValueError):
            return False


def _faults(db: sqlite3.Connection) -> str:
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        return str(found)
    if wrong := fts.sound(db):
        return wrong
    broken = note_rows.broken_seals(db) + chunk_rows.broken_seals(db) + sessions.broken_seals(db)
    return f"{broken} notes are not as they were stored" if broken else ""
