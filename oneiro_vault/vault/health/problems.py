"""What a person should know about a vault's files and history; every finding says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.tree_diff import Refused
from oneiro_vault.errors import (
    DiskProblem,
    GitProblem,
    LockTimeout,
    OneiroError,
    RepositoryBusy,
    few,
)
from oneiro_vault.vault.git import commands, merge_driver
from oneiro_vault.vault.health import repair
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.purge import denylist
from oneiro_vault.vault.worktree import edits
from oneiro_vault.vault.worktree.commit_edits import Person
from oneiro_vault.vault.worktree.files import is_note, twin_key
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.write_lock import Rewritten

SECRET: Final = (
    "Take it out, or allow it if it is none: `oneiro check` prints the line for oneiro.toml."
)
"""What to do about an edit with a secret."""
REWRITTEN: Final = "rewritten"
"""The kind of finding that mending accepts as it is."""
DAMAGE: Final = "damage"
"""The kind that is mended from the disk and from remotes."""


@dataclass(frozen=True)
class Problem:
    """One finding: `kind` is one word, `fixable` says whether `Health.fix` can do it safely."""

    kind: str
    message: str
    hint: str = ""
    path: str = ""
    fixable: bool = False


class Health:
    """What is wrong with an open vault, and what can safely be done about it."""

    def __init__(self, vault: Parts, edits: Person) -> None:
        self._vault, self._edits = vault, edits

    def problems(self) -> list[Problem]:
        """Everything a person should know about files and history, nothing about indexes."""
        return [*self.damaged(), *self.undamaged()]

    def undamaged(self) -> list[Problem]:
        """All findings but damage, worst first."""
        return [
            *self._program(),
            *self._driver(),
            *self._state(),
            *self._journal(),
            *self._purged(),
            *self._files(),
        ]

    def fix(self, problem: Problem) -> str:
        """Do what is safe about a problem; returns what was done, "" when only a person can."""
        repo, gate = self._vault.repo, self._vault.gate
        if not problem.fixable:
            return ""
        if problem.kind == "driver":
            merge_driver.register_driver(repo)
            return "registered in .git/config"
        if problem.kind == DAMAGE:
            repair.mend(self._vault)
            return "refilled"
        with gate.locked():
            if problem.kind == REWRITTEN:
                gate.tampering.accept(repo.branch(), repo.tip())
                return "accepted as it is now"
            gate.recover()
        return "repaired by the journal and the history"

    def rewritten(self) -> Rewritten | None:
        """Was history with notes taken out of this branch? It is kept from then on, and nothing is
        written."""
        repo, gate = self._vault.repo, self._vault.gate
        try:
            if not gate.tampering.suspected():
                return None
            try:
                with gate.locked():
                    return gate.tampering.look(repo.branch(), repo.tip())
            except (DiskProblem, LockTimeout):
                return gate.tampering.look(repo.branch(), repo.tip(), keep=False)
        except (RepositoryBusy, GitProblem):
            return None  # on no branch, or one that cannot be read: that is said elsewhere

    def _refused(self) -> Iterator[Refused]:
        """What is in the folder and will not be read, with the reasons."""
        return (found for found in self._vault.files.scan() if isinstance(found, Refused))

    def _program(self) -> Iterator[Problem]:
        try:
            commands.require(str(self._vault.root))
        except GitProblem as error:
            yield Problem("git", str(error), error.hint)

    def _driver(self) -> Iterator[Problem]:
        if (self._vault.root / "oneiro.toml").is_file() and (
            text := merge_driver.problem(self._vault.repo)
        ):  # else it is no vault yet
            yield Problem("driver", text, "`oneiro doctor --fix` registers it.", fixable=True)

    def _state(self) -> Iterator[Problem]:
        try:
            self._vault.repo.check_ready()
            self._vault.repo.staging.blobs(())
        except OneiroError as error:
            yield Problem("busy", str(error), error.hint, fixable=isinstance(error, GitProblem))
        reserve = self._vault.gate.reserve
        if disk.free(str(self._vault.root)) < reserve:
            yield Problem(
                "space",
                f"fewer than {reserve // 1_000_000} MB are free: writes are refused",
                "Free some space.",
            )

    def _journal(self) -> Iterator[Problem]:
        self._vault.gate.flush()
        if self._vault.recovery.needed():
            yield Problem(
                "unfinished",
                "a write was interrupted, or a lock was left behind",
                "`oneiro doctor --fix` settles it.",
                fixable=True,
            )
        if (found := self.rewritten()) is not None:
            kept = f" (the old history is kept as {found.kept})" if found.kept else ""
            yield Problem(
                REWRITTEN,
                f"{found.message}{kept}: nothing is written until you say what is meant",
                found.hint,
                fixable=True,
            )

    def _purged(self) -> Iterator[Problem]:
        try:
            blobs = denylist.purged(self._vault.repo, self._vault.head())
            back = denylist.returning(self._vault.repo, self._vault.head(), "", blobs)
        except GitProblem:
            return  # damage, or a git that is missing: said already
        if back:
            yield Problem(
                "purged",
                "what was purged is in the history again",
                "A copy that still had it was joined. Purge it again.",
            )

    def damaged(self) -> list[Problem]:
        """Objects that are damaged or missing, with the notes they belong to."""
        try:
            if not self._vault.head():
                return []
            status, out, err = self._vault.repo.commands.attempt(
                "fsck", "--strict", "--no-dangling", "--no-progress", timeout=600.0
            )
        except GitProblem:
            return []  # said already
        if not status:
            return []
        hits = repair.told(self._vault.files, repair.survey(self._vault.repo))
        if not hits:
            words = (err or out).decode("utf-8", "replace").strip().split("\n")[0]
            return [
                Problem(DAMAGE, f"git fsck: {words}", "No object is hit. `git fsck` says more.")
            ]
        text = f"damaged or missing in the history: {few(hits, 20)}"
        hint = (
            "`oneiro doctor --fix` refills what the files on disk and the remotes have. Everything "
            "else can be read and written."
        )
        return [Problem(DAMAGE, text, hint, fixable=True)]

    def _files(self) -> Iterator[Problem]:
        look = self._edits.look()
        if look.asked:
            yield Problem("brake", look.question(), look.way_back())
        for path in look.conflicted:
            yield self._conflict(path)
        for path, what in look.secret.items():
            yield Problem(
                "secret",
                f"{path} holds what looks like {what}, so this edit is not committed",
                SECRET,
                path,
            )
        for path in look.staged:
            yield Problem(
                "staged",
                f"{path} has staged changes; they are left to you",
                "Commit or unstage it.",
                path,
            )
        for refused in {
            _shown(one.path): one for one in (*look.refused, *self._refused())
        }.values():
            yield Problem(
                "unreadable",
                f"{_shown(refused.path) or 'the vault folder'}: {refused.reason}",
                "It stays as it is and is not indexed.",
                _shown(refused.path),
            )
        yield from self._twins()

    def _conflict(self, path: str) -> Problem:
        why = edits.conflict(self._vault.files, path)
        if why == edits.MARKED:
            return Problem(
                "conflict",
                f"{path}: {why}; its last good version, if there is one, keeps serving",
                "Resolve it in any editor.",
                path,
            )
        try:
            self._vault.repo.staging.blobs(())
            hint = "`git status` says more."
        except OneiroError as error:
            hint = error.hint
        return Problem("conflict", f"{path}: {why}; git has left it to you", hint, path)

    def _twins(self) -> Iterator[Problem]:
        seen: dict[str, str] = {}
        for path in self._vault.repo.listing(self._vault.head()):
            other = seen.setdefault(twin_key(path), path)
            if other != path and is_note(path):
                yield Problem(
                    "twins",
                    f"{path} and {other} are one file on a case-insensitive disk",
                    "Rename one of them.",
                    path,
                )


def _shown(path: str) -> str:
    """What is no UTF-8 has two spellings otherwise."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
