"""Notes that were written without the tool get an id; nothing else in them changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.tree_diff import below
from oneiro_vault.errors import NotFound, OneiroError
from oneiro_vault.index.base import Row
from oneiro_vault.operations.care.check import faults
from oneiro_vault.operations.runtime import House, new_id
from oneiro_vault.vault.change import Change, Operation, Write

MISSING, UNREADABLE, KNOWN, SECRET = "missing", "unreadable", "known", "secret"
TEMPLATE = "template"
"""Why a note was passed over (`code`)."""
_BLANKS: Final = re.compile(rb"\{\{\s*(?:date|time|title)\b|<%[-_*]?\s*tp\.")
"""What Obsidian's and Templater's templates leave to be filled in."""


def adopt(
    house: House, paths: Sequence[str] = (), actor: str = "user", progress: Progress = quiet
) -> answers.Adopted:
    """Give notes without an id one (and a type, and their date when it is known). `paths` are notes
    or folders; none means all. What cannot be adopted is in `skipped` with a `code`. Raises
    NotFound when there is nothing at any path."""
    house.indexing.reconcile(progress)
    wanted = [
        path.strip().removeprefix("./").rstrip("/")
        for path in paths
        if path.strip().rstrip("/") not in (".", "./")
    ]
    everything = not paths or len(wanted) < len(paths)
    rows = {row.path: row for row in house.index.list(limit=10_000_000)}
    unreadable = {
        **dict(house.index.unreadable()),
        **{path: wrong.reason for path, _, wrong in faults(house)},
    }
    skipped = [] if everything else _missing(wanted, [*rows, *unreadable])
    if skipped and len(skipped) == len(wanted):
        raise NotFound(
            "there is no note at "
            + ", ".join(repr(entry["path"]) for entry in skipped[:5])
            + (" …" if len(skipped) > 5 else ""),
            kept="Nothing was changed.",
            hint="Give paths of notes or folders inside the vault; `oneiro list` shows notes.",
        )
    changes: list[Change] = []
    adopted: list[answers.Placed] = []
    for path in sorted(
        rows.keys() - unreadable.keys() if everything else rows.keys() | unreadable.keys()
    ):
        if everything or below(path, wanted):
            try:
                reason = _adopted(
                    house, rows.get(path), unreadable.get(path), path in wanted, changes, adopted
                )
            except OneiroError as error:
                reason = str(error), UNREADABLE
            if reason is not None:
                skipped.append({"path": path, "reason": reason[0], "code": reason[1]})
    commit = _commit(house, changes, adopted, actor, progress) if changes else None
    return {"schema": 1, "adopted": adopted, "skipped": skipped, "commit": commit}


def _missing(wanted: Iterable[str], known: Sequence[str]) -> list[answers.AdoptSkip]:
    """What is neither a note nor a folder with one in it."""
    places = set(known) | {
        path[:at] for path in known for at, letter in enumerate(path) if letter == "/"
    }
    return [
        {"path": path, "reason": "there is no note here", "code": MISSING}
        for path in wanted
        if path not in places
    ]


def _adopted(
    house: House,
    row: Row | None,
    unreadable: str | None,
    asked: bool,
    changes: list[Change],
    adopted: list[answers.Placed],
) -> tuple[str, str] | None:
    """Why not and its code; None when it is adopted, or has an id and nobody asked for it by
    name."""
    if unreadable is not None or row is None:
        return f"it cannot be read: {unreadable}", UNREADABLE
    if row.id:
        return (f"already has the id {row.id}", KNOWN) if asked else None
    data = house.vault.read(row.path)
    if _BLANKS.search(data) and not asked:
        return "it looks like a template: every note made from it would have its id", TEMPLATE
    if what := house.vault.edits.held(row.path, data):
        return f"it holds what looks like {what}", SECRET
    changes.append(
        Write(row.path, _with_id(house, row, data, ident := new_id()), sha256(data).hexdigest())
    )
    adopted.append({"path": row.path, "id": ident})
    return None


def _with_id(house: House, row: Row, data: bytes, ident: str) -> bytes:
    known = memories.parse(row.path, data)
    folder = row.path.split("/", 1)[0]
    keys: dict[str, object | None] = {"id": ident}
    if known.type == "note":
        keys["type"] = next(
            (type_ for type_, name in memories.FOLDERS.items() if name == folder), "semantic"
        )
    if known.created:
        keys["created"] = known.created
        keys |= (
            {} if known.timestamp else {"timestamp": house.now()}
        )  # an old note is learned today: it must not be faded at once
    return yaml_block.edited(data, keys)


def _commit(
    house: House,
    changes: Sequence[Change],
    adopted: Sequence[answers.Placed],
    actor: str,
    progress: Progress,
) -> str:
    title = adopted[0]["path"] if len(adopted) == 1 else f"{len(adopted)} notes"
    operation = Operation("adopt", title, actor, tuple(entry["id"] for entry in adopted))
    return house.indexing.apply(changes, operation, progress=progress).commit
