"""The order of a write. One commit goes through these steps and may die between any two of them:

objects in memory → their files and the intent, durable together → compare-and-swap of the branch →
branch durable: acknowledged → notes on disk, where they still hold what the commit replaced → index
entries → witness → journal empty.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from oneiro_vault.api import Progress
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
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry
from oneiro_vault.vault.ledger import Ledger, encode
from oneiro_vault.vault.worktree.edits import MOMENT, has_markers
from oneiro_vault.vault.worktree.files import Files, checked, digest, portable, twin_key
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import Intent, Journal, Owed

_KEPT = "Nothing was written."


@dataclass
class Plan:
    """`edits`: the person's own uncommitted bytes (None = deleted), to be committed first.
    `proposals`: path wanted -> path of the pending note."""

    edits: dict[str, bytes | None] = field(default_factory=dict)
    writes: dict[str, bytes] = field(default_factory=dict)
    removes: list[str] = field(default_factory=list)
    proposals: dict[str, str] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)


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
            plan.modes[path] = known.mode if known else FILE

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


log = logging.getLogger("oneiro.vault")
MACHINE = "oneiro@localhost"


@dataclass
class Order:
    """One commit to make on top of `tip`: `changes` (None = gone), `data` to put on disk.

    Of a merge: the `other` parent, and paths that are `brought` from it as they are; with `forward`
    that parent is itself the new tip.
    """

    ref: str
    tip: str
    changes: dict[str, Entry | None]
    message: str
    author: tuple[str, str]
    when: float
    data: dict[str, bytes] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[str, ...] = ()
    other: str = ""
    brought: tuple[str, ...] = ()
    forward: bool = False

    def to_write(self, repo: Repo) -> Iterator[tuple[str, bytes, int]]:
        """(path, bytes, git mode) of every file to put on disk; those of a merge are read one at a
        time."""
        for path in dict.fromkeys((*self.data, *self.brought)):
            entry = self.changes[path]
            assert entry is not None, "what has bytes is not taken away"
            yield path, self.data[path] if path in self.data else repo.data(entry.blob), entry.mode


def machine(actor: str) -> tuple[str, str]:
    """Author and committer of a machine's commit.

    An address that cannot receive mail, so that no hosting site shows a person as the author of
    words a machine wrote; who asked for it is the actor.
    """
    return f"oneiro ({actor or 'user'})", MACHINE


class Writer:
    """Makes commits. Every method is called with the write lock held."""

    def __init__(self, repo: Repo, files: Files, journal: Journal, ledger: Ledger) -> None:
        self._repo = repo
        self._files = files
        self._journal = journal
        self._ledger = ledger

    def commit(self, order: Order, *, progress: Progress | None = None, fold: bool = True) -> str:
        """Returns the commit, "" when another program moved the branch first.

        Raises DiskProblem (nothing happened), Locked (ditto). What fails after the branch is
        durable is caught up later.
        """
        folded = self._fold(order) if fold else ""
        try:
            intent, name = self._prepare(order, folded)
        finally:
            self._repo.discard()
        if not self._move(order, intent):
            return ""
        reach("moved")
        temps, whole = self._stage(order, progress)
        with disk.guarded("Making the commit durable"):
            disk.sync([*name, *self._repo.ref_files(order.ref), *temps.values()])
        reach("durable")
        self._ledger.taken(intent.fold)
        reach("unfolded")
        if self._publish(order, intent, temps, progress) and whole:
            self._journal.done(intent)
        reach("files")
        return intent.commit

    def _fold(self, order: Order) -> str:
        """Add the pending events and the operation's own; returns the digest that marks them as
        folded."""
        with disk.guarded("Reading the pending ledger"):
            lines = self._ledger.take()
        reach("folded")
        new = lines + encode(order.events)
        if not new:
            return ""
        path = self._ledger.file(order.when)
        known = order.changes.get(path) or self._repo.entry(order.tip, path)
        old = (
            order.data[path]
            if path in order.data
            else self._ledger.committed(path, known.blob)
            if known
            else b""
        )
        data = old + (b"\n" if old and not old.endswith(b"\n") else b"") + new
        order.changes[path] = Entry(self._repo.add(data), FILE)
        order.data[path] = data
        return digest(lines) if lines else ""

    def _prepare(self, order: Order, folded: str) -> tuple[Intent, list[str]]:
        """The durable intent, and the object folders still to fsync."""
        commit = order.other if order.forward else self._made(order)
        reach("built")
        paths = {path: self._step(order.tip, path, entry) for path, entry in order.changes.items()}
        intent = Intent(order.ref, order.tip, commit, paths, folded)
        with disk.guarded("Writing the commit"):
            stored = self._repo.store()
            reach("objects")
            try:
                self._journal.begin(intent)
                disk.sync([*stored.files, *self._journal.files])
                folders = stored.name()
            except OSError:
                stored.drop()
                raise
        reach("journal")
        return intent, folders

    def _made(self, order: Order) -> str:
        also = [order.other] if order.other else []
        return self._repo.commit(
            order.tip, order.changes, order.message, order.author, order.author, order.when, also
        )

    def _step(self, tip: str, path: str, entry: Entry | None) -> tuple[str, str, int]:
        known = self._repo.entry(tip, path)
        return (
            known.blob if known else "",
            entry.blob if entry else "",
            entry.mode if entry else 0,
        )

    def _move(self, order: Order, intent: Intent) -> bool:
        moved = False
        try:
            moved = self._repo.move(order.ref, order.tip, intent.commit)
        finally:
            if not moved:
                self._journal.void(intent)
        return moved

    def _stage(self, order: Order, progress: Progress | None) -> tuple[dict[str, str], bool]:
        """Under temporary names; False when some could not be written (caught up later)."""
        temps: dict[str, str] = {}
        total = len(order.data.keys() | set(order.brought))
        for count, (path, data, mode) in enumerate(order.to_write(self._repo)):
            try:
                temps[path] = self._files.stage(path, data)
                if mode == EXECUTABLE:
                    self._files.make_executable(path, temps[path])
            except (OSError, OneiroError) as error:
                log.warning("%s is in history but not yet on disk: %s", path, error)
                return temps, False
            _tell(progress, "writing", count, total)
        reach("note-temp")
        return temps, True

    def _publish(
        self, order: Order, intent: Intent, temps: Mapping[str, str], progress: Progress | None
    ) -> bool:
        """Each only if the disk holds what the commit replaced."""
        try:
            for path, temp in temps.items():
                if not self._files.publish(path, temp, intent.paths[path][0]):
                    log.warning(
                        "%s was changed meanwhile: the person's text stays and will be committed "
                        "on top",
                        path,
                    )
                reach("note")
            for path in order.removed:
                self._files.remove(path, intent.paths[path][0])
                reach("note")
        except (OSError, OneiroError) as error:
            log.warning("a note is in history but not yet on disk: %s", error)
            return False
        _tell(progress, "writing", len(temps), len(temps))
        return True


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None and (done == total or done % 100 == 0):
        progress(what, done, total)
