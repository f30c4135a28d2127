"""Is git, by whatever program, at work on this work tree, or was it a moment ago? Told by its locks
and by what it leaves in its folder.

git holds `index.lock` for as long as it changes files (checkout, stash, merge, rebase, reset,
restore), and making or dropping any lock changes the time of the folder it lies in. So two equal
snapshots without a lock prove that git changed nothing in between.
"""
# pathlib is left out here: asked before and after every look at the work tree.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

_LOCKS: Final = ("index.lock", "HEAD.lock")
_NS: Final = 1_000_000_000

Stamp = tuple[int, int, int]
"""Modified (ns), size and inode of a file; zeros when there is none. It differs for any two
indexes, since git never writes in place."""


class Snapshot(NamedTuple):
    """`lock` is held (None: none is); `folder`: when one was last made or dropped (ns); where HEAD
    and the branch are; the index."""

    lock: Path | None
    folder: int
    head: bytes
    tip: str
    index_file: Stamp

    def at(self, ref: str, tip: str) -> bool:
        """Was this commit of this branch checked out?"""
        return self.tip == tip and self.head.split() == [b"ref:", ref.encode()]


class Activity:
    """Signs of git in the folder `git_dir` of one work tree; `tip` says where the branch is."""

    def __init__(self, git_dir: Path, tip: Callable[[], str]) -> None:
        self._folder = str(git_dir)
        self._index = str(git_dir / "index")
        self._head = str(git_dir / "HEAD")
        self._locks = [git_dir / name for name in _LOCKS]
        self._ours = str(git_dir / "oneiro" / "index.json")
        self._writing = git_dir / "oneiro" / "writing"
        self._death = git_dir / "oneiro" / "died"
        self._tip = tip

    def snapshot(self) -> Snapshot:
        """How git's own files are now. Raises GitProblem when the branch cannot be read."""
        lock = next((lock for lock in self._locks if os.path.lexists(lock)), None)
        return Snapshot(
            lock, stamp(self._folder)[0], self._head_says(), self._tip(), stamp(self._index)
        )

    def undisturbed(self, before: Snapshot) -> bool:
        """Has git left the work tree alone since that snapshot was taken?"""
        return before.lock is None and self.snapshot() == before

    def since(self) -> float:
        """When somebody else last wrote HEAD or the index (epoch seconds); our own writing of the
        index is no sign of anybody."""
        return max(stamp(self._head)[0], self._others()) / _NS

    def followed(self) -> bool:
        """Did HEAD move after somebody else wrote the index? git does the one after the other."""
        return stamp(self._head)[0] > self._others()

    @contextmanager
    def ours(self) -> Iterator[None]:
        """The index that is written in here is ours, and so is its lock. Called with the write lock
        held."""
        others = self._others()
        with suppress(OSError):
            self._writing.touch()
        try:
            yield
        finally:
            with suppress(OSError):
                self._writing.unlink()
        with suppress(OSError), open(self._ours, "w") as file:
            json.dump({"index": stamp(self._index), "others": others}, file)

    def note_death(self, lock: Path) -> None:
        """A git died with this lock: what it did to the folder is half done. Called before the lock
        is taken away; one of ours, who only write the index, was left by our own death."""
        if lock in self._locks:
            with suppress(OSError):
                if lock == self._locks[0] and self._writing.exists():
                    self._writing.unlink()
                else:
                    self._death.touch()

    def died(self) -> bool:
        """Did a git die here, and the folder was not in order since?"""
        return self._death.exists()

    def in_order(self) -> None:
        """Nothing in the folder is a git's half work any more."""
        if self.died():
            with suppress(OSError):
                self._death.unlink()

    def _others(self) -> int:
        """When the index was last written by somebody else (ns)."""
        now = stamp(self._index)
        try:
            with open(self._ours) as file:
                known = json.load(file)
            return int(known["others"]) if tuple(known["index"]) == now else now[0]
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
        ):  # none yet, or torn: then it counts as somebody else's
            return now[0]

    def _head_says(self) -> bytes:
        try:
            with open(self._head, "rb") as file:
                return file.read()
        except OSError:
            return b""


def stamp(path: str | Path) -> Stamp:
    """What tells one state of a file from another."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
