"""Vectors that were computed once: (model, text hash) -> vector, in an SQLite file that outlives
every rebuild; and what answers from them: a small store is compared whole, in a copy in memory, and
only a large one is left to Chroma's approximate search, which misses others when vectors came in
another order.

10,000 vectors are read from it in 0.2 s, from Chroma in 9 s, and the model needs minutes for them.
Each model has a table whose key is the first 60 bits of the hash, which is twice as fast as the
hash itself. Values are float16 (half the disk, cosines within 0.001 of the exact ones). One whose
length is not 1 was damaged and counts as missing.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from oneiro_vault.index.base import Embedder, Vectors, VectorStore
from oneiro_vault.index.keyword import database
from oneiro_vault.index.vectors.backends import RamStore

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
            with database.transaction(db):
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
            with database.transaction(db):
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
            database.close(self._db)

    def _load(
        self, model: str, hashes: Collection[str], dimension: int
    ) -> tuple[list[str], Vectors, npt.NDArray[np.float32]]:
        """What is damaged is left out."""
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
        """ "" if it has none."""
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
                database.close(self._db)
                self._db = self._open()
            try:
                yield self._db
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                database.close(self._db)
                database.put_aside(self._path)
                self._db = self._open()
                raise

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(exist_ok=True)
        self._tables = {}
        try:
            return self._connect()
        except sqlite3.DatabaseError:
            database.put_aside(self._path)
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
            database.close(db)
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


EXACT: Final = 96 << 20
"""Bytes of vectors up to which every one is compared: 65,536 of 384 dimensions, which takes some
milliseconds longer than Chroma."""


class Lane:
    """One model and the store of its vectors, which answers exactly while it can. `label` names it
    in the index's own list of what is stored. The copy in memory is let go of when nobody asks
    (`rest`)."""

    def __init__(
        self,
        embedder: Embedder,
        name: str,
        label: str,
        store: VectorStore,
        cache: VectorCache,
        reading: Callable[[], sqlite3.Connection],
        writing: Callable[[], AbstractContextManager[sqlite3.Connection]],
    ) -> None:
        self.embedder = embedder
        self.name = name
        self.label = label
        self.store = store
        self._cache = cache
        self._reading = reading
        self._writing = writing
        self._lock = threading.Lock()
        self._copy: RamStore | None = None
        self._most = EXACT // (4 * embedder.dimension)
        self._small = True

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(text hash, cosine), nearest first. Raises IndexProblem."""
        copy = self._copied()
        return (self.store if copy is None else copy).search(vector, limit)

    def cosines(self, names: Collection[str], vector: Vectors) -> dict[str, float]:
        """Exact cosine of each text that has a vector: from the copy, and from the cache what is
        not in it (any more, or yet)."""
        copy = self._copied()
        found = copy.cosines(names, vector) if copy is not None else {}
        left = [name for name in names if name not in found] if found else names
        return found | self._cache.cosines(self.embedder.name, left, vector) if left else found

    def _copied(self) -> RamStore | None:
        with self._lock:
            if self._copy is None and self._small:
                self._copy = self._made()
            return self._copy

    def _made(self) -> RamStore | None:
        try:
            names = self._names()
            count = self.store.count() if self.store.awake else len(names)
            self._small = count <= self._most
            if not self._small or len(names) != count:
                return None
            kept, vectors = self._cache.get(self.embedder.name, names, self.embedder.dimension)
        except sqlite3.DatabaseError:
            return None
        self._small = len(kept) == count
        if not self._small:
            return None
        made = RamStore()
        made.add(kept, vectors)
        return made

    def _names(self) -> list[str]:
        return [
            name
            for (name,) in self._reading().execute(
                "SELECT hash FROM stored WHERE store = ?", (self.label,)
            )
        ]

    def count(self) -> int:
        """How many are stored, by the same list."""
        return int(
            self._reading()
            .execute("SELECT count(*) FROM stored WHERE store = ?", (self.label,))
            .fetchone()[0]
        )

    def lost(self) -> bool:
        """Does the cache lack some of what is stored? It is a file of its own and may be lost
        alone, and exact cosines come from there."""
        return self.count() > self._cache.count(self.embedder.name)

    def reconcile(self) -> None:
        """Make the list of what is stored true: it may be older or newer than the store or the
        cache. Raises IndexProblem."""
        model = self.embedder.name
        with self._writing() as db:
            if self.count() == self.store.count() and not self.lost():
                return
            held = self.store.ids()
            if len(held) > self._cache.count(model):
                held &= self._cache.known(model, held)
            with database.transaction(db):
                db.execute("DELETE FROM stored WHERE store = ?", (self.label,))
                db.executemany(
                    "INSERT INTO stored VALUES (?, ?)", ((self.label, name) for name in held)
                )
        with self._lock:
            self._small = True

    def listed(self, names: Sequence[str], vectors: Vectors) -> None:
        """These (vectors n x dimension, of length 1) are in the store now, and in the list of what
        is stored."""
        with self._lock:
            if self._copy is not None:
                self._copy.add(names, vectors)
                if self._copy.count() > self._most:
                    self._copy, self._small = None, False

    def removed(self, names: Sequence[str]) -> None:
        """These are no longer."""
        with self._lock:
            if self._copy is not None:
                self._copy.delete(names)

    def rest(self) -> bool:
        """Let go of the copy until somebody asks again; was there one?"""
        with self._lock:
            held, self._copy = self._copy, None
            return held is not None
