"""Where an export is written: a folder, a zip, or one file, beside its place first and whole or not
at all. What it did not make itself is never written over."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.vault.worktree.files import digest
from oneiro_vault.vault.write import disk

MANIFEST: Final = ".oneiro-export.json"
"""Beside every export in a folder or a zip: each of its files and their sha256."""
_KEPT: Final = "Nothing was written."
_ELSEWHERE: Final = "Choose another name, or move what is there away."
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading a zip raises; the last where it is locked by a password."""
_DAY: Final = (1980, 1, 1, 0, 0, 0)
"""The same export is the same zip, whenever it is made."""


class Target:
    """What is written so far. `single`: the place is one file, and takes only one."""

    def __init__(self, place: Path, temp: Path, form: str, single: bool) -> None:
        self.place, self.single = place, single
        self._temp, self._form = temp, form
        self._made: dict[str, str] = {}
        self._zip = zipfile.ZipFile(temp, "w", zipfile.ZIP_DEFLATED) if is_zip(place) else None

    def add(self, name: str, data: bytes) -> None:
        """Write one file of it (`name` relative, with `/`)."""
        self._made[name] = digest(data)
        self._put(name, data)

    @contextmanager
    def growing(self, name: str) -> Iterator[_Growing]:
        """One file of it, of any size, written bit by bit."""
        growing = _Growing(self._temp.with_name(f"{self._temp.name}.part"))
        try:
            yield growing
            growing.close()
            self._made[name] = growing.digest
            self._take(name, growing.place)
        finally:
            growing.close()
            growing.place.unlink(missing_ok=True)

    @property
    def files(self) -> int:
        """How many files there are."""
        return len(self._made)

    def finish(self) -> None:
        """Put the list of its files beside them."""
        said = {"oneiro_vault": "export", "format": self._form, "files": self._made}
        if not self.single:
            self._put(MANIFEST, json.dumps(said, ensure_ascii=False, indent=1).encode() + b"\n")
        if self._zip is not None:
            self._zip.close()
        if not self._temp.is_dir():
            disk.sync([str(self._temp)])

    def _put(self, name: str, data: bytes) -> None:
        if self._zip is not None:
            self._zip.writestr(_entry(name), data)
        else:
            self._at(name).write_bytes(data)

    def _take(self, name: str, part: Path) -> None:
        if self._zip is None:
            part.replace(self._at(name))
            return
        with part.open("rb") as source, self._zip.open(_entry(name), "w", force_zip64=True) as into:
            shutil.copyfileobj(source, into)

    def _at(self, name: str) -> Path:
        if self.single:
            return self._temp
        place = self._temp / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


class _Growing:
    def __init__(self, place: Path) -> None:
        self.place = place
        self._file = place.open("wb")
        self._hash = sha256()

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self._hash.update(data)
        self._file.write(data)

    @property
    def digest(self) -> str:
        """Of all that was written."""
        return self._hash.hexdigest()

    def close(self) -> None:
        """No more of it."""
        self._file.close()


def is_zip(place: Path) -> bool:
    """Is a zip asked for?"""
    return place.suffix.lower() == ".zip"


@contextmanager
def opened(path: str, form: str, vault: Path, single: str = "") -> Iterator[Target]:
    """A target at an absolute path; a name that ends in `single` is one file of this format. It
    takes its place when the block ends well, else nothing of it stays. Raises InvalidInput where
    something is that no export made, DiskProblem."""
    place = _checked(path, vault)
    one_file = bool(single) and place.suffix.lower() == single
    temp = place.with_name(f".{place.name}.{os.urandom(4).hex()}.new")
    with disk.guarded(f"Writing {place}"), _tidied(place):
        _refuse_foreign(place)
        if not is_zip(place) and not one_file:
            temp.mkdir()
        try:
            target = Target(place, temp, form, one_file)
            yield target
            target.finish()
            _refuse_foreign(place)
            _swap(temp, place)
        finally:
            _remove(temp)


@contextmanager
def _tidied(place: Path) -> Iterator[None]:
    """Take away what an export that was killed left beside its place, and let none that begins
    meanwhile take away what this one makes."""
    try:
        folder = os.open(place.parent, os.O_RDONLY)
    except OSError:  # it may be written and not read: then nothing beside is looked at
        yield
        return
    try:
        with suppress(OSError):  # another one is at work here, or it knows no locks
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _tidy(place)
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_SH)
        yield
    finally:
        os.close(folder)


def _tidy(place: Path) -> None:
    """An export that was to be replaced comes back where its heir had not taken its place yet; one
    that was, and what was half made, goes. What is not as an export left it stays."""
    ours = re.compile(rf"\.{re.escape(place.name)}\.[0-9a-f]{{8}}\.(new|new\.part|old)")
    left = [one for one in place.parent.iterdir() if ours.fullmatch(one.name)]
    for old in [one for one in left if one.suffix == ".old"]:
        gone = not os.path.lexists(place)
        if _as_made(old, whole=gone) and gone:
            old.rename(place)
        elif _as_made(old) and _known(place) is not None:
            _discard(old)
    for half in [one for one in left if one.suffix != ".old" and not one.is_symlink()]:
        _remove(half)


def _as_made(old: Path, whole: bool = False) -> bool:
    """Is there nothing in a folder but what an export of ours put there, or (`whole`) exactly
    that?"""
    known = None if old.is_symlink() else _known(old)
    if known is None:
        return False
    found = dict(_hashes(old))
    return found == known if whole else found.items() <= known.items()


def _checked(path: str, vault: Path) -> Path:
    if not Path(path).is_absolute() or not path.isprintable():
        raise InvalidInput(
            f"{shown(path, 120)} is no absolute path", kept=_KEPT, hint="Such as /home/ana/backup."
        )
    with disk.guarded(f"Looking at {shown(path, 120)}"):
        place = Path(os.path.realpath(path))
        home = Path(os.path.realpath(vault))
        if place == home or home in place.parents or place in home.parents:
            where = "is the vault" if place == home else "lies in the vault, or around it"
            raise InvalidInput(
                f"{shown(path, 120)} {where}: what is exported there would be memories again",
                kept=_KEPT,
                hint="Choose a place outside of the vault.",
            )
        if not place.parent.is_dir():
            raise InvalidInput(
                f"there is no folder {shown(str(place.parent), 120)}",
                kept=_KEPT,
                hint="Make it first, or choose another place.",
            )
    return place


def _refuse_foreign(place: Path) -> None:
    """Raise InvalidInput unless there is nothing, or an export of ours as it was made."""
    if not os.path.lexists(place) or (place.is_dir() and next(place.iterdir(), None) is None):
        return
    name = shown(str(place), 120)
    known = _known(place)
    if known is None:
        raise InvalidInput(f"{name} is there, and no export made it", kept=_KEPT, hint=_ELSEWHERE)
    found = dict(_hashes(place))
    odd = sorted(one for one in known.keys() | found.keys() if known.get(one) != found.get(one))
    if odd:
        raise InvalidInput(
            f"{name} is an export, and {shown(odd[0], 120)} in it is not as it was made"
            + (f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""),
            kept=_KEPT,
            hint=_ELSEWHERE,
        )


def _known(place: Path) -> Mapping[str, str] | None:
    """The files that the list of an export names."""
    if not (place.is_dir() or place.is_file()):
        return None  # to open a pipe would wait for ever
    try:
        if place.is_dir():
            said = json.loads((place / MANIFEST).read_bytes())
        else:
            with zipfile.ZipFile(place) as archive:
                said = json.loads(archive.read(MANIFEST))
        files = said["files"] if said["oneiro_vault"] == "export" else None
        return files if isinstance(files, dict) else None
    except (OSError, ValueError, KeyError, TypeError, *_DAMAGED):
        return None


def _hashes(place: Path) -> Iterator[tuple[str, str]]:
    if place.is_dir():
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place).as_posix()
            if name != MANIFEST and (path.is_symlink() or not path.is_dir()):
                yield name, _file_digest(path)
        return
    with zipfile.ZipFile(place) as archive:
        for entry in archive.namelist():
            if entry != MANIFEST:
                yield entry, _unpacked_digest(archive, entry)


def _file_digest(path: Path) -> str:
    """ "" for a link or what is no file: no export makes one."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return _digest(file)


def _unpacked_digest(archive: zipfile.ZipFile, entry: str) -> str:
    """ "" for what cannot be read: that is not as it was made."""
    try:
        with archive.open(entry) as file:
            return _digest(file)
    except _DAMAGED:
        return ""


def _digest(file: IO[bytes]) -> str:
    whole = sha256()
    while data := file.read(1 << 20):
        whole.update(data)
    return whole.hexdigest()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _swap(temp: Path, place: Path) -> None:
    if not place.is_dir():
        temp.replace(place)
        return
    old = temp.with_suffix(".old")
    place.rename(old)
    temp.rename(place)
    _discard(old)


def _discard(old: Path) -> None:
    """Remove an export; its list goes last, so that what is left of it can be told for ours."""
    with suppress(OSError):
        for one in [*old.iterdir()]:
            if one.name != MANIFEST:
                _remove(one)
        _remove(old)


def _remove(place: Path) -> None:
    with suppress(OSError):
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
