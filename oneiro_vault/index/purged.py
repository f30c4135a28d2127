"""Notes that lie in the folder and may not be read: they leave the index as soon as that is known,
and do not enter it."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Final

from oneiro_vault.core.tree_diff import Screen
from oneiro_vault.errors import UnreadableNote
from oneiro_vault.index.keyword import links, note_rows, schema

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
