"""Oubli's memories: a dump as JSON, or its LanceDB folder where `lancedb` is installed. Level 0 is
raw, what was synthesised names its parents; all of it is a model's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Final

from oneiro_vault.core.conversation.turns import IMPORT
from oneiro_vault.core.memory import id_of
from oneiro_vault.errors import InvalidInput
from oneiro_vault.importers import elements
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.chats.dialogue import begins
from oneiro_vault.importers.elements import Row
from oneiro_vault.importers.memories import written_note
from oneiro_vault.importers.memories.written_note import Written, line, moment, names, prose
from oneiro_vault.importers.records import Format, Note, Record, Skipped

_LISTS: Final = ("memories",)
_FOLDER: Final = "memories.lance"
_VERSIONS: Final = "_versions/"
_CORE: Final = "core_memory.md"
_WHAT: Final = "a memory of Oubli (an object with `summary`)"
_COLUMNS: Final = (
    "id", "summary", "full_text", "level", "topics", "keywords", "parent_ids", "source",
    "created_at", "updated_at", "confidence",
)  # fmt: skip
_NAME: Final = "oubli"
_SOURCE: Final = f"{IMPORT}{_NAME}"
"""With the id that a note has there it makes the one it has here, which others can refer to."""
_LONG: Final = 200
"""Characters of a summary that is a title by itself."""


def _is_memory(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("summary"), str) and bool(
        {"full_text", "level", "parent_ids", "keywords"} & row.keys()
    )


def _recognises(archive: Archive) -> bool:
    if _CORE in archive.names() or _tables(archive):
        return True
    found = (begins(archive, name, keys=_LISTS) for name in elements.files(archive))
    return any(_is_memory(row) for rows in found for row in rows)


def _tables(archive: Archive) -> list[str]:
    """The folders of its table in an archive, "" when the archive is one itself."""
    if archive.name == _FOLDER and any(name.startswith(_VERSIONS) for name in archive.names()):
        return [""]
    mark = f"{_FOLDER}/{_VERSIONS}"
    whole = (name for name in archive.names() if mark in name)
    return sorted({name[: name.index(mark) + len(_FOLDER) + 1] for name in whole})


def _read(archive: Archive) -> Iterator[Record]:
    kind = elements.Kind(archive, _LISTS, _is_memory, _WHAT)
    tables = _tables(archive)
    cores = [name for name in archive.names() if name.rpartition("/")[2] == _CORE]
    for name in cores:
        yield _core(archive, name)
    for name in elements.files(archive):
        if any(name.startswith(table) for table in tables):
            continue
        ids = _ids(one[1] for one in _good(archive, name))
        for found in kind.rows(name):
            yield found if isinstance(found, Skipped) else _note(str(found[0]), found[1], ids)
    for table in tables:
        rows = _of_lance(archive, table)
        ids = _ids(rows)
        for number, row in enumerate(rows, 1):
            yield _note(f"{table or archive.name}, row {number:,}", row, ids)
    if not (cores or tables):
        kind.refuse_none()


def _good(archive: Archive, name: str) -> Iterator[tuple[object, Row]]:
    try:
        for one in elements.rows(archive, name, _LISTS):
            if not isinstance(one, Skipped):
                yield one
    except InvalidInput:  # told when the rows are read
        return


def _ids(rows: Any) -> set[str]:
    return {line(row.get("id")) for row in rows}


def _note(where: str, row: Row, ids: set[str]) -> Record:
    summary, text = line(row.get("summary")), prose(row.get("full_text"))
    if not (summary or text):
        return Skipped(where, "it has no text")
    given = line(row.get("id"))
    level = row.get("level")
    meta: dict[str, object] = {
        "type": "semantic",
        "description": summary if text and text != summary else "",
        "tags": names(_listed(row.get("topics"))),
        "topics": names(_listed(row.get("keywords"))),
        "level": level if isinstance(level, int) and level > 0 else 0,
        "derived_from": [id_of(_SOURCE, one) for one in _parents(row, given, ids)],
        "confidence": _share(row.get("confidence")),
    }
    return Note(
        id=given or id_of(_SOURCE, f"{summary}\0{text}"),
        title=summary if len(summary) <= _LONG else "",
        text=text or summary,
        at=moment(row.get("created_at")),
        updated=moment(row.get("updated_at")),
        trust="model",
        meta={key: value for key, value in meta.items() if value not in ("", [], None, 0)},
    )


def _parents(row: Row, own: str, ids: set[str]) -> list[str]:
    """Those that are still there: Oubli leaves the ids of what it deleted."""
    found = names(_listed(row.get("parent_ids")))
    return [one for one in found if one in ids and one != own]


def _listed(value: object) -> list[Any]:
    """A list, also as the JSON in a string that Oubli's table has."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return [part.strip() for part in str(value).split(",")]
    return value if isinstance(value, list) else []


def _share(value: object) -> float | None:
    """1.0 is what Oubli says of everything nobody thought about."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    return float(value) if known and isinstance(value, int | float) else None


def _core(archive: Archive, name: str) -> Record:
    written = written_note.read(archive, name)
    if not isinstance(written, Written):
        return written
    if not written.body.strip():
        return Skipped(name, "it has no text")
    return Note(
        id=f"core {PurePosixPath(name).parent}",
        title="Core memory of Oubli",
        text=written.body,
        at=archive.modified(name),
        trust="model",
        meta={"type": "semantic", "tags": ["core-memory"]},
    )


def _of_lance(archive: Archive, table: str) -> list[Row]:
    """The rows of a LanceDB table, from a copy: nothing of the person's is opened for writing."""
    if find_spec("lancedb") is None:
        raise InvalidInput(
            f"{archive.name} is a LanceDB folder, and `lancedb` is not installed",
            kept=UNTOUCHED,
            hint="Install it beside oneiro-vault (`pip install lancedb`, about 450 MB) and import "
            "again; or let Oubli write all its memories into a JSON file, and import that.",
        )
    lancedb: Any = import_module("lancedb")
    with tempfile.TemporaryDirectory(prefix="oneiro-import-") as folder:
        for name in archive.names():
            if name.startswith(table):
                target = Path(folder, _FOLDER, name.removeprefix(table))
                target.parent.mkdir(parents=True, exist_ok=True)
                archive.copy(name, target)
        try:
            opened = lancedb.connect(folder).open_table("memories")
            columns = [one for one in _COLUMNS if one in opened.schema.names]
            rows: list[Row] = opened.search().select(columns).to_arrow().to_pylist()
        except (ValueError, OSError, RuntimeError) as error:
            raise InvalidInput(
                f"the LanceDB folder {table or archive.name} cannot be read: {line(error)[:200]}",
                kept=UNTOUCHED,
                hint="End Oubli and try again, or let it write its memories into a JSON file.",
            ) from error
    return sorted(rows, key=lambda row: (str(row.get("created_at")), str(row.get("id"))))


FORMAT: Final = Format(_NAME, "Oubli's memories", _recognises, _read)
