"""A client's files on the disk: read whole, written by rename, links kept as links, modes kept,
never over somebody's newer text; and what is wholly ours beside them: skills, a marker, a block at
the head of the machine's own settings."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from oneiro_vault.clients.edit import BOM, Trouble, literal
from oneiro_vault.errors import DiskProblem, ForeignFile, OneiroError
from oneiro_vault.vault.write import disk

_LARGEST: Final = 50_000_000
_KEPT: Final = "The file is as it was."


_PATIENCE: Final = 2.0
_STALE: Final = 10.0
"""Seconds after which the client itself takes its lock for forgotten."""


class ChangedError(Exception):
    """The file is no longer what was read."""


def read(path: Path) -> str | None:
    """The text, with its line ends and BOM; None when there is no file. Raises ForeignFile,
    DiskProblem."""
    try:
        data = _bytes(path)
    except OSError as error:
        raise DiskProblem(
            f"{path} cannot be read: {error.strerror}", kept=_KEPT, hint="Make it readable."
        ) from error
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        what = f"{path}: line {line}, column {column}: not UTF-8"
        raise ForeignFile(what, kept=_KEPT, hint="Save it as UTF-8 and run setup again.") from error


def _bytes(path: Path) -> bytes | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        hint = "Look at what stands there."
        raise ForeignFile(f"{path} is not a settings file", kept=_KEPT, hint=hint)
    return path.read_bytes()


def write(path: Path, before: str | None, after: str | None) -> None:
    """Make the file say `after` (None: gone) if it still says `before`.

    Raises ChangedError when somebody else wrote meanwhile, DiskProblem.
    """
    target = Path(os.path.realpath(path))
    try:
        if after is None:
            _check(target, before)
            target.unlink(missing_ok=True)
        else:
            for above in reversed((target.parent, *target.parent.parents)):
                above.mkdir(mode=0o700, exist_ok=True)
            _renamed(target, before, after.encode())
    except OSError as error:
        what = f"{target} cannot be written: {error.strerror}"
        raise DiskProblem(
            what, kept=_KEPT, hint="Make the file and its folder writable, and run setup again."
        ) from error


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The client's own lock on its file (a folder `FILE.lock`), when it is to be had; a write is
    never over a newer text either way."""
    lock = Path(f"{os.path.realpath(path)}.lock")
    mine = path.exists() and _locked(lock)
    try:
        yield
    finally:
        if mine:
            with suppress(OSError):
                lock.rmdir()


def _locked(lock: Path) -> bool:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.mkdir()
        except FileExistsError:
            with suppress(OSError):
                if time.time() - lock.stat().st_mtime > _STALE:
                    return False
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        except OSError:
            return False
        else:
            return True


def unmake(path: Path, home: Path) -> None:
    """Take away the folders below home that a deleted file leaves empty."""
    home = Path(os.path.realpath(home))
    with suppress(OSError):
        for folder in Path(os.path.realpath(path)).parents:
            if home not in folder.parents:
                return
            folder.rmdir()


def _check(target: Path, before: str | None) -> None:
    if _bytes(target) != (None if before is None else before.encode()):
        raise ChangedError


def _renamed(target: Path, before: str | None, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.oneiro-tmp")
    try:
        disk.write_new(str(temporary), data, 0o600)
        disk.sync([str(temporary)])
        if before is not None:
            _take_after(target, temporary)
        _check(target, before)  # as late as can be: a running client writes here too
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _take_after(target: Path, temporary: Path) -> None:
    try:
        found = target.stat()
    except FileNotFoundError:
        raise ChangedError from None
    temporary.chmod(stat.S_IMODE(found.st_mode))
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(OSError):
            os.chown(temporary, found.st_uid, found.st_gid)


_NEW: Final = "; there was no file before"
_BLOCK: Final = re.compile(
    r"# written by `oneiro setup (?P<client>[a-z-]+)`(?P<new>; there was no file before)?\n.*?# "
    r"end of that\n",
    re.DOTALL,
)


class Written:
    """The text we wrote to each file that is wholly ours: what says something else by now is no
    longer ours to change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Every file on the list."""
        return list(self._files())

    def get(self, path: Path) -> str | None:
        """What we wrote there; None when nothing was."""
        return self._files().get(str(path))

    def put(self, path: Path, text: str | None) -> None:
        """List a file, or (None) take it off; without any the list goes. Raises ChangedError,
        DiskProblem."""
        before = read(self.path)
        files = {name: known for name, known in self._files().items() if name != str(path)}
        if text is not None:
            files[str(path)] = text
        noted = {"schema": 1, "files": {name: {"text": known} for name, known in files.items()}}
        after = json.dumps(noted, indent=1) + "\n" if files else None
        if after != before:
            write(self.path, before, after)

    def _files(self) -> dict[str, str]:
        """File -> text. A list that cannot be read is none."""
        try:
            found = json.loads(read(self.path) or "{}")["files"]
            return {name: each["text"] for name, each in found.items() if each["text"]}
        except (ValueError, KeyError, TypeError, AttributeError, OneiroError):
            return {}


def with_block(before: str | None, client: str, values: Mapping[str, Any]) -> str:
    """The settings with a client's block at their head; what is set without it stays. Raises
    Trouble for what is no TOML."""
    mark, blocks, rest = _parted(before or "")
    ours = {name: block for name, block in blocks.items() if name != client}
    there = _names("".join([*ours.values(), rest]))
    lines = [
        f'"{name}" = {literal(value)}\n' for name, value in values.items() if name not in there
    ]
    fresh = before is None or (not rest and any(_NEW in block for block in blocks.values()))
    if lines:
        head = f"# written by `oneiro setup {client}`{_NEW if fresh else ''}\n"
        ours = {client: f"{head}{''.join(lines)}# end of that\n"} | ours
    return f"{mark}{''.join(ours.values())}{rest}"


def without_block(before: str | None, client: str) -> str | None:
    """The settings without a client's block; None when nothing but blocks was ever in the file.
    Raises Trouble."""
    mark, blocks, rest = _parted(before or "")
    if client not in blocks:
        return before
    left = "".join(block for name, block in blocks.items() if name != client) + rest
    return mark + left if left or _NEW not in blocks[client] else None


def _parted(text: str) -> tuple[str, dict[str, str], str]:
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    blocks = {found["client"]: found[0] for found in _BLOCK.finditer(text)}
    return mark, blocks, _BLOCK.sub("", text)


def _names(text: str) -> set[str]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Trouble(str(error), 1, 1) from error
    tables = {name: value for name, value in found.items() if isinstance(value, dict)}
    return found.keys() - tables.keys() | {
        f"{name}.{key}" for name, value in tables.items() for key in value
    }
