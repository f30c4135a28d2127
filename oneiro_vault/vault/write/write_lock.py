"""The door's lock: one writer at a time, everything repaired before and settled after."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import filelock

from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout, OneiroError
from oneiro_vault.vault.git.activity import SETTLE, stopped
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Locked
from oneiro_vault.vault.health.rewrites import Tampering
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import Journal
from oneiro_vault.vault.write.recovery import Recovery

log = logging.getLogger("oneiro.vault")
T = TypeVar("T")
_TRIES: Final = 20
_PAUSE: Final = 0.03
_PATIENCE: Final = 2 * SETTLE


class Gate:
    """`wait` seconds for locks, `reserve` bytes that must stay free, `lazy_index` leaves the index
    to `flush` once it is larger than `small` bytes."""

    def __init__(
        self,
        repo: Repo,
        journal: Journal,
        recovery: Recovery,
        *,
        wait: float,
        reserve: int,
        lazy_index: bool,
        small: int = 0,
    ) -> None:
        self._repo = repo
        self._root = repo.root
        self._journal = journal
        self._folder = journal.folder
        self._recovery = recovery
        self._wait = wait
        self.reserve = reserve
        self.lazy_index, self.small = lazy_index, small
        self.tampering = Tampering(repo, journal, self.recover)
        self.thread = threading.RLock()

    def _small_index(self) -> bool:
        """Where rewriting it is cheaper than the commit, nobody's `git commit` ever meets one that
        lags behind."""
        try:
            return self._repo.staging.file.stat().st_size <= self.small
        except OSError:
            return self.small > 0

    def flush(self) -> bool:
        """Bring `.git/index` up to date, or make a damaged one anew; False when something is in the
        way."""
        if (
            not self._journal.intents
            and self._journal.unchanged()
            and self._recovery.index_is_whole()
        ):
            return True
        patience = time.monotonic() + _PATIENCE
        try:
            while not self._flushed():
                if time.monotonic() > patience:
                    return False
                time.sleep(
                    _PAUSE
                    # not under the lock: another program's `git status` holds the index for a
                    # moment only
                )
        except (LockTimeout, DiskProblem, GitProblem):
            return False
        return True

    def _flushed(self) -> bool:
        with self.locked():
            if not (self._journal.unchanged() and self._recovery.index_is_whole()):
                self.recover()
            return self.settled()

    def settled(self) -> bool:
        """Never raises: what the index is owed stays in the journal."""
        try:
            return self._recovery.settle()
        except (OSError, OneiroError) as error:
            log.warning("the index of %s lags behind: %s", self._root, error)
            return False

    def recover(self) -> None:
        """Repair what can be repaired now; call with the lock. Raises DiskProblem or GitProblem."""
        with disk.guarded("Repairing the vault"):
            self._recovery.run()

    def _check_index(self) -> None:
        """Raise RepositoryBusy when files are unmerged; a damaged index is made anew first."""
        try:
            self._repo.staging.blobs(())
        except GitProblem:
            with disk.guarded("Repairing the index"):
                self._recovery.mend_index()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The write lock, with everything in order: recovered, a usable state, space left."""
        disk.refuse_full(self._root, self.reserve)
        with self.locked():
            reach("locked")
            self._repo.discard()
            if not self._journal.unchanged() or any(
                not intent.on_disk for intent in self._journal.intents
            ):
                self.recover()
            self._repo.check_ready()
            self._check_index()
            try:
                yield
            finally:
                if not self.lazy_index or self._small_index():
                    self.settled()

    def retried(self, attempt: Callable[[str, str], T | None]) -> T:
        """Try on the current tip until the branch holds still; a dead program's lock is moved
        aside, a live one's waited for.

        Raises Brake when the history was rewritten (see `rewrites`).
        """
        deadline = time.monotonic() + self._wait
        for _ in range(_TRIES):
            ref, tip = self._repo.branch(), self._repo.tip()
            self.tampering.check(ref, tip)
            try:
                done = attempt(ref, tip)
            except Locked as locked:
                self._await(locked.lock, deadline)
                continue
            if done is not None:
                return done
        raise LockTimeout(
            f"another program keeps moving the branch of {self._root}",
            kept="Nothing was written.",
            hint="Try again in a moment.",
        )

    def rest(self) -> None:
        """Wait until git has done what it is doing to the work tree. Raises LockTimeout."""
        deadline = time.monotonic() + self._wait
        while (lock := self._repo.activity.snapshot().lock) is not None:
            with self.locked():
                if self._recovery.clear_lock(lock):
                    continue
            if time.monotonic() > deadline:
                raise _timeout(lock, "another program", self._wait)
            time.sleep(SETTLE)  # not under the lock: others write meanwhile

    def _await(self, lock: Path, deadline: float) -> None:
        while not self._recovery.clear_lock(lock):
            if time.monotonic() > deadline:
                raise _timeout(lock, "another program", self._wait)
            time.sleep(_PAUSE)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time, over all threads and processes. Raises LockTimeout naming the
        holder, or DiskProblem."""
        holder = self._folder / "holder"
        with self.thread:
            with disk.guarded("Taking the write lock"):
                self._folder.mkdir(
                    exist_ok=True
                    # not its parents: a vault that was moved away must not come back as an empty
                    # shell
                )
                lock = filelock.FileLock(
                    self._folder / "write.lock", timeout=self._wait, thread_local=False
                )
                try:
                    lock.acquire(poll_interval=0.01)
                except filelock.Timeout as error:
                    raise _kept(self._folder / "write.lock", holder, self._wait) from error
            try:
                with disk.guarded("Taking the write lock"):
                    holder.write_text(str(os.getpid()))
                yield
            finally:
                lock.release()


def _kept(lock: Path, holder: Path, wait: float) -> LockTimeout:
    try:
        pid = int(holder.read_text())
    except (OSError, ValueError):
        return _timeout(lock, "another process", wait)
    if not stopped(pid):
        return _timeout(lock, f"process {pid}", wait)
    return LockTimeout(
        f"process {pid} has the write lock and is stopped",
        kept="Nothing was written.",
        hint=f"`kill -CONT {pid}` lets it go on.",
    )


def _timeout(lock: Path, who: str, wait: float) -> LockTimeout:
    return LockTimeout(
        f"{who} has held {lock} for more than {wait:g} s",
        kept="Nothing was written.",
        hint="Wait for it to finish and try again.",
    )
