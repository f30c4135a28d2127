"""The index without its keys: for comparing two of them, and for comparing one with a tree of
files."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from oneiro_vault.core.frontmatter.salvage import ENCODING, FRONTMATTER
from oneiro_vault.errors import few
from oneiro_vault.index.base import Problem
from oneiro_vault.index.keyword.schema import NOTE_COLUMNS

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


def content(db: sqlite3.Connection) -> dict[str, list[Any]]:
    """Table -> its rows with paths instead of keys, sorted."""
    found = {name: sorted(db.execute(query), key=repr) for name, query in _QUERIES.items()}
    return found | {
        "counts": [
            (name, *db.execute(f"SELECT count(*) FROM {name}").fetchone()) for name in _COUNTED
        ]
    }


def chunks(db: sqlite3.Connection, key: int, store: str) -> list[dict[str, Any]]:
    """The chunks of a note: kind, start, end (characters of the body), hash, and whether its vector
    is stored."""
    query = """SELECT kind, start, "end", hash, hash IN (SELECT hash FROM stored WHERE store = ?)
        FROM chunks WHERE note = ?
               ORDER BY kind = 'context', start, "end" DESC"""
    names = ("kind", "start", "end", "hash", "vector")
    return [
        dict(zip(names, (*row[:4], bool(row[4])), strict=True))
        for row in db.execute(query, (store, key))
    ]


def partial(db: sqlite3.Connection) -> list[str]:
    """Paths of the notes of which only the beginning is indexed."""
    return [
        path
        for (path,) in db.execute(
            "SELECT path FROM notes WHERE instr(problems, 'truncated') ORDER BY path"
        )
    ]


def broken(db: sqlite3.Connection) -> list[str]:
    """Paths of the notes of which only what could be salvaged is indexed, but for those that are
    listed as unreadable."""
    marks = " OR ".join(f"instr(problems, '\"{mark}\"')" for mark in (FRONTMATTER, ENCODING))
    return [path for (path,) in db.execute(f"SELECT path FROM notes WHERE {marks} ORDER BY path")]


def problems(db: sqlite3.Connection, tree: Mapping[str, str] | None) -> list[Problem]:
    """Unreadable files, ids and names used twice, and differences to `tree` (path -> blob id)."""
    found = [
        Problem("unreadable", f"{path}: {reason}", path)
        for path, reason in db.execute("SELECT path, reason FROM unreadable ORDER BY path")
    ]
    found += [
        Problem(
            "partial",
            f"{path}: only the beginning of it is searched",
            path,
            "warning",
            "Split it.",
        )
        for path in partial(db)
    ]
    if some := broken(db):
        text = (
            f"{few(some)}: the frontmatter or the encoding is broken; the words are found, "
            f"nothing is written into them"
        )
        found.append(
            Problem("broken", text, level="warning", hint="`oneiro check` says how to mend them.")
        )
    ids: dict[str, list[str]] = {}
    for name, path in db.execute("SELECT id, path FROM notes WHERE id != '' ORDER BY id, path"):
        ids.setdefault(name, []).append(path)
    shared = {name: ", ".join(paths) for name, paths in ids.items() if len(paths) > 1}
    found += [
        Problem("duplicate-id", f"the id {name} is in several notes: {paths}")
        for name, paths in shared.items()
    ]
    held = dict(db.execute("SELECT path, blob FROM notes"))
    folded: dict[str, str] = {}
    for path in sorted(held):
        other = folded.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        if other != path:
            found.append(
                Problem(
                    "case-twins",
                    f"{path} and {other} are one file on a disk that ignores case",
                    path,
                    "warning",
                )
            )
    return found + (_differences(db, held, tree) if tree is not None else [])


def _differences(
    db: sqlite3.Connection, held: Mapping[str, str], tree: Mapping[str, str]
) -> list[Problem]:
    listed = {path for (path,) in db.execute("SELECT path FROM unreadable")}
    found = [
        Problem("index-missing", f"{path} is not indexed", path)
        for path in sorted(tree.keys() - held.keys() - listed)
    ]
    found += [
        Problem("index-ghost", f"{path} is indexed and does not exist", path)
        for path in sorted(held.keys() - tree.keys())
    ]
    stale = [
        path
        for path in sorted(held.keys() & tree.keys())
        if held[path] != tree[path] and path not in listed
    ]
    return found + [
        Problem("index-stale", f"{path} is indexed as it was before", path) for path in stale
    ]
