"""What a person changed on disk, or already had in a folder, committed under their own name and
never mixed with a machine's change."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.tree_diff import Refused, blob_id
from oneiro_vault.errors import GitProblem, RepositoryBusy, UnsafePath
from oneiro_vault.vault.change import Operation, Receipt
from oneiro_vault.vault.git.activity import Snapshot
from oneiro_vault.vault.git.staging_area import (
    CONFLICTED,
    EXECUTABLE,
    FILE,
    NEW,
    STAGED,
    Entry,
    Locked,
)
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.secrets.secret_scan import Secret, told
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.edits import has_markers, identify
from oneiro_vault.vault.worktree.files import LARGEST, digest, hidden, is_note, is_ours, objection
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.journal import owed
from oneiro_vault.vault.write.writer import Order

Ready = Mapping[str, bytes | None]
"""path -> the bytes on disk, None for a file that is gone."""
_PORTION: Final = 64_000_000


class Person:
    """The uncommitted files of the person whose vault it is."""

    def __init__(self, vault: Parts, quiet: float) -> None:
        self._vault = vault
        self._repo = vault.repo
        self._edits = edits.Edits(vault.repo, vault.files)
        self._compared: tuple[dict[str, str], set[str], int] = ({}, set(), 0)
        self._quiet = quiet

    def commit(
        self, paths: Collection[str] | None = None, *, quiet: float | None = None
    ) -> list[Receipt]:
        """Commit what a person changed on disk (all of it, or `paths`) under their own identity;
        files still in use wait, and so does everything while git is at work. More deletions than a
        handful are left to the person.

        Raises RepositoryBusy, LockTimeout or DiskProblem.
        """
        pause = self._quiet if quiet is None else quiet
        look = self.look(paths, pause)
        if look.lock and look.waiting and self._cleared(look.lock):
            look = self.look(paths, pause)
        if not look.ready:
            return []
        if pause < edits.MOMENT:
            pause = edits.MOMENT
            if self.look(paths, pause).ready.keys() != look.ready.keys():
                time.sleep(edits.MOMENT)
        gate = self._vault.gate
        with gate.writing():
            gate.settled()  # what we put here for a branch that git has left since is no edit
            return gate.retried(lambda ref, tip: self._all(ref, tip, paths, pause))

    def _cleared(self, lock: Path) -> bool:
        with self._vault.gate.locked():
            return self._vault.recovery.clear_lock(lock)

    def look(self, paths: Collection[str] | None = None, quiet: float | None = None) -> edits.Look:
        """The uncommitted changes (of all files, or of some), each with why it waits or is left
        alone."""
        vault, quiet = self._vault, self._quiet if quiet is None else quiet
        with vault.gate.thread:
            try:
                found = self._look(paths, quiet)
            except GitProblem:
                with vault.gate.locked():
                    vault.gate.recover()
                found = self._look(paths, quiet)
        for path, secrets in self.secrets(found.ready).items():
            found.hold(path, told(secrets))
        for path, data in list(found.ready.items()):
            if data is not None and (why := vault.erased.in_file(path, data)):
                found.erased[path] = why
                found.hold(path, "")
        return found

    def _look(
        self, paths: Collection[str] | None, quiet: float, status: Mapping[str, int] | None = None
    ) -> edits.Look:
        """Everything waits unless git left the folder alone from before git's status was taken
        until all was read, and `quiet` before."""
        vault = self._vault
        fresh = edits.fresher(vault.clock, quiet)
        before = self._repo.activity.snapshot()
        status = self._repo.staging.status() if status is None else status
        found = self._edits.look(before.tip, fresh, paths, owed(vault.journal.peek()), status)
        found.git = before
        rests = quiet <= edits.MOMENT or not fresh(
            self._repo.activity.since()
        )  # who asks for no rest asks for none after git either
        if not (rests and self._repo.activity.undisturbed(before)):
            found.wait()
        elif self._doubted(found):
            found.ask()
        elif paths is None and not found.waiting:
            self._repo.activity.in_order()
        return found

    def _doubted(self, found: edits.Look) -> bool:
        """Can only the person say whether this is meant? Where a git died over it, one file will
        do."""
        if self._repo.activity.died():
            return bool(found.doubtful())
        many = len(found.gone) + self._lately(found)
        if many <= edits.HANDFUL < many + len(found.known):
            many += self._elsewhere(found)
        return many > edits.HANDFUL

    def _lately(self, found: edits.Look) -> int:
        if not found.gone or len(found.gone) > edits.HANDFUL:
            return 0
        since = self._vault.clock() - edits.LATELY
        return sum(
            is_ours(path)
            for entry in self._vault.history.lately("edit", since)
            for path in entry.removed
        )

    def _elsewhere(self, found: edits.Look) -> int:
        """Files that are what some branch has there: a checkout leaves that, a stash that was
        popped does not."""
        blobs = {path: blob_id(found.ready[path] or b"") for path in found.known}
        tips = self._repo.tips()
        if self._compared[:2] != (blobs, tips):  # a vault may have thousands of tags
            theirs: set[str] = set()
            for tip in tips:
                entries = {path: self._repo.entry(tip, path) for path in blobs.keys() - theirs}
                theirs |= {path for path, one in entries.items() if one and one.blob == blobs[path]}
            self._compared = blobs, tips, len(theirs)
        return self._compared[2]

    def secrets(self, ready: Ready) -> dict[str, list[Secret]]:
        """Paths whose text is not committed, with what looks like secrets in it."""
        return self._vault.secrets.of_person(ready, self._vault.in_history)

    def held(self, path: str, data: bytes) -> str:
        """The secret that keeps an uncommitted text out of history, "" for none."""
        return "".join(map(told, self.secrets({path: data}).values()))

    def first(self, ref: str, tip: str, ready: Ready, before: Snapshot) -> Receipt | None:
        """Commit these before a machine's change to the same files; None asks for another try.

        `before` was taken before they were read. Raises Locked while git is at work, RepositoryBusy
        for what the person is asked about.
        """
        if before.lock:
            raise Locked(before.lock)
        status = self._repo.staging.status()
        whole = self._edits.complete(tip, ready, owed(self._vault.journal.intents), status)
        look = self._look(list(whole), edits.MOMENT, status)
        if look.asked and not look.doubtful().isdisjoint(whole):
            raise RepositoryBusy(
                f"{look.question()}", kept="Nothing was written.", hint=look.way_back()
            )
        return (
            self._record(ref, tip, whole)
            if before.at(ref, tip) and self._repo.activity.undisturbed(before)
            else None
        )

    def _all(
        self, ref: str, tip: str, paths: Collection[str] | None, quiet: float
    ) -> list[Receipt] | None:
        look = self.look(paths, quiet)
        if not look.ready:
            return []
        receipt = self._record(ref, tip, look.ready) if look.git and look.git.at(ref, tip) else None
        return None if receipt is None else [receipt]

    def _record(self, ref: str, tip: str, ready: Ready) -> Receipt | None:
        vault = self._vault
        named = {
            path: edits.identify(path, self._repo.content(tip, path) if data is None else data)
            for path, data in ready.items()
            if is_note(path)
        }
        one = next(iter(ready)) if len(ready) == 1 else self._moved(tip, ready)
        title = f"{len(ready)} files" if not one else named[one][1] if one in named else one
        operation = Operation(
            "edit",
            title,
            "user",
            tuple(dict.fromkeys(memory for memory, _ in named.values() if memory)),
        )
        changes = {
            path: None if data is None else Entry(self._repo.add(data), self._mode(tip, path))
            for path, data in ready.items()
        }
        text = commit_log.message(operation, vault.ledger.device)
        commit = self._vault.writer.commit(
            Order(ref, tip, changes, text, self._repo.person(), vault.clock()), fold=False
        )
        if not commit:
            return None
        written = {path: digest(data) for path, data in ready.items() if data is not None}
        return Receipt(commit, written, tuple(path for path, data in ready.items() if data is None))

    def _moved(self, tip: str, ready: Ready) -> str:
        new = {path: data for path, data in ready.items() if data is not None}
        gone = [path for path, data in ready.items() if data is None]
        return (
            next(iter(edits.pairs(self._repo, tip, new, gone)), "")
            if len(new) == len(gone) == 1 and len(ready) == 2
            else ""
        )

    def _mode(self, tip: str, path: str) -> int:
        known = self._repo.entry(tip, path)
        if known:
            return known.mode
        return EXECUTABLE if os.access(self._vault.files.absolute(path), os.X_OK) else FILE

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
        gate, ours = self._vault.gate, set(also)
        with gate.writing():
            return gate.retried(lambda ref, tip: self._adopt(ref, tip, everything, ours, progress))

    def _adopt(
        self, ref: str, tip: str, everything: bool, also: set[str], progress: Progress | None
    ) -> tuple[list[str], list[Refused]] | None:
        vault = self._vault
        left = {refused.path: refused for refused in self._strange()}
        entries: dict[str, Entry | None] = {}
        memories: list[str] = []
        paths = [
            path
            for path, flags in sorted(vault.repo.staging.status().items())
            if _wanted(path, flags, everything, also)
        ]
        held = 0
        for count, path in enumerate(paths):
            found = self._read(path)
            if isinstance(found, Refused):
                left.setdefault(path, found)
                continue
            data, mode = found
            entries[path] = Entry(vault.repo.add(data), mode)
            memories += [
                memory for memory in [identify(path, data)[0] if is_note(path) else ""] if memory
            ]
            held += len(data)
            if held > _PORTION:
                with disk.guarded("Writing the notes"):  # without a commit git clears them away
                    vault.repo.store_durably()
                vault.repo.discard()
                held = 0
            if progress is not None and (count % 100 == 0 or count == len(paths) - 1):
                progress("adopting", count + 1, len(paths))
        refused = sorted(left.values(), key=lambda r: r.path)
        if not entries:
            return [], refused
        title = f"{len(entries)} files" if set(entries) - also else "a new vault"
        text = commit_log.message(
            Operation("adopt", title, "user", tuple(memories)), vault.ledger.device
        )
        commit = vault.writer.commit(
            Order(ref, tip, entries, text, vault.repo.person(), vault.clock()), progress=progress
        )
        return (sorted(entries), refused) if commit else None

    def _read(self, path: str) -> tuple[bytes, int] | Refused:
        try:
            data = self._vault.files.read(path)
            mode = EXECUTABLE if os.access(self._vault.files.absolute(path), os.X_OK) else FILE
        except UnsafePath as error:
            return Refused(
                path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
                objection(path) or str(error),
            )
        except OSError as error:
            return Refused(path, f"it cannot be read: {error.strerror}")
        if len(data) > LARGEST:
            return Refused(path, f"it is larger than {LARGEST // 1_000_000} MB")
        if is_note(path) and has_markers(data):
            return Refused(path, "it holds unresolved conflict markers", waits=True)
        if found := self._vault.secrets.new(path, data, ()):
            return Refused(
                path,
                f"it holds what looks like {told(found)}, and history could never lose it again",
                waits=True,
            )
        if why := self._vault.erased.in_file(path, data):
            return Refused(path, why)
        return data, mode

    def _strange(self) -> Iterator[Refused]:
        for path, entry in self._vault.files.walk():
            if isinstance(entry, Refused):
                yield entry
                continue
            if not entry.is_file(follow_symlinks=False):
                found = self._vault.files.stat(path)
                if isinstance(found, Refused):
                    yield found


def _wanted(path: str, flags: int, everything: bool, also: set[str]) -> bool:
    if flags & (STAGED | CONFLICTED) or not flags & NEW or path.endswith("/"):
        return False
    return path in also or is_ours(path) or (everything and not hidden(path))
