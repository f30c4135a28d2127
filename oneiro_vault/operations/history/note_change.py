"""A note before and after a change: its words side by side, and what else it says or changes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown.word_diff import GONE, NEW, changes, told
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import GitProblem, UnreadableNote
from oneiro_vault.operations.history.diff import said
from oneiro_vault.vault.history.undo import REPORTS
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import is_note

_SILENT: Final = frozenset(("body", "title", "path", "timestamp", "created", "id", "extra"))
"""What a list of changed keys need not say: the words are shown beside it."""
_TOLD: Final = (
    "type", "source", "trust", "core", "status", "priority", "keep", "valid_from", "valid_until",
    "derived_from", "supersedes",
)  # fmt: skip
"""Keys of a new note that are shown where they are set."""


def in_commit(vault: Vault, commit: str) -> list[answers.ProposedChange]:
    """What a commit made of notes, without their secrets; not of reports, nor of what was purged
    since. [] for a commit that cannot be read: `doctor` tells of damage."""
    repo, found = vault.repo, []
    veiled = vault.secrets.shown
    with suppress(GitProblem):
        parent = next(iter(repo.parents(commit)), "")
        for path, sides in repo.difference(parent, commit).items():
            if not is_note(path) or path.startswith(REPORTS):
                continue
            before, after = (repo.data(side.blob) if side else None for side in sides)
            if not any(vault.erased.in_file(path, data) for data in (before, after) if data):
                pair = (veiled(data) if data is not None else None for data in (before, after))
                found.append(change(path, *pair))
    return found


def change(path: str, before: bytes | None, after: bytes | None) -> answers.ProposedChange:
    """What becomes of a note, None where there is none. `words`: new ones, or all of both with
    [-gone-] and {+new+}; `keys`: what else it says or changes."""
    old, new = (parsed(path, data) for data in (before, after))
    text = (after or b"").decode("utf-8", "replace")
    row: answers.ProposedChange = {
        "path": path,
        "id": None,
        "title": path,
        "is_new": before is None,
        "words": "",
        "steps": [],
        "keys": {},
        "text": text,
    }
    known = new or old
    if known is not None:
        row["id"], row["title"] = known.id or None, known.title
    if new is None:
        return {**row, "words": text.strip()}
    if old is None:
        return {**row, "words": new.body.strip(), "keys": _set(new)}
    both = said(old, new)
    found = changes(*both) if both[0] != both[1] else []
    return {
        **row,
        "words": told(found, GONE, NEW),
        "steps": [[*one] for one in found],
        "keys": _keys(old, new),
    }


def parsed(path: str, data: bytes | None) -> Memory | None:
    """A note, None where there is none or it cannot be read."""
    try:
        return memories.parse(path, data) if data is not None else None
    except UnreadableNote:
        return None


def _set(new: Memory) -> dict[str, str]:
    every = ((name, getattr(new, name)) for name in _TOLD)
    return {
        name: written(value)
        for name, value in every
        if value not in ("", (), None) and value is not False
    }


def _keys(old: Memory, new: Memory) -> dict[str, str]:
    names = [
        one.name
        for one in fields(new)
        if one.name not in _SILENT and getattr(old, one.name) != getattr(new, one.name)
    ]
    return {name: written(getattr(new, name)) for name in names}


def written(value: object) -> str:
    """What a key says, on one line; "" where it says nothing."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
