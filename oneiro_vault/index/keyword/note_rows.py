"""One file becomes rows: everything the index says of a note, computed from its bytes and nothing
else."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias
from zlib import crc32

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter.salvage import BROKEN, salvage
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import fingerprint
from oneiro_vault.core.text.language import detect
from oneiro_vault.core.text.query import segment
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import UnreadableNote
from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword import fts, links
from oneiro_vault.index.keyword.schema import NOTE_COLUMNS

INERT: Final = frozenset({"pending"})
"""Statuses of notes that are listed but never found: no words, no chunks, no names, no links."""

_LISTS: Final = frozenset(
    ["tags", "aliases", "about", "topics", "derived_from", "supersedes", "flags", "problems"]
)
_COLUMNS: Final = ", ".join(f'"{name}"' for name in NOTE_COLUMNS)
_QUALIFIED: Final = ", ".join(f'notes."{name}"' for name in NOTE_COLUMNS)
_FROM_MEMORY: Final = tuple(
    name
    for name in NOTE_COLUMNS
    if name not in {"handle", "when", "blob", "sha256", "size", "problems", "language"}
)
_LIST_INDEXES: Final = tuple(i for i, name in enumerate(NOTE_COLUMNS, 1) if name in _LISTS)
_CORE_INDEX: Final = NOTE_COLUMNS.index("core") + 1
_MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"


Born: TypeAlias = Callable[[str], str]
"""path -> when a file was first committed, "" if it was not."""


@dataclass(slots=True)
class Note:
    """A note ready to be found by its words. `row` follows NOTE_COLUMNS; `raw` is the body where
    `own` holds a changed one.

    `broken`: only what could be salvaged of it (`core.frontmatter.salvage`).
    """

    path: str
    row: tuple[Any, ...]
    own: tuple[str, str, str, str] | None
    raw: str | None
    names: set[tuple[str, str]]
    edges: set[tuple[str, str]]
    session: str
    broken: bool = False


def text_hash(words: str) -> str:
    """The id of a text among vectors: 32 hex characters."""
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def handle_of(path: str) -> str:
    """12 characters that stand for a note without an id; they change when it is renamed."""
    number = int.from_bytes(
        blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big"
    )
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(0, 60, 5))


def read(
    path: str,
    data: bytes,
    limit: int,
    *,
    former: memory.Memory | None = None,
    born: Born | None = None,
    unmerged: bool = False,
) -> Note:
    """Take the bytes of a note apart; only the first `limit` are indexed. Raises UnreadableNote.

    `former`, `unmerged`: as in `core.frontmatter.salvage`, for one that cannot be parsed; `born`:
    is asked for its date if it names none.
    """
    head = data if len(data) <= limit else _head(data, limit)
    try:
        found = memory.parse(path, head)
    except UnreadableNote:
        found = salvage(path, head, former, unmerged=unmerged)
    if born and not found.created:
        found = replace(found, created=born(path))
    found = _clean(found)
    problems = found.problems if head is data else (*found.problems, "truncated")
    values = {name: getattr(found, name) for name in _FROM_MEMORY}
    values |= {
        "handle": found.id or handle_of(path),
        "when": found.when(),
        "problems": problems,
        "size": len(data),
    }
    named = found.title == PurePosixPath(path).stem  # `de-15.md` is no French
    values["language"] = detect(found.body if named else f"{found.title}\n{found.body}")
    values |= {"blob": blob_id(data), "sha256": sha256(data).hexdigest()}
    row = tuple([_pack(name, values[name]) for name in NOTE_COLUMNS])
    broken = not BROKEN.isdisjoint(problems)
    if found.status in INERT:
        return Note(path, row, None, None, set(), set(), "", broken)
    own = _own(found, values["language"])
    raw = None if own[3] is found.body else found.body
    names = links.names(found, values["handle"])
    names.add((fingerprint(found.type, found.title, found.body), links.WORDS))
    return Note(path, row, own, raw, names, links.stated(found), found.session, broken)


def day(moment: str) -> str:
    """`2023-05-08T…` -> `8 May 2023`, as people write it in a question; "" if there is no date."""
    return f"{int(moment[8:10])} {_MONTHS[int(moment[5:7]) - 1]} {moment[:4]}" if moment else ""


def taken(title: str, body: str) -> bool:
    """Is the title just how the body begins? Then its words must not count twice. (A heading is
    not: it keeps its weight.)"""
    return bool(title) and body.lstrip().startswith(title.rstrip("…. "))


def store(db: sqlite3.Connection, notes: Collection[Note], keys: dict[str, int]) -> None:
    """Put notes in. `keys` has the key for every path; what those keys held before must be gone
    (`clear`)."""
    marks = ", ".join("?" * (len(NOTE_COLUMNS) + 2))
    rows_ = [
        (keys[note.path], *note.row, _seal(note.row, note.names, note.own, note.raw))
        for note in notes
    ]
    db.executemany(f"INSERT INTO notes (key, {_COLUMNS}, seal) VALUES ({marks})", rows_)
    fts.put(db, "own", ((keys[note.path], *note.own) for note in notes if note.own))
    db.executemany(
        "INSERT INTO bodies VALUES (?, ?)",
        ((keys[note.path], note.raw) for note in notes if note.raw is not None),
    )
    db.executemany(
        "INSERT INTO names VALUES (?, ?, ?)",
        sorted([(*name, keys[note.path]) for note in notes for name in note.names]),
    )
    db.executemany(
        "INSERT INTO edges VALUES (?, ?, ?)",
        ((keys[note.path], *edge) for note in notes for edge in note.edges),
    )
    db.executemany(
        "INSERT INTO unshaped VALUES (?)", ((keys[note.path],) for note in notes if note.own)
    )
    touch(db, {note.session for note in notes})


def _seal(
    row: Iterable[Any],
    names: Iterable[tuple[str, str]],
    own: tuple[str, ...] | None,
    raw: str | None,
) -> int:
    """A checksum over what is stored for a note: SQLite has none of its own."""
    return crc32(repr((tuple(row), sorted(names), own, raw)).encode("utf-8", "backslashreplace"))


def broken_seals(db: sqlite3.Connection) -> int:
    """How many notes have stored rows that are not what was put in."""
    names: dict[int, list[tuple[str, str]]] = {}
    for key, name, role in db.execute("SELECT note, name, role FROM names"):
        names.setdefault(key, []).append((name, role))
    query = f"""SELECT key, seal, bodies.body, own.title, own.description, own.tags, own.body,
        {_QUALIFIED} FROM notes
                LEFT JOIN own ON own.rowid = key LEFT JOIN bodies ON note = key"""
    wrong = 0
    for key, seal, raw, title, description, tags, body, *row in db.execute(query):
        own = None if body is None else (title, description, tags, body)
        wrong += _seal(row, names.get(key, ()), own, raw) != seal
    return wrong


def clear(db: sqlite3.Connection, keys: Collection[int]) -> None:
    """Take everything out that was stored for these keys."""
    listed = json.dumps(list(keys))
    touch(
        db,
        {
            name
            for (name,) in db.execute(
                "SELECT session FROM notes WHERE key IN (SELECT value FROM json_each(?))", (listed,)
            )
        },
    )
    fts.drop(db, "own", keys)
    fts.drop(db, "context", keys)
    query = "SELECT key FROM passages WHERE note IN (SELECT value FROM json_each(?))"
    fts.drop(db, "passage", [key for (key,) in db.execute(query, (listed,)).fetchall()])
    for table in ("bodies", "chunks", "passages", "names", "edges", "unshaped", "seals", "places"):
        db.execute(f"DELETE FROM {table} WHERE note IN (SELECT value FROM json_each(?))", (listed,))
    db.execute("DELETE FROM notes WHERE key IN (SELECT value FROM json_each(?))", (listed,))


def touch(db: sqlite3.Connection, sessions: Iterable[str]) -> None:
    """Remember that the contexts of these sessions must be made again."""
    db.executemany(
        "INSERT OR IGNORE INTO touched VALUES (?)", ((session,) for session in sessions if session)
    )


def rows(
    db: sqlite3.Connection, where: str, values: Collection[object] = (), tail: str = ""
) -> Iterator[Row]:
    """Rows that fit an SQL condition (ours, never a user's text)."""
    for found in db.execute(
        f"SELECT key, {_COLUMNS} FROM notes WHERE {where} {tail}", tuple(values)
    ):
        yield _row(found)


def bodies(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, str]:
    """The indexed body of each note."""
    query = """SELECT own.rowid, coalesce(bodies.body, own.body) FROM json_each(?) AS wanted
               JOIN own ON own.rowid = wanted.value LEFT JOIN bodies ON bodies.note = own.rowid"""
    return dict(db.execute(query, (json.dumps(list(keys)),)))


def _row(found: tuple[Any, ...]) -> Row:
    values = list(found)
    for index in _LIST_INDEXES:
        values[index] = _unpack(values[index]) if values[index] else ()
    values[_CORE_INDEX] = bool(values[_CORE_INDEX])
    return Row._make(values)


@lru_cache(maxsize=1 << 12)
def _unpack(packed: str) -> tuple[Any, ...]:
    """A list as `_pack` wrote it; rows that answer one question have most of theirs in common, and
    with those of the next."""
    return tuple(json.loads(packed))


def _pack(name: str, value: Any) -> Any:
    if name in _LISTS:
        return json.dumps(value, ensure_ascii=False) if value else ""
    return int(value) if name == "core" else value


def _clean(found: memory.Memory) -> memory.Memory:
    """The same without lone surrogates, which YAML escapes can bring in and SQLite cannot store."""
    broken: dict[str, Any] = {}
    for name in (*_FROM_MEMORY, "body"):
        value = getattr(found, name)
        whole = "".join(value) if isinstance(value, tuple) else value
        if isinstance(whole, str) and not whole.isascii() and _SURROGATE.search(whole):
            broken[name] = (
                tuple(map(_replace, value)) if isinstance(value, tuple) else _replace(value)
            )
    return replace(found, **broken) if broken else found


def _replace(text_: str) -> str:
    return _SURROGATE.sub("\ufffd", text_)


def _own(found: memory.Memory, language: str) -> tuple[str, str, str, str]:
    """Title, description, tags and body as FTS5 gets them.

    A title or description that was taken from the body would count its words twice, so it is left
    out; a heading keeps its weight.
    """
    title = "" if taken(found.title, found.body) else found.title
    repeated = found.description.rstrip(
        "…"
    ) in found.body or found.description == parser.first_sentence(found.body)
    description = "" if repeated else found.description
    tags = " ".join((*found.tags, *found.aliases)) if found.tags or found.aliases else ""
    return (
        segment(title, language),
        segment(description, language),
        segment(tags, language),
        segment(found.body, language),
    )


def _head(data: bytes, limit: int) -> bytes:
    """The first `limit` bytes, cut at the end of a line, or at least of a character."""
    end = max(data.rfind(b"\n", 0, limit), 0)
    while not end and limit and data[limit] & 0xC0 == 0x80:  # inside a character
        limit -= 1
    return data[: end or limit]
