"""What changes mean against the branch and the disk as they are now. Disk wins: where a person was
faster, words become a proposal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from oneiro_vault.core.memory import is_id
from oneiro_vault.core.tree_diff import Stat, blob_id
from oneiro_vault.errors import (
    InvalidInput,
    OneiroError,
    RepositoryBusy,
    StaleMemory,
    UnsafePath,
    shown,
)
from oneiro_vault.vault.change import Change, Remove, Write
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import FILE, Entry
from oneiro_vault.vault.paths import checked, portable, twin_key
from oneiro_vault.vault.worktree.edits import MOMENT, has_markers
from oneiro_vault.vault.worktree.files import Files, digest
from oneiro_vault.vault.write.journal import Owed

_KEPT = "Nothing was written."


@dataclass
class Plan:
    """`edits`: the person's own uncommitted bytes (None = deleted), to be committed first.
    `proposals`: path wanted -> path of the pending note."""

    edits: dict[str, bytes | None] = field(default_factory=dict)
    writes: dict[str, bytes] = field(default_factory=dict)
    removes: list[str] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    entries: dict[str, Entry | None] = field(default_factory=dict)


Refusals = dict[int, OneiroError]
"""Position of a change -> why it cannot be made."""


@contextmanager
def noting(refused: Refusals | None, position: int) -> Iterator[None]:
    """Note in `refused` what is wrong with one change; without it, raise."""
    try:
        yield
    except (InvalidInput, StaleMemory, RepositoryBusy) as error:
        if refused is None:
            raise
        refused[position] = error


def validate(changes: Sequence[Change], refused: Refusals | None = None) -> None:
    """Refuse what could never be written: unsafe or repeated paths."""
    seen: set[str] = set()
    for position, change in enumerate(changes):
        with noting(refused, position):
            for path in _paths(change):
                if checked(path) in seen:
                    raise InvalidInput(f"{shown(path)} is the path of another one here", kept=_KEPT)
                seen.add(path)


class Planner:
    """Compares changes with one captured tip."""

    def __init__(self, repo: Repo, files: Files) -> None:
        self._repo = repo
        self._files = files

    def plan(
        self,
        tip: str,
        changes: Sequence[Change],
        owed: dict[str, Owed],
        *,
        invented: bool = True,
        refused: Refusals | None = None,
    ) -> Plan:
        """Raises StaleMemory, RepositoryBusy (staged by the person) or UnsafePath, unless `refused`
        takes them. `invented`: new names must be portable."""
        self._begin(tip, changes, owed, invented=invented)
        plan = Plan()
        for position, change in enumerate(changes):
            with noting(refused, position):
                if isinstance(change, Remove):
                    self._remove(plan, change)
                else:
                    self._write(plan, change)
        return plan

    def _begin(
        self, tip: str, changes: Sequence[Change], owed: dict[str, Owed], *, invented: bool
    ) -> None:
        self._tip, self._invented = tip, invented
        self._index = self._repo.staging.blobs(
            [path for change in changes for path in _paths(change)]
        )
        self._owed = owed
        self._twins: dict[str, dict[str, str]] = {}

    def _write(self, plan: Plan, change: Write) -> None:
        if (
            change.base is None
            and change.path.startswith("attachments/")
            and self._stored(plan, change)
        ):
            return
        try:
            self._check(plan, change.path, change.base)
        except StaleMemory:
            if change.proposal is None:
                raise
            path, data = change.proposal
            self._check(plan, path, None)
            plan.proposals[change.path] = path
            self._put(plan, path, data)
        else:
            self._put(plan, change.path, change.data)

    def _stored(self, plan: Plan, change: Write) -> bool:
        """Does the branch hold exactly this file, or has the person put it there or deleted it
        (which goes in first)?"""
        data, known, wanted = (
            self._files.content(change.path),
            self._repo.entry(self._tip, change.path),
            blob_id(change.data),
        )
        same = known is not None and known.blob == wanted
        if not same if data is None else data != change.data:
            return False
        self._unstaged(change.path, known)
        if not (same and data is not None):
            plan.edits[change.path] = data
        return True

    def _put(self, plan: Plan, path: str, data: bytes) -> None:
        known = self._repo.entry(self._tip, path)
        if known is None or known.blob != blob_id(data) or path in plan.edits:
            plan.writes[path] = data
            plan.entries[path] = Entry("", known.mode if known else FILE)

    def _remove(self, plan: Plan, change: Remove) -> None:
        known = self._repo.entry(self._tip, change.path)
        if (
            known is not None
            and self._files.content(change.path) is None
            and digest(self._repo.data(known.blob)) == change.base
        ):
            self._unstaged(change.path, known)  # the person deleted it already: agreed
        else:
            self._check(plan, change.path, change.base)
        plan.removes.append(change.path)

    def _check(self, plan: Plan, path: str, base: str | None) -> None:
        """Also notes the person's own edit that must be committed before."""
        data = self._files.content(path)
        known = self._repo.entry(self._tip, path)
        if base is None:
            self._check_new(path, data, known)
            return
        if data is None or digest(data) != base:
            raise StaleMemory(
                f"{path} changed since it was read" if data is not None else f"{path} is not "
                                                                             f"there any more",
                kept="The file on disk stays as it is.",
                hint="Read it again and repeat the change.",
            )  # fmt: skip
        if has_markers(data):
            raise StaleMemory(
                f"{path} holds unresolved conflict markers",
                kept="The file stays as it is.",
                hint="Resolve them first.",
            )
        self._unstaged(path, known)
        if known is None or known.blob != blob_id(data):
            self._whole(path, data)
            plan.edits[path] = data

    def _whole(self, path: str, data: bytes) -> None:
        """A text that is a moment old may be half of what their editor is writing."""
        stat = self._files.stat(path)
        age = time.time() - stat.mtime_ns / 1e9 if isinstance(stat, Stat) else MOMENT
        if 0 <= age < MOMENT:
            time.sleep(MOMENT - age)
        if self._files.content(path) != data:
            raise StaleMemory(
                f"{path} is being written",
                kept="The file on disk stays as it is.",
                hint="Read it again and repeat the change.",
            )

    def _check_new(self, path: str, data: bytes | None, known: Entry | None) -> None:
        if data is not None or known is not None:
            raise StaleMemory(
                f"{path} exists already",
                kept="The file on disk stays as it is.",
                hint="Read it first, or choose another name.",
            )
        if self._invented:
            portable(path)
            self._no_twin(path)
        if self._repo.is_folder(self._tip, path):
            raise UnsafePath(f"{path} is a folder", kept=_KEPT)
        self._unstaged(path, None)

    def _unstaged(self, path: str, known: Entry | None) -> None:
        """A staged path is the person's until they commit."""
        staged = self._index[path]
        owe = self._owed.get(path)
        if staged not in (
            {known.blob if known else ""} | (owe.olds | {owe.blob} if owe else set())
        ):
            raise RepositoryBusy(
                f"{path} has staged changes that are not committed",
                kept="The staged text stays staged.",
                hint="Commit or unstage it (git restore --staged).",
            )

    def _no_twin(self, path: str) -> None:
        """On a case-insensitive disk two names may be one file."""
        folder, _, name = path.rpartition("/")
        if name == name.lower() and name.isascii() and is_id(name[-15:-3]):
            return  # random letters end it: no listing of a large folder for that
        if folder not in self._twins:
            self._twins[folder] = {twin_key(other): other for other in self._files.names(folder)}
        other = self._twins[folder].setdefault(twin_key(name), name)
        if other != name:
            raise UnsafePath(
                f"{path!r} would be the same file as {other!r} on some systems",
                kept=_KEPT,
                hint="Choose another name.",
            )


def _paths(change: Change) -> list[str]:
    if isinstance(change, Write) and change.proposal is not None:
        return [change.path, change.proposal[0]]
    return [change.path]
