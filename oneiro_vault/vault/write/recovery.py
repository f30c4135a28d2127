"""Bring a vault back after a kill, a power cut or a full disk: by what the journal and the witness
know, never by guessing.

Nothing is deleted (damaged files go to `<git dir>/oneiro/aside/`), and whatever the journal does
not name belongs to the person.
"""
# pathlib is left out here: object folders are scanned by the thousand.
# ruff: noqa: PTH105, PTH108, PTH110, PTH120

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Final

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem, RepositoryBusy
from oneiro_vault.vault.git import activity
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry, Locked
from oneiro_vault.vault.ledger import Ledger
from oneiro_vault.vault.worktree.files import TEMPORARY, Files, Stamp
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.disk import reach
from oneiro_vault.vault.write.journal import Intent, Journal, Owed, boot_id, owed

_EMPTY: Final = blob_id(b"")
_NOTHING: Final = "0" * 40


class Recovery:
    """Repairs of one work tree. Everything but `needed` is called with the write lock."""

    def __init__(self, repo: Repo, files: Files, journal: Journal, ledger: Ledger) -> None:
        self._repo = repo
        self._files = files
        self._journal = journal
        self._ledger = ledger

    def needed(self) -> bool:
        """Is there anything to do? Cheap, and needs no lock."""
        if (
            self._journal.peek()
            or self._lock_files()
            or not self._tip_is_whole()
            or not self.index_is_whole()
        ):
            return True
        seen = self._journal.witnesses()
        return bool(seen) and seen[0].boot != boot_id()

    def run(self) -> None:
        """Everything that can be done now; what cannot (a live lock, a rebase) stays in the
        journal."""
        self._journal.read()
        self._clear_locks()
        rebooted = any(seen.boot != boot_id() for seen in self._journal.witnesses()[:1])
        if rebooted:
            self._clear_empty_objects()
        self._mend_tip()
        self.mend_index()
        if rebooted:
            self._restore_emptied()
        self._replay()
        self.settle()
        if rebooted:
            self._note_here()

    # -- locks

    def _lock_files(self) -> list[Path]:
        git, common = self._repo.git_dir, self._repo.common_dir
        places = [
            git / "index.lock",
            git / "HEAD.lock",
            common / "packed-refs.lock",
            common / "config.lock",
        ]
        head = _head_ref(git)
        if head:
            places.append(common / f"{head}.lock")
        for names in ("refs/oneiro", "refs/remotes"):  # a sync died while it noted what it had seen
            places += sorted((common / names).rglob("*.lock"))
        return [place for place in dict.fromkeys(places) if place.exists()]

    def _clear_locks(self) -> None:
        for lock in self._lock_files():
            self.clear_lock(lock)

    def clear_lock(self, lock: Path) -> bool:
        """Move a lock aside when nobody can be holding it. True when it is out of the way."""
        if activity.abandoned(lock, self._repo.root):
            self._repo.activity.note_death(lock)
            self._journal.set_aside(lock, "a lock no living process holds")
        return not lock.exists()

    # -- objects and refs

    def _tip_is_whole(self) -> bool:
        try:
            tip = self._repo.tip()
        except GitProblem:
            return False
        return self._repo.whole(tip) if tip else not self._journal.witnesses()

    def _is_unborn(self) -> bool:
        try:
            return not self._repo.tip()
        except GitProblem:
            return False

    def _mend_tip(self) -> None:
        if self._tip_is_whole():
            return
        ref = _head_ref(self._repo.git_dir)
        seen = self._journal.witnesses()
        commits = [i.commit for i in reversed(self._journal.intents) if i.ref == ref] + [
            s.commit for s in seen if s.ref == ref
        ]
        if not (ref and commits) and self._is_unborn():
            return  # a branch of the person's own, without a commit yet
        self._clear_empty_objects()
        good = next((commit for commit in commits if self._repo.whole(commit)), "")
        if not good:
            raise GitProblem(
                f"{ref or 'HEAD'} cannot be read, and neither can any commit known to have been "
                f"there",
                kept="The notes in the folder are untouched.",
                hint="Fetch the history from a remote or a backup (git fsck tells what is "
                "missing).",
            )
        place = self._repo.common_dir / ref
        if place.exists():
            self._journal.set_aside(place, "a branch that could not be read")
        place.parent.mkdir(parents=True, exist_ok=True)
        temp = place.with_name(place.name + ".lock")
        disk.write_new(str(temp), good.encode() + b"\n")
        disk.sync([str(temp)])
        os.replace(temp, place)
        disk.sync(
            [str(place.parent), self._journal.witness(ref, good, ())]
        )  # a disk lost what came after: nobody took it out
        for log in (self._repo.git_dir / "logs/HEAD", self._repo.common_dir / "logs" / ref):
            self._mend_reflog(log)

    def _mend_reflog(self, log: Path) -> None:
        """Lines that name commits that are gone make `git fsck` fail."""
        lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
        known = {_NOTHING: True}
        for oid in {
            word.decode("ascii", "replace") for line in lines for word in line.split(b" ", 2)[:2]
        }:
            known[oid] = oid == _NOTHING or self._repo.whole(oid)
        good = [
            line
            for line in lines
            if all(known[word.decode("ascii", "replace")] for word in line.split(b" ", 2)[:2])
        ]
        if good != lines:
            self._journal.set_aside(log, "a reflog that names lost commits")
            disk.write_new(str(log), b"".join(good))

    def _clear_empty_objects(self) -> None:
        """A power cut's remains of somebody who did not fsync; git would take them for present."""
        for folder in sorted((self._repo.common_dir / "objects").glob("[0-9a-f][0-9a-f]")):
            for entry in list(os.scandir(folder)):
                if entry.is_file(follow_symlinks=False) and entry.stat().st_size == 0:
                    self._journal.set_aside(Path(entry.path), "an empty object file")

    # -- the index

    def index_is_whole(self) -> bool:
        """Is `.git/index` there and as git wrote it? Needs no lock."""
        try:
            self._repo.staging.check()
        except GitProblem:
            return False
        return self._repo.staging.file.exists() or self._is_unborn()

    def mend_index(self) -> None:
        """One that cannot be read is set aside and made anew from HEAD."""
        try:
            if self.index_is_whole():
                self._repo.staging.blobs(())
                return
        except RepositoryBusy:
            return
        except GitProblem:
            pass  # libgit2 and git agree that it is damaged
        if self._repo.staging.file.exists():
            self._journal.set_aside(self._repo.staging.file, "an index that could not be read")
        try:
            self._repo.staging.rebuild(self._repo.tip())
        except Locked:
            return

    # -- notes

    def _here(self) -> str:
        """ "" while a person is in the middle of something."""
        try:
            self._repo.check_ready()
            return self._repo.branch()
        except RepositoryBusy:
            return ""

    def _replay(self) -> None:
        """Notes that still hold what was there before; folded events are given back."""
        for intent in self._journal.intents:
            if self._repo.contains(intent.commit, self._repo.tip(intent.ref)):
                self._ledger.taken(intent.fold)
        self._leave()
        here, tip = self._here(), self._repo.tip()
        if not here:
            return
        kept: list[Intent] = []
        for intent in self._journal.intents:
            if intent.ref != here or self._repo.contains(intent.commit, tip):
                kept.append(intent)
            elif (
                intent.on_disk
            ):  # it was there, so somebody took it out again: not for us to forget
                disk.sync([self._journal.witness(here, intent.commit, ())])
        self._journal.keep(kept)
        mine = self._mine(here, tip)
        self._sweep(mine)
        for path, due in owed(intent for intent in mine if not intent.on_disk).items():
            self._bring(path, due, tip)
        for intent in mine:
            if not intent.on_disk:
                self._journal.done(intent)

    def _mine(self, here: str, tip: str) -> list[Intent]:
        """Those of the branch the folder shows, and of any it was made from."""
        return [
            intent
            for intent in self._journal.intents
            if intent.ref == here or self._repo.contains(intent.commit, tip)
        ]

    def _leave(self) -> None:
        """What was put on disk for a branch that git has left becomes what HEAD says: that branch
        has it, and git would not go back over it."""
        ref, tip = _head_ref(self._repo.git_dir), self._repo.tip()
        mine = self._mine(ref, tip)
        left = [intent for intent in self._journal.intents if intent not in mine]
        if not (left and tip) or self._repo.activity.snapshot().lock:
            return
        for path, due in owed(left).items():
            head = self._repo.entry(tip, path) or Entry("", FILE)
            if head.mode in (FILE, EXECUTABLE) and self._files.blob(path) == due.blob != head.blob:
                self._put(path, head.blob, due.blob)
        for intent in left:
            if self._repo.contains(intent.commit, self._repo.tip(intent.ref)):
                disk.sync([self._journal.witness(intent.ref, intent.commit, ())])
        self._note_here()  # HEAD is mended by the last line
        self._journal.keep(mine)

    def _bring(self, path: str, due: Owed, tip: str) -> None:
        head = self._repo.entry(tip, path)
        if due.blob and due.mode not in (FILE, EXECUTABLE):
            return  # a link or a submodule of somebody else: in history, never in the folder
        now = self._files.blob(path)
        if (head.blob if head else "") != due.blob or now is None or now == due.blob:
            return
        if now in due.olds or (now == _EMPTY and due.blob):
            self._put(path, due.blob, now)

    def _put(self, path: str, blob: str, expected: str) -> None:
        with disk.guarded(f"Restoring {path}"):
            if not blob:
                self._files.remove(path, expected)
                return
            temp = self._files.stage(path, self._repo.data(blob))
            disk.sync([temp])
            self._files.publish(path, temp, expected)
            self._files.sync([path])

    def _restore_emptied(self) -> None:
        """After a restart, notes written last that are empty and were not meant to be."""
        tip = self._repo.tip()
        for path in {path for seen in self._journal.witnesses()[:3] for path in seen.paths}:
            head = self._repo.entry(tip, path)
            if head is not None and head.blob != _EMPTY and self._files.blob(path) == _EMPTY:
                self._put(path, head.blob, _EMPTY)

    def _note_here(self) -> None:
        here, tip = self._here(), self._repo.tip()
        if here and tip:
            self._journal.witness(here, self._journal.last(here) or tip, ())

    def _sweep(self, intents: list[Intent]) -> None:
        """Only in the folders an intent names, only under our own suffix."""
        for folder in {path.rpartition("/")[0] for intent in intents for path in intent.paths}:
            try:
                entries = list(os.scandir(self._files.root / folder))
            except OSError:
                continue
            for entry in entries:
                if re.fullmatch(rf"\.[0-9a-f]{{12}}{re.escape(TEMPORARY)}", entry.name):
                    os.unlink(entry.path)

    # -- closing the books

    def settle(self) -> bool:
        """Bring the index up to date and clear the journal; False while something is in the way."""
        if not all(intent.on_disk for intent in self._journal.intents):
            return False
        self._leave()
        here, tip = self._here(), self._repo.tip()
        if not here:
            return False
        if mine := self._mine(here, tip):
            seen = self._repo.activity.snapshot()
            if self._head_may_follow():
                return False
            try:
                self._flush(owed(mine), tip, seen.index_file)
            except (Locked, RepositoryBusy):
                return False
            reach("index")
            self._witness(here, mine)
        self._journal.keep([intent for intent in self._journal.intents if intent not in mine])
        reach("cleared")
        return True

    def _head_may_follow(self) -> bool:
        """git lets go of the index before it moves HEAD: what is put there in between would be
        staged on the other branch."""
        there = self._repo.activity.since()
        lately = there > self._journal.written and 0 <= time.time() - there < activity.SETTLE
        return lately and not self._repo.activity.followed()

    def _flush(self, due: dict[str, Owed], tip: str, seen: Stamp) -> None:
        have = self._repo.staging.blobs(due)
        wanted = {
            path: owe.entry
            for path, owe in due.items()
            if have[path] != owe.blob and have[path] in owe.olds and self._is_head(path, owe, tip)
        }
        if not wanted:
            return
        try:
            self._repo.staging.put(wanted, seen)
        except Locked as locked:
            if not (locked.lock.exists() and self.clear_lock(locked.lock)):
                raise  # git has written the index: what is owed is worked out anew next time
            self._repo.staging.put(wanted, seen)

    def _is_head(self, path: str, owe: Owed, tip: str) -> bool:
        head = self._repo.entry(tip, path)
        return (head.blob if head else "") == owe.blob

    def _witness(self, ref: str, mine: list[Intent]) -> None:
        """Only when branch, notes and index are durable may the journal forget."""
        paths = list(owed(mine))
        places = [
            self._journal.witness(ref, mine[-1].commit, paths[-20:]),
            str(self._repo.staging.file),
        ]
        places += {os.path.dirname(self._files.absolute(path)) for path in paths}
        disk.sync(place for place in places if os.path.exists(place))
        reach("witness")


def _head_ref(git_dir: Path) -> str:
    try:
        found = re.fullmatch(r"ref: (refs/heads/\S+)\s*", (git_dir / "HEAD").read_text())
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""


def mend_head(root: Path) -> bool:
    """Write HEAD again from the witness when a power cut emptied it (git then denies that this is a
    repository)."""
    git_dir = root / ".git"
    head = git_dir / "HEAD"
    if not git_dir.is_dir() or (head.exists() and head.read_bytes().strip(b"\0\n ")):
        return False
    journal = Journal(git_dir / "oneiro")
    seen = journal.witnesses()
    if not seen:
        return False
    if head.exists():
        journal.set_aside(head, "a HEAD without content")
    temp = git_dir / f"HEAD.{os.urandom(3).hex()}"
    disk.write_new(str(temp), f"ref: {seen[0].ref}\n".encode())
    disk.sync([str(temp)])
    os.replace(temp, head)
    disk.sync([str(git_dir)])
    return True
