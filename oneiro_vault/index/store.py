"""The index as the app sees it: one folder with a keyword index, vectors and their cache, all of
which may be deleted at any time.

Reading works from any thread; writing is serialised. A database that is damaged or of another
version is put aside and built again; until then what still works answers and `degraded()` says what
does not.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shlex
import sqlite3
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from oneiro_vault import answers
from oneiro_vault.answers import Json
from oneiro_vault.api import Progress
from oneiro_vault.core.frontmatter.salvage import ENCODING, FRONTMATTER
from oneiro_vault.core.tree_diff import Past, Refused, Screen, Source, blob_id
from oneiro_vault.errors import IndexProblem, OneiroError, few
from oneiro_vault.index.base import Embedder, Problem, Refreshed
from oneiro_vault.index.historic import FOLDER, Shelf
from oneiro_vault.index.keyword import chunk_rows, database, note_rows
from oneiro_vault.index.keyword.database import FILE, Database
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.index.refresh import LARGEST, Refresher
from oneiro_vault.index.vectors.service import Semantic

GRAPH: Final = "graph.npz"
"""Where `recall.graph_layout` keeps the places of nodes, by name."""
_UNFINISHED: Final = ".new"
"""How the name of an index file ends that is still being built."""
_WAITING: Final = 0.05
"""Share of chunks without a vector above which meaning is said to be degraded."""
_FEW: Final = 20
_MANY: Final = 400
"""Changes after which memory is given back to the system."""


class Index(Answers):
    """See the module. Make one with `Index.open`."""

    def __init__(
        self,
        folder: Path,
        source: Source,
        embedder: Embedder,
        semantic: Callable[[Database], Semantic],
        options: Json,
        veil: Callable[[str], str],
    ) -> None:
        database = Database(folder, chunk_rows.faults)
        super().__init__(database, semantic(database), veil)
        self.folder = folder
        self.embedder = embedder
        self._source = source
        self._options = options
        self.earlier = Shelf(folder / FOLDER, database, self._semantic, options, veil)
        self._life = -1
        self._pending: tuple[object, int, int, int] = (None, 0, 0, 0)

    @classmethod
    def open(
        cls,
        folder: Path,
        source: Source,
        embedder: Embedder,
        *,
        vectors: str = "chroma",
        indexed_bytes: int = 1_000_000,
        brake: float = 0.5,
        former: Callable[[str], Embedder | None] | None = None,
        past: Past | None = None,
        screen: Screen | None = None,
        veil: Callable[[str], str] = str,
    ) -> Index:
        """Open the index in `folder`, or begin an empty one; vectors are opened by `open_vectors`
        or the first `embed`.

        `vectors`: `chroma`, or `ram` (nothing on disk). `former(name)` makes the embedder of the
        model used before, whose vectors answer until new ones are computed. `past` gives the last
        good version of a note; what `screen` refuses is not indexed; `veil` gives a text as it may
        be shown.
        """
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["SQLITE_TMPDIR"] = str(
            folder
        )  # what SQLite sorts on disk are people's words: not in /tmp
        for left in folder.glob(f"{FILE}*{_UNFINISHED}*"):
            left.unlink(missing_ok=True)
        options = {"limit": indexed_bytes, "brake": brake, "past": past, "screen": screen}
        return cls(
            folder,
            source,
            embedder,
            lambda database: Semantic(folder, embedder, vectors, database, former),
            options,
            veil,
        )

    # -- keeping up

    def refresh(
        self,
        paths: Iterable[str] | None = None,
        progress: Progress | None = None,
        *,
        force: bool = False,
    ) -> Refreshed:
        """Bring the keyword index in line with the disk: everything (None), or files and folders
        (anything that is not `*.md`). When more than `brake` of the notes vanished at once nothing
        is removed, until they are back or with `force`. Raises IndexProblem only if the disk
        refuses the index."""
        with self._database.writing():
            if not self._database.trusted():
                self.rebuild(progress)
                paths = None
            try:
                found = self._refresher().run(paths, force=force, progress=progress)
            except sqlite3.DatabaseError as error:
                problem = self._database.hurt(error)
                if self._database.damage is None:
                    raise problem from error
                self.rebuild(progress)
                found = self._refresher().run(None, force=force, progress=progress)
        if self._current.screening.hidden:
            self.earlier.clear()  # what may not be read now was not known then either
        if sum(map(len, (found.added, found.modified, found.removed))) > _MANY:
            _give_back_memory()
        return found

    def embed(
        self, progress: Progress | None = None, stop: Callable[[], bool] | None = None
    ) -> int:
        """Compute the vectors that are missing and drop those no note has; returns how many came
        in. May run beside searches. Raises EmbedderProblem or IndexProblem; what was done is
        kept."""
        try:
            done = self._semantic.fill(progress, stop)
        except sqlite3.DatabaseError as error:
            raise self._database.hurt(error) from error
        if done > _MANY:
            _give_back_memory()
        return done

    def settle(self, progress: Progress | None = None) -> None:
        """After a large refresh: cut notes into chunks and passages, follow links, make contexts.
        `embed` does it too."""
        try:
            chunk_rows.settle(self._database.writing, progress)
        except sqlite3.DatabaseError as error:
            raise self._database.hurt(error) from error

    def rebuild(self, progress: Progress | None = None) -> None:
        """Derive everything but vectors afresh in a new file. Until it takes the place of the old
        one that answers, and takes in what changes, which is looked at once more."""
        fresh = self.folder / f"{FILE}.{secrets.token_hex(4)}{_UNFINISHED}"
        try:
            self.folder.mkdir(exist_ok=True)
            db = database.create(fresh)
            try:
                refresher = Refresher(db, self._source, **self._options)
                refresher.run(None, force=True, progress=progress)
                chunk_rows.settle(lambda: nullcontext(db), progress)
                with self._database.writing():
                    refresher.run(None, force=True)
                    database.close(db)
                    self._database.replace(fresh)
            finally:
                database.close(db)
        except (sqlite3.Error, OSError) as error:
            raise IndexProblem(
                f"the index cannot be built: {error}",
                kept="The notes are untouched.",
                hint="Is the disk full?",
            ) from error
        finally:
            for file in database.files(fresh):
                file.unlink(missing_ok=True)
        self._semantic.reconcile()

    def open_vectors(self) -> bool:
        """Open the vector store, which takes a second or two and proves that it is sound; False:
        `degraded()` says why not."""
        try:
            return self._semantic.open()
        except sqlite3.DatabaseError as error:
            self._database.hurt(error)
            return False

    def vectors_ready(self) -> bool:
        """Is the vector store open?"""
        return self._semantic.ready

    def close(self) -> None:
        """Close everything in order; an `embed` under way ends after its batch."""
        self._semantic.close()
        self._database.close()

    # -- state

    def status(self) -> answers.IndexState:
        """notes, chunks, pending (texts that wait for a vector), unreadable, degraded (a reason or
        None), model, schema, complete."""
        pending, chunks = self.pending()
        return {
            "notes": self.count(),
            "chunks": chunks,
            "pending": pending,
            "unreadable": self._database.read("SELECT count(*) FROM unreadable")[0][0],
            "degraded": self.degraded() if self._semantic.tried else self._database.damage,
            "model": self.embedder.name,
            "schema": database.VERSION,
            "complete": bool(
                self._database.read("SELECT value FROM meta WHERE name = 'complete'")[0][0]
            ),
        }

    def degraded(self) -> str | None:
        """Why answers are not as good as they could be, or None."""
        if self._database.damage or self._semantic.problem:
            return self._database.damage or self._semantic.problem
        pending, chunks = self.pending()
        return (
            f"{pending} passages wait for a vector"
            if pending > max(_WAITING * chunks, _FEW)
            else None
        )

    def pending(self) -> tuple[int, int]:
        """(texts that wait for a vector plus notes that were not cut into texts yet, all texts)."""
        missing, uncut, chunks = self._left()
        return missing + uncut, chunks

    def embedding(self) -> answers.Embedding | None:
        """Texts done and in total, texts per second lately (0 while none is done) and seconds_left
        (None then). None when no text waits for a vector."""
        missing, uncut, chunks = self._left()
        if not missing + uncut:
            return None
        rate = self._semantic.pace.rate()
        left = round((missing + uncut) / rate, 1) if rate else None
        return {
            "done": chunks - missing,
            "total": chunks + uncut,
            "rate": round(rate, 1),
            "seconds_left": left,
        }

    def _left(self) -> tuple[int, int, int]:
        label, read = self._semantic.label, self._database.read
        version = (
            self._database.life,
            label,
            read("PRAGMA data_version")[0][0],
            threading.get_ident(),
        )
        if self._pending[0] != version:
            missing = (
                "SELECT count(DISTINCT hash) FROM chunks WHERE hash NOT IN (SELECT hash FROM "
                "stored WHERE store = ?)"
            )
            every = read("SELECT count(DISTINCT hash) FROM chunks")[0][0]
            self._pending = (
                version,
                read(missing, (label,))[0][0],
                self._ask(chunk_rows.waiting),
                every,
            )
        _, missing_, uncut, chunks = self._pending
        return missing_, uncut, chunks

    def unreadable(self) -> list[tuple[str, str]]:
        """(path, reason) of every file that cannot be indexed as it is, but for those in a folder
        that cannot be read."""
        found = dict(self._database.read("SELECT path, reason FROM unreadable ORDER BY path"))
        return [
            (path, reason)
            for path, reason in found.items()
            if not any(str(parent) in found for parent in PurePosixPath(path).parents)
        ]

    def partial(self) -> list[str]:
        """Paths of the notes of which only the beginning is indexed."""
        query = "SELECT path FROM notes WHERE instr(problems, 'truncated') ORDER BY path"
        return [path for (path,) in self._database.read(query)]

    def broken(self) -> list[str]:
        """Paths of the notes whose frontmatter or encoding cannot be read, and whose words are
        found all the same."""
        marks = " OR ".join(f"instr(problems, '\"{mark}\"')" for mark in (FRONTMATTER, ENCODING))
        query = f"SELECT path FROM notes WHERE {marks} ORDER BY path"
        return [path for (path,) in self._database.read(query)]

    # -- proof

    def explain(self, path: str) -> Json:
        """Is this file indexed, as it is now, in which chunks, with which vectors, and if not,
        why."""
        row, entry = self.by_path(path), self._source.stat(path)
        why_not = dict(self.unreadable()).get(path)
        if why_not is None and row is None:
            why_not = "there is no such file" if entry is None else "it was not looked at yet"
            why_not = entry.reason if isinstance(entry, Refused) else why_not
        on_disk = self._blob(path)
        return {
            "path": path,
            "indexed": row is not None,
            "current": row is not None and row.blob == on_disk,
            "blob": row.blob if row else None,
            "disk": on_disk,
            "why_not": why_not,
            "inert": row is not None and row.status in note_rows.INERT,
            "chunks": self._chunks_of(row.key) if row else [],
        }

    def _chunks_of(self, key: int) -> list[Json]:
        query = """SELECT kind, start, "end", hash,
                   hash IN (SELECT hash FROM stored WHERE store = ?) FROM chunks WHERE note = ?
                   ORDER BY kind = 'context', start, "end" DESC"""
        names = ("kind", "start", "end", "hash", "vector")
        return [
            dict(zip(names, (*row[:4], bool(row[4])), strict=True))
            for row in self._database.read(query, (self._semantic.label, key))
        ]

    def check(self, tree: Mapping[str, str] | None = None) -> list[Problem]:
        """What is wrong: damage, vectors that cannot be found, and how the index differs from
        `tree` (path -> blob id), if given."""
        if self._database.prove():
            return [Problem("index-damaged", str(self._database.damage))]
        found = self._problems(tree)
        if self._semantic.ready and not self.canaries():
            found.append(Problem("index-vectors", "the vector index does not find what it holds"))
        elif not self._semantic.ready and self._semantic.tried and not self._semantic.blocked:
            found.append(Problem("index-vectors", str(self._semantic.problem), level="warning"))
        return found

    def copies(self) -> list[Problem]:
        """Files that have another note's id."""
        query = """SELECT copy.path, copies.id, own.path FROM copies JOIN notes copy
                   ON copy.key = note JOIN notes own ON own.handle = copies.id ORDER BY copy.path"""
        return [
            Problem(
                "duplicate-id",
                f"{path} has the id {ident} of {own}; it is found as a note without an id",
                path,
                hint=f"`oneiro adopt {shlex.quote(path)}` gives it an id of its own.",
            )
            for path, ident, own in self._database.read(query)
        ]

    def _problems(self, tree: Mapping[str, str] | None) -> list[Problem]:
        read = self._database.read
        listed = dict(read("SELECT path, reason FROM unreadable ORDER BY path"))
        found = [
            Problem("unreadable", f"{path}: {reason}", path) for path, reason in listed.items()
        ]
        found += [
            Problem(
                "partial",
                f"{path}: only the beginning of it is searched",
                path,
                "warning",
                "Split it.",
            )
            for path in self.partial()
        ]
        if some := self.broken():
            text = (
                f"{few(some)}: the frontmatter or the encoding is broken; the words are found, "
                f"nothing is written into them"
            )
            hint = "`oneiro check` says how to mend them."
            found.append(Problem("broken", text, level="warning", hint=hint))
        found += self.copies()
        if tree is None:
            return found
        return found + _differences(dict(read("SELECT path, blob FROM notes")), tree, listed)

    def canaries(self) -> bool:
        """Does the vector store find what it holds, and are all files still there? If not, the next
        `refresh` and `embed` replace them."""
        return self._database.trusted() and self._semantic.canaries()

    def rest(self) -> None:
        """Give back the memory that only questions by meaning need, while the model that they need
        is not loaded."""
        if self._semantic.rest():
            _give_back_memory()

    def scrub(self) -> None:
        """Remove every trace of texts that are in no note any more: cached vectors, words in free
        pages, what was put aside."""
        self.earlier.clear()
        held = [name for (name,) in self._database.read("SELECT DISTINCT hash FROM chunks")]
        self._semantic.cache.scrub(held)
        self.rebuild()
        self._semantic.replace()
        for file in (*self.folder.glob("*.bad*"), *self.folder.glob(f"{GRAPH}*")):
            file.unlink(missing_ok=True)

    # -- inside

    def _refresher(self) -> Refresher:
        if self._life != self._database.life:
            self._current = Refresher(self._database.db, self._source, **self._options)
            self._life = self._database.life
        return self._current

    def unscreened(self) -> bool:
        """Does the screen refuse more than when the index last heard of it?"""
        with self._database.writing():
            return self._refresher().screening.stale()

    def _blob(self, path: str) -> str | None:
        try:
            return blob_id(self._source.read(path, LARGEST))
        except (OSError, OneiroError):
            return None


def _give_back_memory() -> None:
    """glibc would keep it."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def _differences(
    held: Mapping[str, str], tree: Mapping[str, str], listed: Collection[str]
) -> list[Problem]:
    found = [
        Problem("index-missing", f"{path} is not indexed", path)
        for path in sorted(tree.keys() - held.keys() - set(listed))
    ]
    found += [
        Problem("index-ghost", f"{path} is indexed and does not exist", path)
        for path in sorted(held.keys() - tree.keys())
    ]
    stale = [
        path
        for path in sorted(held.keys() & tree.keys())
        if held[path] != tree[path] and path not in listed
    ]
    return found + [
        Problem("index-stale", f"{path} is indexed as it was before", path) for path in stale
    ]
