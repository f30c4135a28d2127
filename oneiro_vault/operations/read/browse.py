"""Notes as files in folders, for programs that think in paths."""

from __future__ import annotations

import posixpath
from hashlib import sha256
from typing import Final, cast

from oneiro_vault import answers
from oneiro_vault.core import picture
from oneiro_vault.core.markdown import parser
from oneiro_vault.errors import InvalidInput, NotFound, shown
from oneiro_vault.index.base import Row
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read.orient import note_use
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.read.recall_show import check_text
from oneiro_vault.operations.remember.drafts import KEPT, check_owner, note_path
from oneiro_vault.operations.runtime import Uses
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.worktree.files import checked, hidden

MOST: Final = 1_000
"""Entries of one listing; of a folder with more only its own level is shown."""
_LONGEST: Final = 1_000
_FEW: Final = 20


def browse(indexing: Indexing, uses: Uses, /, path: str = "") -> answers.Browsed:
    """What is at a path of the vault ("": all): a folder's `entries`, two levels deep, or a `note`,
    which counts as a use, once a day. Raises NotFound or UnsafePath."""
    indexing.converge()
    row = indexing.index.by_path(checked(path)) if path else None
    if row is not None:
        note = _note(indexing, uses, row)
        return {"schema": 1, "path": path, "note": note, "entries": [], "left": 0}
    entries = _entries(indexing, f"{path}/" if path else "")
    if path and not entries:
        raise NotFound(
            f"there is no note and no folder {shown(path, 120)}",
            hint="Look at the folder above it.",
        )
    return {
        "schema": 1,
        "path": path,
        "note": None,
        "entries": entries[:MOST],
        "left": max(0, len(entries) - MOST),
    }


def follow(indexing: Indexing, /, to: str, source: str | None = None) -> answers.Followed:
    """The notes that a link may mean, as it is written (`[[to]]`, a path, an id), the likeliest
    first, at most 20; `source`: the id of the note it stands in. None: it leads nowhere. Not a use.
    Raises InvalidInput, for `source` NotFound, AmbiguousId."""
    check_text(to)
    indexing.converge()
    path = indexing.resolve(source).path if source else ""
    rows = indexing.index.meant_by(to[:_LONGEST], path)
    return {"schema": 1, "results": [{"id": row.handle, "path": row.path} for row in rows[:_FEW]]}


def _note(indexing: Indexing, uses: Uses, row: Row) -> answers.BrowsedNote:
    data, known, notice = served(indexing, row)
    note_use(uses, row, uses.remembered())
    found = {"id": row.handle, "body": known.body, "sha256": sha256(data).hexdigest()}
    keys = ("type", "title", "created", "timestamp", "source", "trust", "status", "core")
    found |= {name: getattr(known, name) for name in keys}
    return cast("answers.BrowsedNote", {**found, "notice": notice})


def _entries(indexing: Indexing, prefix: str) -> list[answers.Entry]:
    found: dict[str, answers.Entry] = {}
    for row in indexing.index.list(limit=10_000_000):
        if not row.path.startswith(prefix) or hidden(row.path):
            continue
        parts = row.path[len(prefix) :].split("/")
        for depth in range(1, min(len(parts), 2) + 1):
            folder = depth < len(parts)
            name = "/".join(parts[:depth]) + ("/" if folder else "")
            entry = found.setdefault(
                name,
                {
                    "path": prefix + name,
                    "bytes": 0,
                    "notes": 0,
                    "id": None if folder else row.handle,
                },
            )
            entry["bytes"] += row.size
            entry["notes"] += 1
    if len(found) > MOST:
        found = {name: entry for name, entry in found.items() if "/" not in name.rstrip("/")}
    return [found[name] for name in sorted(found)]


def move(indexing: Indexing, /, id: str, path: str, actor: str = "user") -> answers.Moved:
    """Give a note another path, in one commit; its bytes and its id stay. A machine may not move
    what is a person's (`memory.owned`), or what links would lead nowhere by. Raises InvalidInput,
    UnsafePath, StaleMemory when something is there already."""
    row, target = indexing.resolve(id), note_path(path)
    if row.path == target:
        raise InvalidInput(f"{shown(target, 120)} is where it is", kept=KEPT)
    data, known = indexing.load(row)
    check_owner(row, actor, "Only a person may move it.")
    if indexing.index.links_to(row.key) and actor != "user":
        raise InvalidInput(
            f"other notes link to {row.path}",
            kept=KEPT,
            hint="Leave it where it is; `reframe` gives it another title.",
        )
    if posixpath.dirname(row.path) != posixpath.dirname(target) and _leads_elsewhere(known.body):
        raise InvalidInput(
            f"{row.path} links to pictures or notes by where it is",
            kept=KEPT,
            hint="Choose a name in the folder where it is now.",
        )
    base = sha256(data).hexdigest()
    operation = Operation(
        "revise", f"{row.title} is {target} now", actor, (row.id,) if row.id else ()
    )
    receipt = indexing.apply([Write(target, data), Remove(row.path, base)], operation)
    return {
        "schema": 1,
        "id": row.handle,
        "path": target,
        "was": row.path,
        "commit": receipt.commit,
    }


def _leads_elsewhere(body: str) -> bool:
    if picture.references(body):
        return True
    targets = [link.target for link in parser.parse(body).links]
    return any(
        target.startswith(".") or ("/" in target and ":" not in target) for target in targets
    )
