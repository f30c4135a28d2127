"""One model and the store of its vectors. What is small is compared whole; only what is large is
left to Chroma's approximate search.

Which of several near vectors an approximate search misses depends on the order in which they came:
an index that was deleted and made anew answered a few questions in a hundred differently. The copy
in memory is filled from the cache of vectors by the first question, kept in step, and let go of
when nobody asks (`rest`).
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Final

from oneiro_vault.index.base import Embedder, Vectors, VectorStore
from oneiro_vault.index.keyword import schema
from oneiro_vault.index.vectors.backends import RamStore
from oneiro_vault.index.vectors.vector_cache import VectorCache

EXACT: Final = 96 << 20
"""Bytes of vectors up to which every one is compared: 65,536 of 384 dimensions, which takes some
milliseconds longer than Chroma."""


class Lane:
    """A store that answers exactly while it can. `label` names it in the index's own list of what
    is stored."""

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
        """A copy of everything; None if that is too much, or the list or the cache does not have
        all of it (yet)."""
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
        """What is stored, by the index's own list."""
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
        """Make the list of what is stored true: it may be older or newer than the store, and what
        the cache lost is to be computed again. Raises IndexProblem."""
        model = self.embedder.name
        with self._writing() as db:
            if self.count() == self.store.count() and not self.lost():
                return
            held = self.store.ids()
            if len(held) > self._cache.count(model):
                held &= self._cache.known(model, held)
            with schema.transaction(db):
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
