"""The orientation where a hook finds it without an owner: its text, and the stamps by which the
hook sees whether it still holds."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from oneiro_vault.core.markdown import orientation
from oneiro_vault.core.tree_diff import Stat, blob_id
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Refreshed
from oneiro_vault.operations.read.orient import listed, rendered
from oneiro_vault.operations.runtime import House

FOLDER: Final = ".oneiro"
"""In the vault, wherever this machine keeps its indexes: a hook reads no settings."""


def publisher(house: House) -> Callable[[Refreshed], None]:
    """What is called after every refresh: publishes at the first one and whenever an orientation
    note was touched."""
    known: set[str] | None = None

    def after(done: Refreshed) -> None:
        nonlocal known
        changed = {*done.added, *done.modified}
        touched = known is None or not known.isdisjoint({*changed, *done.removed, *done.unreadable})
        if touched or any(
            row is not None and row.type == "orientation"
            for row in map(house.index.by_path, changed)
        ):
            with suppress(
                OSError, OneiroError
            ):  # nothing new to find: hooks read the notes themselves then
                known = publish(house)

    return after


def publish(house: House) -> set[str]:
    """Leave the rendering where a hook finds it without an owner; returns the paths of the notes it
    rests on. Raises OSError.

    `orientation.json` holds the stamps by which a hook sees that it is stale. Nothing is published
    while a note is newer than the index.
    """
    folder = _mtime(house.root / "orientation")
    rows = house.index.list(type="orientation", limit=10_000)
    unreadable = dict(house.index.unreadable())
    stamps = []
    for name in house.vault.files.names("orientation"):
        path = f"orientation/{name}"
        if (
            name.lower().endswith(".md")
            and path not in unreadable
            and house.index.by_path(path) is None
        ):
            return {row.path for row in rows}
    for row in rows:
        stat = house.vault.files.stat(row.path)
        size, mtime = (stat.size, stat.mtime_ns) if isinstance(stat, Stat) else (None, None)
        if size is not None and row.path not in unreadable and _blob(house, row.path) != row.blob:
            return {row.path for row in rows}
        stamps.append({"path": row.path, "size": size, "mtime_ns": mtime})
    found = rendered(house, orientation.LIMIT)
    place = house.root.stat()
    record = {
        "schema": 1,
        "root": [place.st_dev, place.st_ino],
        "limit": orientation.LIMIT,
        "folder": folder,
        "notes": stamps,
        "blocks": [
            listed(one, at in found.included) | {"text": one.text, "when": one.when}
            for at, one in enumerate(found.blocks)
        ],
        "stamp": orientation.stamp(found.text),
    }
    _put(house.root / FOLDER / "orientation.md", found.text)
    _put(
        house.root / FOLDER / "orientation.json",
        json.dumps(record, ensure_ascii=False, separators=(",", ":")),
    )
    return {row.path for row in rows}


def _blob(house: House, path: str) -> str:
    try:
        return blob_id(house.vault.read(path))
    except OneiroError:
        return ""


def _mtime(folder: Path) -> int | None:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None


def _put(path: Path, text: str) -> None:
    """Whole or not at all, and only if it differs."""
    data = text.encode("utf-8", "replace")
    with suppress(OSError):
        if path.read_bytes() == data:
            return
    path.parent.mkdir(exist_ok=True)
    temp = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temp.write_bytes(data)
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)
