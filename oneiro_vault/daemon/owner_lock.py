"""One owner per vault: an OS lock that the kernel releases on death. The file can be deleted under
its holder, so the git directory is locked as well: whoever finds a fresh file waits for that."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from oneiro_vault.daemon import protocol
from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout


class OwnerLock:
    """The right to open a vault's indexes, for the life of an owner or for one command without
    one."""

    def __init__(self, state: Path) -> None:
        self.path = state / "owner.lock"
        self.record = state / "owner.json"
        self._lock = FileLock(self.path, mode=0o600, thread_local=False)
        self._mine: os.stat_result | None = None
        self._folder = -1

    def acquire(self, wait: float, purpose: str) -> None:
        """Take the lock within `wait` seconds. Raises LockTimeout naming the holder, DiskProblem,
        GitProblem."""
        folder = self.path.parent.parent
        if not folder.is_dir():
            hint = "`oneiro init --here` makes one."
            raise GitProblem(f"{folder} is not a git directory", hint=hint)
        end = time.monotonic() + wait
        try:
            self.path.parent.mkdir(exist_ok=True)
            self._lock.acquire(timeout=wait, poll_interval=0.02)
            self._hold_folder(end)
            self.record.unlink(missing_ok=True)  # a dead owner's: its port may be anybody's by now
            holder = {"pid": os.getpid(), "version": protocol.version()}
            self.path.write_text(json.dumps(holder | {"for": purpose, "since": time.time()}))
            self._mine = self.path.stat()
        except Timeout as error:
            self._lock.release()
            raise self.held(wait) from error
        except OSError as error:
            self._let_go()
            text = f"{self.path} cannot be locked: {error.strerror}"
            kept, hint = "Nothing was changed.", "Is the disk full or read-only?"
            raise DiskProblem(text, kept=kept, hint=hint) from error

    def _hold_folder(self, end: float) -> None:
        """Raises Timeout while an owner lives whose lock file was deleted."""
        while True:
            self._folder = lock_folder(self.path.parent.parent)
            if self._folder != TAKEN:
                return
            if time.monotonic() >= end:
                raise Timeout(str(self.path.parent.parent))
            time.sleep(0.02)

    def _let_go(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1
        self._lock.release()

    def held(self, wait: float) -> LockTimeout:
        """The error for a lock that somebody else kept for `wait` seconds."""
        holder, who = holder_of(self.path), "another process"
        if holder.get("pid"):
            who = f"process {holder['pid']} ({holder.get('for', 'unknown')})"
        return LockTimeout(
            f"{who} has the vault open and did not finish within {wait:.0f} seconds",
            kept="Nothing was changed.",
            hint="Wait for it, or `oneiro stop`.",
        )

    @property
    def intact(self) -> bool:
        """Is the locked file still the one at its path? Else somebody could lock a new one."""
        try:
            return self._mine is not None and os.path.samestat(self.path.stat(), self._mine)
        except OSError:
            return False

    def publish(self, record: Mapping[str, Any]) -> None:
        """Tell clients how to reach this owner, in one atomic step."""
        draft = self.record.with_suffix(".new")
        draft.unlink(missing_ok=True)
        born = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # it may hold a token
        with os.fdopen(born, "wb") as file:
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogateescape"))
        draft.replace(self.record)

    def release(self) -> None:
        """Withdraw the record and let the next one in."""
        if self._lock.is_locked:
            if self.intact:
                with suppress(OSError):
                    self.record.unlink(missing_ok=True)
            self._let_go()


def holder_of(path: Path) -> Mapping[str, Any]:
    """What the last holder wrote into a lock file (pid, version, for, since); {} when that cannot
    be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_free(state: Path) -> bool:
    """Does nobody hold the owner lock right now?"""
    folder = lock_folder(state.parent)
    if folder == TAKEN:
        return False
    if folder >= 0:
        os.close(folder)
    lock = FileLock(state / "owner.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return not (state / "owner.lock").exists()
    lock.release()
    return True


TAKEN = -2


def lock_folder(folder: Path) -> int:
    """A descriptor that holds the folder locked, TAKEN when another one does, -1 where that cannot
    be."""
    try:
        found = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # NFS has no such lock
        os.close(found)
        return TAKEN if isinstance(error, BlockingIOError) else -1
    return found
