"""Every wording that one memory had, whoever gave it, and what was believed before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Final, cast

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter.salvage import salvage
from oneiro_vault.core.markdown.quoting import cut
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Row
from oneiro_vault.operations.history.note_change import written
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.read.readable import served
from oneiro_vault.vault.history import commit_log
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.vault import Vault

MOST: Final = 200
"""Versions of one answer."""
_COMMITS: Final = 2_000
_FEW: Final = 3
"""Files of a commit that are looked through for a note under another name."""
_KEYS: Final = (
    "title", "description", "type", "status", "tags", "about", "aliases", "created", "valid_from",
    "valid_until", "superseded_by", "supersedes", "derived_from", "flags", "core", "priority",
    "budget", "keep", "trigger", "outcome", "confidence", "importance", "project", "kind", "trust",
    "source", "level",
)  # fmt: skip
_SAYS: Final = 600
"""Characters of what another memory says."""


def versions(indexing: Indexing, /, id: str, limit: int = 50) -> answers.Versions:
    """The commits of a memory, newest first, each with what it said from then on and what differs
    from before; forgotten memories too. What is on disk alone comes first, without a commit.
    `chain`: what it replaced and what replaced it, the oldest first. Not a use of it. Raises
    InvalidInput, NotFound, AmbiguousId."""
    recall_show.check_whole("limit", limit, 1, MOST)
    indexing.converge()
    ident, path = recall_show.anyone(indexing, id)
    row = indexing.index.by_path(path) if path else None
    entries = indexing.vault.log.entries(_COMMITS, memory=ident, path=path, quick=True)
    taken = commit_log.taken_back(one for one in entries if one.reason.startswith("undo of "))
    former = _walk(indexing.vault, entries, ident, path)
    found = [*_on_disk(indexing, row), *islice(former, limit + 1)]
    pairs = zip(found, [*found[1:], None], strict=True)
    told = [_version(one, before, taken) for one, before in pairs][:limit]
    last = next((one.note for one in found if one.note), None)
    return {
        "schema": 1,
        "id": ident or (row.handle if row else id),
        "title": row.title if row else last.title if last else "",
        "path": path or None,
        "status": row.status if row else "forgotten",
        "versions": told,
        "more": len(found) > limit,
        "chain": _chain(indexing, row) if row else [],
    }


@dataclass(frozen=True)
class _State:
    """A memory as a commit left it; `note` is None where it is not there. `entry` is None for what
    is on disk alone."""

    entry: Entry | None
    path: str
    data: bytes = b""
    note: Memory | None = None


def _on_disk(indexing: Indexing, row: Row | None) -> Iterator[_State]:
    """What no commit has yet."""
    if row is None:
        return
    try:
        data, note, notice = served(indexing, row)
        head = indexing.vault.past.heads([row.path]).get(row.path)
        if notice is None and (head is None or indexing.vault.past.data(head) != data):
            yield _State(None, row.path, data, note)
    except OneiroError:
        return


def _walk(vault: Vault, entries: Sequence[Entry], ident: str, path: str) -> Iterator[_State]:
    """From the newest back, following the file under every name it had."""
    for entry in entries:
        own = [one for one in entry.paths if ident and ident in one]
        names = dict.fromkeys([*filter(None, [path]), *own, *entry.paths[:_FEW]])
        state = next(filter(None, (_read(vault, entry, name, ident) for name in names)), None)
        path = state.path if state else next(iter(own), path)
        if path in entry.paths:  # else it only says something of it
            yield state or _State(entry, path)


def _read(vault: Vault, entry: Entry, path: str, ident: str) -> _State | None:
    try:
        place = vault.repo.entry(entry.commit, path)
        if place is None or not path.lower().endswith(".md"):
            return None
        data = vault.past.data(place.blob)
        note = _parsed(vault, path, data)
    except OneiroError:
        return None
    same = not ident or ident == note.id or ident in path
    return _State(entry, path, data, note) if same else None


def _parsed(vault: Vault, path: str, data: bytes) -> Memory:
    shown_ = vault.secrets.shown(data)
    try:
        return memories.parse(path, shown_)
    except OneiroError:
        return salvage(path, shown_, unmerged=True)


def _version(one: _State, before: _State | None, taken: set[str]) -> answers.Version:
    note, older = one.note, before.note if before else None
    entry = recall_show.told_of(one.entry) if one.entry else _uncommitted(one)
    return cast(
        "answers.Version",
        {
            **entry,
            "there": note is not None,
            "name": note.title if note else "",
            "status": note.status if note else "forgotten",
            "body": note.body if note else "",
            "sha256": sha256(one.data).hexdigest() if note else "",
            "words": (note.body.strip() if note else None)
            != (older.body.strip() if older else None),
            "keys": _differing(older, note),
            "undone": one.entry is not None
            and not taken.isdisjoint((one.entry.commit, one.entry.run)),
        },
    )


def _uncommitted(one: _State) -> answers.LogEntry:
    made = Entry("", "edit", one.note.title if one.note else "", 0.0, "", paths=(one.path,))
    return {**recall_show.told_of(made), "when": ""}


def _differing(before: Memory | None, after: Memory | None) -> dict[str, list[str]]:
    if before is None or after is None:
        return {}
    pairs = {key: [written(getattr(one, key)) for one in (before, after)] for key in _KEYS}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _chain(indexing: Indexing, row: Row) -> list[answers.Held]:
    """In the order in which they held."""
    keys = {row.key, *indexing.index.succession([row.key]).get(row.key, ())}
    rows, bodies = indexing.index.rows(keys), indexing.index.bodies(keys)
    ordered = sorted(rows.values(), key=lambda one: (_since(one, rows), one.when or 0.0, one.path))
    return [_held(one, bodies.get(one.key, "")) for one in ordered]


def _since(row: Row, rows: Mapping[int, Row]) -> int:
    """How many of these it comes after, by what replaced what."""
    after, handles = 0, {row.handle}
    for _ in rows:
        older = [one for one in rows.values() if one.superseded_by in handles]
        handles = {one.handle for one in older}
        if not older:
            break
        after += 1
    return after


def _held(row: Row, body: str) -> answers.Held:
    says = body.strip()
    return {
        "id": row.handle,
        "title": row.title,
        "status": row.status,
        "says": cut(says, _SAYS),
        "learned": row.created or None,
        "since": row.valid_from or row.created or None,
        "until": row.valid_until or None,
        "superseded_by": row.superseded_by or None,
    }
