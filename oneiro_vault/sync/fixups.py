"""What a merge by plain git can leave, which knows names and not memories: two names that differ
only in case, and one memory in two files.

What one side had already is that side's own. It is done by what is in the tree alone, so two
machines that tidy up the same tree get the same one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from oneiro_vault.errors import StaleMemory
from oneiro_vault.sync.plan import Action, apart
from oneiro_vault.vault.change import Change, Operation, Remove, Write
from oneiro_vault.vault.git.staging_area import FILE
from oneiro_vault.vault.paths import is_note, is_ours, twin_key
from oneiro_vault.vault.worktree.files import digest
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.sync.plan import Contents
    from oneiro_vault.vault.git.staging_area import Entry
    from oneiro_vault.vault.vault import Vault

Met = Callable[[str, str], bool]
"""Did these two paths come together only here?"""
TITLE: Final = "put right what a plain merge left"
_LEFT: Final = "untidy"
_FORMAT: Final = (
    "%H%x1f%P%x1f%at%x1f%ct%x1f%(trailers:key=Oneiro-Op,valueonly,unfold,separator=%x2C)"
)


def tidy(vault: Vault, contents: Contents, since: str) -> list[Action]:
    """One commit that gives twins two names and makes one note of a memory that is in two. `since`:
    the tip from which on commits are looked at ("": all).

    Raises what `Vault.apply` raises, except StaleMemory.
    """
    tip, left = vault.head(), vault.folder / _LEFT
    if left.exists():
        since = left.read_text().strip()
    origins = _origins(vault, since, tip) if tip else []
    if not origins:
        return []
    before = [vault.repo.listing(commit) for commit in origins]
    listing = {
        path: entry
        for path, entry in vault.repo.listing(tip).items()
        if entry.mode == FILE and is_ours(path)
    }

    def met(one: str, other: str) -> bool:
        return not any(one in there and other in there for there in before)

    actions: list[Action] = []
    changes: dict[str, str] = {}
    _join(contents, listing, met, changes, actions)
    _name(
        contents,
        {path: entry for path, entry in listing.items() if changes.get(path) != ""},
        met,
        changes,
        actions,
    )
    if actions:
        operation = Operation(
            "sync", TITLE, memories=tuple(action.memory for action in actions if action.memory)
        )
        try:
            vault.apply(_ordered(contents, listing, changes), operation)
        except StaleMemory:  # somebody is just changing one of them: the next time
            disk.note("Noting what is left", left, since)
            return []
    left.unlink(missing_ok=True)
    return actions


def _origins(vault: Vault, since: str, tip: str) -> list[str]:
    """The commits from which merges and rebases that were made without us set out."""
    span = f"{since}..{tip}" if since else tip
    text = vault.repo.commands.text(
        "log", "-z", "--topo-order", "--reverse", f"--format={_FORMAT}", span
    )
    mixed: set[str] = set()
    found: dict[str, None] = {}
    for row in text.split("\0"):
        commit, parents, authored, made, op = (*row.split("\x1f", 4), "", "", "", "")[:5]
        above = parents.split()
        if (len(above) > 1 and not op) or (authored != made and op):
            mixed.add(commit)
            found |= dict.fromkeys(parent for parent in above if parent not in mixed)
        elif not mixed.isdisjoint(above):
            mixed.add(commit)
    if not mixed:
        return []
    old = vault.repo.tip("ORIG_HEAD")  # where a rebase set out
    return [commit for commit in (*found, since, old if old not in mixed else "") if commit]


def _join(
    contents: Contents,
    listing: Mapping[str, Entry],
    met: Met,
    changes: dict[str, str],
    actions: list[Action],
) -> None:
    """The file whose name tells the memory stands, else the first, and takes in the others."""
    files: dict[str, list[str]] = defaultdict(list)
    for path, entry in listing.items():
        if is_note(path) and (ident := contents.ident(entry.blob)):
            files[ident].append(path)
    for ident, paths in files.items():
        stands, *others = sorted(paths, key=lambda path: (ident not in path, path))
        for other in (other for other in others if met(stands, other)):
            blob, clashes = contents.merge(
                stands, "", changes.get(stands) or listing[stands].blob, listing[other].blob
            )
            changes |= {stands: blob, other: ""}
            actions.append(Action("merge", stands, other, ident, clashes))


def _name(
    contents: Contents,
    listing: Mapping[str, Entry],
    met: Met,
    changes: dict[str, str],
    actions: list[Action],
) -> None:
    twins: dict[str, list[str]] = defaultdict(list)
    for path in listing:
        twins[twin_key(path)].append(path)
    taken = set(twins)
    for paths in (paths for paths in twins.values() if len(paths) > 1):
        marks = {
            path: contents.ident(listing[path].blob) if is_note(path) else "" for path in paths
        }
        stands, *others = sorted(
            paths, key=lambda one: (bool(marks[one]), marks[one], listing[one].blob, one)
        )
        for path in (path for path in others if met(stands, path)):
            to = apart(path, marks[path] or listing[path].blob, taken)
            taken.add(twin_key(to))
            changes |= {path: "", to: changes.get(path) or listing[path].blob}
            actions.append(Action("rename", to, path, marks[path]))


def _ordered(
    contents: Contents, listing: Mapping[str, Entry], changes: Mapping[str, str]
) -> list[Change]:
    found: list[Change] = []
    for path, blob in changes.items():
        base = digest(contents.data(listing[path].blob)) if path in listing else None
        if blob:
            found.append(Write(path, contents.data(blob), base))
        elif base is not None:
            found.append(Remove(path, base))
    return found
