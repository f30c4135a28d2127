"""The work tree: which paths may be touched at all, which the tool may invent and which hold notes;
list, read, write atomically. Never follows a link, never opens anything but a regular file."""
# pathlib is left out here: os.* on descriptors: pathlib has no O_NOFOLLOW.
# ruff: noqa: PTH106, PTH110, PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import ctypes
import errno
import os
import re
import stat as modes
import unicodedata
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from oneiro_vault.core.tree_diff import Refused, Stat, blob_id
from oneiro_vault.errors import UnsafePath, shown
from oneiro_vault.vault.write import disk

_LONGEST: Final = 255  # bytes of one name: the limit of ext4, APFS and NTFS alike
_FARTHEST: Final = 2048  # bytes of a whole path, so that folder and path keep below Linux' 4096
_DEEPEST: Final = 40
_IGNORABLE: Final = re.compile(
    "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]"
)  # HFS+ drops these, so `.g\u200cit` would be `.git`
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\..*)?", re.IGNORECASE
)
_ODD: Final = re.compile(r'[<>:"|?*\\\x00-\x1f\x7f]')
_KEPT: Final = "Nothing was written."


def checked(path: str) -> str:
    """`path` itself when it names a place inside the vault that we may touch. Raises UnsafePath."""
    if not isinstance(path, str) or not path:
        raise UnsafePath("an empty path names no note", kept=_KEPT)
    parts = path.split("/")
    reason = _unsafe(path, parts)
    if reason:
        raise UnsafePath(
            f"{shown(path, 120)} cannot be used: {reason}",
            kept=_KEPT,
            hint="Use a path inside the vault, such as semantic/2026/11/name.md.",
        )
    return path


def objection(path: str) -> str:
    """Why a place may not be touched, without its name; "" when it may."""
    return _unsafe(path, path.split("/"))


def _unsafe(path: str, parts: list[str]) -> str:
    try:
        encoded = [part.encode() for part in parts]
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    if "\0" in path:
        return "it contains a NUL character"
    if any(part in ("", ".", "..") for part in parts):
        return "it leaves the vault or has an empty part"
    if len(parts) > _DEEPEST:
        return f"it is too deep: {len(parts) - 1} folders, and at most {_DEEPEST - 1} are entered"
    if longest := max((len(part) for part in encoded if len(part) > _LONGEST), default=0):
        return f"it is too long: a name of {longest} bytes, and at most {_LONGEST} are possible"
    if (whole := len("/".join(parts).encode())) > _FARTHEST:
        return f"it is too long: {whole} bytes, and at most {_FARTHEST} are possible"
    if any(_private(part) for part in parts):
        return "that folder is not for notes"
    return ""


def _private(part: str) -> bool:
    """Is this git's folder or ours, under any name some file system takes for it?"""
    plain = (
        _IGNORABLE.sub("", unicodedata.normalize("NFC", part))
        .rstrip(" .")
        .casefold()
        .partition(":")[0]
    )
    return plain in (".git", "git~1", ".oneiro")


def portable(path: str) -> str:
    """`path` when every file system can hold it (asked of names we invent, never of a person's)."""
    for part in checked(path).split("/"):
        if (
            _ODD.search(part)
            or _RESERVED.fullmatch(part)
            or part != part.rstrip(" .")
            or part != unicodedata.normalize("NFC", part)
        ):
            raise UnsafePath(
                f"{shown(path, 120)} cannot be used: {shown(part)} cannot exist on every system",
                kept=_KEPT,
                hint="Choose a plain name: letters, digits, '-' and '_'.",
            )
    return path


def twin_key(name: str) -> str:
    """Equal for two names that a case-insensitive or normalising file system takes for the same."""
    return unicodedata.normalize("NFC", name).casefold()


def hidden(path: str) -> bool:
    """Is some part of the path a dot-name (a program's own folder, never notes)?"""
    return path.startswith(".") or "/." in path


def is_note(path: str) -> bool:
    """Is this a place for a note: `*.md` in any case, outside dot-folders?"""
    return path[-3:].lower() == ".md" and not hidden(path)


def is_kept(path: str) -> bool:
    """Does the vault keep this file for itself, as no note may show it: settings, ledger? In any
    case, since some systems do not tell them apart."""
    return path.lower() == "oneiro.toml" or path.lower().startswith("ledger/")


def is_ours(path: str) -> bool:
    """Does the vault follow a person's edits of this file: notes, attachments, settings?"""
    return (
        is_note(path)
        or path == "oneiro.toml"
        or (path.startswith("attachments/") and not hidden(path))
    )


LARGEST: Final = 100_000_000
"""Bytes of the largest file the vault takes in."""
SPEC_MARK: Final = b"<!-- oneiro-vault: what this folder is -->"
"""First line of the README a vault is born with: a file about the vault, not a memory in it."""
TEMPORARY: Final = ".oneiro-tmp"
_UNLIMITED: Final = 1 << 40
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_KINDS: Final = {
    modes.S_IFLNK: "a symbolic link is never followed",
    modes.S_IFIFO: "a FIFO is not a note",
    modes.S_IFSOCK: "a socket is not a note",
    modes.S_IFCHR: "a device is not a note",
    modes.S_IFBLK: "a device is not a note",
    modes.S_IFDIR: "a folder is not a note",
}


def digest(data: bytes) -> str:
    """Lower-case sha256 of the bytes: what a writer hands back as `base`."""
    return sha256(data).hexdigest()


Stamp = tuple[int, int, int]
"""Modified (ns), size and inode of a file; zeros when there is none. git never writes an index in
place."""


def stamp(path: str | Path) -> Stamp:
    """What tells one state of a file from another."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


class Files:
    """The files below `root` (a `core.tree_diff.Source`). Paths are vault-relative and POSIX."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = os.fspath(root)

    # -- looking

    def scan(self) -> Iterator[Stat | Refused]:
        """Every `*.md` outside dot-folders, in no order; what cannot be read comes as Refused with
        the reason."""
        for path, entry in self.walk():
            if isinstance(entry, Refused):
                yield entry
            elif path[-3:].lower() == ".md":
                found = self._described(path, entry)
                if found is not None:
                    yield found

    def walk(self) -> Iterator[tuple[str, os.DirEntry[str] | Refused]]:
        """Every entry that is not a folder, dot-names left out, and as Refused every folder that
        must not or cannot be entered."""
        todo = [""]
        while todo:
            prefix = todo.pop()
            try:
                entries = os.scandir(os.path.join(self._root, prefix))
            except OSError as error:
                yield (
                    prefix,
                    Refused(
                        prefix.rstrip("/"),
                        f"the folder cannot be opened: {error.strerror}",
                        folder=True,
                    ),
                )
                continue
            with entries:
                for entry in entries:
                    if entry.name[0] == ".":
                        if entry.name == ".git" and prefix:
                            yield (
                                prefix,
                                Refused(
                                    prefix.rstrip("/"), "another repository's folder", folder=True
                                ),
                            )
                        continue
                    path = prefix + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(path + "/")
                    else:
                        yield path, entry

    def _described(self, path: str, entry: os.DirEntry[str]) -> Stat | Refused | None:
        if (len(path) > _LONGEST or path.count("/") >= _DEEPEST) and (why := objection(path)):
            return Refused(path, why)
        try:
            path.encode()
            found = entry.stat(follow_symlinks=False)
        except UnicodeEncodeError:
            return Refused(
                path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
                "its name is not valid UTF-8",
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            return Refused(path, f"it cannot be looked at: {error.strerror}")
        return self._judged(path, found)

    def _judged(self, path: str, found: os.stat_result) -> Stat | Refused | None:
        if path == "README.md" and modes.S_ISREG(found.st_mode) and self._is_spec():
            return None
        return describe(path, found)

    def _is_spec(self) -> bool:
        try:
            return self.read("README.md", len(SPEC_MARK)).startswith(SPEC_MARK)
        except OSError:
            return False

    def stat(self, path: str) -> Stat | Refused | None:
        """One path now: a Stat, why it is refused, or None when it is truly absent."""
        try:
            folder = self._enter(checked(path), create=False)
        except UnsafePath as error:
            return Refused(path, objection(path) or str(error))
        except FileNotFoundError:
            return None
        except OSError as error:
            return Refused(path, _why(error))
        try:
            return self._judged(
                path, os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            return Refused(path, _why(error))
        finally:
            os.close(folder)

    # -- reading

    def read(self, path: str, limit: int = LARGEST) -> bytes:
        """At most `limit` + 1 bytes of a regular file (more = it is larger). Raises OSError, or
        UnsafePath."""
        folder = self._enter(checked(path), create=False)
        try:
            fd = os.open(path.rpartition("/")[2], _FLAGS, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(fd, "rb") as file:
            found = os.fstat(fd)
            if not modes.S_ISREG(found.st_mode):
                raise OSError(
                    errno.EINVAL,
                    _KINDS.get(modes.S_IFMT(found.st_mode), "not a regular file"),
                    path,
                )
            return file.read() if found.st_size <= limit else file.read(limit + 1)

    def content(self, path: str) -> bytes | None:
        """None when it is truly absent. UnsafePath for links, folders and the like; OSError when
        unreadable."""
        try:
            return self.read(path, _UNLIMITED)
        except (FileNotFoundError, NotADirectoryError):
            self._check_absent(path)
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO):
                raise UnsafePath(
                    f"{path!r} cannot be used: {_why(error)}", kept="It was not opened."
                ) from error
            raise

    def _check_absent(self, path: str) -> None:
        current = self._root
        for part in path.split("/")[:-1]:
            current = os.path.join(current, part)
            if os.path.lexists(current) and (os.path.islink(current) or not os.path.isdir(current)):
                raise UnsafePath(
                    f"{path!r} cannot be used: {part!r} is no folder of this vault",
                    kept="Nothing was written.",
                )

    def _enter(self, path: str, *, create: bool) -> int:
        """A descriptor of the folder, reached without following a link or entering another
        repository."""
        fd = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in path.split("/")[:-1]:
            try:
                if create:
                    _make(part, fd)
                deeper = os.open(
                    part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd
                )
            finally:
                os.close(fd)
            fd = deeper
            if _is_repository(fd):
                os.close(fd)
                raise UnsafePath(
                    f"{path} lies in another repository's folder", kept="It was not touched."
                )
        return fd

    # -- writing

    def write(self, path: str, data: bytes) -> None:
        """A reader, a crash or a power cut sees the old bytes or the new, never a mixture."""
        folder = self._enter(checked(path), create=True)
        try:
            name = path.rpartition("/")[2]
            temp = _temporary(name, data, folder, durable=True)
            os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        finally:
            os.close(folder)

    def stage(self, path: str, data: bytes) -> str:
        """Lay `data` (not yet durable) beside `path`; returns the absolute path of that file."""
        folder = self._enter(checked(path), create=True)
        try:
            temp = _temporary(path.rpartition("/")[2], data, folder, durable=False)
        finally:
            os.close(folder)
        return os.path.join(os.path.dirname(self.absolute(path)), temp)

    def make_executable(self, path: str, temp: str) -> None:
        """Let the owner run a file that was staged for `path`, as its commit says."""
        folder = self._enter(checked(path), create=False)
        try:
            name = os.path.basename(temp)
            os.chmod(
                name,
                modes.S_IMODE(os.stat(name, dir_fd=folder).st_mode) | modes.S_IXUSR,
                dir_fd=folder,
            )
        finally:
            os.close(folder)

    def publish(self, path: str, temp: str, expected: str) -> bool:
        """Give a staged file its name if `path` still has the blob id `expected` ("" = absent).
        False: the person's file stays."""
        folder = self._enter(checked(path), create=False)
        name, source = path.rpartition("/")[2], os.path.basename(temp)
        try:
            if self._blob_at(name, folder) != expected:
                os.unlink(source, dir_fd=folder)
                return False
            return (
                self._swap(source, name, folder, expected)
                if expected
                else _link(source, name, folder)
            )
        finally:
            os.close(folder)

    def _swap(self, source: str, name: str, folder: int, expected: str) -> bool:
        """An editor may have saved a moment before: swapping the names keeps that text, so it can
        be given back; a rename would have destroyed it."""
        if not _exchange(folder, source, name):
            os.rename(source, name, src_dir_fd=folder, dst_dir_fd=folder)
            return True
        done = self._blob_at(source, folder) == expected
        if not done:
            _exchange(folder, source, name)
        os.unlink(source, dir_fd=folder)
        return done

    def remove(self, path: str, expected: str) -> bool:
        """Take the file away if it still has the blob id `expected`; empty month folders go with
        it."""
        try:
            folder = self._enter(checked(path), create=False)
        except FileNotFoundError:
            return True
        try:
            name = path.rpartition("/")[2]
            found = self._blob_at(name, folder)
            if found == expected:
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)
        if found == expected:
            self._prune(path)
        return found in ("", expected)

    def _prune(self, path: str) -> None:
        parts = path.split("/")[:-1]
        while len(parts) > 1:
            try:
                os.rmdir(os.path.join(self._root, *parts))
            except OSError:
                return
            parts.pop()

    def names(self, folder: str) -> list[str]:
        """Names in a folder, [] when it cannot be listed."""
        try:
            return os.listdir(os.path.join(self._root, folder))
        except OSError:
            return []

    def blob(self, path: str) -> str | None:
        """git's id of the bytes on disk, "" when absent, None for what is no readable regular
        file."""
        try:
            data = self.content(path)
        except (OSError, UnsafePath):
            return None
        return "" if data is None else blob_id(data)

    def _blob_at(self, name: str, folder: int) -> str | None:
        try:
            fd = os.open(name, _FLAGS, dir_fd=folder)
        except FileNotFoundError:
            return ""
        except OSError:
            return None
        with os.fdopen(fd, "rb") as file:
            return blob_id(file.read()) if modes.S_ISREG(os.fstat(fd).st_mode) else None

    def absolute(self, path: str) -> str:
        """The path for the operating system (checked)."""
        return os.path.join(self._root, checked(path))

    def sync(self, paths: Mapping[str, object] | list[str]) -> None:
        """Make files and the folders they are in durable. A file that is gone again is no error."""
        wanted = {
            place
            for path in paths
            for place in (self.absolute(path), os.path.dirname(self.absolute(path)))
        }
        disk.sync(place for place in wanted if os.path.exists(place))


def describe(path: str, found: os.stat_result) -> Stat | Refused:
    """A regular file's Stat, or why the thing at `path` is refused."""
    if not modes.S_ISREG(found.st_mode):
        return Refused(path, _KINDS.get(modes.S_IFMT(found.st_mode), "not a regular file"))
    return Stat(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_repository(folder: int) -> bool:
    try:
        os.stat(".git", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _make(part: str, parent: int) -> None:
    try:
        os.mkdir(part, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)


def _temporary(name: str, data: bytes, folder: int, *, durable: bool) -> str:
    """With the mode of `name`; leaves nothing behind on failure."""
    try:
        mode = modes.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        mode = 0
    temp = f".{os.urandom(6).hex()}{TEMPORARY}"
    fd = os.open(
        temp,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o666,
        dir_fd=folder,
    )
    try:
        if mode:
            os.fchmod(fd, mode)
        disk.write_all(fd, data)
        if durable:
            os.fsync(fd)
    except OSError:
        os.unlink(temp, dir_fd=folder)
        raise
    finally:
        os.close(fd)
    return temp


_renameat2: Final = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
_SWAP: Final = 2


def _exchange(folder: int, one: str, other: str) -> bool:
    return (
        _renameat2 is not None
        and _renameat2(folder, os.fsencode(one), folder, os.fsencode(other), _SWAP) == 0
    )


def _link(temp: str, name: str, folder: int) -> bool:
    """Unless the name is taken by now (a rename would overwrite)."""
    try:
        os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        os.unlink(temp, dir_fd=folder)
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        os.rename(
            temp, name, src_dir_fd=folder, dst_dir_fd=folder
        )  # a file system without hard links
        return True
    os.unlink(temp, dir_fd=folder)
    return True


def _why(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a symbolic link or a file is in its way"
    return error.strerror or str(error)
