"""What a merge by plain git can leave, which knows names and not memories: two names that differ only in case, and one memory in two files.

Both are put right by what is in the tree alone, so two machines that tidy up the same tree get the same one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from oneiro_vault.core.change import Change, Operation, Remove, Write
from oneiro_vault.errors import StaleMemory
from oneiro_vault.sync.plan import Action, apart
from oneiro_vault.vault.files import digest
from oneiro_vault.vault.paths import is_note, twin_key

if TYPE_CHECKING:
    from oneiro_vault.sync.words import Contents
    from oneiro_vault.vault.staging import Entry
    from oneiro_vault.vault.vault import Vault

TITLE: Final = "put right what a plain merge left"
_OURS: Final = "%(trailers:key=Oneiro-Op,valueonly,separator=%x2C)"


def tidy(vault: Vault, contents: Contents, since: str) -> list[Action]:
    """One commit that gives twins two names and makes one note of a memory that is in two; nothing when there are none. `since`: the tip
    from which on by whom each commit was made is looked at ("": all).

    Raises what `Vault.apply` raises, except StaleMemory.
    """
    tip = vault.head()
    if not tip:
        return []
    listing = vault.repo.listing(tip)
    actions: list[Action] = []
    changes: dict[str, str] = {}
    if _by_hand(vault, since, tip):
        _join(contents, listing, changes, actions)
    _name(contents, {path: entry for path, entry in listing.items() if changes.get(path) != ""}, changes, actions)
    if actions:
        operation = Operation("sync", TITLE, memories=tuple(action.memory for action in actions if action.memory))
        try:
            vault.apply(_ordered(contents, listing, changes), operation)
        except StaleMemory:
            return []  # somebody is just changing one of them; `check` names what is left
    return actions


def _by_hand(vault: Vault, since: str, tip: str) -> bool:
    """Did somebody merge or rebase without us since then?"""
    span = f"{since}..{tip}" if since else tip
    rows = vault.repo.commands.text("log", f"--format=%P%x00%at%x00%ct%x00{_OURS}", span).splitlines()
    found = (row.split("\0") for row in rows if row)
    return any((" " in parents and not op) or (authored != made and bool(op)) for parents, authored, made, op in found)


def _join(contents: Contents, listing: Mapping[str, Entry], changes: dict[str, str], actions: list[Action]) -> None:
    """Of the files of one memory the one whose name tells it stands, else the first, and takes in the others."""
    files: dict[str, list[str]] = defaultdict(list)
    for path, entry in listing.items():
        if is_note(path) and (ident := contents.ident(entry.blob)):
            files[ident].append(path)
    for ident, paths in files.items():
        stands, *others = sorted(paths, key=lambda path: (ident not in path, path))
        for other in others:
            blob, clashes = contents.merge(stands, "", changes.get(stands) or listing[stands].blob, listing[other].blob)
            changes |= {stands: blob, other: ""}
            actions.append(Action("merge", stands, other, ident, clashes))


def _name(contents: Contents, listing: Mapping[str, Entry], changes: dict[str, str], actions: list[Action]) -> None:
    """What another file's name would hide on a disk that takes no note of case gets another one."""
    twins: dict[str, list[str]] = defaultdict(list)
    for path in listing:
        twins[twin_key(path)].append(path)
    for paths in twins.values():
        if len(paths) > 1:
            marks = {path: contents.ident(listing[path].blob) if is_note(path) else "" for path in paths}
            for path in sorted(paths, key=lambda one: (bool(marks[one]), marks[one], listing[one].blob, one))[1:]:
                blob = changes.get(path) or listing[path].blob
                to = apart(path, marks[path] or listing[path].blob, twins.keys())
                changes |= {path: "", to: blob}
                actions.append(Action("rename", to, path, marks[path]))


def _ordered(contents: Contents, listing: Mapping[str, Entry], changes: Mapping[str, str]) -> list[Change]:
    found: list[Change] = []
    for path, blob in changes.items():
        base = digest(contents.data(listing[path].blob)) if path in listing else None
        if blob:
            found.append(Write(path, contents.data(blob), base))
        elif base is not None:
            found.append(Remove(path, base))
    return found
