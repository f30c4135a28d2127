"""An export as it came: a folder, a zip (also with zips in it), or one file; read as streams, never
unpacked beside itself, and nothing in it is trusted."""

from __future__ import annotations

import io
import os
import shutil
import stat
import struct
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, Final, cast
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from oneiro_vault.errors import InvalidInput, NotFound, few, shown

UNTOUCHED: Final = "Nothing was imported."
_MOST_NAMES: Final = 500_000
_MOST_RATIO: Final = 100
_MOST_BYTES: Final = 64 << 30
_HEAD: Final = 1 << 16
_SMALL: Final = 64 << 20
"""Bytes below which nothing that unpacks counts as a bomb."""
_DEEPEST: Final = 2
"""Zips in a zip in a zip: OpenAI's privacy portal sends one in one."""
_MEDIA: Final = ("files__", "dall-e__")
"""Zips of uploads and pictures: large, and a `conversations.json` in one is a person's own file."""
_PACKED: Final = (".tgz", ".tar", ".tar.gz", ".tbz2", ".tar.bz2", ".tar.xz", ".7z", ".rar")
_NOT_IN: Final = frozenset((".git", "__MACOSX"))
_EPOCH: Final = 315_532_800.0  # 1980-01-01, what a zip says when it does not know


@dataclass(frozen=True)
class _Entry:
    size: int
    open: Callable[[], BinaryIO]
    modified: float | None = None
    path: Path | None = None


class Archive:
    """`left_out`: name and reason of what is there and is not read; `passed`: bytes that were read
    so far; `made`: when it was written here; `above`: the name of the folder that a folder lies in.
    Use it as a context manager: zips in it are unpacked to a temporary folder as long as it is
    open."""

    def __init__(self, name: str, entries: dict[str, _Entry], rooms: ExitStack) -> None:
        self.name = name
        self.left_out: tuple[tuple[str, str], ...] = ()
        self._entries = entries
        self._names = tuple(sorted(entries))
        self._rooms = rooms
        self._suffixes: set[str] = set()
        self._measured: tuple[frozenset[str], int] = (frozenset(), 0)
        self.passed = 0
        self.made: datetime | None = None
        self.above = ""

    @classmethod
    def at(cls, path: Path) -> Archive:
        """What lies at `path`. Raises NotFound, and InvalidInput for a damaged or hostile zip."""
        rooms = ExitStack()
        try:
            unpacked = _Unpacked(rooms)
            entries, left_out = _found(path, unpacked)
        except BaseException:
            rooms.close()
            raise
        made = cls(path.name or str(path), entries, rooms)
        made.left_out = tuple(left_out)
        made.made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        made.above = path.parent.name if path.is_dir() else ""
        return made

    def names(self) -> Sequence[str]:
        """Relative, with `/`, sorted; what is in a zip of the archive as `its.zip/name`."""
        return self._names

    def open(self, name: str) -> BinaryIO:
        """One file as a stream. Raises NotFound and InvalidInput; reading does where a zip is
        damaged."""
        self._suffixes.add(PurePosixPath(name).suffix.lower())
        try:
            raw = self._entry(name).open()
        except OSError as error:  # nobody may read it, or it went since
            raise InvalidInput(
                f"{shown(name, 200)} cannot be read: {error.strerror or error}"
            ) from error
        stream = _Stream(raw, name, self.name, self._passes)
        return cast("BinaryIO", io.BufferedReader(stream, 1 << 16))

    def begin(self) -> None:
        """Count from here on."""
        self.passed = 0
        self._suffixes.clear()

    def _passes(self, count: int) -> None:
        self.passed += count

    def extent(self) -> int:
        """Bytes there are to read, as far as what was opened shows: files of the same kinds."""
        found = self._entries.items()
        kinds = frozenset(self._suffixes)
        if self._measured[0] != kinds:
            ends = tuple(kinds - {""})
            whole = sum(one.size for name, one in found if ends and name.lower().endswith(ends))
            self._measured = kinds, whole
        return self._measured[1]

    def read(self, name: str, most: int = _SMALL) -> bytes:
        """All of one file. Raises NotFound, and InvalidInput when it has more than `most` bytes or
        cannot be read."""
        with self.open(name) as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise InvalidInput(f"{name} in {self.name} has more than {most:,} bytes")
        return data

    def head(self, name: str, most: int = _HEAD) -> bytes:
        """How a file begins, b"" for one that cannot be read. Raises NotFound."""
        try:
            with self.open(name) as stream:
                return stream.read(most)
        except InvalidInput:
            return b""

    def modified(self, name: str) -> datetime | None:
        """When a file was changed last, as far as the archive says so; of a zip without zones, its
        clock counts as UTC, so that every machine reads the same."""
        at = self._entry(name).modified
        return None if at is None else datetime.fromtimestamp(at, UTC)

    def copy(self, name: str, target: Path) -> Path:
        """One file, of any size, written to `target`. Raises NotFound, and InvalidInput where a zip
        is damaged."""
        return _copied(lambda: self.open(name), target)

    def close(self) -> None:
        """Take the temporary files away."""
        self._rooms.close()

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise NotFound(f"there is no {shown(name)} in {self.name}")
        return self._entries[name]

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Unpacked:
    """Where zips that lie in the archive are unpacked to, and how much of it there was."""

    def __init__(self, rooms: ExitStack) -> None:
        self.rooms = rooms
        self._count = 0
        self._folder: Path | None = None

    def copy(self, open_it: Callable[[], BinaryIO]) -> Path:
        if self._folder is None:
            made = tempfile.TemporaryDirectory(prefix="oneiro-import-")
            self._folder = Path(self.rooms.enter_context(made))
        self._count += 1
        return _copied(open_it, self._folder / f"{self._count}.zip")


def _copied(open_it: Callable[[], BinaryIO], target: Path) -> Path:
    with open_it() as stream, target.open("wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    return target


def _found(path: Path, unpacked: _Unpacked) -> tuple[dict[str, _Entry], list[tuple[str, str]]]:
    if path.is_dir():
        entries, left_out = _folder(path)
        return _opened(entries, unpacked, 0, left_out), left_out
    if not path.is_file():
        raise NotFound(f"there is no file or folder {shown(path, 200)}", kept=UNTOUCHED)
    if path.name.lower().endswith(_PACKED):
        raise InvalidInput(
            f"{path.name} is packed in a way that is not read here",
            kept=UNTOUCHED,
            hint="Unpack it and import the folder.",
        )
    if _is_zip(path):
        return _opened(_unwrapped(_zip(path, path.name, unpacked)), unpacked, 0), []
    return {path.name: _file(path)}, []


def _file(path: Path) -> _Entry:
    found = path.stat()
    return _Entry(found.st_size, lambda: path.open("rb"), found.st_mtime, path)


def _folder(root: Path) -> tuple[dict[str, _Entry], list[tuple[str, str]]]:
    entries: dict[str, _Entry] = {}
    left_out: list[tuple[str, str]] = []
    for folder, below, files in os.walk(root):
        for name in [one for one in below if Path(folder, one).is_symlink()]:
            below.remove(name)
            files.append(name)
        below[:] = sorted(set(below) - _NOT_IN)
        for name in sorted(files):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            if path.is_symlink():
                left_out.append((relative, "it is a link; what it leads to is not followed"))
            elif path.is_file() and not name.startswith("._"):
                with suppress(FileNotFoundError):  # gone since
                    entries[relative] = _file(path)
        if len(entries) > _MOST_NAMES:
            raise InvalidInput(
                f"there are more than {_MOST_NAMES:,} files in {shown(root, 200)}",
                kept=UNTOUCHED,
                hint="Name the folder of the export itself.",
            )
    return entries, left_out


def _is_zip(path: Path) -> bool:
    """Raises InvalidInput for one that was cut."""
    with path.open("rb") as file:
        begins = file.read(4)
    whole = begins[:2] == b"PK" and is_zipfile(path)
    if begins == b"PK\x03\x04" and not whole:
        raise InvalidInput(
            f"{path.name} begins as a zip and its end is missing",
            kept=UNTOUCHED,
            hint="The download was cut short: fetch it once more.",
        )
    return whole


def _zip(path: Path, name: str, unpacked: _Unpacked) -> dict[str, _Entry]:
    try:
        opened = unpacked.rooms.enter_context(ZipFile(path))
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InvalidInput(
            f"{name} is a damaged zip ({error})", kept=UNTOUCHED, hint="Fetch it once more."
        ) from error
    found: dict[str, _Entry] = {}
    for info in opened.infolist():
        inside = info.filename.replace("\\", "/")
        parts = inside.split("/")
        if inside.endswith("/") or _NOT_IN & set(parts) or parts[-1].startswith("._"):
            continue
        _checked(info, inside, name)
        found[inside] = _member(opened, info, name)
    _no_bomb(opened.infolist(), name)
    return found


def _checked(info: ZipInfo, inside: str, name: str) -> None:
    parts = inside.split("/")
    why = ""
    if inside.startswith("/") or ".." in parts or inside[1:2] == ":" or "\0" in inside:
        why = "would lead out of it"
    elif stat.S_ISLNK(info.external_attr >> 16):
        why = "is a link"
    elif info.flag_bits & 1:
        why = "is locked by a password"
    if why:
        hint = "Unpack it yourself, look at it, and import the folder."
        raise InvalidInput(f"{shown(inside)} in {name} {why}", kept=UNTOUCHED, hint=hint)


def _no_bomb(infos: Sequence[ZipInfo], name: str) -> None:
    whole = sum(info.file_size for info in infos)
    packed = sum(info.compress_size for info in infos)
    sizes = [(whole, packed), *((info.file_size, info.compress_size) for info in infos)]
    bomb = any(size > _SMALL and size / max(1, small) > _MOST_RATIO for size, small in sizes)
    if bomb or whole > _MOST_BYTES or len(infos) > _MOST_NAMES:
        raise InvalidInput(
            f"{name} would unpack to {whole:,} bytes in {len(infos):,} files, from {packed:,}: "
            f"that is no export",
            kept=UNTOUCHED,
            hint="If it is one, unpack it yourself and import the folder.",
        )


def _member(opened: ZipFile, info: ZipInfo, name: str) -> _Entry:
    def stream() -> BinaryIO:
        try:
            return cast("BinaryIO", opened.open(info))
        except (BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
            raise _damaged(info.filename, name, error) from error

    return _Entry(info.file_size, stream, _moment(info))


def _damaged(inside: str, name: str, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{shown(inside)} in {name} cannot be read: it is damaged ({error})",
        hint="Fetch it once more.",
    )


class _Stream(io.RawIOBase):
    """A file whose damage is told to a person; what is read of it is counted."""

    def __init__(
        self, raw: IO[bytes], inside: str, name: str, passes: Callable[[int], None]
    ) -> None:
        self._raw, self._inside, self._name, self._passes = raw, inside, name, passes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._raw.read(len(buffer))
        except (BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            raise _damaged(self._inside, self._name, error) from error
        self._passes(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _told(entry: _Entry, name: str) -> Callable[[], BinaryIO]:
    """How to open a file that is copied whole: its damage is told as that of any other."""
    return lambda: cast("BinaryIO", _Stream(entry.open(), name, "the export", lambda _: None))


def _moment(info: ZipInfo) -> float | None:
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return float(struct.unpack_from("<i", extra, 5)[0])
        extra = extra[4 + size :]
    try:
        at = datetime(*info.date_time, tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return at if at > _EPOCH else None


def _unwrapped(entries: dict[str, _Entry]) -> dict[str, _Entry]:
    """Without the one folder that everything in a zip lies in."""
    tops = {name.partition("/")[0] for name in entries if "/" in name}
    if len(tops) != 1 or not all("/" in name for name in entries):
        return entries
    return {name.partition("/")[2]: entry for name, entry in entries.items()}


def _opened(
    entries: dict[str, _Entry],
    unpacked: _Unpacked,
    depth: int,
    left_out: list[tuple[str, str]] | None = None,
) -> dict[str, _Entry]:
    """With what lies in its zips, unless these are attachments of notes. `left_out`: where a zip
    that cannot be read is noted, None when nothing can be read without it."""
    zips = [name for name in entries if name.lower().endswith(".zip") and _of_export(name)]
    if depth >= _DEEPEST or not zips or any(name.lower().endswith(".md") for name in entries):
        return entries
    found = dict(entries)
    for name in zips:
        entry = entries[name]
        try:
            path = entry.path or unpacked.copy(_told(entry, name))
            if not _is_zip(path):
                continue
            inside = _opened(_unwrapped(_zip(path, name, unpacked)), unpacked, depth + 1)
        except InvalidInput as error:
            if left_out is None:
                raise
            left_out.append((name, str(error)))
            continue
        found |= {f"{name}/{below}": one for below, one in inside.items()}
        del found[name]
    if len(found) > _MOST_NAMES:
        raise InvalidInput(f"there are too many files in {few(zips)}", kept=UNTOUCHED)
    return found


def _of_export(name: str) -> bool:
    return not PurePosixPath(name).name.lower().startswith(_MEDIA)
