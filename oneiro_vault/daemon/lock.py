"""One owner per vault: an OS lock that the kernel releases on death, so a stale file or a reused process number never matters."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from oneiro_vault.daemon import protocol
from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout


class OwnerLock:
    """The right to open a vault's indexes. Held for the life of an owner, or for one command without an owner."""

    def __init__(self, state: Path) -> None:
        self.path = state / "owner.lock"
        self.record = state / "owner.json"
        self._lock = FileLock(self.path, mode=0o600, thread_local=False)
        self._mine: os.stat_result | None = None

    def acquire(self, wait: float, purpose: str) -> None:
        """Take the lock within `wait` seconds. Raises LockTimeout naming the holder, DiskProblem, GitProblem (no repository)."""
        if not self.path.parent.parent.is_dir():
            raise GitProblem(f"{self.path.parent.parent} is not a git directory", hint="`oneiro init --here` makes one.")
        try:
            self.path.parent.mkdir(exist_ok=True)
            self._lock.acquire(timeout=wait, poll_interval=0.02)
            self.path.write_text(json.dumps({"pid": os.getpid(), "version": protocol.version(), "for": purpose, "since": time.time()}))
            self._mine = self.path.stat()
        except Timeout as error:
            raise self.held(wait) from error
        except OSError as error:
            text = f"{self.path} cannot be locked: {error.strerror}"
            raise DiskProblem(text, kept="Nothing was changed.", hint="Is the disk full or read-only?") from error

    def held(self, wait: float) -> LockTimeout:
        """The error for a lock that somebody else kept for `wait` seconds."""
        holder = holder_of(self.path)
        who = f"process {holder['pid']} ({holder.get('for', 'unknown')})" if holder.get("pid") else "another process"
        return LockTimeout(
            f"{who} has the vault open and did not finish within {wait:.0f} seconds",
            kept="Nothing was changed.",
            hint="Wait for it, or `oneiro stop`.",
        )

    @property
    def intact(self) -> bool:
        """Is the locked file still the one at its path? If it was deleted, somebody else could lock a new one."""
        try:
            return self._mine is not None and os.path.samestat(self.path.stat(), self._mine)
        except OSError:
            return False

    def publish(self, record: dict[str, Any]) -> None:
        """Tell clients how to reach this owner, in one atomic step."""
        draft = self.record.with_suffix(".new")
        draft.write_bytes(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogateescape"))
        draft.replace(self.record)

    def release(self) -> None:
        """Withdraw the record and let the next one in."""
        if self._lock.is_locked:
            if self.intact:
                with suppress(OSError):
                    self.record.unlink(missing_ok=True)
            self._lock.release()


def holder_of(path: Path) -> dict[str, Any]:
    """What the last holder wrote into a lock file (pid, version, for, since); {} when that cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_free(state: Path) -> bool:
    """Does nobody hold the owner lock right now?"""
    lock = FileLock(state / "owner.lock", mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return not (state / "owner.lock").exists()
    lock.release()
    return True
