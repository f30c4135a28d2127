"""Notes that cannot be read, and what they said before; and notes that may not be read though they
lie in the folder: they leave the index as soon as that is known, and do not enter it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from oneiro_vault.core.memory import Memory, parse
from oneiro_vault.core.tree_diff import Past, Screen
from oneiro_vault.errors import OneiroError, UnreadableNote
from oneiro_vault.index.keyword import links, note_rows, schema

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


_ID: Final = schema.NOTE_COLUMNS.index("id")
_BLOB: Final = schema.NOTE_COLUMNS.index("blob")
_MARK: Final = "screened"


class Screening:
    """A screen in front of one index file. Every look at the disk begins with `stale`; `hidden`:
    that look took something to be hidden."""

    def __init__(self, db: sqlite3.Connection, screen: Screen | None) -> None:
        self._db = db
        self._screen = screen
        self._stamp = ""
        self.hidden = False

    def stale(self) -> bool:
        """Is more refused than when the index was last gone through? Remembers what is refused now,
        for `why`."""
        self._stamp = self._screen.stamp() if self._screen is not None else ""
        self.hidden = bool(self._stamp) and schema.meta(self._db, _MARK) != self._stamp
        return self.hidden

    def paths(self) -> list[str]:
        """Where the notes are that must leave the index."""
        if self._screen is None:
            return []
        marks = [json.dumps(list(found)) for found in self._screen.marks()]
        query = f"""SELECT path, id, blob, coalesce(name, '') FROM notes LEFT JOIN names ON note =
            key AND role = '{links.WORDS}'
                    WHERE id IN (SELECT value FROM json_each(?)) OR blob IN (SELECT value FROM
                    json_each(?))
                    OR name IN (SELECT value FROM json_each(?))"""
        return sorted(
            {
                path
                for path, *found in self._db.execute(query, marks).fetchall()
                if self._screen.why(*found)
            }
        )

    def done(self) -> None:
        """They have left, in this transaction."""
        schema.set_meta(self._db, _MARK, self._stamp)

    def read(
        self, path: str, data: bytes, limit: int, **known: Any
    ) -> note_rows.Note:  # what else `notes.read` takes
        """`notes.read` of a note that may enter. Raises UnreadableNote, also for one that may
        not."""
        note = note_rows.read(path, data, limit, **known)
        if why := self.why(note):
            raise UnreadableNote(why)
        return note

    def why(self, note: note_rows.Note) -> str:
        """Why a note may not enter, "" when it may."""
        if self._screen is None or not self._stamp:
            return ""
        words = next((name for name, role in note.names if role == links.WORDS), "")
        return self._screen.why(note.row[_ID], note.row[_BLOB], words)
