"""Which vault-relative paths may be touched at all, which the tool may invent, and which hold
notes."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from oneiro_vault.errors import UnsafePath, shown

LONGEST: Final = 255  # bytes of one name: the limit of ext4, APFS and NTFS alike
FARTHEST: Final = 2048  # bytes of a whole path, so that folder and path keep below Linux' 4096
DEEPEST: Final = 40
_IGNORABLE: Final = re.compile(
    "[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]"
)  # HFS+ drops these, so `.g\u200cit` would be `.git`
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
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
    if len(parts) > DEEPEST:
        return f"it is too deep: {len(parts) - 1} folders, and at most {DEEPEST - 1} are entered"
    if longest := max((len(part) for part in encoded if len(part) > LONGEST), default=0):
        return f"it is too long: a name of {longest} bytes, and at most {LONGEST} are possible"
    if (whole := len("/".join(parts).encode())) > FARTHEST:
        return f"it is too long: {whole} bytes, and at most {FARTHEST} are possible"
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


def is_ours(path: str) -> bool:
    """Does the vault follow a person's edits of this file: notes, attachments, settings?"""
    return (
        is_note(path)
        or path == "oneiro.toml"
        or (path.startswith("attachments/") and not hidden(path))
    )
