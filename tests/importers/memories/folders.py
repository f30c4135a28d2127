"""Folders and zips as other programs leave them, written by the test that reads them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.formats import recognised
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped
from tests.importers import exports

MODIFIED = 1_700_000_000  # 2023-11-14
Files = Mapping[str, str | bytes]


def folder(root: Path, files: Files) -> Path:
    """A folder of files that were all saved at the same time."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(path, (MODIFIED, MODIFIED))
    return root


def zipped(path: Path, files: Files) -> Path:
    """A zip of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def records(path: Path, form: Format | None = None) -> list[Record]:
    """Everything a reader yields; without `form` that of the format it is recognised as."""
    with Archive.at(path) as archive:
        return list((form or recognised(archive)).read(archive))


def known(path: Path) -> str:
    """The name of the format that it is recognised as."""
    with Archive.at(path) as archive:
        return recognised(archive).name


def notes(found: list[Record]) -> dict[str, Note]:
    """The notes by their titles."""
    return {one.title: one for one in exports.notes(found)}


def talks(found: list[Record]) -> dict[str, Conversation]:
    """The conversations by their ids."""
    return {one.id: one for one in found if isinstance(one, Conversation)}


def skipped(found: list[Record]) -> dict[str, str]:
    """Why each was left out, by where it stood."""
    return {one.where: one.why for one in found if isinstance(one, Skipped)}
