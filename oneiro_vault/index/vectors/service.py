"""Search by meaning: which texts have vectors, in which store, of which model; filling (the most
wanted texts first, and how fast it goes), pruning, proving and replacing the store.

A store of another model keeps serving until the new one is whole; a damaged folder is replaced by a
new one filled from the cache, beside it, and then deleted.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np

from oneiro_vault.api import Progress
from oneiro_vault.errors import EmbedderProblem, IndexProblem
from oneiro_vault.index.base import Embedder, Vectors
from oneiro_vault.index.keyword import chunk_rows, database, note_rows
from oneiro_vault.index.keyword.database import Database
from oneiro_vault.index.vectors import backends
from oneiro_vault.index.vectors.backends import ChromaShelf, RamShelf, Shelf, store_name
from oneiro_vault.index.vectors.vector_cache import Lane, VectorCache, as_kept

_MOVED: Final = 2_000
"""Vectors per batch when they only move from the cache into a store."""

log = logging.getLogger(__name__)


BATCH: Final = 64
"""Texts per call of the embedder."""
FRAME: Final = 32 * BATCH
"""Texts that are taken together from those that wait and then sorted by length, so that a batch
needs little padding."""
_NOTES: Final = 200
_RECENT: Final = 20.0
"""Seconds of work over which its pace is measured."""

_WANTED: Final = f"""
WITH linked AS (SELECT n.note, count(*) AS links FROM edges e JOIN names n ON n.name = e.target AND
n.role IN {note_rows.TARGETS} GROUP BY 1),
     placed AS (SELECT key, min(row_number() OVER (ORDER BY "when" IS NULL, "when" DESC, path),
                                row_number() OVER (ORDER BY links IS NULL, links DESC, "when" IS
                                NULL, "when" DESC, path)) AS place
                FROM notes LEFT JOIN linked ON linked.note = key)
SELECT hash, min(CASE kind WHEN 'note' THEN 0 WHEN 'context' THEN 1 ELSE 2 END), min(place)
FROM chunks JOIN placed ON key = note WHERE hash IN (SELECT value FROM json_each(?)) GROUP BY
hash"""
"""(hash, tier, place) of texts: each note's first before any other; within a tier by the note's
place among the newest or among those that most notes link to, whichever is better."""


class Pace:
    """How fast work goes, over its last seconds. May be read from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, int]] = deque()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work goes on."""
        self._steps = deque([(self._clock(), 0)])
        try:
            yield
        finally:
            self._steps = deque()

    def add(self, count: int) -> None:
        """So many more are done."""
        now = self._clock()
        self._steps.append((now, count))
        while len(self._steps) > 2 and self._steps[1][0] < now - _RECENT:
            self._steps.popleft()

    def rate(self) -> float:
        """How many a second; 0 while none is done."""
        steps = list(self._steps)
        done = sum(count for _, count in steps[1:])
        return done / max(self._clock() - steps[0][0], 1e-6) if done else 0.0


class Backlog:
    """Texts that wait for a vector, on disk rather than in memory: the most wanted first, each
    frame longest first; what is added meanwhile goes in front of its tier. `total` counts all that
    were ever added."""

    def __init__(self, db: sqlite3.Connection, missing: Collection[str]) -> None:
        self._temp = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._temp.execute(
            "CREATE TABLE texts (hash TEXT PRIMARY KEY, tier INTEGER, round INTEGER, place "
            "INTEGER, words TEXT)"
        )
        self._temp.execute(
            "CREATE INDEX waiting ON texts (tier, round DESC, place, hash) WHERE words IS NOT NULL"
        )
        self._round = self.total = 0
        self.add(db, missing)

    def __enter__(self) -> Backlog:
        return self

    def __exit__(self, *exc: object) -> None:
        self._temp.close()

    def add(self, db: sqlite3.Connection, missing: Collection[str]) -> None:
        """Take in what is missing now and was not added before."""
        fresh = {*missing} - {name for (name,) in self._temp.execute("SELECT hash FROM texts")}
        if not fresh:
            return
        self._round += 1
        wanted = {
            name: (tier, self._round, place)
            for name, tier, place in db.execute(_WANTED, (json.dumps([*fresh]),))
        }
        self._temp.execute("BEGIN")
        for name, words in _texts(db, wanted.keys()):
            self.total += self._temp.execute(
                "INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?, ?)", (name, *wanted[name], words)
            ).rowcount
        self._temp.execute("COMMIT")

    def __iter__(self) -> Iterator[tuple[list[str], list[str]]]:
        """Batches of (hashes, texts); what was handed out is taken for done."""
        first = (
            "SELECT tier, round FROM texts WHERE words IS NOT NULL ORDER BY tier, round DESC "
            "LIMIT 1"
        )
        query = (
            f"SELECT hash, words FROM texts WHERE words IS NOT NULL AND (tier, round) = ({first}) "
            f"ORDER BY place, hash LIMIT ?"
        )
        while frame := self._temp.execute(query, (FRAME,)).fetchall():
            frame.sort(key=lambda text: (-len(text[1]), text[0]))
            chosen = self._round
            for start in range(0, len(frame), BATCH):
                if self._round != chosen:
                    break
                names, texts = map(list, zip(*frame[start : start + BATCH], strict=True))
                self._temp.execute(
                    "UPDATE texts SET words = NULL WHERE hash IN (SELECT value FROM json_each(?))",
                    (json.dumps(names),),
                )
                yield names, texts


def _texts(db: sqlite3.Connection, missing: Collection[str]) -> Iterator[tuple[str, str]]:
    query = (
        "SELECT DISTINCT note, kind = 'context' FROM chunks WHERE hash IN (SELECT value FROM "
        "json_each(?))"
    )
    found = db.execute(query, (json.dumps(list(missing)),)).fetchall()
    yield from _own_texts(db, [key for key, context in found if not context], missing)
    yield from _context_texts(db, [key for key, context in found if context], missing)


def _own_texts(
    db: sqlite3.Connection, keys: list[int], missing: Collection[str]
) -> Iterator[tuple[str, str]]:
    for start in range(0, len(keys), _NOTES):
        for found in chunk_rows.of(db, keys[start : start + _NOTES]):
            for chunk in found.chunks:
                name = note_rows.text_hash(chunk.text)
                if name in missing:
                    yield name, chunk.text


def _context_texts(
    db: sqlite3.Connection, keys: list[int], missing: Collection[str]
) -> Iterator[tuple[str, str]]:
    query = (
        "SELECT DISTINCT session FROM notes WHERE session != '' AND key IN (SELECT value FROM "
        "json_each(?))"
    )
    for (session,) in db.execute(query, (json.dumps(keys),)).fetchall():
        for words in chunk_rows.contexts(
            chunk_rows.turns(db, session), chunk_rows.CONTEXT_VECTOR_SPAN
        ):
            name = note_rows.text_hash(words) if words else ""
            if name in missing:
                yield name, words


class Semantic:
    """The vector side of an index. `former(model)`: the embedder of another model, whose vectors go
    on answering while new ones are computed. `blocked`: the model, not the store, kept it from
    being opened."""

    def __init__(
        self,
        folder: Path,
        embedder: Embedder,
        backend: str,
        database: Database,
        former: Callable[[str], Embedder | None] | None = None,
    ) -> None:
        self.embedder = embedder
        self.cache = VectorCache(folder / "embeddings.db")
        self.problem: str | None = "the vector index is not open yet"
        self._folder = folder
        self._backend = backend
        self.tried = self.blocked = False
        self._writing = database.writing
        self._reading = database.reading
        self._former = former
        self._shelf: Shelf | None = None
        self._target: Lane | None = None
        self._serving: Lane | None = None
        self._place = ""
        self._lock = threading.RLock()
        self._filling = threading.Lock()
        self._files: list[list[object]] = []
        self._stopped = threading.Event()
        self._suspect = False
        self.pace = Pace()

    # -- opening

    def open(self) -> bool:
        """Open the store, after a child process has proved that it can be opened and finds what it
        holds; else begin a new one."""
        with self._lock:
            if self._target is not None:
                return True
            self._stopped.clear()
            self.tried, opened = True, self._opened()
            return opened

    def _opened(self) -> bool:
        for _ in range(2):
            try:
                self._open()
                return True
            except IndexProblem as error:
                self.problem, self.blocked = str(error), isinstance(error, EmbedderProblem)
                if self.blocked:
                    self._let_go()
                    return False
                log.warning("vector index: %s", error)
                self._discard()
        return False

    def _open(self) -> None:
        before = backends.read_pointer(self._folder)
        place = (
            before.folder if before and self._proved(before) else f"chroma-{secrets.token_hex(4)}"
        )
        self._place = place if self._backend == "chroma" else "ram"
        self._shelf = (
            ChromaShelf(self._folder / self._place) if self._backend == "chroma" else RamShelf()
        )
        self._target = self._lane(self.embedder)
        if before is None or not self._untouched(before, self._target) or self._target.lost():
            self._reconcile()
        self._serving = (self._previous(before) if before else None) or self._target
        self._point()
        self._clean()
        self._settle_files()
        self.problem = None

    def _untouched(self, before: backends.Pointer, lane: Lane) -> bool:
        """Was this lane closed in order, and left alone since? Then Chroma is not loaded before it
        is needed."""
        same = before.count == lane.count() and f"{before.folder}/{before.serving}" == lane.label
        return same and before.closed == backends.fingerprint(self._folder / before.folder)

    def _proved(self, before: backends.Pointer) -> bool:
        """Not asked in a child process if nothing touched the folder since it was closed in
        order."""
        path = self._folder / before.folder
        if self._backend != "chroma" or not path.is_dir():
            return False
        if before.closed == backends.fingerprint(path):
            return True
        canaries = self._canaries(
            before.model, before.dimension, f"{before.folder}/{before.serving}"
        )
        return backends.probe(path, before.serving, *canaries)

    def _lane(self, embedder: Embedder) -> Lane:
        assert self._shelf is not None
        name = store_name(embedder.name, embedder.dimension)
        return Lane(
            embedder,
            name,
            f"{self._place}/{name}",
            self._shelf.store(name),
            self.cache,
            self._reading,
            self._writing,
        )

    def _previous(self, before: backends.Pointer) -> Lane | None:
        """The lane of another model that served before, if it can still be asked."""
        assert self._shelf is not None
        assert self._target is not None
        if (
            before.serving == self._target.name
            or self._former is None
            or before.serving not in self._shelf.names()
        ):
            return None
        embedder = self._former(before.model)
        return None if embedder is None else self._lane(embedder)

    def reconcile(self) -> None:
        """Make the index's list of what is stored true: it may be older or newer than the store. A
        store that fails is opened anew."""
        try:
            self._reconcile()
        except IndexProblem as error:  # keywords must not wait for vectors to be well
            self.problem, self._suspect = str(error), True

    def _reconcile(self) -> None:
        if self._target is not None:
            self._target.reconcile()

    def _point(self, closed: object = None, count: int = -1) -> None:
        lane = self._serving
        if lane is not None and self._backend == "chroma":
            named = lane.name, lane.embedder.name, lane.embedder.dimension
            found = backends.Pointer(self._place, *named, closed, count)
            backends.write_pointer(self._folder, found)

    def _clean(self) -> None:
        for path in self._folder.glob("chroma-*"):
            if path.name != self._place:
                shutil.rmtree(path, ignore_errors=True)
        with self._writing() as db:
            db.execute("DELETE FROM stored WHERE store NOT LIKE ?", (f"{self._place}/%",))

    # -- searching

    @property
    def ready(self) -> bool:
        """Is there a store to search?"""
        return self._serving is not None

    @property
    def asked(self) -> Embedder:
        """The embedder whose question vectors `search` understands now."""
        return (self._serving.embedder if self._serving else None) or self.embedder

    @property
    def label(self) -> str:
        """How the index's list of stored vectors names the store that is to become whole; one not
        open yet is believed to be sound."""
        if self._target:
            return self._target.label
        return backends.label(self._folder, self.embedder.name)

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """(text hash, cosine) of the nearest vectors. Raises IndexProblem; a store that fails is
        opened anew by the next `fill`."""
        lane = self._serving
        if lane is None:
            raise IndexProblem(
                self.problem or "the vector index is not open", kept="Keyword search works."
            )
        if vector.shape != (lane.embedder.dimension,):
            raise IndexProblem(
                f"a question of {vector.shape} numbers for vectors of {lane.embedder.dimension}",
                kept="Keyword search works.",
            )
        try:
            return lane.search(vector, limit)
        except IndexProblem as error:
            self.problem, self._suspect = str(error), True
            raise

    def rest(self) -> bool:
        """Let go of what a question needs if its model is not loaded either; was there any of
        it?"""
        lane = self._serving
        return lane is not None and not lane.embedder.warm() and lane.rest()

    def cosines(self, hashes: Collection[str], vector: Vectors) -> dict[str, float]:
        """Exact cosine of each text that has a vector. Raises IndexProblem for a question of
        another model."""
        embedder = self.asked
        if vector.shape != (embedder.dimension,):
            raise IndexProblem(
                "the question's vector is of another model", kept="Keyword search works."
            )
        lane = self._serving
        try:
            return (
                self.cache.cosines(embedder.name, hashes, vector)
                if lane is None
                else lane.cosines(hashes, vector)
            )
        except sqlite3.DatabaseError:
            return {}

    def vectors(self, hashes: Collection[str]) -> tuple[list[str], Vectors]:
        """Cached vectors of the model that serves."""
        embedder = self.asked
        try:
            return self.cache.get(embedder.name, hashes, embedder.dimension)
        except sqlite3.DatabaseError:
            return [], np.zeros((0, embedder.dimension), np.float32)

    # -- filling

    def fill(self, progress: Progress | None = None, stop: Callable[[], bool] | None = None) -> int:
        """Compute and store what is missing, drop what no note has any more; returns the number of
        new vectors. A store that failed or lost its files is replaced first. Raises EmbedderProblem
        or IndexProblem."""
        with self._filling:
            if self._touched() or (
                self._suspect and self._serving is not None and not self._sound(self._serving)
            ):
                self._discard()
            if not self.open() or self._target is None:
                return 0
            try:
                return self._fill(
                    self._target,
                    progress,
                    lambda: self._stopped.is_set() or (stop is not None and stop()),
                )
            except (EmbedderProblem, IndexProblem) as error:
                self.problem = str(error)
                self._suspect = not isinstance(error, EmbedderProblem)
                raise

    def _fill(self, lane: Lane, progress: Progress | None, stop: Callable[[], bool]) -> int:
        chunk_rows.settle(self._writing, progress, stop)
        self._prune(lane)
        done = self._move(lane, stop)
        done += self._compute(lane, progress, stop)
        if not stop():
            self._switch()
            self.problem = None
            self._suspect = False
        self._settle_files()
        return done

    def _settle_files(self) -> None:
        """Once Chroma has taken in what was stored, only we may change its files."""
        if self._backend == "chroma" and self._serving is not None:
            lanes = {
                id(lane): lane
                for lane in (self._serving, self._target)
                if lane is not None and lane.store.awake
            }
            for lane in lanes.values():
                lane.store.search(np.ones(lane.embedder.dimension, np.float32), 1)
            self._files = backends.fingerprint(self._folder / self._place)

    def missing(self, db: sqlite3.Connection) -> list[str]:
        """Hashes of chunks without a stored vector."""
        query = (
            "SELECT DISTINCT hash FROM chunks WHERE hash NOT IN (SELECT hash FROM stored WHERE "
            "store = ?)"
        )
        return [name for (name,) in db.execute(query, (self.label,))]

    def _prune(self, lane: Lane) -> None:
        query = "SELECT hash FROM stored WHERE store = ? AND hash NOT IN (SELECT hash FROM chunks)"
        orphans = [name for (name,) in self._reading().execute(query, (lane.label,))]
        for start in range(0, len(orphans), _MOVED):
            part = orphans[start : start + _MOVED]
            with self._lock:
                lane.store.delete(part)
            with self._writing() as db, database.transaction(db):
                db.executemany(
                    "DELETE FROM stored WHERE store = ? AND hash = ?",
                    ((lane.label, name) for name in part),
                )
            lane.removed(part)

    def _move(self, lane: Lane, stop: Callable[[], bool]) -> int:
        missing, done = self.missing(self._reading()), 0
        for start in range(0, len(missing), _MOVED):
            if stop():
                break
            names, vectors = self.cache.get(
                lane.embedder.name, missing[start : start + _MOVED], lane.embedder.dimension
            )
            self._keep(lane, names, vectors)
            done += len(names)
        return done

    def _compute(self, lane: Lane, progress: Progress | None, stop: Callable[[], bool]) -> int:
        """Encodes in this thread while another one stores; what is written meanwhile is taken in at
        once."""
        done, generation = 0, self._generation()
        with (
            Backlog(self._reading(), self.missing(self._reading())) as backlog,
            ThreadPoolExecutor(1, "oneiro-vectors") as storing,
            self.pace.working(),
        ):
            kept: Future[None] | None = None
            for names, texts in backlog:
                if stop():
                    break
                vectors = lane.embedder.encode(texts)
                if kept is not None:
                    kept.result()
                kept = storing.submit(self._keep, lane, names, vectors, new=True)
                done += len(names)
                self.pace.add(len(names))
                if self._generation() != generation:
                    chunk_rows.settle(self._writing, None, stop)
                    generation = self._generation()
                    backlog.add(self._reading(), self.missing(self._reading()))
                if progress:
                    progress("embedding", done, backlog.total)
            if kept is not None:
                kept.result()
        return done

    def _generation(self) -> object:
        return database.meta(self._reading(), "generation")

    def _keep(
        self, lane: Lane, names: Sequence[str], vectors: Vectors, *, new: bool = False
    ) -> None:
        if not names:
            return
        if new:
            self.cache.put(lane.embedder.name, names, vectors)
            vectors = as_kept(vectors)  # what a rebuild from the cache would store
        with self._lock:
            lane.store.add(names, vectors)
        with self._writing() as db, database.transaction(db):
            db.executemany(
                "INSERT OR IGNORE INTO stored VALUES (?, ?)", ((lane.label, name) for name in names)
            )
        lane.listed(names, vectors)

    def _switch(self) -> None:
        with self._lock:
            old, self._serving = self._serving, self._target
            if old is None or old is self._target or self._target is None or self._shelf is None:
                return
            self._point()
            self._shelf.drop(old.name)
            old.embedder.close()
            self.cache.forget(old.embedder.name) if len(self.cache.models()) > 2 else None

    # -- proving

    def canaries(self) -> bool:
        """Does the store find vectors it is known to hold, and are its files as we left them? If
        not, the next `fill` replaces it; changed files are not touched any more, for Chroma may
        take the process down."""
        if not self._filling.acquire(blocking=False):
            return True  # under way, and proved at the end
        try:
            self._suspect = self._suspect or self._touched()
            if self._suspect:
                self._discard()
            lost = self._target is not None and self._target.lost()
            if lost:
                self.reconcile()
            return self._serving is not None and self._sound(self._serving) and not lost
        finally:
            self._filling.release()

    def _touched(self) -> bool:
        return (
            self._backend == "chroma"
            and self._serving is not None
            and backends.fingerprint(self._folder / self._place) != self._files
        )

    def _sound(self, lane: Lane) -> bool:
        names, vectors = self._canaries(lane.embedder.name, lane.embedder.dimension, lane.label)
        try:
            sound = backends.finds(lane.store, names, vectors)
        except IndexProblem as error:
            sound, self.problem = False, str(error)
        if not sound:
            self.problem = (
                self.problem or "the vector index does not find what it holds and will be rebuilt"
            )
            self._suspect = True
        return sound

    def _canaries(self, model: str, dimension: int, label: str) -> tuple[list[str], Vectors]:
        query = "SELECT hash FROM stored WHERE store = ? AND hash >= ? ORDER BY hash LIMIT ?"
        db = self._reading()
        names = [
            name for (name,) in db.execute(query, (label, secrets.token_hex(2), backends.CANARIES))
        ]
        names += [
            name for (name,) in db.execute(query, (label, "", backends.CANARIES - len(names)))
        ]
        try:
            return self.cache.get(model, names, dimension)
        except sqlite3.DatabaseError:
            return [], np.zeros((0, dimension), np.float32)

    def replace(self, progress: Progress | None = None) -> None:
        """A new store beside the old one, filled from the cache, then the old one is deleted."""
        with self._filling:
            self._discard()
        self.fill(progress)

    def close(self) -> None:
        """Close the store in order, so that the next start need not doubt it."""
        self._stopped.set()
        with self._filling, self._lock:
            sound, listed = self.problem is None, -1
            with suppress(sqlite3.DatabaseError):
                listed = self._serving.count() if self._serving else -1
            self._let_go()
            if self._serving is not None and sound and self._backend == "chroma":
                self._point(backends.fingerprint(self._folder / self._place), listed)
            self._target = self._serving = None
            self.cache.close()

    def _discard(self) -> None:
        """The next `open` makes a new folder and deletes this."""
        with self._lock:
            self._shelf = self._target = self._serving = (
                None  # closing would let Chroma write to what it must not touch
            )
            self._suspect = False
            self.problem = self.problem or "the vector index was damaged and will be rebuilt"
            backends.forget_pointer(self._folder)

    def _let_go(self) -> None:
        if self._shelf is not None:
            self._shelf.close()
        self._shelf = self._target = None
