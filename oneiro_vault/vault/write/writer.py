"""The order of a write. One commit goes through these steps and may die between any two of them:

objects in memory → their files and the intent, durable together → compare-and-swap of the branch →
branch durable: acknowledged → notes on disk, where they still hold what the commit replaced → index
entries → witness → journal empty.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oneiro_vault.errors import OneiroError
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry
from oneiro_vault.vault.ledger import Ledger, encode
from oneiro_vault.vault.worktree.files import Files, digest
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import Intent, Journal

log = logging.getLogger("oneiro.vault")
Progress = Callable[[str, int, int], None]
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
            else self._ledger.committed(self._repo, path, known.blob)
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
