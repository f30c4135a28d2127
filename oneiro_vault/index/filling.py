"""The work of filling a vector store: which texts wait, in an order that needs little padding, and a thread that stores what is done."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from oneiro_vault.core import chunks as chunking
from oneiro_vault.index import notes, sessions, shape
from oneiro_vault.index.base import Vectors

FRAME: Final = 256
"""Texts per call of the embedder."""
_NOTES: Final = 200


class Keeper:
    """One thread that stores what another one computed; `put` waits when it falls behind and passes its errors on."""

    def __init__(self, keep: Callable[[Sequence[str], Vectors], None]) -> None:
        self._keep = keep
        self._queue: queue.Queue[tuple[Sequence[str], Vectors] | None] = queue.Queue(maxsize=2)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="oneiro-vectors", daemon=True)

    def __enter__(self) -> Keeper:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._queue.put(None)
        self._thread.join()
        if self._error is not None and exc[0] is None:
            raise self._error

    def put(self, names: Sequence[str], vectors: Vectors) -> None:
        """Hand over a batch."""
        if self._error is not None:
            raise self._error
        self._queue.put((names, vectors))

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._keep(*item)
                except BaseException as error:
                    self._error = error


class Backlog:
    """Texts that wait for a vector, on disk rather than in memory, handed out longest first so that a batch needs little padding."""

    def __init__(self, db: sqlite3.Connection, missing: Collection[str]) -> None:
        self._missing = missing
        self._temp = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._temp.execute("CREATE TABLE texts (hash TEXT PRIMARY KEY, length INTEGER, words TEXT)")
        self._temp.execute("BEGIN")
        for found in _texts(db, missing):
            self._temp.execute("INSERT OR IGNORE INTO texts VALUES (?, ?, ?)", found)
        self._temp.execute("COMMIT")

    def __enter__(self) -> Backlog:
        return self

    def __exit__(self, *exc: object) -> None:
        self._temp.close()

    def __len__(self) -> int:
        return int(self._temp.execute("SELECT count(*) FROM texts").fetchone()[0])

    def __iter__(self) -> Iterator[tuple[list[str], list[str]]]:
        found = self._temp.execute("SELECT hash, words FROM texts ORDER BY length DESC, hash")
        while batch := found.fetchmany(FRAME):
            yield [name for name, _ in batch], [words for _, words in batch]


def _texts(db: sqlite3.Connection, missing: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """(hash, length, text) of the missing chunks, made again from the indexed bodies."""
    query = "SELECT DISTINCT note, kind = 'context' FROM chunks WHERE hash IN (SELECT value FROM json_each(?))"
    found = db.execute(query, (json.dumps(list(missing)),)).fetchall()
    yield from _own_texts(db, [key for key, context in found if not context], missing)
    yield from _context_texts(db, [key for key, context in found if context], missing)


def _own_texts(db: sqlite3.Connection, keys: list[int], missing: Collection[str]) -> Iterator[tuple[str, int, str]]:
    for start in range(0, len(keys), _NOTES):
        for found in shape.of(db, keys[start : start + _NOTES]):
            for chunk in found.chunks:
                name = notes.text_hash(chunk.text)
                if name in missing:
                    yield name, len(chunk.text), chunk.text


def _context_texts(db: sqlite3.Connection, keys: list[int], missing: Collection[str]) -> Iterator[tuple[str, int, str]]:
    query = "SELECT DISTINCT session FROM notes WHERE session != '' AND key IN (SELECT value FROM json_each(?))"
    for (session,) in db.execute(query, (json.dumps(keys),)).fetchall():
        for words in sessions.contexts(sessions.turns(db, session), chunking.CONTEXT_VECTOR_SPAN):
            name = notes.text_hash(words) if words else ""
            if name in missing:
                yield name, len(words), words
