"""Is git, by whatever program, at work on this work tree, or was it a moment ago; whose are its
locks; what has it, or a person, left half done? Told by what lies in its folder.

git holds `index.lock` for as long as it changes files (checkout, stash, merge, rebase, reset,
restore), and making or dropping any lock changes the time of the folder it lies in. So two equal
snapshots without a lock prove that git changed nothing in between.
"""
# pathlib is left out here: asked before and after every look at the work tree.
# ruff: noqa: PTH105, PTH112, PTH115, PTH123, PTH208

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from oneiro_vault.errors import RepositoryBusy
from oneiro_vault.vault.worktree.files import Stamp, stamp

_LOCKS: Final = ("index.lock", "HEAD.lock")
_NS: Final = 1_000_000_000


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
        """When somebody else last wrote HEAD or the index (epoch seconds)."""
        return max(stamp(self._head)[0], self._others()) / _NS

    def followed(self) -> bool:
        """Did HEAD move after somebody else wrote the index? git does the one after the other."""
        return stamp(self._head)[0] > self._others()

    @contextmanager
    def ours(self) -> Iterator[None]:
        """The index that is written in here, and its lock, are ours. Called with the write lock
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
        """A git died with this lock, so what it did to the folder is half done. Called before the
        lock is taken away; one of ours was left by our own death."""
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


SETTLE: Final = 0.25
"""Seconds a lock must have been there before it can count as left behind."""


def abandoned(lock: Path, root: Path) -> bool:
    """Is it proven that nobody holds this lock: no process has it open and no git works in this
    repository?

    A lock younger than SETTLE is never judged. git closes `index.lock` while `commit -a` waits for
    an editor, so an unopened file alone proves nothing; without /proc nothing does.
    """
    judged = _known(lock)
    if judged is None or 0 <= time.time() - judged.st_mtime < SETTLE:
        return False
    if not os.path.isdir("/proc/self/fd") or any(_holds(pid, lock, root) for pid in _processes()):
        return False
    now = _known(
        lock
        # while processes were listed one git may have ended, and the next one, too young for the
        # list, begun
    )
    return now is not None and (now.st_ino, now.st_mtime_ns, now.st_ctime_ns) == (
        judged.st_ino,
        judged.st_mtime_ns,
        judged.st_ctime_ns,
    )


def _known(lock: Path) -> os.stat_result | None:
    try:
        return lock.stat()
    except OSError:
        return None


def _processes() -> Iterator[str]:
    own = str(os.getpid())
    return (name for name in os.listdir("/proc") if name.isdigit() and name != own)


def _holds(pid: str, lock: Path, root: Path) -> bool:
    """Has the process the lock open, or may it be a git at work in `root`? In doubt: yes."""
    target = str(lock)
    try:
        for fd in os.scandir(f"/proc/{pid}/fd"):
            if _link(fd.path) == target:
                return True
    except FileNotFoundError:
        return False
    except OSError:
        return _is_git(pid)  # another user's process: only its name can be seen
    return _is_git(pid) and _works_in(pid, root)


def _is_git(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("git")
    except OSError:
        return False


def _works_in(pid: str, root: Path) -> bool:
    place = str(root)
    if (_link(f"/proc/{pid}/cwd") + "/").startswith(place + "/"):
        return True
    try:
        words = (
            Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        )
    except (FileNotFoundError, ProcessLookupError):
        return False  # it ended while it was looked at
    except OSError:
        return True
    return os.fsencode(place) in words


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def set_aside(path: Path, aside: Path) -> Path:
    """Move a file into the folder `aside` under a dated name. Returns where it is now."""
    aside.mkdir(parents=True, exist_ok=True)
    place = aside / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(3).hex()}-{path.name}.aside"
    os.replace(path, place)
    return place


PURGING: Final = "purging/plan.json"
"""In our own folder, as long as a purge is not finished."""
KEPT: Final = "Every note is as it was."
_SYNC: Final = ("merge", "rebase")


_MARKS: Final = {
    f"oneiro/{PURGING}": ("an unfinished purge", ""),
    "MERGE_HEAD": ("a merge", "git merge --abort"),
    "rebase-merge": ("a rebase", "git rebase --abort"),
    "rebase-apply/applying": ("git am", "git am --abort"),
    "rebase-apply": ("a rebase", "git rebase --abort"),
    "REVERT_HEAD": ("a revert", "git revert --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --abort"),
    "BISECT_LOG": ("a bisect", "git bisect reset"),
    "sequencer": ("a sequence of picks", ""),
}
"""What lies in the git folder -> what is under way, and the command that takes it back."""


def refuse_half_done(root: Path, git_dir: Path, shared: Callable[[], object]) -> None:
    """Raise RepositoryBusy in the middle of something. `shared`: is there a remote to sync with?"""
    for name, (what, undo) in _MARKS.items():
        if os.path.exists(git_dir / name):  # noqa: PTH110  # looked at before every write
            raise RepositoryBusy(
                f"{what} is in progress in {root}",
                kept=KEPT,
                hint=_hint(what, undo, bool(shared())),
            )


def unmerged(root: Path, git_dir: Path, shared: Callable[[], object]) -> RepositoryBusy:
    """The refusal while git's index holds files that are not merged."""
    try:
        refuse_half_done(root, git_dir, shared)
    except RepositoryBusy as found:
        return found
    hint = (
        "`git status` lists them; `git add FILE` keeps what is on disk, `git rm FILE` takes it "
        "away. Then try again."
    )
    return RepositoryBusy(f"{root} has unmerged files", kept=KEPT, hint=hint)


def _hint(what: str, undo: str, shared: bool) -> str:
    if "purge" in what:
        return "A person finishes it: oneiro purge --resume"
    if not undo:
        return "Finish or abort it (git status), then try again."
    if shared and undo.split()[1] in _SYNC:
        return (
            f"`{undo} && oneiro sync` joins both sides by rule instead. Or finish it by "
            f"hand (git status), then try again."
        )
    return f"Finish it (git status says how), or take it back: `{undo}`. Then try again."
