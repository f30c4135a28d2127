"""What waits for a person's review: decisions on branches of runs, neither in our history nor
rejected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from oneiro_vault.errors import UnsafePath
from oneiro_vault.index.store import Index
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE
from oneiro_vault.vault.git.staging_area import Entry as File
from oneiro_vault.vault.history import proposal_branches
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.history.proposal_branches import Open
from oneiro_vault.vault.history.undo import REPORTS
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.worktree.files import checked, is_note

EVENT: Final = "review"
"""Kind of the ledger events that say what a person decided about a decision `d`: `v` is one of the
following."""
REJECTED: Final = "rejected"
ACCEPTED: Final = "accepted"
"""For what came in without the decision's own commit: a pull request that was squashed."""
_KNOWN: Final = (File("", FILE), None)
Changed: TypeAlias = Mapping[str, tuple[File | None, File | None]]


@dataclass(frozen=True)
class Proposal:
    """One decision on a branch: its commit, and what it makes of which files (path -> before,
    after)."""

    branch: Open
    entry: Entry
    parent: str
    files: Mapping[str, tuple[File | None, File | None]]

    @property
    def id(self) -> str:
        """The decision's."""
        return self.entry.decision


def verdicts(vault: Vault) -> dict[str, str]:
    """Decision -> what the ledger says became of it; the latest counts."""
    found = {}
    for event in vault.ledger.events():
        if (
            event.get("e") == EVENT
            and isinstance(decision := event.get("d"), str)
            and event.get("v") in (REJECTED, ACCEPTED)
        ):
            found[decision] = str(event["v"])
    return found


def made(vault: Vault) -> set[str]:
    """Decisions that our history has."""
    return (
        {entry.decision for entry in vault.history.runs() if entry.decision}
        if vault.head()
        else set()
    )


def waiting(vault: Vault, settled: Collection[str] | None = None) -> list[Proposal]:
    """Every proposal that is open, branch by branch, in the order in which they were made.
    `settled`: decisions that are not. Only notes can be proposed."""
    found: dict[str, Proposal] = {}
    for branch in proposal_branches.branches(vault.repo):
        if settled is None:
            settled = made(vault) | verdicts(vault).keys()
        left = [one for one in on(vault, branch) if one.id not in settled]
        merged = decided(vault, branch, left)
        for one in left:
            if one.id not in merged and one.files and not arrived(vault, one):
                found.setdefault(one.id, one)
    return list(found.values())


def entries(vault: Vault, branch: Open) -> list[Entry]:
    """Commits of a branch that ours does not have, oldest first."""
    head = vault.head()
    return vault.history.log(start=f"{head}..{branch.tip}" if head else branch.tip)[::-1]


def on(vault: Vault, branch: Open) -> Iterator[Proposal]:
    """The decisions among the commits of a branch that ours does not have."""
    repo = vault.repo
    made = [entry for entry in entries(vault, branch) if entry.decision and entry.op]
    parents = [next(iter(repo.parents(entry.commit)), "") for entry in made]
    changed = [
        repo.difference(parent, entry.commit) for parent, entry in zip(parents, made, strict=True)
    ]
    for at, (entry, parent) in enumerate(zip(made, parents, strict=True)):
        later = {path for files in changed[at + 1 :] for path in files}
        # as the tip says it, for a reviewer may have edited it on the branch; but no words that a
        # later decision brings
        now = {
            path: (before, after if path in later else repo.entry(branch.tip, path))
            for path, (before, after) in changed[at].items()
        }
        whole = all(_is_note(path, after) for path, (_, after) in now.items())
        yield Proposal(
            branch,
            entry,
            parent,
            {path: pair for path, pair in now.items() if pair[1] is not None} if whole else {},
        )


def _is_note(path: str, after: File | None) -> bool:
    """A branch may have been fetched from anywhere."""
    try:
        return is_note(checked(path)) and (after is None or after.mode in (FILE, EXECUTABLE))
    except UnsafePath:
        return False


def arrived(vault: Vault, one: Proposal) -> bool:
    """Does our history hold what it proposes, or what its branch made of that later?"""
    repo, head = vault.repo, vault.head()

    def has(path: str, before: File | None, after: File | None) -> bool:
        now = repo.entry(head, path)
        return now == after or (now != before and now == repo.entry(one.branch.tip, path))

    return bool(one.files) and all(has(path, *pair) for path, pair in one.files.items())


def stale(vault: Vault, index: Index, one: Proposal, disk: bool = True) -> str:
    """What changed so that it no longer fits, "" when nothing did. `disk`: also what is not
    committed."""
    repo, head = vault.repo, vault.head()
    for path, (before, _) in one.files.items():
        now = repo.entry(head, path)
        if before is None:
            if now is not None:
                return f"{path} is there already"
        elif now is None:
            return f"{path} is not there any more"
        elif now.blob != before.blob or (disk and vault.files.blob(path) != before.blob):
            return f"{path} changed since"
    return next(
        (why for ident in one.entry.memories if (why := _moved_on(vault, index, one, ident))), ""
    )


def _moved_on(vault: Vault, index: Index, one: Proposal, ident: str) -> str:
    rows = index.get(ident)
    if len(rows) != 1 or rows[0].path in one.files:
        return ""
    repo, path = vault.repo, rows[0].path
    then, now = repo.entry(one.parent, path), repo.entry(vault.head(), path)
    if not then or not now or now.blob == then.blob:
        return ""
    proposed = (
        repo.entry(commit, path)
        for commit in (one.branch.tip, *(entry.commit for entry in entries(vault, one.branch)))
    )
    return (
        ""
        if any(known and known.blob == now.blob for known in proposed)
        else f"{path}, which it rests on, changed since"
    )


# -- branches that came in as one commit


def decided(vault: Vault, branch: Open, open_: Sequence[Proposal]) -> dict[str, str]:
    """Decision -> what became of it, for those of `open_` whose branch came in as one commit, with
    some of them changed or left out.

    That commit is known by what only the branch had, the report of the run or the decision's name
    in its message; what it did to the files of a decision is the verdict.
    """
    found: dict[str, str] = {}
    head = vault.head()
    if not open_ or not head:
        return found
    made = [entry for entry in entries(vault, branch) if not entry.decision]
    reports = {
        entry.run: path for entry in made for path in entry.paths if path.startswith(REPORTS)
    }
    for commit, changed in _merges(vault, branch, list(reports.values())):
        said = vault.repo.message(commit)
        for one in open_:
            came = changed.get(reports.get(one.entry.run, ""), _KNOWN)[0] is None
            if came or f"Oneiro-Decision: {one.id}" in said:
                found.setdefault(one.id, _verdict(vault, commit, changed, one, open_))
    return found


def _merges(vault: Vault, branch: Open, reports: Sequence[str]) -> Iterator[tuple[str, Changed]]:
    repo, history, head = vault.repo, vault.history, vault.head()
    made = history.since(branch.tip, reports, until=head) if reports else []
    names = dict.fromkeys(entry.commit for entry in (*made, *history.decisions(head, branch.tip)))
    for commit in names:
        parents = repo.parents(commit)
        if len(parents) == 1:
            changed = repo.difference(parents[0], commit)
            if any(
                is_note(path) and not path.startswith(REPORTS) for path in changed
            ):  # a report alone is brought by our own review
                yield commit, changed


def _verdict(
    vault: Vault, commit: str, changed: Changed, one: Proposal, others: Sequence[Proposal]
) -> str:
    repo = vault.repo
    wanted = {path: after for path, (before, after) in one.files.items() if before != after}
    if wanted and all(
        repo.entry(commit, path) in (after, repo.entry(one.branch.tip, path))
        for path, after in wanted.items()
    ):
        return ACCEPTED
    ids = {
        _ident(vault, path, after) for path, (before, after) in changed.items() if before is None
    } - {""}
    for path, after in wanted.items():
        now = changed.get(path, (None, None))[1]
        if now is not None and now not in [
            other.files[path][1] for other in others if other is not one and path in other.files
        ]:
            return ACCEPTED
        if path not in changed and one.files[path][0] is None and _ident(vault, path, after) in ids:
            return ACCEPTED  # under another name
    return REJECTED


def _ident(vault: Vault, path: str, file: File | None) -> str:
    return id_of(vault.repo.data(file.blob)) if file is not None and is_note(path) else ""
