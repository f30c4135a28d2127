"""A note that a person moved: one path is gone, another is new, and both hold the same memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.paths import is_note

_ID: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?---[^\n]*\n(?:[^\n]*\n){0,200}?id:[ \t]*[\"']?([0-9a-z]{12})[\"']?[ "
    rb"\t]*\r?\n"
)


def id_of(data: bytes) -> str:
    """The id in a note's frontmatter, found without reading YAML; "" when there is none."""
    match = _ID.match(data[:65536])
    return match[1].decode() if match else ""


def pairs(repo: Repo, tip: str, new: Mapping[str, bytes], gone: Collection[str]) -> dict[str, str]:
    """New path -> the path of `tip` it came from: the same bytes, else the same id. Every path is
    in one pair at most."""
    if not new or not gone:
        return {}
    blobs = {
        path: entry.blob for path in sorted(gone) if (entry := repo.entry(tip, path)) is not None
    }
    found = _matched(((path, blob_id(data)) for path, data in sorted(new.items())), blobs.items())
    named = [
        (path, ident)
        for path, data in sorted(new.items())
        if path not in found and (ident := id_of(data))
    ]
    if named:
        left = filter(is_note, blobs.keys() - found.values())
        found |= _matched(named, ((path, id_of(repo.data(blobs[path]))) for path in sorted(left)))
    return found


def _matched(new: Iterable[tuple[str, str]], old: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Both are (path, mark): equal marks meet, first come, first served."""
    free: dict[str, list[str]] = {}
    for path, mark in old:
        free.setdefault(mark, []).append(path)
    return {path: free[mark].pop(0) for path, mark in new if free.get(mark)}
