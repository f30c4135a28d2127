"""What the rest of the room needs from a disk: errors a person understands, many fsyncs for the
price of one, and the named steps at which the drills make a process die (`ONEIRO_FAULT=name` or
`name:n`; nothing happens unless it is set).
"""
# pathlib is left out here: raw descriptors.
# ruff: noqa: PTH108

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

from oneiro_vault.errors import DiskProblem

if TYPE_CHECKING:
    from pathlib import Path

_REASONS: Final = {
    errno.ENOSPC: (
        "the disk is full",
        "Free some space and try again; nothing has to be restarted.",
    ),
    errno.EDQUOT: (
        "the disk quota is used up",
        "Free some space and try again; nothing has to be restarted.",
    ),
    errno.EFBIG: (
        "the file would be larger than this system allows",
        "Free some space or raise the limit (ulimit -f).",
    ),
    errno.EROFS: ("the disk is read-only", "Make it writable and try again; reading still works."),
    errno.EACCES: (
        "permission was denied",
        "Give this user write access and try again; reading still works.",
    ),
    errno.EPERM: (
        "permission was denied",
        "Give this user write access and try again; reading still works.",
    ),
    errno.EIO: (
        "the disk reports an input/output error",
        "Check the disk before anything else, then run `oneiro doctor`.",
    ),
}
_THREADS: Final = 8


def explain(error: OSError, what: str) -> DiskProblem:
    """The DiskProblem that tells a person why `what` failed."""
    reason, hint = _REASONS.get(
        error.errno or 0, (error.strerror or str(error), "Run `oneiro doctor`.")
    )
    return DiskProblem(
        f"{what} failed: {reason}", kept="Everything acknowledged before is unchanged.", hint=hint
    )


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn any OSError inside into a DiskProblem that names `what`."""
    try:
        yield
    except OSError as error:
        raise explain(error, what) from error


def note(what: str, place: Path, text: str) -> None:
    """Write a small file of our own, seen whole or not at all; it may be lost with the power.
    Raises DiskProblem."""
    with guarded(what):
        temp = place.with_name(f"{place.name}.{os.urandom(4).hex()}.new")
        temp.write_text(text, encoding="utf-8")
        temp.replace(place)


def sync(paths: Iterable[str]) -> None:
    """fsync files and folders in parallel: one after the other costs a disk flush each (up to 4
    ms), side by side they are one journal commit. The threads stay: starting them took longer than
    the disk. Raises OSError of the first that failed."""
    todo = list(dict.fromkeys(paths))
    if len(todo) == 1:
        _sync(todo[0])
    elif todo:
        done = [_pool().submit(_sync, path) for path in todo]
        wait(done)
        for one in done:
            one.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "fsync")


os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay behind in the parent


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_new(path: str, data: bytes, mode: int = 0o666) -> None:
    """Create `path` (never through a link, never over something); not yet durable. Leaves nothing
    behind on failure."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        write_all(fd, data)
    except OSError:
        os.unlink(path)
        raise
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Every byte, however often the kernel takes only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def append(fd: int, data: bytes, durable: bool = False) -> None:
    """Lines behind those of a file, all or nothing; a torn line before them is closed first."""
    size = os.fstat(fd).st_size
    torn = size and os.pread(fd, 1, size - 1) != b"\n"
    try:
        write_all(fd, b"\n" + data if torn else data)
        if durable:
            getattr(os, "fdatasync", os.fsync)(fd)  # macOS has the one only
    except OSError:
        os.ftruncate(fd, size)
        raise


def free(path: str) -> int:
    """Bytes an ordinary user may still write on the disk of `path`."""
    stat = os.statvfs(path)
    return stat.f_bavail * stat.f_frsize


def refuse_full(root: Path, reserve: int) -> None:
    """Raise DiskProblem when fewer than `reserve` bytes are free."""
    with guarded("Looking for free space"):
        left = free(str(root))
    if left < reserve:
        raise DiskProblem(
            f"fewer than {reserve // 1_000_000} MB are free on the disk of {root}",
            kept="Nothing was written; reading still works.",
            hint="Free some space; nothing has to be restarted.",
        )


POINTS: Final = (
    "locked",  # the write lock is held, nothing was looked at
    "built",  # blobs, trees and the commit exist in memory only
    "objects",  # their files are written, not yet durable
    "journal",  # objects and intent are durable, the branch has not moved
    "moved",  # the branch has moved, not yet durable
    "durable",  # the branch is durable: from here on the write survives anything
    "note-temp",  # the new bytes of a note lie beside it under a temporary name
    "note",  # the note has its new bytes
    "files",  # every note of the commit has its new bytes
    "index",  # `.git/index` holds the new entries
    "witness",  # the tip witness names the commit
    "cleared",  # the journal is empty again
    "folded",  # the pending ledger is renamed, about to be part of a commit
    "unfolded",  # its events are in the branch, the renamed file is still there
)
"""Every step of a write after which a process can be made to die."""
SYNC_POINTS: Final = (
    "sync-fetched",  # their history is here, nothing else has happened
    "sync-joining",  # what joining the two means is decided, nothing is written
    "sync-joined",  # ours contains theirs, they know nothing of it yet
    "sync-pushed",  # they have ours, it is not written down that we are at one
)
"""And of a sync, which goes through those of a write as well."""
PURGE_POINTS: Final = (
    "purge-cleaned",  # the spool and the like are clean, the history is as it was
    "purge-entombed",  # the tombstones are committed, no plan is written
    "purge-begun",  # the plan is on disk; from here on only going on is possible
    "purge-rewritten",  # every ref leads to the new history, the reflogs to the old
    "purge-expired",  # nothing leads to the old history, its objects are there
    "purge-settled",  # the history is clean, the indexes are not
)
"""And of a purge."""

_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Die like a killed process (status 137) when the environment asks for it at this step."""
    wanted = os.environ.get("ONEIRO_FAULT")
    if not wanted:
        return
    _reached[name] += 1
    point, _, count = wanted.partition(":")
    if point == name and _reached[name] >= int(count or 1):
        os._exit(137)  # pragma: no cover  (nothing is left to count it)
