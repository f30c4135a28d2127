"""Keyword indexes of earlier states of the vault, one for each tree that was asked for; vectors
come from today's cache by text. One begins as a copy of today's index where most notes are shared.
The last few are kept, and may be deleted at any time."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

from oneiro_vault.api import Progress
from oneiro_vault.core.tree_diff import Source, committed
from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors
from oneiro_vault.index.keyword import chunk_rows, database
from oneiro_vault.index.keyword.database import FILE, Database
from oneiro_vault.index.keyword.queries import Answers, Hits
from oneiro_vault.index.refresh import Refresher
from oneiro_vault.index.vectors.service import Backlog, Semantic

FOLDER: Final = "earlier"
KEPT: Final = 4
"""Trees whose index is kept."""
_UNFINISHED: Final = ".new"


class Earlier(Answers):
    """What the vault said then. Every vector there is gets compared."""

    def search_vectors(
        self, vector: Vectors, limit: int, allowed: Collection[int] | None = None
    ) -> Hits:
        """See Answers; exact here."""
        keys = (
            [key for (key,) in self._database.read("SELECT key FROM notes")]
            if allowed is None
            else allowed
        )
        return self._first(self._exact(vector, keys), limit)

    def without_vector(self) -> tuple[int, int]:
        """(texts of then that have no vector today, all texts)."""
        texts = {name for (name,) in self._database.read("SELECT DISTINCT hash FROM chunks")}
        return len(texts - self._known(texts)), len(texts)

    def embed(self, most: int) -> None:
        """Compute the vectors that are missing, if they are at most `most`. Raises
        EmbedderProblem."""
        texts = {name for (name,) in self._database.read("SELECT DISTINCT hash FROM chunks")}
        missing = texts - self._known(texts)
        if 0 < len(missing) <= most:
            embedder = self._semantic.asked
            with Backlog(self._database.reading(), missing) as backlog:
                for names, words in backlog:
                    self._semantic.cache.put(embedder.name, names, embedder.encode(words))

    def _known(self, texts: Collection[str]) -> set[str]:
        try:
            return self._semantic.cache.known(self._semantic.asked.name, texts)
        except sqlite3.DatabaseError:
            return set()


class Shelf:
    """The earlier indexes in a folder, beside the one in use."""

    def __init__(
        self,
        folder: Path,
        living: Database,
        semantic: Semantic,
        options: Mapping[str, Any],
        veil: Callable[[str], str],
    ) -> None:
        self._folder = folder
        self._living = living
        self._semantic = semantic
        self._options = {**options, "past": None}
        self._veil = veil
        self._lock = threading.Lock()

    @contextmanager
    def opened(
        self, tree: str, source: Source, blobs: Mapping[str, str], progress: Progress | None = None
    ) -> Iterator[Earlier]:
        """The index of a tree (`blobs`: path -> blob id of its notes), made if it is not there.
        Raises IndexProblem."""
        place = self._folder / tree[:20]
        with self._lock:
            if not self._whole(place):
                try:
                    self._make(place, source, blobs, progress)
                except (sqlite3.Error, OSError) as error:
                    said = f"what was known then cannot be indexed: {error}"
                    raise IndexProblem(
                        said, kept="The notes are untouched.", hint="Is the disk full?"
                    ) from error
            os.utime(place)
            self._clean()
            database = Database(place, chunk_rows.faults)
        try:
            yield Earlier(database, self._semantic, self._veil)
        finally:
            database.close()
            if database.damage:
                shutil.rmtree(place, ignore_errors=True)  # it is made again

    def clear(self) -> None:
        """Delete them all: they hold words that may have been meant to go."""
        with self._lock:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _whole(self, place: Path) -> bool:
        db = database.open_writer(place / FILE)
        if db is None:
            return False
        with closing(db):
            return bool(database.meta(db, "complete")) and not chunk_rows.waiting(db)

    def _make(
        self, place: Path, source: Source, blobs: Mapping[str, str], progress: Progress | None
    ) -> None:
        shutil.rmtree(place, ignore_errors=True)
        fresh = place.with_name(f"{place.name}.{secrets.token_hex(4)}{_UNFINISHED}")
        fresh.mkdir(parents=True)
        try:
            db = self._copy(fresh / FILE) if self._worth(blobs) else database.create(fresh / FILE)
            try:
                Refresher(db, source, **self._options).run(None, force=True, progress=progress)
                chunk_rows.settle(lambda: nullcontext(db), progress)
            finally:
                database.close(db)
            fresh.replace(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _worth(self, blobs: Mapping[str, str]) -> bool:
        """Is less to be changed in a copy than to be put into a new one?"""
        if self._living.damage:
            return False
        held: dict[str, str] = dict(self._living.read("SELECT path, blob FROM notes"))
        shared = sum(held.get(path) == blob for path, blob in blobs.items())
        return (len(held) - shared) + (len(blobs) - shared) < len(blobs)

    def _copy(self, path: Path) -> sqlite3.Connection:
        """Today's index, its notes known by their blobs instead of by their files' times."""
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            self._living.reading().backup(target)
        db = database.open_writer(path)
        if db is None:
            raise sqlite3.DatabaseError("the copy of the index cannot be opened")
        with database.transaction(db):
            known = [committed(*row) for row in db.execute("SELECT path, size, blob FROM notes")]
            for table in ("stats", "unreadable", "stored"):
                db.execute(f"DELETE FROM {table}")
            db.executemany(
                "INSERT INTO stats VALUES (?, ?, ?, ?, ?)",
                ((s.path, s.size, s.mtime_ns, s.ctime_ns, s.inode) for s in known),
            )
            db.execute("DELETE FROM meta WHERE name = 'braked'")
            database.set_meta(db, "complete", 0)
        return db

    def _clean(self) -> None:
        found = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        whole = [path for path in found if not path.name.endswith(_UNFINISHED)]
        for path in (*whole[KEPT:], *(path for path in found if path.name.endswith(_UNFINISHED))):
            shutil.rmtree(path, ignore_errors=True)
