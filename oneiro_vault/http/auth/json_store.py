"""A JSON object in a private file: replaced in one step, changed by one process at a time, read
without a lock."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from oneiro_vault.answers import Json
from oneiro_vault.errors import DiskProblem, LockTimeout
from oneiro_vault.vault.write import disk

PATIENCE: Final = 5.0
"""Seconds a change waits for another process that is changing the same file."""
_KEPT: Final = "Nothing was changed."


def private_folder(folder: Path) -> Path:
    """Make sure the folder exists and nobody else can look into it. Raises DiskProblem."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise DiskProblem(
            f"{folder} cannot be used: {error.strerror}",
            kept=_KEPT,
            hint="Make it a folder of your own.",
        ) from error
    return folder


class Store:
    """One file. What `read` gives must not be changed in place; `change` gives a copy and writes it
    back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = threading.RLock()
        self._lock = FileLock(path.with_suffix(".lock"), mode=0o600, thread_local=False)
        self._stamp: tuple[int, int, int] | None = None
        self._known: Json = {}

    def read(self) -> Json:
        """The newest version, for one look at the file when it is known already. Raises
        DiskProblem."""
        stamp = self._look()
        with self._thread:
            if stamp != self._stamp:
                self._known, self._stamp = self._load(), stamp
            return self._known

    @contextmanager
    def change(self, durable: bool = True) -> Iterator[Json]:
        """A copy, written when the block ends well. Not `durable`: a power cut may bring the old
        one back."""
        private_folder(self.path.parent)
        with self._thread, self._alone():
            before = self._load()
            draft = deepcopy(before)
            yield draft
            if draft != before:
                self._replace(draft, durable)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> Json:
        try:
            found = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unreadable(error) from error
        except (ValueError, RecursionError) as error:
            raise self._damaged() from error
        if not isinstance(found, dict):
            raise self._damaged()
        return found

    def _unreadable(self, error: OSError) -> DiskProblem:
        return DiskProblem(
            f"{self.path} cannot be read: {error.strerror}",
            kept=_KEPT,
            hint="Make it readable for yourself alone.",
        )

    def _damaged(self) -> DiskProblem:
        return DiskProblem(
            f"{self.path} is damaged, so nobody is let in by it",
            kept="No memory is affected.",
            hint="Bring it back from a backup, or delete it and add the keys anew.",
        )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self._lock.acquire(timeout=PATIENCE, poll_interval=0.01)
        except Timeout as error:
            raise LockTimeout(
                f"another process is changing {self.path}", kept=_KEPT, hint="Try again."
            ) from error
        except OSError as error:
            raise DiskProblem(
                f"{self.path} cannot be locked: {error.strerror}",
                kept=_KEPT,
                hint="Is the disk full?",
            ) from error
        try:
            yield
        finally:
            self._lock.release()

    def _replace(self, data: Json, durable: bool) -> None:
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        text = json.dumps(data, ensure_ascii=False, indent=1)
        try:
            disk.write_new(str(draft), text.encode("utf-8", "surrogatepass"), 0o600)
            if durable:
                disk.sync([str(draft)])
            draft.replace(self.path)
            if durable:
                disk.sync([str(self.path.parent)])
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise DiskProblem(
                f"{self.path} cannot be written: {error.strerror}",
                kept=_KEPT,
                hint="Is the disk full?",
            ) from error
