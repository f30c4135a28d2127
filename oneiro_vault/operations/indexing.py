"""The index follows the disk and the history, and its vectors are waited for as long as is worth
it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import (
    AmbiguousId,
    EmbedderProblem,
    IndexProblem,
    InvalidInput,
    NotFound,
    OneiroError,
    shown,
)
from oneiro_vault.index.base import LOADING, Embedder, Refreshed, Row
from oneiro_vault.index.store import Index
from oneiro_vault.vault.change import Change, Operation, Receipt
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import is_note

SOON = 256
"""Texts waiting for a vector that a person's recall waits for."""
MANY = 8_192
"""It waits for so many, too, while they come so fast that all are there in time."""
PATIENCE = 10.0
"""Seconds it waits for them at the most."""
TRIAL = 1.5
"""Seconds after which it is known how fast they come."""
BOUND = 2.0
"""Seconds an answer waits for indexing that is under way."""
INLINE = 500
"""Changed files up to this many are indexed before a recall answers."""
_LONGEST_ID = 64
"""Characters beyond which nothing is an id."""


@dataclass
class Indexing:
    """How far the index is behind the disk. `seen`: asks a watcher, `watching` says which, for what
    changed; `wake` starts background work; `refreshed` is called after every step, `listeners` with
    every file; `edited`: a person may have changed something; `braked`: why the notes at the paths
    in `held` are served although their files are gone; `doing`: how far a comparison of everything
    is (stage, done, total)."""

    vault: Vault
    index: Index
    owner: bool
    seen: Callable[[], set[str]] = set
    watching: str = ""
    wake: threading.Event = field(default_factory=threading.Event)
    refreshed: list[Callable[[Refreshed], None]] = field(default_factory=list)
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    edited: bool = True
    braked: str | None = None
    held: frozenset[str] = frozenset()
    doing: tuple[str, int, int] = ("", 0, 0)
    backlog: bool = False
    """Is a full comparison owed?"""
    _dirty: set[str] = field(default_factory=set)
    _indexed_head: str = ""
    _caught_up: threading.Event = field(default_factory=threading.Event)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def converge(self) -> int:
        """Bring the index to the disk and to HEAD before an answer; returns how many commits it is
        still behind.

        Without an owner everything is compared. An owner indexes what its watcher and HEAD say,
        large differences beside the answers, and waits for its own indexing only a bounded time.
        """
        if not self.owner:
            self.reconcile()
            return 0
        head = self.vault.head()
        if not self._lock.acquire(timeout=BOUND):
            return self.behind(head)
        try:
            if self._small_step(head):
                return 0
            self.owe()
        finally:
            self._lock.release()
        self._caught_up.wait(BOUND)
        return 0 if self._indexed_head == head else self.behind(head)

    def _small_step(self, head: str) -> bool:
        paths = self._take_dirty()
        if head != self._indexed_head:
            # a person's commit may have left out what is on disk: no file says so
            self.edited = True
            changed = (
                self.vault.repo.difference(self._indexed_head, head) if self._indexed_head else ()
            )
            paths |= {
                path for path in changed if path.lower().endswith(".md")
            }  # what is none would be taken for a folder of them
        if not self._indexed_head or len(paths) > INLINE:
            return False
        if paths or (head != self._indexed_head and self.index.unscreened()):
            self.refresh(paths)
        self._indexed_head = head
        return True

    def behind(self, head: str) -> int:
        """How many commits the index has not seen yet (1 when that cannot be counted)."""
        return max(1, self.vault.repo.ahead(self._indexed_head, head))

    def reconcile(self, progress: Progress = quiet) -> None:
        """Compare every file on disk with the index and apply the difference."""
        with self._lock, self._telling(progress) as report:
            head = self.vault.head()
            self._dirty.clear()
            done = self.index.refresh(None, report)
            if done.braked and not set(done.held) & self.vault.listing().keys():
                done = self.index.refresh(
                    None, report, force=True
                )  # the history, which a person decides on, says the same
            self.braked, self.held = done.braked, frozenset(done.held)
            self._announce(done)
            self._indexed_head, self.backlog = head, False
            self._caught_up.set()
        self.wake.set()

    @contextmanager
    def _telling(self, progress: Progress) -> Iterator[Progress]:
        def report(stage: str, done: int, total: int) -> None:
            self.doing = stage, done, total
            progress(stage, done, total)

        try:
            yield report
        finally:
            self.doing = ("", 0, 0)

    def apply(self, changes: Sequence[Change], operation: Operation, **more: Any) -> Receipt:
        """`Vault.apply`; the index follows. To the index whatever is no note is a folder, for which
        it would look through the whole vault."""
        receipt = self.vault.apply(changes, operation, **more)
        if not receipt.refused:
            self.refresh(filter(is_note, (*receipt.written, *(one.path for one in changes))))
        return receipt

    def refresh(self, paths: Iterable[str]) -> None:
        """Index these paths again (changed, new or gone)."""
        with self._lock:
            done = self.index.refresh(set(paths), None)
            self._announce(done)
            if done.braked:
                # only a look at everything, and at the history, can tell a disaster from a
                # clear-out
                self.reconcile()
            elif self.braked:
                self.owe()  # they may be coming back
        self.wake.set()

    def _announce(self, done: Refreshed) -> None:
        for kind, paths in (("DEL", done.removed), ("IDX", done.added), ("IDX", done.modified)):
            for path in paths if self.listeners else ():
                row = self.index.by_path(path)
                text = f"{kind} {path} {row.sha256}" if kind == "IDX" and row else f"DEL {path}"
                for listener in list(self.listeners):
                    listener(text)
        for follow in list(self.refreshed):
            follow(done)

    def mark(self, paths: Iterable[str]) -> None:
        """A watcher saw these paths change."""
        with self._lock:
            self._dirty.update(paths)
        self.edited = True
        self.wake.set()

    def owe(self) -> None:
        """Something may have been missed (a watcher overflowed): a full comparison is due."""
        self.backlog = True
        self._caught_up.clear()
        self.wake.set()

    def rebuild(self, progress: Progress = quiet) -> None:
        """Everything derived, afresh; the old index answers meanwhile, and follows the disk."""
        self.index.rebuild(progress)
        self.reconcile()

    def _take_dirty(self) -> set[str]:
        taken, self._dirty = self._dirty | self.seen(), set()
        self.edited = self.edited or bool(taken)
        return taken

    # -- finding a memory

    def resolve(self, text: str) -> Row:
        """The one note an id or a unique prefix of at least 4 characters means. Errors say what to
        do instead."""
        wanted = text.strip().lower() if isinstance(text, str) else ""
        if not wanted:
            raise InvalidInput("no id was given", hint="`oneiro list` shows ids.")
        if (
            "/" in wanted
            or "\\" in wanted
            or wanted.endswith(".md")
            or not wanted.isalnum()
            or len(wanted) > _LONGEST_ID
        ):
            raise self._not_an_id(text)
        if len(wanted) < 4:
            raise InvalidInput(
                f"{shown(text)} is too short for an id", hint="Give at least 4 characters of it."
            )
        self.converge()
        rows = self.index.get(wanted)
        if not rows:
            raise self._unknown(wanted)
        if len(rows) > 1:
            raise several(text, rows, "memories", "Give more characters, or mend the copied id.")
        return rows[0]

    def _not_an_id(self, text: str) -> OneiroError:
        with suppress(OneiroError, ValueError):
            row = self.index.by_path(text.strip())
            if row is not None:
                return InvalidInput(
                    f"{shown(text, 120)} is a path, not an id",
                    hint=f"That note's id is {row.handle}.",
                )
        return InvalidInput(
            f"{shown(text)} is not an id",
            hint="An id is 12 letters and digits; `oneiro list` shows them.",
        )

    def _unknown(self, wanted: str) -> OneiroError:
        return self.gone(wanted) or NotFound(
            f"no memory has the id {shown(wanted)}",
            hint="`oneiro list` or `oneiro recall` shows ids.",
        )

    def gone(self, wanted: str) -> NotFound | None:
        """What became of the memory whose id begins so, where it was purged or forgotten."""
        last = {
            str(event.get("e")): (event["id"], str(event.get("t", ""))[:10])
            for event in self.vault.ledger.events()
            if str(event.get("id", "")).startswith(wanted)
        }
        if "purge" in last:
            ident, day = last["purge"]
            return NotFound(f"{ident} was purged on {day}", hint="Its words are nowhere any more.")
        if "tombstone" in last:
            ident, day = last["tombstone"]
            return NotFound(
                f"{ident} was forgotten on {day}",
                kept="Its words are still in the history.",
                hint=f"`oneiro restore {ident}` brings it back.",
            )
        return None

    def load(self, row: Row) -> tuple[bytes, Memory]:
        """The bytes on disk now and what they say."""
        data = self.vault.read(row.path)
        return data, memories.parse(row.path, data)


@dataclass
class Vectors:
    """The vectors of questions, and of what they are compared with. `stalled`: the last attempt to
    embed failed; `attended`: when somebody was last in a conversation (monotonic seconds)."""

    indexing: Indexing
    embedder: Embedder
    stalled: bool = False
    attended: float = -math.inf

    def query(
        self, text: str, *, wait: bool, progress: Progress = quiet, asks: bool = True
    ) -> tuple[Any, str | None]:
        """What answers a text (its like, where it asks nothing) as a vector, and why the answer is
        less than it could be: (None, reason) means keywords only."""
        try:
            if not wait and not (
                self.indexing.index.warm() and self.indexing.index.vectors_ready()
            ):
                threading.Thread(target=self._warm, name="oneiro-warm", daemon=True).start()
                return None, "embedder warming"
            if wait:
                self.await_model(progress)
                self._settle_vectors(progress)
            vector = self.indexing.index.query(text, asks=asks)
        except OneiroError as error:
            return None, f"{error}. {error.hint}" if isinstance(error, EmbedderProblem) else str(
                error
            )
        return vector, self.indexing.index.degraded()

    def attend(self) -> None:
        """Somebody is in a conversation: an owner loads the model now and keeps it for a while."""
        self.attended = time.monotonic()
        if self.indexing.owner:
            self.query("anything", wait=False)

    def await_model(self, progress: Progress) -> None:
        """Wait for the model; for a download only where no owner goes on with it. Raises
        IndexProblem."""

        def waiting(doing: str) -> None:
            progress(doing, 0, 0)
            if self.indexing.owner and doing != LOADING:
                raise IndexProblem(doing)

        self.embedder.load(waiting)

    def _settle_vectors(self, progress: Progress) -> None:
        ready = self.indexing.index.open_vectors()
        if not self.indexing.owner:
            self.indexing.index.embed(progress)
        elif ready and not self.stalled and 0 < self.indexing.index.pending()[0] <= MANY:
            self.indexing.wake.set()
            self._wait_for_vectors(progress)

    def _wait_for_vectors(self, progress: Progress) -> None:
        first = began = time.monotonic()
        most = 0
        while (
            (left := self.indexing.index.pending()[0])
            and not self.stalled
            and (now := time.monotonic()) < first + PATIENCE
        ):
            if left >= most:  # notes that are cut into passages become more
                most, began = left, now
            if (
                most > SOON
                and now > max(began, first + TRIAL)
                and (most - left) * (first + PATIENCE - now) < left * (now - began)
            ):
                return
            progress("embedding", most - left, most)
            time.sleep(0.02)

    def _warm(self) -> None:
        self.embedder.wake()
        self.indexing.index.open_vectors()


def several(ident: str, rows: list[Row], what: str, hint: str) -> AmbiguousId:
    """What is raised for an id that fits more than one of them."""
    which = "; ".join(f"{row.handle} ({row.path})" for row in rows[:8])
    return AmbiguousId(f"{shown(ident)} fits {len(rows)} {what}: {which}", hint=hint)
