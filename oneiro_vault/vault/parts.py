"""The parts an open vault is made of, for what works with several of them; `Vault` adds what
changes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oneiro_vault.errors import NotFound, shown
from oneiro_vault.vault.git.activity import PURGING
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.history import snapshot
from oneiro_vault.vault.history.commit_log import Entry, History, Past
from oneiro_vault.vault.history.snapshot import Point
from oneiro_vault.vault.ledger import Ledger
from oneiro_vault.vault.purge.denylist import Erased
from oneiro_vault.vault.secrets.secret_scan import Secrets
from oneiro_vault.vault.worktree.files import Files
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.journal import Journal
from oneiro_vault.vault.write.recovery import Recovery, mend_head
from oneiro_vault.vault.write.write_lock import Gate
from oneiro_vault.vault.write.writer import Writer


class Log:
    """The log as a person is shown it: nothing in it says what was purged."""

    def __init__(self, repo: Repo, history: History, erased: Erased) -> None:
        self._repo, self._history, self._erased = repo, history, erased
        self._first: Point | None = None

    def entries(
        self, limit: int | None = None, *, memory: str = "", path: str = "", quick: bool = False
    ) -> list[Entry]:
        """Newest first; of one memory (by id, path or both), under every name its file had;
        `quick`: a name without its id that a person gave it long ago may be missed."""
        if not self._repo.tip():
            return []
        if memory and quick:
            found = self._history.touching(memory, path)[:limit]
        elif memory or path:
            found = self._history.of(memory, path, limit=limit)
        else:
            found = self._history.log(limit)
        return [self._erased.veiled(entry) for entry in found] if self._erased.stamp() else found

    def show(self, commit: str) -> Entry:
        """One commit with the paths it touched. Raises NotFound."""
        return self._erased.veiled(self._history.log(1, start=self.find(commit))[0])

    def find(self, name: str) -> str:
        """The id of a commit of this history. Raises NotFound."""
        found = self._repo.resolve(name) if name and not name.startswith("-") else ""
        if not found or not self._repo.contains(found, self._repo.tip()):
            raise NotFound(
                f"there is no commit {shown(name)} in this vault's history",
                hint="`oneiro log` lists them.",
            )
        return found

    def first(self) -> Point | None:
        """The first commit; None without one. It is asked for once: git walks all of it."""
        if self._first is None:
            self._first = snapshot.first(self._repo)
        return self._first

    def count(self) -> int:
        """Number of commits in the history."""
        tip = self._repo.tip()
        return int(self._repo.commands.text("rev-list", "--count", tip)) if tip else 0


class Parts:
    """`folder` is where the journal and what waits lie; `history` and `past` are asked by programs,
    `log` by people."""

    def __init__(
        self, root: Path, clock: Callable[[], float], secrets: Secrets, **gate: Any
    ) -> None:
        self.root = root
        self.clock = clock
        self.secrets = secrets
        self.files = Files(root)
        self.repo = _opened(root)
        self.folder = self.repo.git_dir / "oneiro"
        self.journal = Journal(self.folder)
        self.ledger = Ledger(self.repo, self.folder, lambda: self.clock())
        self.history = History(self.repo.commands)
        self.past = Past(self.repo)
        self.erased = Erased(self.repo)
        self.log = Log(self.repo, self.history, self.erased)
        self.recovery = Recovery(self.repo, self.files, self.journal, self.ledger)
        self.gate = Gate(self.repo, self.journal, self.recovery, **gate)
        self.writer = Writer(self.repo, self.files, self.journal, self.ledger)

    def head(self) -> str:
        """Hex id of the tip, "" when there is no commit yet."""
        return self.repo.tip()

    def in_history(self, path: str) -> bytes:
        """The bytes of a file at the tip, b"" when it is not there."""
        return self.repo.content(self.head(), path)

    @property
    def purging(self) -> bool:
        """Was a purge begun and not finished?"""
        return (self.folder / PURGING).exists()


def _opened(root: Path) -> Repo:
    with disk.guarded("Opening the vault"):
        mend_head(root)
    return Repo(root)
