"""New git objects, kept in memory until the whole commit is known, then made durable together.

libgit2 would fsync every object and its folder one after the other (a dozen disk flushes a commit);
collected first they cost one.
"""
# pathlib is left out here: raw descriptors and modes.
# ruff: noqa: PTH103, PTH104, PTH108, PTH112, PTH120

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from typing import Any, Final

import pygit2

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.write import disk

PACK_FROM: Final = 200
"""From this many objects on, one pack is written instead of loose files."""
_TYPES: Final = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}


class Memory(pygit2.OdbBackend):
    """An object store in a dict, in front of the real ones: it receives every write and answers for
    what is not on disk yet."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[pygit2.Oid, tuple[int, bytes]] = {}

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        """Called by libgit2."""
        return oid in self.objects

    def exists_prefix_cb(self, prefix: str) -> Any:
        """Called by libgit2; abbreviations are the disk's business."""
        raise KeyError(prefix)

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        """Called by libgit2."""
        return self.objects[oid]

    def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
        """Called by libgit2."""
        kind, data = self.objects[oid]
        return kind, len(data)

    def read_prefix_cb(self, prefix: pygit2.Oid) -> tuple[int, bytes, pygit2.Oid]:
        """Called by libgit2 (also for whole ids)."""
        kind, data = self.objects[prefix]
        return kind, data, prefix

    def write_cb(self, oid: pygit2.Oid, data: bytes, kind: int) -> None:
        """Called by libgit2."""
        self.objects[oid] = (int(kind), bytes(data))

    def refresh_cb(self) -> None:
        """Called by libgit2; there is nothing to refresh."""


class Stored:
    """Objects on disk under temporary names: an object has its real name only when its bytes are
    durable, since git would take an empty one for present."""

    def __init__(self, folder: str, *, pack: bool = False) -> None:
        self._folder = folder
        self._pending: list[tuple[str, str]] = []
        self._pack = pack

    @property
    def files(self) -> list[str]:
        """What to make durable before `name`."""
        return [temp for temp, _ in self._pending]

    def add(self, oid: pygit2.Oid, kind: int, data: bytes) -> None:
        """Write one object (not yet durable)."""
        # git's own name for these: gc clears them away
        temp = f"{self._folder}/tmp_obj_{os.urandom(6).hex()}"
        disk.write_new(temp, zlib.compress(b"%s %d\0" % (_TYPES[kind], len(data)) + data, 1), 0o444)
        self._pending.append((temp, f"{self._folder}/{str(oid)[:2]}/{str(oid)[2:]}"))

    def name(self) -> list[str]:
        """Give every object its name; returns the folders to make durable."""
        if self._pack:
            return [f"{self._folder}/pack"]
        folders = {os.path.dirname(final) for _, final in self._pending}
        fresh = {folder for folder in folders if not os.path.isdir(folder)}
        for folder in fresh:
            os.makedirs(folder, exist_ok=True)
        while self._pending:
            os.rename(*self._pending[-1])
            self._pending.pop()
        return sorted(folders | {os.path.dirname(folder) for folder in fresh})

    def drop(self) -> None:
        """Remove what has no name yet."""
        for temp, _ in self._pending:
            os.unlink(temp)
        self._pending.clear()


def store_loose(folder: str, objects: dict[pygit2.Oid, tuple[int, bytes]]) -> Stored:
    """Write objects below `folder` (`.git/objects`). Leaves nothing behind on failure."""
    stored = Stored(folder)
    try:
        for oid, (kind, data) in objects.items():
            stored.add(oid, kind, data)
    except OSError:
        stored.drop()
        raise
    return stored


def pack(objects: dict[pygit2.Oid, tuple[int, bytes]]) -> Iterator[bytes]:
    """The objects as the bytes of one git pack, piece by piece."""
    total = sha1(usedforsecurity=False)
    for piece in _pieces(objects):
        total.update(piece)
        yield piece
    yield total.digest()


def _pieces(objects: dict[pygit2.Oid, tuple[int, bytes]]) -> Iterator[bytes]:
    yield b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big")
    for kind, data in objects.values():
        yield _header(kind, len(data)) + zlib.compress(data, 1)


class Store:
    """What a repository really holds: libgit2 checks every object that is read against its id."""

    def __init__(self, root: str) -> None:
        self._odb = pygit2.Repository(root, pygit2.enums.RepositoryOpenFlag.NO_SEARCH).odb

    def get(self, oid: str) -> tuple[str, bytes] | None:
        """Type and bytes of an object; None when it is missing or damaged."""
        try:
            kind, data = self._odb.read(oid)
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return _TYPES[int(kind)].decode(), data

    def ids(self) -> set[str]:
        """Ids of all there should be, also of those that nothing leads to any more."""
        found: set[str] = set()
        with suppress(pygit2.GitError):  # a pack without a readable index lists nothing
            found.update(map(str, self._odb))
        return found


def _numbered(objects: Mapping[str, tuple[str, bytes]]) -> dict[pygit2.Oid, tuple[int, bytes]]:
    kinds = {name.decode(): number for number, name in _TYPES.items()}
    return {pygit2.Oid(hex=oid): (kinds[kind], data) for oid, (kind, data) in objects.items()}


def packed(objects: Mapping[str, tuple[str, bytes]]) -> Iterator[bytes]:
    """`pack` of objects by id, with their types by name."""
    return pack(_numbered(objects))


def put(folder: str, objects: Mapping[str, tuple[str, bytes]]) -> None:
    """Write objects (id -> type, bytes) below `folder`, durably. Raises OSError."""
    stored = store_loose(folder, _numbered(objects))
    disk.sync(stored.files)
    disk.sync(stored.name())


def every(root: str) -> Iterator[tuple[str, str, bytes]]:
    """(id, type, bytes) of every object, also of those that nothing leads to any more."""
    store = pygit2.Repository(root, pygit2.enums.RepositoryOpenFlag.NO_SEARCH).odb
    for oid in store:
        try:
            kind, data = store.read(oid)
        except (KeyError, pygit2.GitError) as error:
            raise GitProblem(
                f"object {oid} cannot be read: {error}",
                kept="Nothing was changed.",
                hint="Run `oneiro doctor`.",
            ) from error
        yield str(oid), _TYPES[int(kind)].decode(), data


def _header(kind: int, size: int) -> bytes:
    """Type and size as a pack entry starts: 4 bits of size beside the type, then 7 at a time."""
    out = bytearray()
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        out.append(byte | 128)
        byte, size = size & 127, size >> 7
    out.append(byte)
    return bytes(out)
