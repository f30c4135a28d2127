"""What files said before they could no longer be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from oneiro_vault.core.memory import Memory, parse
from oneiro_vault.core.tree_diff import Past
from oneiro_vault.errors import OneiroError, UnreadableNote
from oneiro_vault.index.keyword import note_rows

_Read = TypeVar("_Read")


def last_good(
    past: Past, heads: Mapping[str, str], limit: int, largest: int
) -> list[tuple[note_rows.Note, str]]:
    """(note, blob) for every path of `heads` (path -> HEAD's blob) that has a readable version:
    HEAD's own, else the newest before it.

    `limit`: bytes of a note that are indexed; versions of more than `largest` bytes are passed
    over.
    """

    def whole(path: str, data: bytes) -> note_rows.Note:
        note = note_rows.read(path, data, limit)
        if note.broken:
            raise UnreadableNote("only a part of it could be salvaged")
        return note

    return list(_newest(past, heads, largest, whole).values())


def known(past: Past, paths: Iterable[str], largest: int) -> dict[str, Memory]:
    """path -> what the newest readable version of it in HEAD's history says."""
    return {
        path: memory
        for path, (memory, _) in _newest(past, past.heads(paths), largest, parse).items()
    }


def completed(
    past: Past,
    read: list[note_rows.Note],
    again: Callable[[str, Memory], note_rows.Note],
    largest: int,
) -> tuple[list[note_rows.Note], list[tuple[str, str]]]:
    """Notes with what only the history knows of a broken one: who it was. `again(path, former)`
    reads one anew.

    Also (path, reason) of those that may not be read then.
    """
    broken = {note.path for note in read if note.broken}
    formers = known(past, broken, largest) if broken else {}
    done: list[note_rows.Note] = []
    refused: list[tuple[str, str]] = []
    for note in read:
        try:
            done.append(again(note.path, formers[note.path]) if note.path in formers else note)
        except UnreadableNote as error:
            refused.append((note.path, str(error)))
    return done, refused


def _newest(
    past: Past, heads: Mapping[str, str], largest: int, read: Callable[[str, bytes], _Read]
) -> dict[str, tuple[_Read, str]]:
    found = {
        path: _first(past, path, [head], largest, read) for path, head in heads.items() if head
    }
    older = [path for path, version in found.items() if version is None]
    try:
        history = past.versions(older) if older else {}
    except OneiroError:  # no git to ask: what is indexed keeps serving
        history = {}
    found |= {path: _first(past, path, blobs, largest, read) for path, blobs in history.items()}
    return {path: version for path, version in found.items() if version is not None}


def _first(
    past: Past, path: str, blobs: Iterable[str], largest: int, read: Callable[[str, bytes], _Read]
) -> tuple[_Read, str] | None:
    for blob in blobs:
        try:
            data = past.data(blob)
            if len(data) <= largest:
                return read(path, data), blob
        except OneiroError:
            continue
    return None
