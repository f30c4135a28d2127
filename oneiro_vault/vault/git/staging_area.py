"""The index of the work tree: what a person has staged, and what git believes to be on disk."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pygit2
from pygit2.enums import FileStatus

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git import activity
from oneiro_vault.vault.git.activity import Activity
from oneiro_vault.vault.git.commands import Commands
from oneiro_vault.vault.worktree.files import Stamp, stamp

FILE: Final = 0o100644
EXECUTABLE: Final = 0o100755
_ZERO: Final = "0" * 40
_SIGNATURE: Final = b"DIRC"
_ENDINGS: Final = (("sha1", 20), ("sha256", 32))
CONFLICTED: Final = int(FileStatus.CONFLICTED)
NEW: Final = int(FileStatus.WT_NEW)
MODIFIED: Final = int(FileStatus.WT_MODIFIED)
GONE: Final = int(FileStatus.WT_DELETED)
STAGED: Final = int(
    FileStatus.INDEX_NEW
    | FileStatus.INDEX_MODIFIED
    | FileStatus.INDEX_DELETED
    | FileStatus.INDEX_RENAMED
    | FileStatus.INDEX_TYPECHANGE
)
"""Flags of `Staging.status` (several may be set)."""
_FLAGS: Final = {
    "index": {
        "A": int(FileStatus.INDEX_NEW),
        "M": int(FileStatus.INDEX_MODIFIED),
        "D": int(FileStatus.INDEX_DELETED),
        "T": int(FileStatus.INDEX_TYPECHANGE),
    },
    "tree": {
        "?": int(FileStatus.WT_NEW),
        "M": int(FileStatus.WT_MODIFIED),
        "D": int(FileStatus.WT_DELETED),
        "T": int(FileStatus.WT_TYPECHANGE),
    },
}


class Entry(NamedTuple):
    """A file in a tree: hex blob id and git mode."""

    blob: str
    mode: int


class Locked(Exception):  # noqa: N818  (an outcome, not an error)
    """Another program (dead or alive) holds `lock`."""

    def __init__(self, lock: Path) -> None:
        super().__init__(str(lock))
        self.lock = lock


class Staging:
    """`.git/index`; formats libgit2 does not know (split, sparse) are asked of git itself."""

    def __init__(
        self, repo: Any, root: Path, git_dir: Path, commands: Commands, activity: Activity
    ) -> None:
        self._repo = repo
        self._thread = threading.RLock()  # libgit2's index is not made for two threads at once
        self._root = root
        self._git_dir = git_dir
        self._commands = commands
        self._activity = activity
        self._checked: Stamp = (-1, 0, 0)

    @property
    def file(self) -> Path:
        """`.git/index` of this work tree."""
        return self._git_dir / "index"

    def _read(self) -> pygit2.Index:
        """Raises pygit2.GitError when libgit2 cannot read it, GitProblem when it is damaged."""
        self.check()
        found: pygit2.Index = self._repo.index
        found.read(False)
        return found

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        """What the index holds for paths ("" = nothing). Raises RepositoryBusy for unmerged
        ones."""
        with self._thread:
            try:
                index = self._read()
            except (pygit2.GitError, OSError):
                return self._asked(list(paths))
            if index.conflicts is not None:
                raise activity.unmerged(
                    self._root, self._git_dir, lambda: list(self._repo.remotes.names())
                )
            return {path: str(index[path].id) if path in index else "" for path in paths}

    def check(self) -> None:
        """Raise GitProblem unless the index, if there is one, ends in its own checksum: libgit2
        trusts what it read before as long as those bytes are the same, git takes garbage for
        files."""
        now = stamp(self.file)
        if now == self._checked:
            return
        try:
            raw = self.file.read_bytes()
        except OSError:
            return
        endings = (
            (raw[-size:], hashlib.new(name, raw[:-size], usedforsecurity=False).digest())
            for name, size in _ENDINGS
        )
        if raw[:4] != _SIGNATURE or not any(
            end in (digest, bytes(len(digest))) for end, digest in endings
        ):
            raise GitProblem(f"the index of {self._root} is damaged")
        self._checked = now

    def _asked(self, paths: list[str]) -> dict[str, str]:
        """`blobs` from git, for index formats libgit2 does not know (split, sparse)."""
        found = dict.fromkeys(paths, "")
        for line in self._commands.text("ls-files", "-z", "--stage").split("\0"):
            words, _, path = line.partition("\t")
            if words and words.split()[2] != "0":
                raise activity.unmerged(
                    self._root, self._git_dir, lambda: list(self._repo.remotes.names())
                )
            if path in found:
                found[path] = words.split()[1]
        return found

    def put(self, wanted: Mapping[str, Entry | None], seen: Stamp | None = None) -> None:
        """Set or remove entries in one rewrite, with the write lock. Raises Locked when
        `index.lock` is taken, or was since the index was `seen`.

        libgit2 takes the lock for the writing only, so that the index is still the one that was
        read is looked at right before: what git writes in that instant is lost.
        """
        lock = self._git_dir / "index.lock"
        with self._thread:
            before = seen or stamp(self.file)
            try:
                index = self._read()
                for path, entry in wanted.items():
                    _set(index, self._root, path, entry)
                with self._activity.ours():
                    if lock.exists() or stamp(self.file) != before:
                        raise Locked(lock)
                    index.write()
            except (pygit2.GitError, OSError, Locked) as error:
                with suppress(pygit2.GitError, OSError):
                    self._repo.index.read(True)
                if isinstance(error, Locked):
                    raise
                if lock.exists() or "lock" in str(
                    error
                ):  # it may be free again by now, and taken again a moment later
                    raise Locked(lock) from error
                self._tell(wanted, lock)

    def _tell(self, wanted: Mapping[str, Entry | None], lock: Path) -> None:
        with tempfile.TemporaryFile() as file:
            for path, entry in wanted.items():
                mode, blob = (entry.mode, entry.blob) if entry else (0, _ZERO)
                file.write(b"%o %s\t%s\0" % (mode, blob.encode(), path.encode()))
            file.seek(0)
            try:
                with self._activity.ours():
                    self._commands.run("update-index", "-z", "--index-info", source=file)
            except GitProblem as error:
                if lock.name in str(error):
                    raise Locked(lock) from error
                raise

    def leave_out(self, paths: Iterable[str]) -> None:
        """Tell git that these are not in the folder on purpose; a courtesy, so it may fail."""
        with tempfile.TemporaryFile() as file:
            file.write(b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths))
            file.seek(0)
            with self._activity.ours():
                self._commands.attempt(
                    "update-index", "--skip-worktree", "-z", "--stdin", source=file
                )

    def rebuild(self, commit: str) -> None:
        """An index that equals a commit. Raises Locked when `index.lock` is taken."""
        lock = self._git_dir / "index.lock"
        if lock.exists():
            raise Locked(lock)
        with self._thread, self._activity.ours():
            index = self._repo.index
            index.clear()
            if commit:
                index.read_tree(self._repo[commit].tree)
            try:
                index.write()
            except pygit2.GitError as error:
                if "lock" in str(error):
                    raise Locked(lock) from error
                raise
            self._commands.attempt("update-index", "-q", "--refresh")

    def status(self) -> dict[str, int]:
        """path -> libgit2's flags of what differs between HEAD, index and disk, without ignored
        files. Raises GitProblem when the index is damaged."""
        with self._thread:
            self.check()
            try:
                found = dict(self._repo.status(untracked_files="all", ignored=False))
            except (pygit2.GitError, OSError):
                return self._told()
        if any(flags & GONE for flags in found.values()):
            for path in self._left_out() & found.keys():
                found[path] &= ~GONE
        return {path: flags for path, flags in found.items() if flags}

    def _left_out(self) -> set[str]:
        """What git does not expect in the folder (a sparse checkout, `leave_out`); libgit2 does not
        ask."""
        lines = self._commands.text("ls-files", "-z", "-v").split("\0")
        return {line[2:] for line in lines if line[:1] in ("S", "s", "h")}

    def _told(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for line in self._commands.text(
            "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"
        ).split("\0"):
            if line:
                found[line[3:]] = (
                    _FLAGS["index"].get(line[0], 0)
                    | _FLAGS["tree"].get(line[1], 0)
                    | (CONFLICTED if "U" in line[:2] or line[:2] in ("AA", "DD") else 0)
                )
        return found


def _set(index: pygit2.Index, root: Path, path: str, entry: Entry | None) -> None:
    """With the file's stat data when the file is what the commit says, else git will look at it
    again."""
    if entry is None:
        if path in index:
            index.remove(path)
        return
    wanted = pygit2.Oid(hex=entry.blob)
    try:
        if (
            pygit2.hashfile(str(root / path)) == wanted
        ):  # else `add` would store a blob that nobody needs
            index.add(path)
            if index[path].id == wanted:
                return
    except (OSError, KeyError, ValueError, pygit2.GitError):
        pass  # not on disk, or not readable
    index.add(pygit2.IndexEntry(path, wanted, pygit2.enums.FileMode(entry.mode)))
