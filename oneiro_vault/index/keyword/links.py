"""Names and links: what a note is called and is about, what it points to, and both ways of
following that."""

from __future__ import annotations

import json
import posixpath
import sqlite3
from collections.abc import Collection, Iterator
from typing import Final
from urllib.parse import unquote

from oneiro_vault.core import memory
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.text.query import fold, speaker_of, spellings
from oneiro_vault.index.base import Edge

ABOUT: Final = ("about", "alias", "entity", "part", "speaker")
"""Roles of names by which a question finds the notes about someone."""
TARGETS: Final = ("alias", "id", "path", "stem", "title")
"""Roles of names by which a link finds a note."""
WORDS: Final = "words"
"""Role of what is no name: the fingerprint of a note's words, by which the same ones are found."""

_PARTS_OF: Final = 3
"""Names of up to so many words are also known by each of them (`Caroline Smith`: `caroline`)."""
_SHORTEST_PART: Final = 3


def names(note: memory.Memory, handle: str) -> set[tuple[str, str]]:
    """(folded name, role) of a note: how it can be linked to, and whom and what it is about."""
    path = folded(posixpath.splitext(note.path)[0])
    found = {
        (handle, "id"),
        (path, "path"),
        (path.rpartition("/")[2], "stem"),
        (folded(note.title), "title"),
    }
    found.update((folded(part), "tag") for tag in note.tags for part in _nested(tag.lstrip("#")))
    for name, role in _about(note):
        for whole in (folded(name),) if name.isascii() else spellings(name):
            found.add((whole, role))
            if role != "alias" and " " in whole:
                words = whole.split()
                found.update(
                    (word, "part")
                    for word in words
                    if len(words) <= _PARTS_OF and len(word) >= _SHORTEST_PART
                )
    return {name for name in found if name[0]}


def _nested(tag: str) -> Iterator[str]:
    """`sea/boats` is also a tag below `sea`."""
    while tag:
        yield tag
        tag = tag.rpartition("/")[0]


def stated(note: memory.Memory) -> set[tuple[str, str]]:
    """(relation, folded target) of the links in the frontmatter."""
    pairs = [
        (relation, name)
        for relation in ("derived_from", "supersedes", "about")
        for name in getattr(note, relation)
    ]
    pairs.append(("superseded_by", note.superseded_by))
    return {(relation, target) for relation, name in pairs for target in _targets(name, note.path)}


def written(structure: parser.Structure, path: str) -> set[tuple[str, str]]:
    """(relation, folded target) of the links in the body."""
    return {
        (link.relation, target)
        for link in structure.links
        for target in _targets(link.target, path)
    }


def folded(name: str) -> str:
    """`core.text.query.fold`, with a short cut for ASCII."""
    return " ".join(name.lower().split()) if name.isascii() else fold(name)


def bare(name: str) -> str:
    """`[[Name|label]]` or `Name` -> `Name`."""
    name = name.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2]
    return name.split("|")[0].split("#")[0].strip()


def named(
    db: sqlite3.Connection, wanted: Collection[str], keys: Collection[int] | None = None
) -> dict[int, float]:
    """Notes about any of the folded names -> the share of those names (only the ones some note has)
    that it is about."""
    known = [name for name in dict.fromkeys(wanted) if _known(db, name)]
    if not known:
        return {}
    within = "" if keys is None else "AND note IN (SELECT value FROM json_each(?))"
    values = [json.dumps(known)] if keys is None else [json.dumps(known), json.dumps(list(keys))]
    query = f"""SELECT note, count(DISTINCT name) FROM names
                WHERE name IN (SELECT value FROM json_each(?)) AND role IN {ABOUT} {within} GROUP
                BY note"""
    return {key: count / len(known) for key, count in db.execute(query, values)}


def names_of(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, frozenset[str]]:
    """The folded names each note is about (aliases, speaker and entity title included)."""
    found: dict[int, set[str]] = {key: set() for key in keys}
    query = (
        f"SELECT note, name FROM names WHERE note IN (SELECT value FROM json_each(?)) AND role IN "
        f"{ABOUT} AND role != 'part'"
    )
    for key, name in db.execute(query, (json.dumps(list(keys)),)):
        found[key].add(name)
    return {key: frozenset(value) for key, value in found.items()}


def neighbours(
    db: sqlite3.Connection, keys: Collection[int], relations: Collection[str] | None = None
) -> list[Edge]:
    """Every link that starts or ends at one of `keys`, a name that fits several notes pointing to
    all of them."""
    listed = json.dumps(list(keys))
    outward = f"""SELECT e.note, e.relation, n.note FROM edges e JOIN names n ON n.name = e.target
        AND n.role IN {TARGETS}
                  WHERE e.note IN (SELECT value FROM json_each(?)) AND n.note != e.note"""
    inward = f"""SELECT e.note, e.relation, n.note FROM names n JOIN edges e ON e.target = n.name
                 WHERE n.note IN (SELECT value FROM json_each(?)) AND n.role IN {TARGETS} AND
                 n.note != e.note"""
    found = {Edge(*row) for query in (outward, inward) for row in db.execute(query, (listed,))}
    return sorted(edge for edge in found if relations is None or edge.relation in relations)


def made_of(db: sqlite3.Connection, handles: Collection[str]) -> list[tuple[str, int]]:
    """(handle, key) of every note derived from one of these, and of what replaced such a note
    since."""
    query = """WITH RECURSIVE made (source, note) AS (
                 SELECT target, note FROM edges WHERE relation = 'derived_from' AND target IN
                 (SELECT value FROM json_each(?))
                 UNION
                 SELECT made.source, later.key FROM made JOIN notes AS old ON old.key = made.note
                 JOIN notes AS later ON later.handle = old.superseded_by WHERE old.superseded_by !=
                 ''
               ) SELECT source, note FROM made"""
    return db.execute(query, (json.dumps(list(handles)),)).fetchall()


def succession(db: sqlite3.Connection, keys: Collection[int]) -> list[tuple[int, int]]:
    """(key, another note that it replaced or that replaced it, whatever the number of steps
    between)."""
    query = """WITH RECURSIVE
                 later (start, note) AS (
                   SELECT key, key FROM notes WHERE key IN (SELECT value FROM json_each(?1))
                   UNION
                   SELECT start, heir.key FROM later JOIN notes AS old ON old.key = later.note
                   JOIN notes AS heir ON heir.handle = old.superseded_by WHERE old.superseded_by !=
                   ''
                 ),
                 both (start, note) AS (
                   SELECT start, note FROM later
                   UNION
                   SELECT start, edges.note FROM both JOIN notes AS heir ON heir.key = both.note
                   JOIN edges ON edges.target = heir.handle AND edges.relation = 'superseded_by'
                 )
               SELECT start, note FROM both WHERE start != note"""
    return db.execute(query, (json.dumps(list(keys)),)).fetchall()


def ancestors(db: sqlite3.Connection, key: int) -> dict[int, str]:
    """Every note that one was made of or replaced, and what those were -> the relation that leads
    to it; itself left out."""
    found: dict[int, str] = {}
    todo = {key}
    while todo:
        edges = neighbours(db, todo, ("derived_from", "supersedes", "superseded_by"))
        steps = {
            edge.source: "supersedes"
            for edge in edges
            if edge.relation == "superseded_by" and edge.target in todo
        }
        steps |= {
            edge.target: edge.relation
            for edge in edges
            if edge.relation != "superseded_by" and edge.source in todo
        }
        steps.pop(key, None)
        todo = steps.keys() - found.keys()
        found = steps | found
    return found


def _about(note: memory.Memory) -> Iterator[tuple[str, str]]:
    yield from ((bare(name), "about") for name in note.about)
    yield from ((alias, "alias") for alias in note.aliases)
    if note.type == "entity":
        yield note.title, "entity"
    if speaker := speaker_of(note.body):
        yield speaker, "speaker"


def _known(db: sqlite3.Connection, name: str) -> bool:
    return (
        db.execute(
            f"SELECT 1 FROM names WHERE name = ? AND role IN {ABOUT} LIMIT 1", (name,)
        ).fetchone()
        is not None
    )


def _targets(target: str, path: str) -> Iterator[str]:
    """A link as written -> the folded names it may ask for: an id, a path or a title; nothing for
    the web.

    `[t](other.md)` is relative to the note's folder, `[[other.md]]` is not: a bare file name is
    tried both ways.
    """
    target = bare(unquote(target) if "%" in target else target)
    if not target or "://" in target or target.startswith("mailto:"):
        return
    if not target.lower().endswith(".md"):
        yield folded(target)
        return
    inside = posixpath.normpath(
        target.lstrip("/")
        if target.startswith("/")
        else posixpath.join(posixpath.dirname(path), target)
    )
    if not inside.startswith("../"):
        yield folded(inside[:-3])
    if "/" not in target:
        yield folded(target[:-3])
