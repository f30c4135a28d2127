"""Captures on their way: each a small file that is whole or not there, kept until the vault has
committed it, in `<git dir>/oneiro/spool`. Entries are named by time, so they are stored in
order."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH103, PTH105, PTH108, PTH112, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneiro_vault.answers import Json

MOST_ENTRIES = 2_000
MOST_BYTES = 256_000_000
"""Beyond it nothing more is taken: transcripts stay with their client, and the next capture begins
where the last one ended."""
STALE = 3600.0
"""Seconds after which a half-written file belongs to nobody."""
DEAD = 10.0
"""Seconds after which whoever wrote a whole one and did not name it is gone: a hook has two."""
_TEMPORARY = ".new-"
_ASIDE = "aside"


class FullError(OSError):
    """The spool holds as much as it may."""


def folder_of(state: str) -> str:
    """The spool of a vault whose own folder (`<git dir>/oneiro`) is `state`."""
    return os.path.join(state, "spool")


def put(folder: str, entry: Json, key: str = "") -> str:
    """Durably; `key` (letters and digits) goes into its name. Raises OSError; FullError: no
    room."""
    _private(folder)
    data = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
    names = entries(folder)
    if len(names) >= MOST_ENTRIES or sum(_size(name) for name in names) + len(data) > MOST_BYTES:
        raise FullError(f"{folder} holds {len(names)} captures that nobody has picked up")
    mark = os.urandom(4).hex()
    path = os.path.join(folder, f"{time.time_ns():020}-{key}-{mark}.json")
    write(path, data, os.path.join(folder, _TEMPORARY + os.path.basename(path)))
    return path


def write(path: str, data: bytes, temporary: str, durable: bool = True) -> None:
    """Put `data` at `path` in one step, for this user alone. Raises OSError."""
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            if durable:
                os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise
    if durable:
        _sync(os.path.dirname(path))


def entries(folder: str, key: str = "") -> list[str]:
    """Paths of all entries, or of those put under `key`, oldest first; none when there is no
    folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [
        os.path.join(folder, name)
        for name in sorted(names)
        if name.endswith(".json") and f"-{key}" in name and name[0] != "."
    ]


def load(path: str) -> Json | None:
    """None when somebody else has taken it. Raises ValueError when it is no entry."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def done(path: str) -> None:
    """The entry is in the vault."""
    _remove(path)


def set_aside(path: str) -> str:
    """Keep an entry nobody can store where it is in nobody's way; returns where. Raises OSError."""
    folder = os.path.join(os.path.dirname(path), _ASIDE)
    _private(folder)
    target = os.path.join(folder, os.path.basename(path))
    os.replace(path, target)
    return target


def aside(folder: str) -> list[str]:
    """Entries that could not be stored."""
    return entries(os.path.join(folder, _ASIDE))


def rescue(folder: str, now: float) -> None:
    """Make an entry of each whole file whose writer died before it had its name."""
    for path in _temporaries(folder):
        try:
            written = os.lstat(path)
            if now - written.st_mtime > DEAD and _is_whole(path):
                name = os.path.basename(path).removeprefix(_TEMPORARY)
                if not name.endswith(".json"):  # of a version that named it at the end
                    name = f"{written.st_mtime_ns:020}--{name}.json"
                os.replace(path, os.path.join(folder, name))
        except OSError:
            continue


def sweep(folder: str, now: float) -> None:
    """Remove files whose writer died before they were whole."""
    rescue(folder, now)
    for path in _temporaries(folder):
        try:
            if now - os.lstat(path).st_mtime > STALE:
                os.unlink(path)
        except OSError:
            continue


def _is_whole(path: str) -> bool:
    """An object ends with the brace it began with, so no part of one can be read."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 1))
        if file.read() != b"}":  # asked every second: most are told without reading them
            return False
    try:
        return load(path) is not None
    except ValueError:
        return False


def _temporaries(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names if name.startswith(_TEMPORARY))


def _private(folder: str) -> None:
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
