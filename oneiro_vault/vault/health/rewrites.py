"""Was history taken out of our branch while nobody looked (a reset, an amend, filter-repo)? The
journal's witness knows where it was.

What counts is what would be lost: as long as every note of the witnessed commit is still somewhere
in the branch's history (a message was amended, commits were squashed or rebased, with merged words
at that), nobody is stopped. Otherwise nothing is written until a person has said what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core import memory
from oneiro_vault.errors import Brake, GitProblem, UnreadableNote, few, shown
from oneiro_vault.vault.git.activity import PURGING
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.paths import is_note
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.journal import Journal

_PATIENCE: Final = 600.0
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
        """Object -> one path it has."""
        out = self._git("rev-list", "--objects", *range_) or b""
        pairs = (
            line.decode("utf-8", "surrogateescape").partition(" ") for line in out.splitlines()
        )
        return {oid: path for oid, _, path in pairs}

    def _git(self, *words: str) -> bytes | None:
        status, out, _ = self._repo.commands.attempt(*words, timeout=_PATIENCE)
        return None if status else out
