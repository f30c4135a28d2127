"""One file becomes rows: everything the index says of a note, computed from its bytes and nothing
else; of one that cannot be read, from the last version that could.

What may not be read though it lies in the folder leaves the index as soon as that is known, and
does not enter it.
"""

from __future__ import annotations

import json
import posixpath
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote
from zlib import crc32

from oneiro_vault.core.frontmatter.salvage import BROKEN, salvage
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import ALPHABET, ENTITY, Memory, fingerprint, parse
from oneiro_vault.core.text.language import detect
from oneiro_vault.core.text.query import fold, segment, speaker_of, spellings
from oneiro_vault.core.time.date_ranges import MONTHS
from oneiro_vault.core.tree_diff import Past, Screen, blob_id
from oneiro_vault.errors import OneiroError, UnreadableNote
from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword import database
from oneiro_vault.index.keyword.database import NOTE_COLUMNS

ABOUT: Final = ("about", "alias", "entity", "part", "speaker")
"""Roles of names by which a question finds the notes about someone."""
TARGETS: Final = ("id", "path", "title", "stem", "alias")
"""Roles of names by which a link finds a note, the surest first."""
WORD: Final = "word"
"""Role of one word of an entity's title, by which people call it too."""
WORDS: Final = "words"
"""Role of what is no name: the fingerprint of a note's words, by which the same ones are found."""

_PARTS_OF: Final = 3
"""Names of up to so many words are also known by each of them (`Caroline Smith`: `caroline`)."""
_SHORTEST_PART: Final = 3
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
_BY_MONTH: Final = re.compile(r"(?:episodic|semantic)/\d{4}/\d\d/")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


Born: TypeAlias = Callable[[str], str]
"""path -> when a file was first committed, "" if it was not."""


@dataclass(slots=True)
class Note:
    """A note ready to be found by its words. `row` follows NOTE_COLUMNS; `raw` is the body where
    `own` holds a changed one; `broken`: only what could be salvaged of it."""

    path: str
    row: tuple[Any, ...]
    own: tuple[str, str, str, str] | None
    raw: str | None
    names: set[tuple[str, str]]
    edges: set[tuple[str, str, str]]
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
    return "".join(ALPHABET[number >> shift & 31] for shift in range(0, 60, 5))


def read(
    path: str,
    data: bytes,
    limit: int,
    *,
    former: Memory | None = None,
    born: Born | None = None,
    unmerged: bool = False,
    copied: bool = False,
) -> Note:
    """Take the first `limit` bytes of a note apart. `former`, `unmerged`: as in
    `core.frontmatter.salvage`; `born` is asked for its date if it names none; `copied`: its id is
    another note's. Raises UnreadableNote."""
    head = data if len(data) <= limit else _head(data, limit)
    try:
        found = parse(path, head)
    except UnreadableNote:
        found = salvage(path, head, former, unmerged=unmerged)
    if born and not found.created:
        found = replace(found, created=born(path))
    found = _clean(replace(found, id="") if copied else found)
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
    names = _names(found, values["handle"])
    names.add((fingerprint(found.type, found.title, found.body), WORDS))
    return Note(path, row, own, raw, names, _stated(found), found.session, broken)


def day(moment: str) -> str:
    """`2023-05-08T…` -> `8 May 2023`, as people write it in a question; "" if there is no date."""
    return f"{int(moment[8:10])} {MONTHS[int(moment[5:7]) - 1]} {moment[:4]}" if moment else ""


def taken(title: str, body: str) -> bool:
    """Is the title just how the body begins? Then its words must not count twice."""
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
    database.put(db, "own", ((keys[note.path], *note.own) for note in notes if note.own))
    db.executemany(
        "INSERT INTO bodies VALUES (?, ?)",
        ((keys[note.path], note.raw) for note in notes if note.raw is not None),
    )
    db.executemany(
        "INSERT INTO names VALUES (?, ?, ?)",
        sorted([(*name, keys[note.path]) for note in notes for name in note.names]),
    )
    db.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, ?)",
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


_OF_A_NOTE: Final = (
    "bodies", "chunks", "passages", "names", "edges", "unshaped", "seals", "places", "copies",
)  # fmt: skip


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
    database.drop(db, "own", keys)
    database.drop(db, "context", keys)
    query = "SELECT key FROM passages WHERE note IN (SELECT value FROM json_each(?))"
    database.drop(db, "passage", [key for (key,) in db.execute(query, (listed,)).fetchall()])
    for table in _OF_A_NOTE:
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
    """Rows that answer one question have most of their lists in common."""
    return tuple(json.loads(packed))


def _pack(name: str, value: Any) -> Any:
    if name in _LISTS:
        return json.dumps(value, ensure_ascii=False) if value else ""
    return int(value) if name == "core" else value


def _clean(found: Memory) -> Memory:
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


def _own(found: Memory, language: str) -> tuple[str, str, str, str]:
    """Title, description, tags and body as FTS5 gets them. What was taken from the body would count
    its words twice; a heading keeps its weight."""
    title = "" if taken(found.title, found.body) else found.title
    repeated = found.description.rstrip(
        "…"
    ) in found.body or found.description == parser.first_sentence(found.body)
    description = "" if repeated else found.description
    tags = " ".join((*found.tags, *found.aliases)) if found.tags or found.aliases else ""
    return (
        segment(title, language),
        segment(" ".join(filter(None, (description, found.trigger))), language),
        segment(tags, language),
        segment(found.body, language),
    )


def _head(data: bytes, limit: int) -> bytes:
    end = max(data.rfind(b"\n", 0, limit), 0)
    while not end and limit and data[limit] & 0xC0 == 0x80:  # inside a character
        limit -= 1
    return data[: end or limit]


_Read = TypeVar("_Read")


def last_good(
    past: Past, heads: Mapping[str, str], limit: int, largest: int
) -> list[tuple[Note, str]]:
    """(note, blob) for every path of `heads` (path -> HEAD's blob) that has a readable version:
    HEAD's own, else the newest before it. `limit`: bytes that are indexed."""

    def whole(path: str, data: bytes) -> Note:
        note = read(path, data, limit)
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
    read: list[Note],
    again: Callable[[str, Memory], Note],
    largest: int,
) -> tuple[list[Note], list[tuple[str, str]]]:
    """Notes with what only the history knows of a broken one: who it was (`again(path, former)`
    reads one anew); (path, reason) of those that may not be read then."""
    broken = {note.path for note in read if note.broken}
    formers = known(past, broken, largest) if broken else {}
    done: list[Note] = []
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


_ID: Final = database.NOTE_COLUMNS.index("id")
_BLOB: Final = database.NOTE_COLUMNS.index("blob")
_MARK: Final = "screened"


class Screening:
    """A screen in front of one index file; `hidden`: the last look took something to be hidden."""

    def __init__(self, db: sqlite3.Connection, screen: Screen | None) -> None:
        self._db = db
        self._screen = screen
        self._stamp = ""
        self.hidden = False

    def stale(self) -> bool:
        """Is more refused than when the index was last gone through?"""
        self._stamp = self._screen.stamp() if self._screen is not None else ""
        self.hidden = bool(self._stamp) and database.meta(self._db, _MARK) != self._stamp
        return self.hidden

    def paths(self) -> list[str]:
        """Where the notes are that must leave the index."""
        if self._screen is None:
            return []
        marks = [json.dumps(list(found)) for found in self._screen.marks()]
        query = f"""SELECT path, coalesce(copies.id, notes.id) AS known, blob, coalesce(name, '')
                    FROM notes LEFT JOIN names ON names.note = key AND role = '{WORDS}'
                    LEFT JOIN copies ON copies.note = key
                    WHERE known IN (SELECT value FROM json_each(?)) OR blob IN (SELECT value FROM
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
        database.set_meta(self._db, _MARK, self._stamp)

    def read(
        self, path: str, data: bytes, limit: int, *, copied: bool = False, **known: Any
    ) -> Note:  # what else `read` takes
        """`read` of a note that may enter. Raises UnreadableNote, also for one that may
        not."""
        note = read(path, data, limit, **known)
        if why := self.why(note):
            raise UnreadableNote(why)
        return read(path, data, limit, copied=True, **known) if copied else note

    def why(self, note: Note) -> str:
        """Why a note may not enter, "" when it may."""
        if self._screen is None or not self._stamp:
            return ""
        words = next((name for name, role in note.names if role == WORDS), "")
        return self._screen.why(note.row[_ID], note.row[_BLOB], words)


def _names(note: Memory, handle: str) -> set[tuple[str, str]]:
    """(folded name, role) of a note: how it can be linked to, and whom and what it is about."""
    path = _folded(posixpath.splitext(note.path)[0])
    found = {
        (handle, "id"),
        (path, "path"),
        (path.rpartition("/")[2], "stem"),
        (_folded(note.title), "title"),
    }
    if not _BY_MONTH.match(path):  # a link may give the end of a path, as in Obsidian
        parts = path.split("/")
        found.update(("/".join(parts[at:]), "stem") for at in range(1, len(parts) - 1))
    found.update((_folded(part), "tag") for tag in note.tags for part in _nested(tag.lstrip("#")))
    if note.type == ENTITY:
        found.update((word, WORD) for word in _parts(_folded(note.title)))
    for name, role in _about(note):
        for whole in (_folded(name),) if name.isascii() else spellings(name):
            found.add((whole, role))
            if role != "alias":
                found.update((word, "part") for word in _parts(whole))
    return {name for name in found if name[0]}


def _parts(name: str) -> list[str]:
    words = name.split()
    if not 1 < len(words) <= _PARTS_OF:
        return []
    return [word for word in words if len(word) >= _SHORTEST_PART]


def _nested(tag: str) -> Iterator[str]:
    while tag:
        yield tag
        tag = tag.rpartition("/")[0]


def _stated(note: Memory) -> set[tuple[str, str, str]]:
    """(relation, folded target, "") of the links in the frontmatter."""
    pairs = [
        (relation, name)
        for relation in ("derived_from", "supersedes", "about")
        for name in getattr(note, relation)
    ]
    pairs.append(("superseded_by", note.superseded_by))
    return {
        (relation, target, "") for relation, name in pairs for target in targets(name, note.path)
    }


def written(structure: parser.Structure, path: str) -> set[tuple[str, str, str]]:
    """(relation, folded target, folded subject) of the links in the body; the subject is "" where
    that is the note itself."""
    return {
        (link.relation, target, next(targets(link.subject, path), ""))
        for link in structure.links
        for target in targets(link.target, path)
    }


def _folded(name: str) -> str:
    """`core.text.query.fold`, with a short cut for ASCII."""
    return " ".join(name.lower().split()) if name.isascii() else fold(name)


def _bare(name: str) -> str:
    name = name.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2]
    return name.split("|")[0].split("#")[0].strip()


def _about(note: Memory) -> Iterator[tuple[str, str]]:
    yield from ((_bare(name), "about") for name in note.about)
    yield from ((alias, "alias") for alias in note.aliases)
    if note.type == ENTITY:
        yield note.title, "entity"
    if speaker := speaker_of(note.body):
        yield speaker, "speaker"


def targets(target: str, path: str) -> Iterator[str]:
    """A link as written -> the folded names it may ask for. `[t](other.md)` is relative to the
    note's folder, `[[other.md]]` is not: a bare file name is tried both ways."""
    target = _bare(unquote(target) if "%" in target else target)
    if not target or "://" in target or target.startswith("mailto:"):
        return
    if target.startswith(("./", "../")):
        target = f"/{posixpath.normpath(posixpath.join(posixpath.dirname(path), target))}"
    if not target.lower().endswith(".md"):
        yield _folded(target.lstrip("/"))
        return
    inside = posixpath.normpath(
        target.lstrip("/")
        if target.startswith("/")
        else posixpath.join(posixpath.dirname(path), target)
    )
    if not inside.startswith("../"):
        yield _folded(inside[:-3])
    if "/" not in target:
        yield _folded(target[:-3])
