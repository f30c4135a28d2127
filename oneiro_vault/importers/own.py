"""What `oneiro export jsonl` wrote: a memory a line, with everything its file said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import InvalidInput, OneiroError
from oneiro_vault.importers.archive import UNTOUCHED, Archive
from oneiro_vault.importers.records import Format, Note, Record, Skipped

LINES: Final = "memories.jsonl"
MARK: Final = "oneiro_vault"
VERSION: Final = 1
"""Every line says it under `MARK`; one of a later version is not guessed at."""
_LONGEST: Final = 64 << 20
_BEGINS: Final = 4096


def recognises(archive: Archive) -> bool:
    """Is there a file of such lines?"""
    return bool(_where(archive))


def read(archive: Archive) -> Iterator[Record]:
    """Each memory as it was in its vault, in the order of the file. Raises InvalidInput where there
    is no such file or a zip is damaged."""
    name = _where(archive)
    if not name:
        raise InvalidInput(
            f"there is no {LINES} in {archive.name}",
            kept=UNTOUCHED,
            hint="Name the folder, the zip or the file that `oneiro export jsonl` made.",
        )
    folder, known = name.removesuffix(LINES), frozenset(archive.names())
    with archive.open(name) as stream:
        for number, data in enumerate(_lines(stream), 1):
            if data.strip():
                try:
                    yield _note(data, folder, known)
                except (OneiroError, ValueError, RecursionError) as error:
                    yield Skipped(f"{name}, line {number}", str(error))


def note_of(
    meta: Mapping[str, object],
    body: str,
    path: str,
    files: Mapping[str, str],
    file: str = "",
) -> Note:
    """A memory of a vault from what its file said, or from all of it. Raises InvalidInput."""
    data = yaml_block.encode(file or yaml_block.compose(meta, body))
    known = memories.of(path, meta, body, lambda: yaml_block.texts(yaml_block.compose(meta, "")))
    return Note(
        known.id or path,
        known.title,
        body,
        moment(known.created),
        moment(known.timestamp),
        known.trust,
        path,
        meta,
        data=data,
        files=files,
    )


def attached(said: Mapping[str, object]) -> list[str]:
    """The files that a memory shows, by their places in its vault, as an export says it."""
    shown = said.get("attachments")
    return [one for one in shown if isinstance(one, str)] if isinstance(shown, list) else []


def moment(text: str) -> datetime | None:
    """A date of a note, as `core.memory` has it; None for ""."""
    return datetime.fromisoformat(text) if text else None


def _where(archive: Archive) -> str:
    names = [name for name in archive.names() if name.rpartition("/")[2] == LINES]
    names += [name for name in archive.names() if name.lower().endswith(".jsonl")][:1]
    for name in names:
        with archive.open(name) as stream:
            if (
                stream.read(_BEGINS)
                .lstrip(b"\xef\xbb\xbf \t\r\n")
                .startswith(f'{{"{MARK}": '.encode())
            ):
                return name
    return ""


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """One that is too long for any memory comes as nothing that can be read."""
    while data := stream.readline(_LONGEST):
        yield data
        while not data.endswith(b"\n") and (data := stream.readline(_LONGEST)):
            pass


def _note(data: bytes, folder: str, known: frozenset[str]) -> Note:
    found = json.loads(data.decode("utf-8-sig"))
    if not isinstance(found, dict) or found.get(MARK) != VERSION:
        raise InvalidInput(f"it does not say that it is a memory of format {VERSION}")
    meta, text, path = _of(found, "meta", dict), _of(found, "text", str), _of(found, "path", str)
    file = found.get("file", "")
    files = {one: folder + one for one in attached(found) if folder + one in known}
    return note_of(meta, text, path, files, file if isinstance(file, str) else "")


def _of(found: Mapping[str, Any], key: str, kind: type) -> Any:
    value = found.get(key)
    if not isinstance(value, kind):
        raise InvalidInput(f"`{key}` is missing or has the wrong shape")
    return value


FORMAT: Final = Format("jsonl", "lines of JSON that `oneiro export jsonl` wrote", recognises, read)
