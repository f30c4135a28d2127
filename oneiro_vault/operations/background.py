"""What an owner does between requests: follow the disk, embed, commit resting edits, fold the
ledger, pick captures up, dream."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from oneiro_vault.errors import OneiroError
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.dream import run_log
from oneiro_vault.operations.remember import store_captures
from oneiro_vault.operations.runtime import House

if TYPE_CHECKING:
    from oneiro_vault.index.watch import Watcher

LOG = logging.getLogger("oneiro.background")
LEDGER_AFTER = 86_400.0
"""Seconds after which pending ledger events get a commit of their own."""
LEDGER_LOOK = 60.0
"""Seconds between two looks at that."""
DREAM_EVERY = 20.0
"""Seconds between two looks at the schedule."""
SYNC_EVERY = 1.0
"""Seconds between two looks at whether a sync is due."""
ASK_AGAIN = 900.0
"""Seconds after which a remote that could not say whose it is to dream is asked again."""
AGAIN = 3.0
"""Seconds after which edits that could not be committed are tried again."""
REST = 0.5
"""Seconds without a commit after which nobody is in the middle of writing."""
LATEST = 10.0
"""Seconds after its start in which an owner opens its vectors all the same."""
ATTENDED = 600.0
"""Seconds after a prompt in which the model stays loaded."""
STIR = 60.0
"""Seconds at most between two signs that the embedding process is still wanted."""
RETRY = 30.0
"""Seconds to rest after a background step failed."""


class Background:
    """Four threads: one follows the disk and commits what rests, one computes vectors, one runs
    loops when they are due, one syncs, so that no remote is ever waited for."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._stop = threading.Event()
        self._embed = threading.Event()
        self._doing: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._watcher: Watcher | None = None
        self._ledger_at = self._proved_at = time.monotonic()
        self._dream_after = self._stirred = 0.0

    def start(self) -> None:
        """Start watching first, then compare: nothing that happens in between is missed."""
        # only an owner watches; one command alone need not load watchdog
        from oneiro_vault.index.watch import Watcher

        settings = self.house.settings
        self._watcher = Watcher(
            self.house.root,
            self.house.indexing.mark,
            self.house.indexing.owe,
            debounce=settings["watch.debounce"],
            poll=settings["watch.poll"],
        )
        self._watcher.start()
        self.house.indexing.seen = self._watcher.take
        self.house.indexing.watching = self._watcher.mode + (
            f" ({self._watcher.reason})" if self._watcher.reason else ""
        )
        for name, work in (
            ("follow", self._follow),
            ("embed", self._embed_loop),
            ("dream", self._dream_loop),
            ("sync", self._sync_loop),
        ):
            thread = threading.Thread(target=work, name=f"oneiro-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End the threads; a batch in flight is finished, a run of a loop ends with what it has
        committed."""
        self._stop.set()
        for run in (*self.house.dreams.queued, self.house.dreams.cancel):
            run.set()
        self.house.indexing.wake.set()
        self._embed.set()
        if self._watcher is not None:
            self._watcher.stop()
            self.house.indexing.seen = set
        for thread in self._threads:
            thread.join(timeout=3)  # an owner that ends has five seconds

    def busy(self) -> bool:
        """Is something under way that an idle exit would cut short?"""
        return bool(self._doing) or self.house.indexing.backlog

    def _follow(self) -> None:
        house, every = self.house, self.house.settings["watch.reconcile"]
        pause = max(0.2, min(5.0, house.settings["edits.quiet"] / 4))
        reconcile_at = edits_at = captures_at = float("-inf")
        while not self._stop.is_set():
            now = time.monotonic()
            self._doing.add("follow")
            if house.indexing.backlog or now >= reconcile_at:
                self._guarded("reconcile", house.indexing.reconcile)
                reconcile_at, house.indexing.edited = now + every, True
            else:
                self._guarded("follow", house.indexing.converge)
            if house.indexing.edited and now >= edits_at:
                edits_at = now + (pause if self._guarded("edits", self._commit_edits) else AGAIN)
            self._guarded("ledger", self._fold)
            if now >= captures_at and store_captures.left(house):
                captures_at = now + (
                    0.0
                    if self._guarded("captures", lambda: store_captures.collect(house))
                    else AGAIN
                )
            self._doing.discard("follow")
            self._embed.set()
            house.indexing.wake.wait(min(1.0, pause))
            house.indexing.wake.clear()

    def _commit_edits(self) -> None:
        self.house.indexing.edited = False
        try:
            self.house.commit_edits()
        except OneiroError:
            self.house.indexing.edited = True
            raise
        look = self.house.vault.edits.look()
        self.house.indexing.edited = self.house.indexing.edited or bool(look.ready or look.waiting)

    def _fold(self) -> None:
        self.house.vault.gate.flush()
        if time.monotonic() - self._ledger_at >= LEDGER_LOOK:
            self._ledger_at = time.monotonic()
            if self.house.vault.ledger.overdue(LEDGER_AFTER, run_log.EVENT):
                self.house.vault.fold()

    def _let_writers_go_first(self) -> None:
        """Opening the vectors takes a second of processor, half of what a burst of writers has. Who
        needs them opens them at once."""
        end, tip = time.monotonic() + LATEST, None
        while (
            not self._stop.is_set()
            and time.monotonic() < end
            and not self.house.index.vectors_ready()
        ):
            if (now := self.house.vault.head()) == tip:
                return
            tip = now
            self._stop.wait(REST)

    def _embed_loop(self) -> None:
        self._guarded("rest", self._let_writers_go_first)
        self._guarded("vectors", self.house.index.open_vectors)
        while not self._stop.is_set():
            self._embed.wait(5.0)
            self._embed.clear()
            self._guarded("warm", self._keep_warm)
            self.house.index.rest()
            if self._stop.is_set() or not (self._sick() or self._waiting()):
                continue
            self._doing.add("embed")
            ok = self._guarded("embed", lambda: self.house.index.embed(stop=self._stop.is_set))
            self._doing.discard("embed")
            self.house.vectors.stalled = not ok
            if not ok:
                self._stop.wait(RETRY)

    def _keep_warm(self) -> None:
        """The embedding process stops after `embed.idle` seconds without work, which is less than a
        person may think about a prompt."""
        house, now = self.house, time.monotonic()
        embedder = house.vectors.embedder
        if now - house.vectors.attended < ATTENDED and now - self._stirred >= min(
            STIR, house.settings["embed.idle"] / 3
        ):
            self._stirred = now
            embedder.encode(["."]) if embedder.warm() else embedder.wake()

    def _dream_loop(self) -> None:
        while not self._stop.wait(DREAM_EVERY):
            if self.house.settings["dreams.schedule"].strip() and not self.house.settings.wrong:
                self._guarded("dreams", self.dream)

    def dream(self) -> None:
        """Run the loops that are due, or encode what has rested."""
        # what loops need is not loaded before there is time for it
        from oneiro_vault.operations.dream import scheduler

        if time.monotonic() < self._dream_after:
            return
        work = (
            scheduler.scheduled
            if scheduler.due(self.house)
            else scheduler.run_soon
            if scheduler.soon_due(self.house)
            else None
        )
        if work is None:
            return
        self._doing.add("dream")
        try:
            if work(self.house)["later"]:
                self._dream_after = time.monotonic() + ASK_AGAIN
        finally:
            self._doing.discard("dream")

    def _sync_loop(self) -> None:
        automatic = synchronize.Automatic(self.house)
        while automatic.wanted and not self._stop.wait(SYNC_EVERY):
            if not self.house.settings.wrong and automatic.due():
                self._doing.add("sync")
                self._guarded("sync", automatic.run)
                self._doing.discard("sync")

    def _waiting(self) -> bool:
        return not self._guarded("vectors", lambda: self.house.index.pending()[0], wanted=0)

    def _sick(self) -> bool:
        house = self.house
        if (
            time.monotonic() - self._proved_at < house.settings["watch.reconcile"]
            or not house.index.vectors_ready()
        ):
            return False
        self._proved_at = time.monotonic()
        return not self._guarded("canaries", house.index.canaries, wanted=True)

    def _guarded(self, step: str, work: Callable[[], object], *, wanted: object = None) -> bool:
        """One failing step must not end the owner. `wanted`: the only answer that is no failure."""
        try:
            found = work()
            return wanted is None or found == wanted
        except OneiroError as error:
            LOG.warning("%s: %s %s", step, error, error.hint)
            return False
        except Exception:
            LOG.exception("%s failed", step)
            return False
