"""What a run of loops proposes, on a branch of its own until a person has decided.

A proposal moves only its own ref: no work tree, no index, no file on disk, and so no journal: a
crash leaves objects that nothing leads to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from oneiro_vault.errors import RepositoryBusy
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import FILE, Entry
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.parts import Parts
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.write_lock import Gate
from oneiro_vault.vault.write.writer import machine, validate

HEADS: Final = "refs/heads/"
REVIEWED: Final = "refs/oneiro/reviewed/"
"""Where branches that are settled stay reachable for ever."""
_NAME: Final = re.compile(r"dream/\d{4}-\d\d-\d\d(-\d+)?")
Check = Callable[[str, str], None]
"""Asked with the write lock held (our tip, the commit the proposal will stand on); refuses by
raising."""


def is_proposal(name: str) -> bool:
    """Is a branch called as runs of loops call theirs?"""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Open:
    """A branch with proposals: its tip, and whether somebody has it checked out."""

    name: str
    tip: str
    used: bool


def branches(repo: Repo) -> list[Open]:
    """The branches of runs, by name, without the one HEAD is on: there everything is ours
    already."""
    layout = "--format=%(refname)%09%(objectname)%09%(worktreepath)"
    rows = [
        row.split("\t")
        for row in repo.commands.text("for-each-ref", layout, f"{HEADS}dream/").splitlines()
    ]
    found = [Open(ref.removeprefix(HEADS), tip, bool(place)) for ref, tip, place in rows]
    here = _here(repo)
    return [branch for branch in found if is_proposal(branch.name) and branch.name != here]


def _here(repo: Repo) -> str:
    try:
        return repo.branch().removeprefix(HEADS)
    except RepositoryBusy:
        return ""


def reviewing_here(repo: Repo) -> bool:
    """Is HEAD itself on a branch for proposals? Then what is committed is under review as it is."""
    return is_proposal(_here(repo))


class Branch:
    """The branch that the loops of one night propose on, from the commit `base`; no `name` until
    there is something to propose."""

    def __init__(self, vault: Parts, day: str, base: str) -> None:
        self._vault, self._day, self._base = vault, day, base
        self.name = ""

    def add(self, changes: Sequence[Write], operation: Operation, check: Check) -> str:
        """One more commit; "" when nothing differs from what is proposed already.

        Raises as `Vault.apply` does, and what `check` raises; nothing was written then.
        """
        vault = self._vault
        validate(changes)
        screened, operation = vault.secrets.screened(changes, operation, vault.in_history)
        writes = [change for change in screened if isinstance(change, Write)]
        with vault.gate.writing():
            self.name = self.name or _free(vault.repo, self._day)
            return vault.gate.retried(lambda _, tip: self._attempt(tip, writes, operation, check))

    def _attempt(
        self, tip: str, changes: Sequence[Write], operation: Operation, check: Check
    ) -> str | None:
        repo, ref = self._vault.repo, HEADS + self.name
        old = repo.tip(ref)
        parent = old or self._base
        check(tip, parent)
        try:
            files: dict[str, Entry | None] = {}
            for change in changes:
                known = repo.entry(parent, change.path)
                made = Entry(repo.add(change.data), known.mode if known else FILE)
                if made != known:
                    files[change.path] = made
            if not files:
                return ""
            text = commit_log.message(operation, self._vault.ledger.device)
            who = machine(operation.actor)
            commit = repo.commit(parent, files, text, who, who, self._vault.clock())
            with disk.guarded("Writing the proposal"):
                repo.store_durably()
        finally:
            repo.discard()
        if not repo.move(ref, old, commit):
            return None
        with disk.guarded("Making the proposal durable"):
            disk.sync(repo.ref_files(ref))
        return commit


def _free(repo: Repo, day: str) -> str:
    """`dream/<day>`, or the first number of that day that is free here, among what was reviewed,
    and on known remotes."""
    refs = repo.commands.text(
        "for-each-ref", "--format=%(refname)", HEADS, REVIEWED, "refs/remotes/"
    ).splitlines()
    taken = {f"dream/{ref.rpartition('/dream/')[2]}" for ref in refs if "/dream/" in ref}
    numbers = (
        f"dream/{day}" if number == 1 else f"dream/{day}-{number}"
        for number in range(1, len(taken) + 2)
    )
    return next(name for name in numbers if name not in taken)


def close(repo: Repo, gate: Gate, branch: Open) -> bool:
    """Take a branch away whose proposals are settled; its commits stay under `REVIEWED`. False when
    somebody works on it."""
    if branch.used:
        return False
    git = repo.commands
    with gate.locked():
        kept, number = REVIEWED + branch.name, 1
        while repo.tip(kept) not in ("", branch.tip):
            number += 1
            kept = f"{REVIEWED}{branch.name}.{number}"
        git.run("update-ref", "-m", "oneiro review", kept, branch.tip)
        if git.attempt("update-ref", "-m", "oneiro review", "-d", HEADS + branch.name, branch.tip)[
            0
        ]:
            return False  # it moved this very moment: somebody works on it
        git.attempt("config", "--local", "--remove-section", f"branch.{branch.name}")
    return True
