"""The door's lock: one writer at a time, everything repaired before and settled after, and nobody
while history is gone that the journal's witness knows (a reset, an amend, filter-repo).

As long as every note of the witnessed commit is still somewhere in the branch's history (a message
was amended, commits were squashed or rebased), nobody is stopped. Otherwise nothing is written
until a person has said what is meant.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import filelock

from oneiro_vault.core import memory
from oneiro_vault.errors import (
    Brake,
    DiskProblem,
    GitProblem,
    LockTimeout,
    OneiroError,
    UnreadableNote,
    few,
    shown,
)
from oneiro_vault.settings.locations import stopped
from oneiro_vault.vault.git.activity import PURGING, SETTLE
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import Locked
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.worktree.files import is_note
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import Journal
from oneiro_vault.vault.write.recovery import Recovery

_LONG: Final = 600.0
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Rewritten:
    """`branch` is at `tip`, whose history holds neither `old` nor the notes `lost` as they were
    there (None: nobody can tell); `kept`: the ref that keeps them, "" for none."""

    branch: str
    old: str
    tip: str
    lost: tuple[str, ...] | None
    kept: str

    @property
    def message(self) -> str:
        """What happened, with the first notes."""
        text = (
            f"the history of {self.branch} was rewritten: it no longer contains {self.old[:10]}, "
            f"which was written here last"
        )
        if self.lost is None:
            return f"{text} and is not in this repository any more"
        count = f"{len(self.lost)} note{'s' if len(self.lost) > 1 else ''}"
        return (
            f"{text}, nor what {count} said then: {few([shown(path, 120) for path in self.lost])}"
        )

    @property
    def hint(self) -> str:
        """The two ways out."""
        accept = "`oneiro doctor --fix` accepts the history as it is now; "
        return accept + (
            f"`git reset --keep {self.kept}` takes the old one back."
            if self.kept
            else "a clone or a backup may have the old one."
        )

    def brake(self) -> Brake:
        """The error that stops a write."""
        kept = f" The old history is kept as {self.kept}." if self.kept else ""
        return Brake(
            self.message, kept=f"Nothing was written; reading works.{kept}", hint=self.hint
        )


class Tampering:
    """Compares the witness with the branch. `recover` drops intents whose commit is no longer in
    it."""

    def __init__(self, repo: Repo, journal: Journal, recover: Callable[[], None]) -> None:
        self._repo = repo
        self._journal = journal
        self._recover = recover
        self._judged: tuple[tuple[str, str], Rewritten] | None = None

    def suspected(self) -> bool:
        """Is the commit we put on this branch last not in its history? Cheap, and needs no lock."""
        ref = self._repo.branch()
        old = self._journal.last(ref)  # before the tip is looked at: a writer may be moving both
        return self._left(old, self._repo.tip())

    def _left(self, old: str, tip: str) -> bool:
        return bool(old) and old != tip and not self._repo.contains(old, tip)

    def check(self, ref: str, tip: str) -> None:
        """Raise Brake when notes would be lost by going on from `tip`. Called with the write
        lock."""
        if self._left(self._journal.last(ref), tip) and (found := self.look(ref, tip)) is not None:
            raise found.brake()

    def look(self, ref: str, tip: str, *, keep: bool = True) -> Rewritten | None:
        """What was lost; with `keep` (which needs the write lock) it is kept from `git gc`, and
        what lost nothing is accepted."""
        old = self._journal.last(ref)
        if not self._left(old, tip) or (self._journal.folder / PURGING).exists():
            return None  # a purge means it, and nothing may keep what it takes out
        if self._judged is None or self._judged[0] != (old, tip):
            name = f"refs/oneiro/rescue/here/{ref.removeprefix('refs/heads/')}/{old[:12]}"
            known = bool(self._repo.tip(name))
            kept = (
                name
                if known
                or (keep and self._git("update-ref", "-m", "oneiro", name, old) is not None)
                else ""
            )
            lost = self._lost(old, tip)
            if lost == ():
                if keep:
                    self.accept(ref, tip)
                    _ = known or self._git("update-ref", "-d", name)
                return None
            found = Rewritten(ref.removeprefix("refs/heads/"), old, tip, lost, kept)
            if not keep:
                return found
            self._judged = (old, tip), found
        return self._judged[1]

    def accept(self, ref: str, tip: str) -> None:
        """From now on the branch is where it should be. Called with the write lock."""
        self._recover()
        with disk.guarded("Noting where the branch is"):
            disk.sync([self._journal.witness(ref, tip, ())])

    def _lost(self, old: str, tip: str) -> tuple[str, ...] | None:
        """Notes whose bytes are nowhere in the history of `tip`, None when `old` cannot be read."""
        try:
            changed = self._repo.difference(old, tip)
        except GitProblem:
            return None
        before = {
            path: entry.blob
            for path, (entry, _) in changed.items()
            if entry is not None and is_note(path)
        }
        if not before:
            return ()
        there = self._blobs(tip) if tip else {}
        gone = {path: blob for path, blob in before.items() if blob not in there}
        if gone and tip and not self._repo.contains(tip, old):
            said = self._said(old, tip, gone)
            gone = {
                path: blob for path, blob in gone.items() if not said >= self._words(path, blob)
            }
        return tuple(sorted(gone))

    def _said(self, old: str, tip: str, gone: Mapping[str, str]) -> set[str]:
        """Every word that the new commits of `tip` brought, or that stood where the two part: a
        rebase merges two versions of a note into one that is neither."""
        new = self._blobs(tip, f"^{old}")
        base = (self._git("merge-base", old, tip) or b"").decode().strip()
        found = {blob: path for blob, path in new.items() if is_note(path)}
        ids = {self._ident(blob) for blob in gone.values()} - {""}
        for path, entry in (
            self._repo.listing(base).items() if base else ()
        ):  # a note may have had another name there
            if is_note(path) and (path in gone or self._ident(entry.blob) in ids):
                found[entry.blob] = path
        return {word for blob, path in found.items() for word in self._words(path, blob)}

    def _ident(self, blob: str) -> str:
        try:
            return id_of(self._repo.data(blob))
        except GitProblem:
            return ""

    def _words(self, path: str, blob: str) -> set[str]:
        """Of the text: of dates and scores the later one counts, also in a merge."""
        try:
            data = self._repo.data(blob)
        except GitProblem:
            return {blob}  # nobody can say what it said
        try:
            text = memory.parse(path, data).body
        except UnreadableNote:
            text = data.decode("utf-8", "replace")
        return set(_WORD.findall(text))

    def _blobs(self, *range_: str) -> dict[str, str]:
        out = self._git("rev-list", "--objects", *range_) or b""
        pairs = (
            line.decode("utf-8", "surrogateescape").partition(" ") for line in out.splitlines()
        )
        return {oid: path for oid, _, path in pairs}

    def _git(self, *words: str) -> bytes | None:
        status, out, _ = self._repo.commands.attempt(*words, timeout=_LONG)
        return None if status else out


log = logging.getLogger("oneiro.vault")
T = TypeVar("T")
_TRIES: Final = 20
_PAUSE: Final = 0.03
_PATIENCE: Final = 2 * SETTLE


class Gate:
    """`wait` seconds for locks, `reserve` bytes that must stay free, `lazy_index` leaves the index
    to `flush` once it is larger than `small` bytes."""

    def __init__(
        self,
        repo: Repo,
        journal: Journal,
        recovery: Recovery,
        *,
        wait: float,
        reserve: int,
        lazy_index: bool,
        small: int = 0,
    ) -> None:
        self._repo = repo
        self._root = repo.root
        self._journal = journal
        self._folder = journal.folder
        self._recovery = recovery
        self._wait = wait
        self.reserve = reserve
        self.lazy_index, self.small = lazy_index, small
        self.tampering = Tampering(repo, journal, self.recover)
        self.thread = threading.RLock()

    def _small_index(self) -> bool:
        """Where rewriting it is cheaper than the commit, nobody's `git commit` ever meets one that
        lags behind."""
        try:
            return self._repo.staging.file.stat().st_size <= self.small
        except OSError:
            return self.small > 0

    def flush(self) -> bool:
        """Bring `.git/index` up to date, or make a damaged one anew; False when something is in the
        way."""
        if (
            not self._journal.intents
            and self._journal.unchanged()
            and self._recovery.index_is_whole()
        ):
            return True
        patience = time.monotonic() + _PATIENCE
        try:
            while not self._flushed():
                if time.monotonic() > patience:
                    return False
                time.sleep(
                    _PAUSE
                    # not under the lock: another program's `git status` holds the index for a
                    # moment only
                )
        except (LockTimeout, DiskProblem, GitProblem):
            return False
        return True

    def _flushed(self) -> bool:
        with self.locked():
            if not (self._journal.unchanged() and self._recovery.index_is_whole()):
                self.recover()
            return self.settled()

    def settled(self) -> bool:
        """Never raises: what the index is owed stays in the journal."""
        try:
            return self._recovery.settle()
        except (OSError, OneiroError) as error:
            log.warning("the index of %s lags behind: %s", self._root, error)
            return False

    def recover(self) -> None:
        """Repair what can be repaired now; call with the lock. Raises DiskProblem or GitProblem."""
        with disk.guarded("Repairing the vault"):
            self._recovery.run()

    def _check_index(self) -> None:
        """Raise RepositoryBusy when files are unmerged; a damaged index is made anew first."""
        try:
            self._repo.staging.blobs(())
        except GitProblem:
            with disk.guarded("Repairing the index"):
                self._recovery.mend_index()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The write lock, with everything in order: recovered, a usable state, space left."""
        disk.refuse_full(self._root, self.reserve)
        with self.locked():
            reach("locked")
            self._repo.discard()
            if not self._journal.unchanged() or any(
                not intent.on_disk for intent in self._journal.intents
            ):
                self.recover()
            self._repo.check_ready()
            self._check_index()
            try:
                yield
            finally:
                if not self.lazy_index or self._small_index():
                    self.settled()

    def retried(self, attempt: Callable[[str, str], T | None]) -> T:
        """Try on the current tip until the branch holds still; a dead program's lock is moved
        aside, a live one's waited for.

        Raises Brake when the history was rewritten.
        """
        deadline = time.monotonic() + self._wait
        for _ in range(_TRIES):
            ref, tip = self._repo.branch(), self._repo.tip()
            self.tampering.check(ref, tip)
            try:
                done = attempt(ref, tip)
            except Locked as locked:
                self._await(locked.lock, deadline)
                continue
            if done is not None:
                return done
        raise LockTimeout(
            f"another program keeps moving the branch of {self._root}",
            kept="Nothing was written.",
            hint="Try again in a moment.",
        )

    def rest(self) -> None:
        """Wait until git has done what it is doing to the work tree. Raises LockTimeout."""
        deadline = time.monotonic() + self._wait
        while (lock := self._repo.activity.snapshot().lock) is not None:
            with self.locked():
                if self._recovery.clear_lock(lock):
                    continue
            if time.monotonic() > deadline:
                raise _timeout(lock, "another program", self._wait)
            time.sleep(SETTLE)  # not under the lock: others write meanwhile

    def _await(self, lock: Path, deadline: float) -> None:
        while not self._recovery.clear_lock(lock):
            if time.monotonic() > deadline:
                raise _timeout(lock, "another program", self._wait)
            time.sleep(_PAUSE)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time, over all threads and processes. Raises LockTimeout naming the
        holder, or DiskProblem."""
        holder = self._folder / "holder"
        with self.thread:
            with disk.guarded("Taking the write lock"):
                self._folder.mkdir(
                    exist_ok=True
                    # not its parents: a vault that was moved away must not come back as an empty
                    # shell
                )
                lock = filelock.FileLock(
                    self._folder / "write.lock", timeout=self._wait, thread_local=False
                )
                try:
                    lock.acquire(poll_interval=0.01)
                except filelock.Timeout as error:
                    raise _kept(self._folder / "write.lock", holder, self._wait) from error
            try:
                with disk.guarded("Taking the write lock"):
                    holder.write_text(str(os.getpid()))
                yield
            finally:
                lock.release()


def _kept(lock: Path, holder: Path, wait: float) -> LockTimeout:
    try:
        pid = int(holder.read_text())
    except (OSError, ValueError):
        return _timeout(lock, "another process", wait)
    if not stopped(pid):
        return _timeout(lock, f"process {pid}", wait)
    return LockTimeout(
        f"process {pid} has the write lock and is stopped",
        kept="Nothing was written.",
        hint=f"`kill -CONT {pid}` lets it go on.",
    )


def _timeout(lock: Path, who: str, wait: float) -> LockTimeout:
    return LockTimeout(
        f"{who} has held {lock} for more than {wait:g} s",
        kept="Nothing was written.",
        hint="Wait for it to finish and try again.",
    )
