"""Files as a refresh sees them, and what it asks of whoever has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stat:
    """One regular file as the file system describes it (times in ns). Equal stats mean: not
    touched."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A path that will not be read (symlink, FIFO, no permission …), with the reason for a person.

    `folder`: everything below the path is unknown, so nothing there may be taken for deleted.
    `waits`: it can be read, and waits for a person before it is committed.
    """

    path: str
    reason: str
    folder: bool = False
    waits: bool = False


class Source(Protocol):
    """Where notes come from; the vault implements it, the index only knows this."""

    def scan(self) -> Iterator[Stat | Refused]:
        """Every note candidate (`*.md`, any case), in no order. Never raises for one entry."""
        ...

    def stat(self, path: str) -> Stat | Refused | None:
        """None when it is truly absent (never for lack of permission)."""
        ...

    def read(self, path: str, limit: int) -> bytes:
        """At most `limit` + 1 bytes of a regular file (longer than `limit` = larger). Raises
        OSError."""
        ...


class Screen(Protocol):
    """Which notes nobody may read, though their files are there; the vault implements it."""

    def stamp(self) -> str:
        """Another one when more is refused than before; "" while nothing is."""
        ...

    def marks(self) -> tuple[Collection[str], Collection[str], Collection[str]]:
        """What may be refused, by id, by git's id of the bytes, and by fingerprint of the words."""
        ...

    def why(self, ident: str, blob: str, words: str) -> str:
        """Why a note is refused, for a person; "" when it is not."""
        ...


class Past(Protocol):
    """What was committed at a path; the vault implements it, for files that cannot be read as they
    are on disk."""

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> blob id of the regular file HEAD has there; paths HEAD does not have are left
        out."""
        ...

    def versions(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """path -> blob ids of every version in HEAD's history, newest first."""
        ...

    def data(self, blob: str) -> bytes:
        """The bytes of a version. Raises OneiroError."""
        ...

    def born(self, paths: Iterable[str]) -> dict[str, str]:
        """path -> when its file was first committed, under whatever name (RFC 3339)."""
        ...


def blob_id(data: bytes) -> str:
    """git's id of these bytes: 40 hex characters."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def committed(path: str, size: int, blob: str) -> Stat:
    """Equal ones have equal bytes, whenever and wherever they were written."""
    return Stat(path, size, 0, 0, int(blob[:15], 16))


def below(path: str, folders: Iterable[str]) -> bool:
    """Is `path` one of `folders` or inside one of them?"""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
