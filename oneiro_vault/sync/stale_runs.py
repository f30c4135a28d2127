"""Two machines ran the same loop and neither knew of the other's decisions: together they would do
everything twice.

The run that is not there yet gives way, before anything is joined: to one that was sent first, and
to that of a machine which took the lease after it (a late holder never gets in by being quick). Its
decisions are taken back by commits of their own and stay in history; what is kept under
`refs/oneiro/rescue/` is the vault as it was with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.errors import Brake, InvalidInput, StaleMemory
from oneiro_vault.sync.remote_lease import LeaseRef, fenced_by_another
from oneiro_vault.vault.git.network import Remote
from oneiro_vault.vault.history.commit_log import Entry, History, taken_back
from oneiro_vault.vault.vault import Vault

MACHINE: Final = "dream"
"""The actor of decisions, and of taking them back here: those may be made again, what a person took
back may not."""


@dataclass
class Late:
    """A run that gives way: which, of what loop, under which lease, and why; `kept`: the ref that
    leads to it; `left`: how many of its decisions stay because their notes were changed since."""

    run: str
    loop: str
    fence: int
    why: str
    kept: str = ""
    left: int = 0
    commits: list[str] = field(default_factory=list)


def find(vault: Vault, remote: Remote, ours: str, theirs: str) -> list[Late]:
    """Runs that only `ours` has and that have to give way, the latest first. Raises Unreachable or
    GitProblem."""
    if not ours:
        return []
    mine = _standing(vault.history, vault.history.decisions(ours, theirs))
    if not mine:
        return []
    there = (
        _fences(_standing(vault.history, vault.history.decisions(theirs, ours), theirs))
        if theirs
        else {}
    )
    record = (
        fenced_by_another(LeaseRef(vault, remote)) if any(entry.fence for entry in mine) else None
    )
    found: dict[str, Late] = {}
    for entry in mine:
        why = ""
        if entry.loop in there and (entry.fence or there[entry.loop]):
            why = f"another machine's {entry.loop} was sent first"
        elif record is not None and 0 < entry.fence < record.fence and entry.loop in record.loops:
            why = f"{record.device} has taken the lease since, for {entry.loop}"
        if why:
            found.setdefault(
                entry.run, Late(entry.run, entry.loop, entry.fence, why)
            ).commits.append(entry.commit)
    return list(found.values())


def _standing(history: History, decisions: Iterable[Entry], tip: str = "HEAD") -> list[Entry]:
    """Decisions of machines that nobody took back; what a person accepted is theirs."""
    made = [entry for entry in decisions if entry.decision and entry.run and entry.actor == MACHINE]
    back = taken_back(history.undoings(tip)) if made else set()
    return [entry for entry in made if not back & {entry.commit, entry.run}]


def _fences(entries: Iterable[Entry]) -> dict[str, int]:
    """loop -> the highest fence under which it decided something."""
    found: dict[str, int] = {}
    for entry in entries:
        found[entry.loop] = max(found.get(entry.loop, 0), entry.fence)
    return found


def give_way(vault: Vault, remote: Remote, ours: str, theirs: str) -> list[Late]:
    """Take those runs back. Raises what `find` does, and LockTimeout, RepositoryBusy or
    DiskProblem."""
    found = find(vault, remote, ours, theirs)
    for late in found:
        late.kept = remote.rescue(ours, f"late/{late.run}")
        _take_back(vault, late)
    return found


def _take_back(vault: Vault, late: Late) -> None:
    whole = [
        entry.commit
        for entry in vault.history.runs(late.run)
        if entry.run == late.run and entry.decision
    ]
    if whole == late.commits:
        with suppress(StaleMemory, Brake, InvalidInput):
            vault.undo_run(late.run, MACHINE)
            return
    for commit in late.commits:
        try:
            vault.undo(commit, MACHINE)
        except (StaleMemory, Brake, InvalidInput):
            late.left += 1


def withdrawn(history: History) -> set[str]:
    """Commits and runs that gave way: what they decided counts as not decided."""
    return taken_back(entry for entry in history.undoings() if entry.actor == MACHINE)
