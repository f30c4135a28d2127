"""One door: every change becomes one commit here, and everything the history knows is asked
here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from oneiro_vault.core.memory import named
from oneiro_vault.core.tree_diff import Refused
from oneiro_vault.errors import (
    Brake,
    DiskProblem,
    GitProblem,
    InvalidInput,
    LockTimeout,
    NotFound,
    RepositoryBusy,
    StaleMemory,
    shown,
)
from oneiro_vault.vault import ledger
from oneiro_vault.vault.change import Change, Operation, Receipt, Remove, Write
from oneiro_vault.vault.git.activity import PURGING
from oneiro_vault.vault.git.merge_driver import register_driver
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Entry
from oneiro_vault.vault.health import repair
from oneiro_vault.vault.health.problems import DAMAGE, REWRITTEN, Problem, damaged, find
from oneiro_vault.vault.history import commit_log, undo
from oneiro_vault.vault.history.undo import Undo
from oneiro_vault.vault.purge.denylist import Erased
from oneiro_vault.vault.secrets.secret_scan import OFF, Secrets, refusal, told
from oneiro_vault.vault.worktree import commit_edits, edits
from oneiro_vault.vault.worktree.commit_edits import Person
from oneiro_vault.vault.worktree.files import Files, digest, is_note, stamp, twin_key
from oneiro_vault.vault.write import disk, merge_commit
from oneiro_vault.vault.write.journal import Journal, owed
from oneiro_vault.vault.write.recovery import Recovery, mend_head
from oneiro_vault.vault.write.write_lock import Gate, Rewritten
from oneiro_vault.vault.write.writer import (
    Order,
    Planner,
    Progress,
    Refusals,
    Writer,
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


class Vault:
    """A vault's files and history. Safe to use from several threads and processes; `open` makes
    one."""

    def __init__(
        self, root: Path, clock: Callable[[], float], quiet: float, secrets: Secrets, **gate: Any
    ) -> None:
        self.root = root
        self.files = Files(root)
        self.repo = _opened(root)
        self.folder = self.repo.git_dir / "oneiro"
        self.journal = Journal(self.folder)
        self.ledger = ledger.Ledger(self.folder, root)
        self.history = commit_log.History(self.repo.commands)
        self.past = commit_log.Past(self.repo)
        self.erased = Erased(self.repo)
        self.recovery = Recovery(self.repo, self.files, self.journal, self.ledger)
        self.clock = clock
        self.secrets = secrets
        self.gate = Gate(self.repo, self.journal, self.recovery, **gate)
        self._writer = Writer(self.repo, self.files, self.journal, self.ledger)
        self._planner = Planner(self.repo, self.files)
        self._person = Person(self, self._writer, quiet)

    @classmethod
    def open(
        cls, root: Path, *, clock: Callable[[], float] = time.time, quiet: float = 30.0,
        wait: float = 10.0, reserve: int = RESERVE,
        secrets: Secrets = OFF, lazy_index: bool = False, small_index: int = 0,
    ) -> Vault:  # fmt: skip
        """The vault whose repository is exactly `root`, repaired if something died in it.

        `quiet`: seconds a person's file must rest; `wait`: seconds for locks; `reserve`: bytes that
        must stay free; `lazy_index`: leave a `.git/index` larger than `small_index` bytes to
        `flush_index` (for a process that stays). Raises VaultNotFound. A disk that cannot be
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
        vault.rewritten()
        return vault

    def close(self) -> bool:
        """Settle what is owed to the index; False when something is in the way."""
        return self.flush_index()

    def flush_index(self) -> bool:
        """Bring `.git/index` up to date; False when something is in the way (it is remembered)."""
        return self.gate.flush()

    # -- reading

    def read(self, path: str) -> bytes:
        """The bytes of a file on disk. Raises NotFound, UnsafePath or DiskProblem."""
        with disk.guarded(f"Reading {path}"):
            data = self.files.content(path)
        if data is None:
            raise NotFound(f"there is no file {path}", hint="`oneiro list` shows what there is.")
        return data

    def in_history(self, path: str) -> bytes:
        """The bytes of a file at the tip, b"" when it is not there."""
        return self.repo.content(self.head(), path)

    def head(self) -> str:
        """Hex id of the tip, "" when there is no commit yet."""
        return self.repo.tip()

    def changed_between(self, old: str, new: str) -> list[str]:
        """Paths that differ between two tips ("" = nothing)."""
        return sorted(self.repo.difference(old, new))

    def listing(self, commit: str = "") -> dict[str, str]:
        """Every note of a commit (default: the tip), path -> blob id."""
        found = self.repo.listing(commit or self.repo.tip())
        return {path: entry.blob for path, entry in found.items() if is_note(path)}

    def log(
        self, limit: int | None = None, *, memory: str = "", path: str = "", quick: bool = False
    ) -> list[commit_log.Entry]:
        """The log, newest first; of one memory (by id, path or both), under every name its file
        had; `quick`: a name without its id that a person gave it long ago may be missed."""
        if not self.head():
            return []
        if memory and quick:
            found = self.history.touching(memory, path)[:limit]
        elif memory or path:
            found = self.history.of(memory, path, limit=limit)
        else:
            found = self.history.log(limit)
        return [self.erased.veiled(entry) for entry in found] if self.erased.stamp() else found

    def show(self, commit: str) -> commit_log.Entry:
        """One commit with the paths it touched. Raises NotFound."""
        return self.erased.veiled(self.history.log(1, start=self._commit(commit))[0])

    def _commit(self, name: str) -> str:
        found = self.repo.resolve(name) if name and not name.startswith("-") else ""
        if not found or not self.repo.contains(found, self.head()):
            raise NotFound(
                f"there is no commit {shown(name)} in this vault's history",
                hint="`oneiro log` lists them.",
            )
        return found

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
            self._person.first(ref, tip, plan.edits, before)
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
        commit = self._writer.commit(order, progress=asked.progress)
        written = {path: digest(data) for path, data in plan.writes.items()}
        return Receipt(commit, written, tuple(plan.removes), plan.proposals) if commit else None

    def _check_edits(self, edits_: Mapping[str, bytes | None]) -> None:
        for path, found in self._person.secrets(edits_).items():
            raise refusal(f"what a person left uncommitted in {self.secrets.cleaned(path)}", found)
        writes = [Write(path, data) for path, data in edits_.items() if data is not None]
        self.erased.refuse(writes, (), self.in_history)

    def fold(self) -> Receipt:
        """Commit the pending ledger events, if there are any."""
        return self.apply((), Operation("ledger", "events of this device", actor="dream"))

    def events_wait(self, longer: float, besides: str = "") -> bool:
        """Has a ledger event, of any kind `besides` that one, waited so many seconds for a
        commit?"""
        first = min(
            (str(event.get("t", "")) for event in self.ledger.waiting() if event["e"] != besides),
            default="",
        )
        return bool(first) and first <= ledger.moment(self.clock() - longer)

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

    # -- the person's edits

    def commit_edits(
        self, paths: Iterable[str] | None = None, *, quiet: float | None = None
    ) -> list[Receipt]:
        """Commit what a person changed on disk (all of it, or `paths`) under their own identity;
        files still in use wait, and so does everything while git is at work. More deletions than a
        handful are left to the person.

        Raises RepositoryBusy, LockTimeout or DiskProblem.
        """
        return self._person.commit(None if paths is None else list(paths), quiet)

    def held(self, path: str, data: bytes) -> str:
        """The secret that keeps an uncommitted text of a person out of history, "" for none."""
        return "".join(map(told, self._person.secrets({path: data}).values()))

    def adopt(
        self,
        *,
        everything: bool = False,
        also: Iterable[str] = (),
        progress: Progress | None = None,
    ) -> tuple[list[str], list[Refused]]:
        """Commit files that are not in history yet, as they are: notes and attachments, or
        `everything`, and `also` files of ours. Returns the paths taken in, and what was left
        out."""
        with self.gate.writing():
            return self.gate.retried(
                lambda ref, tip: commit_edits.adopt(
                    self, self._writer, ref, tip, everything, set(also), progress
                )
            )

    # -- events

    def use(self, memory: str, event: str, **fields: Any) -> None:
        """Note a recall or a citation; it rides along in the next commit. Raises DiskProblem."""
        with disk.guarded("Noting an event"):
            self.ledger.append([ledger.make(event, memory, self.clock(), **fields)])

    def events(self) -> Iterator[ledger.Event]:
        """Every event once, by its time: as the tip has them, and this device's pending ones."""
        tip = self.head()
        files = self.repo.listing(tip, ledger.FOLDER)
        known = (
            event
            for path in sorted(files)
            if path.endswith(".jsonl")
            for event in self._told(path, files[path].blob)
        )
        found = ledger.once(event for source in (known, self.ledger.waiting()) for event in source)
        yield from sorted(found, key=lambda event: str(event.get("t", "")))

    def _told(self, path: str, blob: str) -> Iterator[ledger.Event]:
        """None, rather than no answer at all, from a file that is damaged in history and on
        disk."""
        with suppress(GitProblem):
            yield from ledger.decode(self.ledger.committed(self.repo, path, blob))

    def ledger_stamp(self) -> Hashable:
        """Changes whenever `events` may have something new to say."""
        return self.repo.folder(self.head(), ledger.FOLDER), *map(stamp, self.ledger.files)

    def commits(self) -> int:
        """Number of commits in the history."""
        return int(self.repo.commands.text("rev-list", "--count", "HEAD")) if self.head() else 0

    def merge(
        self, decide: merge_commit.Decide, operation: Operation, progress: Progress | None = None
    ) -> Receipt:
        """Join another history to ours by one commit with two parents (or by moving the branch,
        when ours is part of theirs).

        `decide` is asked with the write lock held. Raises RepositoryBusy when files are in the way
        that only a person can settle, UnsafePath, LockTimeout, DiskProblem, and what `decide`
        raises; nothing was changed then.
        """
        joiner = merge_commit.Joiner(
            self, self._writer, self._person.first, decide, operation, progress
        )
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
            undo.plan(self.repo, self.history, self._commit(commit), self.head()),
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

    # -- what is wrong

    def problems(self) -> list[Problem]:
        """Everything a person should know about files and history, nothing about indexes."""
        return [*self.damaged(), *find(self)]

    @property
    def purging(self) -> bool:
        """Was a purge begun and not finished?"""
        return (self.folder / PURGING).exists()

    def damaged(self) -> list[Problem]:
        """Notes whose objects in the repository are damaged or missing."""
        return damaged(self)

    def rewritten(self) -> Rewritten | None:
        """Was history with notes taken out of this branch? It is kept from then on, and nothing is
        written."""
        tampering = self.gate.tampering
        try:
            if not tampering.suspected():
                return None
            try:
                with self.gate.locked():
                    return tampering.look(self.repo.branch(), self.head())
            except (DiskProblem, LockTimeout):
                return tampering.look(self.repo.branch(), self.head(), keep=False)
        except (RepositoryBusy, GitProblem):
            return None  # on no branch, or one that cannot be read: that is said elsewhere

    def fix(self, problem: Problem) -> str:
        """Do what is safe about a problem; returns what was done, "" when only a person can."""
        if not problem.fixable:
            return ""
        if problem.kind == "driver":
            register_driver(self.repo)
            return "registered in .git/config"
        if problem.kind == DAMAGE:
            repair.mend(self)
            return "refilled"
        with self.gate.locked():
            if problem.kind == REWRITTEN:
                self.gate.tampering.accept(self.repo.branch(), self.head())
                return "accepted as it is now"
            self.gate.recover()
        return "repaired by the journal and the history"

    def look(self, paths: list[str] | None = None, quiet: float | None = None) -> edits.Look:
        """The person's uncommitted changes, each with why it waits or is left alone."""
        return self._person.look(paths, self._person.quiet if quiet is None else quiet)

    def refused(self) -> list[Refused]:
        """What is in the folder and will not be read, with the reasons."""
        return [found for found in self.files.scan() if isinstance(found, Refused)]


def _opened(root: Path) -> Repo:
    with disk.guarded("Opening the vault"):
        mend_head(root)
    return Repo(root)
