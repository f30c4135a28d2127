"""Two histories become one commit with two parents, through the writer and its journal.

What may be in the way is looked at first: a person's text that is on disk only goes into history
before, and the joining is decided anew; what they have staged, or are in the middle of, stops it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from oneiro_vault.api import Progress
from oneiro_vault.errors import RepositoryBusy, few, shown
from oneiro_vault.vault.change import Operation, Receipt
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry, Locked
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.worktree.commit_edits import Person
from oneiro_vault.vault.worktree.edits import MOMENT, Look
from oneiro_vault.vault.worktree.files import checked, digest
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import owed
from oneiro_vault.vault.write.writer import Order, machine

_KEPT: Final = "Nothing was changed."


@dataclass(frozen=True)
class Joined:
    """What joining the history that ends at `other` means for our tip: `changes` (None = gone),
    `made`: blob -> bytes of files neither side has, `events` for the ledger; `forward`: our history
    is part of theirs, so their tip becomes ours."""

    other: str
    changes: Mapping[str, Entry | None] = field(default_factory=dict)
    made: Mapping[str, bytes] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()
    memories: tuple[str, ...] = ()
    forward: bool = False


Decide = Callable[[str], Joined | None]
"""From a tip to what joining means for it; None: nothing is to be joined."""


class Joiner:
    """One joining under way, with the write lock held. `first` commits what a person left on
    disk."""

    def __init__(
        self,
        vault: Parts,
        edits: Person,
        decide: Decide,
        operation: Operation,
        progress: Progress | None,
    ) -> None:
        self._vault = vault
        self._edits = edits
        self._decide = decide
        self._operation = operation
        self._progress = progress

    def join(self, ref: str, tip: str) -> Receipt | None:
        """See `Vault.merge`; None asks for another try on a new tip."""
        joined = self._decide(tip)
        if joined is None:
            return Receipt("")
        for path in joined.changes:
            checked(path)
        with disk.guarded("Reading the notes"):
            blocked = self._blocked(tip, joined.changes)
            if blocked:
                self._settle(ref, tip, blocked)
                return None
        order = self._order(ref, tip, joined)
        reach("sync-joining")
        commit = self._vault.writer.commit(order, progress=self._progress, fold=not joined.forward)
        if not commit:
            return None
        strange = [
            path
            for path, entry in joined.changes.items()
            if entry is not None and not _is_file(entry)
        ]
        if strange and self._vault.gate.settled():
            self._vault.repo.staging.leave_out(strange)
        written = {path: digest(data) for path, data in order.data.items()} | dict.fromkeys(
            order.brought, ""
        )
        return Receipt(commit, written, order.removed)

    def _order(self, ref: str, tip: str, joined: Joined) -> Order:
        vault = self._vault
        changes = dict(joined.changes)
        files = {
            path: entry for path, entry in changes.items() if entry is not None and _is_file(entry)
        }
        data = {
            path: joined.made[entry.blob]
            for path, entry in files.items()
            if entry.blob in joined.made
        }
        for content in data.values():
            vault.repo.add(content)
        operation = replace(self._operation, memories=joined.memories)
        text = commit_log.message(operation, vault.ledger.device)
        return Order(
            ref, tip, changes, text, machine(operation.actor), vault.clock(), data, joined.events,
            tuple(
                path
                for path, entry in changes.items()
                if entry is None or (not _is_file(entry) and self._was_file(tip, path))
            ),
            other=joined.other, brought=tuple(path for path in files if path not in data),
            forward=joined.forward,
        )  # fmt: skip

    def _was_file(self, tip: str, path: str) -> bool:
        """What became a link there must not stay here as a file."""
        known = self._vault.repo.entry(tip, path)
        return known is not None and _is_file(known)

    def _blocked(self, tip: str, changes: Mapping[str, Entry | None]) -> list[str]:
        """Files whose bytes on disk are in no history. Raises RepositoryBusy for staged ones."""
        vault, waiting = self._vault, owed(self._vault.journal.intents)
        staged = vault.repo.staging.blobs(changes)
        blocked, theirs = [], []
        for path, entry in changes.items():
            known, due = vault.repo.entry(tip, path), waiting.get(path)
            fine = {known.blob if known else "", entry.blob if entry else ""} | (
                due.olds | {due.blob} if due else set()
            )
            if staged[path] not in fine:
                theirs.append(path)
            elif (known is None or _is_file(known)) and vault.files.blob(path) not in fine:
                blocked.append(path)
        if theirs:
            raise _busy(
                theirs, "has staged changes", "Commit or unstage them (git restore --staged)"
            )
        return blocked

    def _settle(self, ref: str, tip: str, blocked: list[str]) -> None:
        """A person's text goes into history first. Raises RepositoryBusy when it cannot."""
        before = self._vault.repo.activity.snapshot()
        look = self._edits.look(blocked, MOMENT)
        if look.waiting and look.lock:
            raise Locked(look.lock)
        if look.waiting:
            time.sleep(MOMENT)  # somebody is writing it this very moment
        elif look.ready:
            self._edits.first(ref, tip, look.ready, before)
        else:
            raise _stuck(look, blocked)


def _is_file(entry: Entry) -> bool:
    return entry.mode in (FILE, EXECUTABLE)


def _stuck(look: Look, blocked: list[str]) -> RepositoryBusy:
    if look.asked:
        what = f"is among what may not be meant ({look.question()})"
        return _busy(blocked, what, look.way_back().rstrip("."))
    if look.conflicted:
        return _busy(
            look.conflicted,
            "was changed here and holds conflict markers",
            "Resolve them in any editor",
        )
    held = look.held() | {one.path: one.reason for one in look.refused}
    if why := next(iter(held.values()), ""):
        return _busy(
            [path for path, reason in held.items() if reason == why],
            f"was changed here and is not committed for you ({why})",
            "Take that out" if look.held() else "Put that right",
        )
    return _busy(
        blocked,
        "was changed here, in a way that is not committed for you",
        "Commit it, or put it aside",
    )


def _busy(paths: list[str], what: str, hint: str) -> RepositoryBusy:
    which = few([shown(path, 120) for path in paths])
    return RepositoryBusy(
        f"{which} {what}, and the other side changed it too",
        kept=_KEPT,
        hint=f"{hint}, then sync again.",
    )
