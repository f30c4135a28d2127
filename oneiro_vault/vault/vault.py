"""One door: every change of a machine becomes one commit here. What a person changed is `edits`,
what is wrong `health`, and what can be asked are the parts (`parts`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneiro_vault.api import Progress
from oneiro_vault.core.memory import named
from oneiro_vault.errors import (
    Brake,
    DiskProblem,
    InvalidInput,
    LockTimeout,
    NotFound,
    StaleMemory,
)
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Operation, Receipt, Remove, Write
from oneiro_vault.vault.git.staging_area import Entry
from oneiro_vault.vault.health.problems import Health
from oneiro_vault.vault.history import commit_log, undo
from oneiro_vault.vault.history.undo import Undo
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.secrets.secret_scan import OFF, Secrets, refusal
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.commit_edits import Person
from oneiro_vault.vault.worktree.files import digest, is_note, twin_key
from oneiro_vault.vault.write import disk, merge_commit
from oneiro_vault.vault.write.journal import owed
from oneiro_vault.vault.write.writer import (
    Order,
    Planner,
    Refusals,
    machine,
    validate,
)

RESERVE: Final = 50_000_000
FEW: Final = 10
"""Up to this many notes may always be taken out in one operation."""
Check = Callable[[str], None]


class _Asked(NamedTuple):
    """What one commit is to be; `invented`: by a writer, not brought back out of history."""

    changes: Sequence[Change]
    operation: Operation
    events: tuple[Mapping[str, Any], ...]
    progress: Progress | None = None
    invented: bool = True
    check: Check | None = None
    refused: Refusals | None = None


class Vault(Parts):
    """A vault's files and history. Safe to use from several threads and processes; `open` makes
    one."""

    def __init__(
        self, root: Path, clock: Callable[[], float], quiet: float, secrets: Secrets, **gate: Any
    ) -> None:
        super().__init__(root, clock, secrets, **gate)
        self.edits = Person(self, quiet)
        self.health = Health(self, self.edits)
        self._planner = Planner(self.repo, self.files)

    @classmethod
    def open(
        cls, root: Path, *, clock: Callable[[], float] = time.time, quiet: float = 30.0,
        wait: float = 10.0, reserve: int = RESERVE,
        secrets: Secrets = OFF, lazy_index: bool = False, small_index: int = 0,
    ) -> Vault:  # fmt: skip
        """The vault whose repository is exactly `root`, repaired if something died in it.

        `quiet`: seconds a person's file must rest; `wait`: seconds for locks; `reserve`: bytes that
        must stay free; `lazy_index`: leave a `.git/index` larger than `small_index` bytes to
        `gate.flush` (for a process that stays). Raises VaultNotFound. A disk that cannot be
        written is no obstacle to reading.
        """
        vault = cls(
            Path(os.path.realpath(root)),
            clock,
            quiet,
            secrets,
            wait=wait,
            reserve=reserve,
            lazy_index=lazy_index,
            small=small_index,
        )
        if vault.recovery.needed():
            try:
                with vault.gate.locked():
                    vault.gate.recover()
            except (DiskProblem, LockTimeout):
                pass  # the next write will say so; reading works
        vault.health.rewritten()
        return vault

    def close(self) -> bool:
        """Settle what is owed to the index; False when something is in the way."""
        return self.gate.flush()

    # -- reading

    def read(self, path: str) -> bytes:
        """The bytes of a file on disk. Raises NotFound, UnsafePath or DiskProblem."""
        with disk.guarded(f"Reading {path}"):
            data = self.files.content(path)
        if data is None:
            raise NotFound(f"there is no file {path}", hint="`oneiro list` shows what there is.")
        return data

    def listing(self, commit: str = "") -> dict[str, str]:
        """Every note of a commit (default: the tip), path -> blob id."""
        found = self.repo.listing(commit or self.repo.tip())
        return {path: entry.blob for path, entry in found.items() if is_note(path)}

    # -- writing

    def apply(
        self,
        changes: Sequence[Change],
        operation: Operation,
        *,
        events: Sequence[Mapping[str, Any]] = (),
        progress: Progress | None = None,
        check: Check | None = None,
        each: bool = False,
    ) -> Receipt:
        """Make the changes one durable commit; returning is the acknowledgement.

        `events` (see `ledger.make`) go into the same commit. `check` is asked with the write lock
        held, with the tip the commit will stand on, and refuses by raising. Raises InvalidInput,
        UnsafePath, StaleMemory, RepositoryBusy, LockTimeout, DiskProblem or Brake; nothing was
        written then. With `each`, what is wrong with single changes is `refused` in the receipt.
        """
        refused: Refusals | None = {} if each else None
        return self._apply(
            _Asked(changes, operation, tuple(events), progress, check=check, refused=refused)
        )

    def _apply(self, asked: _Asked, brake: bool = True) -> Receipt:
        validate(asked.changes, asked.refused)
        if asked.invented:  # what comes back out of history is in history already
            changes, operation = self.secrets.screened(
                asked.changes, asked.operation, self.in_history, asked.refused
            )
            asked = asked._replace(changes=changes, operation=operation)
        if asked.refused:
            return Receipt("", refused=asked.refused)
        self.erased.refuse(asked.changes, asked.events, self.in_history)
        with self.gate.writing():
            if brake:
                self._brake(asked.changes)
            return self.gate.retried(partial(self._attempt, asked))

    def _attempt(self, asked: _Asked, ref: str, tip: str) -> Receipt | None:
        """None asks for a try on another tip."""
        if asked.check is not None:
            asked.check(tip)
        before = self.repo.activity.snapshot()
        waiting = owed(self.journal.intents)
        with disk.guarded("Reading the notes"):
            plan = self._planner.plan(
                tip, asked.changes, waiting, invented=asked.invented, refused=asked.refused
            )
        if asked.refused:
            return Receipt("", refused=asked.refused)
        if plan.edits:
            self._check_edits(plan.edits)
            self.edits.first(ref, tip, plan.edits, before)
            return None
        changes: dict[str, Entry | None] = dict.fromkeys(plan.removes)
        for path, data in plan.writes.items():
            changes[path] = Entry(self.repo.add(data), plan.modes[path])
        if not changes and not (asked.events or self.ledger.waiting()):
            return Receipt("", proposals=plan.proposals)
        text = commit_log.message(asked.operation, self.ledger.device)
        order = Order(
            ref, tip, changes, text, machine(asked.operation.actor), self.clock(),
            dict(plan.writes), asked.events, tuple(plan.removes),
        )  # fmt: skip
        commit = self.writer.commit(order, progress=asked.progress)
        written = {path: digest(data) for path, data in plan.writes.items()}
        return Receipt(commit, written, tuple(plan.removes), plan.proposals) if commit else None

    def _check_edits(self, edits_: Mapping[str, bytes | None]) -> None:
        for path, found in self.edits.secrets(edits_).items():
            raise refusal(f"what a person left uncommitted in {self.secrets.cleaned(path)}", found)
        writes = [Write(path, data) for path, data in edits_.items() if data is not None]
        self.erased.refuse(writes, (), self.in_history)

    def fold(self) -> Receipt:
        """Commit the pending ledger events, if there are any."""
        return self.apply((), Operation("ledger", "events of this device", actor="dream"))

    def _brake(self, changes: Sequence[Change]) -> None:
        gone = {
            change.path for change in changes if isinstance(change, Remove) and is_note(change.path)
        }
        if len(gone) > FEW and len(gone) * 2 > len(self.listing()):
            raise Brake(
                f"{len(gone)} notes would be removed at once, more than half of the vault",
                kept="Nothing was removed.",
                hint="Remove them in smaller steps.",
            )

    def merge(
        self, decide: merge_commit.Decide, operation: Operation, progress: Progress | None = None
    ) -> Receipt:
        """Join another history to ours by one commit with two parents (or by moving the branch,
        when ours is part of theirs).

        `decide` is asked with the write lock held. Raises RepositoryBusy when files are in the way
        that only a person can settle, UnsafePath, LockTimeout, DiskProblem, and what `decide`
        raises; nothing was changed then.
        """
        joiner = merge_commit.Joiner(self, self.edits, decide, operation, progress)
        with self.gate.writing():
            return self.gate.retried(joiner.join)

    # -- taking back

    def forget(
        self,
        memory: str,
        path: str,
        base: str,
        actor: str = "user",
        reason: str = "",
        untold: Sequence[Write] = (),
    ) -> Receipt:
        """Leaves a tombstone (id and hashes, no content). The bytes stay in history. `untold`: the
        notes that quoted it, without its words, in the same commit."""
        data = self.read(path)
        title = edits.identify(path, data)[1]
        words = edits.words_of(
            path, data
        )  # so that reading the same file of memories again does not bring it back
        marks = {"words": words, "called": named(title) if title else ""}
        tombstone = ledger.make(
            "tombstone",
            memory,
            self.clock(),
            sha256=base,
            actor=actor,
            **{name: mark for name, mark in marks.items() if mark},
        )
        operation = Operation("forget", title, actor, (memory,) if memory else (), reason)
        return self.apply([Remove(path, base), *untold], operation, events=[tombstone])

    def purge(
        self, changes: Sequence[Remove], operation: Operation, events: Sequence[Mapping[str, Any]]
    ) -> Receipt:
        """The first step of a purge: however many notes that are, they leave the tree."""
        return self._apply(_Asked(changes, operation, tuple(events), invented=False), brake=False)

    def restore(self, memory: str, actor: str = "user") -> Receipt:
        """Byte for byte, with its id in its name where another file has taken that. `memory` may be
        a prefix of its id (4 or more characters)."""
        found = undo.lost(self.repo, self.history, memory)
        if why := self.erased.in_file(found.path, found.data):
            raise NotFound(f"{found.memory} cannot come back: {why}")
        title = edits.identify(found.path, found.data)[1]
        event = ledger.make(
            "restore", found.memory, self.clock(), sha256=digest(found.data), actor=actor
        )
        operation = Operation(
            "restore", title, actor, (found.memory,), f"was removed in {found.commit[:12]}"
        )
        path = self._unused(found.path, found.memory)
        return self._apply(_Asked([Write(path, found.data)], operation, (event,), invented=False))

    def _unused(self, path: str, memory: str) -> str:
        """A path for it: with its id, when a file of that name is another memory's."""
        folder, _, name = path.rpartition("/")
        for other in self.files.names(folder) if memory not in name else ():
            place = f"{folder}/{other}" if folder else other
            if twin_key(other) == twin_key(name):
                mine = edits.identify(place, self.files.content(place) or b"")[0] == memory
                return path if mine else f"{path[:-3]}-{memory}.md"
        return path

    def undo(
        self, commit: str, actor: str = "user", forgotten: Container[str] = frozenset()
    ) -> Receipt:
        """A new commit (op `restore`) that gives every note of `commit` the bytes it had before; no
        block of the orientation tells again what was `forgotten` (ids), here and below.

        Raises StaleMemory naming the later commit when one of them changed since, InvalidInput for
        merges and the first commit, and Brake for anybody but a person.
        """
        return self._take_back(
            undo.plan(self.repo, self.history, self.log.find(commit), self.head()),
            actor,
            forgotten,
        )

    def undo_run(
        self, run: str, actor: str = "user", forgotten: Container[str] = frozenset()
    ) -> Receipt:
        """The same of every note a run of a loop touched; its report stays.

        Raises NotFound for a run nobody made, StaleMemory when one of the notes changed since.
        """
        return self._take_back(
            undo.plan_run(self.repo, self.history, run, self.head()),
            actor,
            forgotten,
            f"run {run}",
        )

    def undo_rest(
        self, run: str, actor: str = "user", forgotten: Container[str] = frozenset()
    ) -> tuple[list[Receipt], Mapping[str, str]]:
        """Take back each decision of a run that still stands; path -> why of what stays."""
        receipts: list[Receipt] = []
        left: dict[str, str] = {}
        gone = commit_log.taken_back(self.history.undoings())
        for entry in [
            one
            for one in self.history.runs(run)
            if one.run == run and one.decision and one.commit not in gone
        ]:
            try:
                receipts.append(self.undo(entry.commit, actor, forgotten))
            except StaleMemory:
                left |= undo.changed(self.repo, self.history, entry.commit, self.head())
            except InvalidInput:
                continue  # it changed no note
        return receipts, left

    def undo_source(
        self, source: str, actor: str = "user", forgotten: Container[str] = frozenset()
    ) -> tuple[Receipt, Mapping[str, str]]:
        """Take back what came from a source and what loops did because of it; path -> why of what
        stays. Raises as `undo.plan_source` does."""
        traced = undo.plan_source(self.repo, self.history, source, self.head(), self.files.blob)
        return self._take_back(traced.undo, actor, forgotten, f"source {source}"), traced.left

    def _take_back(
        self, plan: Undo, actor: str, forgotten: Container[str], what: str = ""
    ) -> Receipt:
        plan = undo.untold(self.repo, self.history, plan, forgotten)
        events = plan.recorded(self.clock(), actor)
        operation = Operation(
            "restore", plan.title, actor, plan.memories, f"undo of {what or plan.commit}"
        )
        asked = _Asked(plan.changes, operation, events, invented=False)
        return self._apply(asked, brake=actor != "user")
