"""Vectors that were computed once: (model, text hash) -> vector, in an SQLite file of their own
that outlives every rebuild.

10,000 vectors are read from it in 0.2 s; from Chroma it takes 9 s, two of them to load Chroma, and
the model needs minutes for them. So a rebuild, a question before Chroma is loaded and the view of
an earlier date read it.

Each model has a table whose key is the first 60 bits of the hash, which is twice as fast as the
hash itself. Values are float16 (half the disk, cosines within 0.001 of the exact ones). One whose
length is not 1 was damaged and counts as missing; a damaged file is put aside.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from oneiro_vault.index.base import Vectors
from oneiro_vault.index.keyword import schema

_VERSION: Final = 1
_TOLERANCE: Final = 0.01
_DIGITS: Final = 15


class VectorCache:
    """The cache file at `path`; safe to use from several threads (one connection, one lock)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._tables: dict[str, str] = {}
        self._db = self._open()

    def put(self, model: str, hashes: Sequence[str], vectors: Vectors) -> None:
        """Remember one vector per hash."""
        half = np.ascontiguousarray(vectors, dtype=np.float16)
        rows = ((_key(name), half[i].tobytes()) for i, name in enumerate(hashes))
        with self._guard() as db:
            table = self._table(db, model, make=True)
            with schema.transaction(db):
                db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)

    def get(self, model: str, hashes: Collection[str], dimension: int) -> tuple[list[str], Vectors]:
        """The hashes that are known and their vectors (n x dimension, float32, unit length), in the
        same order."""
        names, vectors, lengths = self._load(model, hashes, dimension)
        return names, vectors / lengths[:, None]

    def cosines(self, model: str, hashes: Collection[str], vector: Vectors) -> dict[str, float]:
        """Cosine of each known text with a unit vector."""
        names, vectors, lengths = self._load(model, hashes, len(vector))
        return dict(zip(names, ((vectors @ vector) / lengths).tolist(), strict=True))

    def known(self, model: str, hashes: Collection[str]) -> set[str]:
        """Which of the hashes have a vector."""
        keys = {_key(name): name for name in hashes}
        with self._guard() as db:
            if not (table := self._table(db, model)):
                return set()
            query = f"SELECT key FROM {table} WHERE key IN (SELECT value FROM json_each(?))"
            return {keys[key] for (key,) in db.execute(query, (json.dumps(list(keys)),))}

    def models(self) -> Mapping[str, int]:
        """model -> number of vectors, for those that have any."""
        with self._guard() as db:
            names = [name for (name,) in db.execute("SELECT name FROM models ORDER BY id")]
            counts = {
                name: int(db.execute(f"SELECT count(*) FROM {self._table(db, name)}").fetchone()[0])
                for name in names
            }
        return {name: count for name, count in counts.items() if count}

    def count(self, model: str) -> int:
        """Number of a model's vectors."""
        with self._guard() as db:
            table = self._table(db, model)
            return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) if table else 0

    def forget(self, model: str, keep: Collection[str] = ()) -> int:
        """Delete a model's vectors except those in `keep`; returns how many."""
        with self._guard() as db:
            if not (table := self._table(db, model)):
                return 0
            with schema.transaction(db):
                query = f"DELETE FROM {table} WHERE key NOT IN (SELECT value FROM json_each(?))"
                return db.execute(query, (json.dumps([_key(name) for name in keep]),)).rowcount

    def scrub(self, keep: Collection[str]) -> None:
        """Keep only these hashes, and leave nothing of the others in the file."""
        for model in self.models():
            self.forget(model, keep)
        with self._guard() as db:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            schema.close(self._db)

    def _load(
        self, model: str, hashes: Collection[str], dimension: int
    ) -> tuple[list[str], Vectors, npt.NDArray[np.float32]]:
        """Known hashes, their vectors as stored, and the vectors' lengths; what is damaged is left
        out."""
        keys = {_key(name): name for name in hashes}
        found: list[tuple[int, bytes]] = []
        with self._guard() as db:
            if table := self._table(db, model):
                query = (
                    f"SELECT key, vector FROM {table} WHERE key IN (SELECT value FROM json_each(?))"
                )
                found = [
                    row
                    for row in db.execute(query, (json.dumps(list(keys)),))
                    if len(row[1]) == 2 * dimension
                ]
        vectors = (
            np.frombuffer(b"".join([blob for _, blob in found]), np.float16)
            .reshape(-1, dimension)
            .astype(np.float32)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            whole = np.abs(lengths - 1) < _TOLERANCE
        if not whole.all():
            found, vectors, lengths = (
                [row for row, good in zip(found, whole, strict=True) if good],
                vectors[whole],
                lengths[whole],
            )
        return [keys[key] for key, _ in found], vectors, lengths

    def _table(self, db: sqlite3.Connection, model: str, *, make: bool = False) -> str:
        """The table of a model; "" if it has none (and is not to get one)."""
        if model not in self._tables:
            if make:
                db.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
            found = db.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()
            if found is None:
                return ""
            db.execute(
                f"CREATE TABLE IF NOT EXISTS vectors_{found[0]} (key INTEGER PRIMARY KEY, vector "
                f"BLOB)"
            )
            self._tables[model] = f"vectors_{found[0]}"
        return self._tables[model]

    @contextmanager
    def _guard(self) -> Iterator[sqlite3.Connection]:
        """The connection under the lock; damage replaces the file by an empty one, and the caller
        hears of it."""
        with self._lock:
            if (
                not self._path.exists()
            ):  # deleted under us: what is written now would be gone at the end
                schema.close(self._db)
                self._db = self._open()
            try:
                yield self._db
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                schema.close(self._db)
                schema.put_aside(self._path)
                self._db = self._open()
                raise

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(exist_ok=True)
        self._tables = {}
        try:
            return self._connect()
        except sqlite3.DatabaseError:
            schema.put_aside(self._path)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
                raise sqlite3.DatabaseError("another version")
            db.execute("PRAGMA page_size=8192")
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(
                "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, name TEXT UNIQUE)"
            )
            db.execute(f"PRAGMA user_version={_VERSION}")
            for (number,) in db.execute("SELECT id FROM models").fetchall():
                db.execute(f"SELECT key, vector FROM vectors_{number} LIMIT 1").fetchone()
        except sqlite3.DatabaseError:
            schema.close(db)
            raise
        return db


def as_kept(vectors: Vectors) -> Vectors:
    """What `get` gives back for vectors (n x dimension) that were `put`: rounded to float16, of
    length 1, as float32."""
    kept = vectors.astype(np.float16).astype(np.float32)
    lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", kept, kept))
    return kept / lengths[:, None]


def _key(name: str) -> int:
    return int(name[:_DIGITS], 16)
