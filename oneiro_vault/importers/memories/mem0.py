"""What mem0 kept: its platform's list, the open-source `get_all`, and OpenMemory's backup. Each is
a fact that a model extracted; the words it came from are there only where `input` holds them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final, cast

from oneiro_vault.capture import transcripts
from oneiro_vault.core.frontmatter import fields
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers import elements
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats.dialogue import begins, digest
from oneiro_vault.importers.elements import Place, Row
from oneiro_vault.importers.memories.written_note import line, moment, names, prose
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped, Turn

_LISTS: Final = ("results", "memories", "data")
_LINES: Final = "memories.jsonl.gz"
_WHAT: Final = "a memory of mem0 (an object with `id` and `memory` or `content`)"
_STATUS: Final = {"archived": "archived", "paused": "archived"}
"""What the person switched off there is not told to a model here either."""
_SCOPE: Final = ("user_id", "agent_id", "app_id", "run_id")
_SPEAKERS: Final = {"user": "user", "assistant": "assistant"}


def _is_memory(row: Mapping[str, Any]) -> bool:
    return "id" in row and any(isinstance(row.get(key), str) for key in ("memory", "content"))


def _recognises(archive: Archive) -> bool:
    if any(name.rpartition("/")[2] == _LINES for name in archive.names()):
        return True
    files = elements.files(archive)
    return any(_is_mem0(begins(archive, name, keys=_LISTS)) for name in files)


def _is_mem0(rows: list[Row]) -> bool:
    """Chats have `content` too, but not what mem0 says beside it."""
    return any(
        _is_memory(row) and ("memory" in row or {"state", "category_ids"} & row.keys())
        for row in rows
    )


def _read(archive: Archive) -> Iterator[Record]:
    kind = elements.Kind(archive, _LISTS, _is_memory, _WHAT)
    talks: set[str] = set()
    for name in elements.files(archive):
        yield from _records(kind.rows(name), _Names(archive, name), talks)
        yield from _relations(archive, name)
    if not kind.seen:
        yield from _records(_lines(archive), None, talks)
    kind.refuse_none()


def _records(
    rows: Iterator[tuple[Place, Row] | Skipped], about: _Names | None, talks: set[str]
) -> Iterator[Record]:
    for found in rows:
        if isinstance(found, Skipped):
            yield found
        else:
            yield from _memory(*found, about, talks)


class _Names:
    """OpenMemory's names of apps and categories, which its memories have as ids."""

    def __init__(self, archive: Archive, name: str) -> None:
        self.apps = _by_id(archive, name, "apps")
        self.categories = _by_id(archive, name, "categories")


def _by_id(archive: Archive, name: str, key: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if archive.head(name).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        with suppress(InvalidInput):  # a file that is cut: told when its memories are read
            for one in elements.rows(archive, name, (key,)):
                if not isinstance(one, Skipped):
                    found[line(one[1].get("id"))] = line(one[1].get("name"))
    return found


def _lines(archive: Archive) -> Iterator[tuple[Place, Row] | Skipped]:
    """The second copy of a backup, where the first is missing; however much it unpacks to, no more
    than a line of it is held."""
    for name in archive.names():
        if name.rpartition("/")[2] == _LINES:
            try:
                with archive.open(name) as packed, gzip.GzipFile(fileobj=packed) as stream:
                    for index, (data, _) in enumerate(transcripts.lines(cast("BinaryIO", stream))):
                        yield from _line(Place(name, index), data)
            except (OSError, EOFError, zlib.error) as error:
                why = f"{name} cannot be read to its end: {error}"
                raise InvalidInput(why, hint="Make the backup once more.") from error


def _line(place: Place, data: bytes) -> Iterator[tuple[Place, Row] | Skipped]:
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        yield Skipped(str(place), "it is no JSON, or too long for any memory")
        return
    if isinstance(row, dict) and _is_memory(row):
        yield place, row


def _memory(place: Place, row: Row, about: _Names | None, talks: set[str]) -> Iterator[Record]:
    text = prose(row.get("memory") or row.get("content"))
    state = line(row.get("state")).lower()
    if state == "deleted" or row.get("deleted_at"):
        yield Skipped(str(place), "it was deleted there")
        return
    if not text:
        yield Skipped(str(place), "it has no text")
        return
    talk = _talk(row)
    if talk and talk.id not in talks:
        talks.add(talk.id)
        yield talk
    meta = _meta(row, about) | ({"session": talk.id} if talk else {})
    if state in _STATUS:
        meta["status"] = _STATUS[state]
    yield Note(
        id=line(row.get("id")),
        title="",
        text=text,
        at=moment(row.get("created_at")),
        updated=moment(row.get("updated_at")),
        trust="model",
        meta=meta,
    )


def _meta(row: Row, about: _Names | None) -> dict[str, object]:
    meta: dict[str, object] = {"type": "semantic"}
    tags = names(row.get("categories") or [])
    if about:
        given = row.get("category_ids")
        ids = given if isinstance(given, list) else []
        tags += names([about.categories.get(line(one), "") for one in ids])
    if tags:
        meta["tags"] = names(tags)
    if until := moment(row.get("expiration_date")):
        meta["valid_until"] = until.isoformat()
    app = line(row.get("app")) or (about.apps.get(line(row.get("app_id")), "") if about else "")
    if app:
        meta["mem0_app"] = app
    more = row.get("metadata")
    said = {key: row.get(key) for key in _SCOPE} | (more if isinstance(more, dict) else {})
    for key, value in said.items():
        name = f"mem0_{'_'.join(line(key).split())}"
        if isinstance(value, str | int | float) and line(value) and name not in meta:
            meta[name] = line(value)[: fields.LONGEST_NAME] if isinstance(value, str) else value
    return meta


def _talk(row: Row) -> Conversation | None:
    """The messages that a fact came from; several facts come from the same."""
    given = row.get("input")
    messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    at = moment(row.get("created_at"))
    turns = tuple(
        Turn("", _SPEAKERS.get(line(one.get("role")), "quoted"), text, at)
        for one in messages
        if (text := prose(one.get("content")))
    )
    if not turns:
        return None
    ident = digest(*(f"{turn.speaker}\0{turn.text}" for turn in turns))
    return Conversation(id=ident, title="", turns=turns, at=at)


def _relations(archive: Archive, name: str) -> Iterator[Note]:
    """The graph of the open-source version, as one note of typed edges."""
    edges: dict[str, None] = {}
    for found in elements.rows(archive, name, ("relations",)):
        if isinstance(found, Skipped):
            continue
        row = found[1]
        ends = [line(row.get(key)) for key in ("source", "target")]
        ends[1] = ends[1] or line(row.get("destination"))
        said = "_".join(line(row.get("relationship")).lower().split())
        if all(ends) and said and not any(set(end) & set("[]|#") for end in ends):
            edges[f"- [[{ends[0]}]] {said} [[{ends[1]}]]"] = None
    if edges:
        title = "Relations that mem0 kept"
        yield Note("relations", title, "\n".join(edges), trust="model", meta={"type": "semantic"})


FORMAT: Final = Format(
    "mem0-json", "mem0's memories as JSON, or OpenMemory's backup", _recognises, _read
)
