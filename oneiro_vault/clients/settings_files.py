"""A client's files on the disk: read whole, written by rename, links kept as links, modes kept,
never over somebody's newer text."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from oneiro_vault.errors import DiskProblem, ForeignFile

_LARGEST: Final = 50_000_000
_KEPT: Final = "The file is as it was."


_PATIENCE: Final = 2.0
_STALE: Final = 10.0
"""Seconds after which the client itself takes its lock for forgotten."""


class ChangedError(Exception):
    """The file is no longer what was read."""


def read(path: Path) -> str | None:
    """The text, with its line ends and BOM; None when there is no file. Raises ForeignFile,
    DiskProblem."""
    try:
        data = _bytes(path)
    except OSError as error:
        raise DiskProblem(
            f"{path} cannot be read: {error.strerror}", kept=_KEPT, hint="Make it readable."
        ) from error
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        what = f"{path}: line {line}, column {column}: not UTF-8"
        raise ForeignFile(what, kept=_KEPT, hint="Save it as UTF-8 and run setup again.") from error


def _bytes(path: Path) -> bytes | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        raise ForeignFile(
            f"{path} is not a settings file", kept=_KEPT, hint="Look at what stands there."
        )
    return path.read_bytes()


def write(path: Path, before: str | None, after: str | None) -> None:
    """Make the file say `after` (None: gone) if it still says `before`.

    Raises ChangedError when somebody else wrote meanwhile, DiskProblem.
    """
    target = Path(os.path.realpath(path))
    try:
        if after is None:
            _check(target, before)
            target.unlink(missing_ok=True)
        else:
            for above in reversed((target.parent, *target.parent.parents)):
                above.mkdir(mode=0o700, exist_ok=True)
            _renamed(target, before, after.encode())
    except OSError as error:
        what = f"{target} cannot be written: {error.strerror}"
        raise DiskProblem(
            what, kept=_KEPT, hint="Make the file and its folder writable, and run setup again."
        ) from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The client's own lock on its file (a folder `FILE.lock`), when it is to be had; a write is
    never over a newer text either way."""
    lock = Path(f"{os.path.realpath(path)}.lock")
    mine = path.exists() and _locked(lock)
    try:
        yield
    finally:
        if mine:
            with suppress(OSError):
                lock.rmdir()


def _locked(lock: Path) -> bool:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.mkdir()
        except FileExistsError:
            with suppress(OSError):
                if time.time() - lock.stat().st_mtime > _STALE:
                    return False
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True


def unmake(path: Path, home: Path) -> None:
    """Take away the folders below home that a deleted file leaves empty."""
    home = Path(os.path.realpath(home))
    with suppress(OSError):
        for folder in Path(os.path.realpath(path)).parents:
            if home not in folder.parents:
                return
            folder.rmdir()


def _check(target: Path, before: str | None) -> None:
    if _bytes(target) != (None if before is None else before.encode()):
        raise ChangedError


def _renamed(target: Path, before: str | None, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.oneiro-tmp")
    try:
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
        )
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        if before is not None:
            _take_after(target, temporary)
        _check(target, before)  # as late as can be: a running client writes here too
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _take_after(target: Path, temporary: Path) -> None:
    """Mode and owner of the file that is replaced."""
    try:
        found = target.stat()
    except FileNotFoundError:
        raise ChangedError from None
    temporary.chmod(stat.S_IMODE(found.st_mode))
    if hasattr(os, "chown") and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.chown(temporary, found.st_uid, found.st_gid)
