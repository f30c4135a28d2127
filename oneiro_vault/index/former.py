"""What files said before they could no longer be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oneiro_vault.core.listing import Past
from oneiro_vault.errors import OneiroError
from oneiro_vault.index import notes


def last_good(past: Past, heads: Mapping[str, str], limit: int, largest: int) -> list[tuple[notes.Note, str]]:
    """(note, blob) for every path of `heads` (path -> HEAD's blob) that has a readable version: HEAD's own, else the newest before it.

    `limit`: bytes of a note that are indexed; versions of more than `largest` bytes are passed over.
    """
    found = {path: _first_readable(past, path, [head], limit, largest) for path, head in heads.items() if head}
    older = [path for path, note in found.items() if note is None]
    try:
        history = past.versions(older) if older else {}
    except OneiroError:  # no git to ask: what is indexed keeps serving
        history = {}
    found |= {path: _first_readable(past, path, blobs, limit, largest) for path, blobs in history.items()}
    return [note for note in found.values() if note is not None]


def _first_readable(past: Past, path: str, blobs: Iterable[str], limit: int, largest: int) -> tuple[notes.Note, str] | None:
    for blob in blobs:
        try:
            data = past.data(blob)
            if len(data) <= largest:
                return notes.read(path, data, limit), blob
        except OneiroError:
            continue
    return None
