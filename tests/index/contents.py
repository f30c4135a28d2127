"""Everything an index says, without its keys: two indexes of the same files say the same."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from oneiro_vault.index.keyword.database import NOTE_COLUMNS
from oneiro_vault.index.store import Index

_NOTES: Final = ", ".join(f'"{name}"' for name in NOTE_COLUMNS)
_QUERIES: Final = {
    "notes": f"SELECT {_NOTES} FROM notes",
    "own": "SELECT n.path, o.title, o.description, o.tags, o.body FROM own o JOIN notes n ON "
    "n.key = o.rowid",
    "raw": "SELECT n.path, b.body FROM bodies b JOIN notes n ON n.key = b.note",
    "context": "SELECT n.path, c.body FROM context c JOIN notes n ON n.key = c.rowid",
    "passages": "SELECT n.path, p.start, t.body FROM passage t JOIN passages p ON p.key = t.rowid "
    "JOIN notes n ON n.key = p.note",
    "whole": "SELECT s.session, w.body FROM whole w JOIN sessions s ON s.key = w.rowid",
    "chunks": 'SELECT n.path, c.kind, c.start, c."end", c.length, c.hash FROM chunks c JOIN notes '
    "n ON n.key = c.note",
    "names": "SELECT n.path, m.name, m.role FROM names m JOIN notes n ON n.key = m.note",
    "edges": "SELECT n.path, e.relation, e.target FROM edges e JOIN notes n ON n.key = e.note",
    "unreadable": "SELECT path, reason FROM unreadable",
    "places": "SELECT n.path, m.path FROM places p JOIN notes n ON n.key = p.note JOIN notes m ON "
    "m.key = p.before",
    "sessions": "SELECT session FROM sessions",
}
_COUNTED: Final = [
    "own",
    "context",
    "whole",
    "passage",
    "chunks",
    "passages",
    "names",
    "edges",
    "seals",
    "touched",
    "unshaped",
]


def dump(index: Index) -> dict[str, list[Any]]:
    """What it says when all of it has been looked at."""
    index.settle()
    return content(index._database.reading())


def content(db: sqlite3.Connection) -> dict[str, list[Any]]:
    """Table -> its rows with paths instead of keys, sorted."""
    found = {name: sorted(db.execute(query), key=repr) for name, query in _QUERIES.items()}
    return found | {
        "counts": [
            (name, *db.execute(f"SELECT count(*) FROM {name}").fetchone()) for name in _COUNTED
        ]
    }
