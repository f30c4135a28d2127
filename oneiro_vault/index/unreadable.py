"""Notes that cannot be read, and what they said before; and notes that may not be read though they
lie in the folder: they leave the index as soon as that is known, and do not enter it. Of the others
only what may be shown enters.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from oneiro_vault.core.memory import Memory, parse
from oneiro_vault.core.tree_diff import Past, Screen, Veil
from oneiro_vault.errors import OneiroError, UnreadableNote
from oneiro_vault.index.keyword import links, note_rows, schema

_Read = TypeVar("_Read")


def last_good(
    past: Past,
    heads: Mapping[str, str],
    read: Callable[[str, bytes], note_rows.Note],
    largest: int,
) -> list[tuple[note_rows.Note, str]]:
    """(note, blob) for every path of `heads` (path -> HEAD's blob) that has a readable version:
    HEAD's own, else the newest before it.

    `read` takes one apart; versions of more than `largest` bytes are passed over.
    """

    def whole(path: str, data: bytes) -> note_rows.Note:
        note = read(path, data)
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
_OF_FILE: Final = frozenset(
    schema.NOTE_COLUMNS.index(name) for name in ("blob", "sha256", "size", "problems")
)
"""What is said of the file, whatever is shown of it."""
_MARK: Final = "screened"
_RULES: Final = "veiled"


class Screening:
    """A screen and a veil in front of one index file. Every look at the disk begins with `stale`;
    `hidden`: that look took something to be hidden. `limit`: bytes of a note that are indexed."""

    def __init__(
        self, db: sqlite3.Connection, screen: Screen | None, veil: Veil | None, limit: int
    ) -> None:
        self._db = db
        self._screen = screen
        self._veil = veil
        self._limit = limit
        self._stamp = ""
        self.hidden = False

    def stale(self) -> bool:
        """Is more refused than when the index was last gone through? Remembers what is refused now,
        for `why`."""
        self._stamp = self._screen.stamp() if self._screen is not None else ""
        self.hidden = bool(self._stamp) and schema.meta(self._db, _MARK) != self._stamp
        return self.hidden

    def begun(self) -> None:
        """Nothing has entered yet."""
        schema.set_meta(self._db, _RULES, self._rules())

    def outdated(self) -> bool:
        """Is something else taken out of the notes than when they entered?"""
        return schema.meta(self._db, _RULES, "") != self._rules() and bool(
            self._db.execute("SELECT 1 FROM stats LIMIT 1").fetchone()
        )

    def _rules(self) -> str:
        return self._veil.rules() if self._veil is not None else ""

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
        self, path: str, data: bytes, **known: Any
    ) -> note_rows.Note:  # what else `notes.read` takes
        """What may be shown of a note that may enter. Raises UnreadableNote, also for one that may
        not."""
        note = note_rows.read(path, data, self._limit, **known)
        if why := self.why(note):
            raise UnreadableNote(why)
        return self._veiled(note, path, data, known)

    def former(self, path: str, data: bytes) -> note_rows.Note:
        """What may be shown of a version in history. Raises UnreadableNote."""
        return self._veiled(note_rows.read(path, data, self._limit), path, data, {})

    def _veiled(
        self, note: note_rows.Note, path: str, data: bytes, known: Mapping[str, Any]
    ) -> note_rows.Note:
        """The same note, still known by its own bytes and words."""
        whole = data[: self._limit]
        shown = self._veil.shown(whole) if self._veil is not None else whole
        if shown == whole:
            return note
        found = note_rows.read(path, shown, self._limit, **known)
        row = tuple(
            own if at in _OF_FILE else value
            for at, (own, value) in enumerate(zip(note.row, found.row, strict=True))
        )
        names = {one for one in found.names if one[1] != links.WORDS} | {
            one for one in note.names if one[1] == links.WORDS
        }
        return replace(found, row=row, names=names)

    def why(self, note: note_rows.Note) -> str:
        """Why a note may not enter, "" when it may."""
        if self._screen is None or not self._stamp:
            return ""
        words = next((name for name, role in note.names if role == links.WORDS), "")
        return self._screen.why(note.row[_ID], note.row[_BLOB], words)
