"""Files that notes refer to, named by what they hold: each is stored once, and a flipped byte is
found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from oneiro_vault.api import Progress
from oneiro_vault.core.picture import FOLDER
from oneiro_vault.errors import NotFound, OneiroError, StaleMemory
from oneiro_vault.vault.history.commit_log import Past
from oneiro_vault.vault.worktree.files import LARGEST, Files, digest
from oneiro_vault.vault.write import disk

HEAD: Final = 1_000_000
"""Bytes of a file that tell what it is and how large."""
_NAME: Final = re.compile(rf"{FOLDER}/([0-9a-f]{{2}})/((\1)[0-9a-f]{{62}})\.\w{{1,8}}")
_NAMED: Final = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def sha256_of(path: str) -> str:
    """ "" for a file that is not named by its content (a person's own: theirs to name)."""
    found = _NAME.fullmatch(path)
    return found[2] if found else ""


def named_in(data: bytes) -> set[str]:
    """A note that cannot be read, or code, still counts as a reason to keep a file."""
    return (
        {hit.decode() for hit in _NAMED.findall(data)}
        if FOLDER.encode() in data or b"![[" in data
        else set()
    )


class Attachments:
    """The attachments of one vault, on disk and in history."""

    def __init__(self, files: Files, past: Past) -> None:
        self._files = files
        self._past = past

    def paths(self) -> list[str]:
        """Those on disk that are named by their content."""
        folders = [
            f"{FOLDER}/{name}"
            for name in self._files.names(FOLDER)
            if re.fullmatch("[0-9a-f]{2}", name)
        ]
        found = [f"{folder}/{name}" for folder in folders for name in self._files.names(folder)]
        return sorted(path for path in found if sha256_of(path))

    def here(self, path: str) -> bool:
        """Is it on disk, or at least in HEAD?"""
        return bool(self.head_of(path))

    def head_of(self, path: str) -> bytes:
        """The first bytes of a file, b"" when it is not here (yet). Raises DiskProblem."""
        with disk.guarded(f"Reading {path}"):
            try:
                return self._files.read(path, HEAD)
            except (FileNotFoundError, NotADirectoryError):
                blob = self._past.heads([path]).get(path)
                return self._past.data(blob)[:HEAD] if blob else b""

    def read(self, path: str) -> tuple[bytes, str]:
        """What the name promises, and a notice when the disk has something else: then its last good
        version is served.

        Raises NotFound for one that is not here yet, StaleMemory for one of which no version fits
        its name.
        """
        with disk.guarded(f"Reading {path}"):
            data = self._files.content(path)
        if data is not None and digest(data) == sha256_of(path):
            return data, ""
        for blob in self._past.versions([path]).get(path, []):
            old = self._past.data(blob)
            if digest(old) == sha256_of(path):
                return old, _damaged(
                    path
                ) if data is not None else f"{path} is gone from the disk; the history has it"
        if data is None:
            raise NotFound(
                f"{path} is not here yet",
                kept="The note that shows it is.",
                hint="Sync this vault with the one the picture was added to.",
            )
        raise StaleMemory(
            _damaged(path),
            kept="The file stays as it is.",
            hint=f"An older version may be elsewhere: git log -- {path}",
        )

    def damaged(self, progress: Progress) -> Iterator[tuple[str, str]]:
        """(path, what is wrong) of every file that is not what its name promises."""
        paths = self.paths()
        for number, path in enumerate(paths):
            progress("checking attachments", number, len(paths))
            try:
                data = self._files.read(path, LARGEST)
            except (OSError, OneiroError) as error:
                yield path, f"{path} cannot be read: {error}"
                continue
            if digest(data) != sha256_of(path):
                yield path, _damaged(path)


def _damaged(path: str) -> str:
    return f"{path} is not what its name promises: it was changed or damaged"
