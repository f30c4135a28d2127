"""What a person changed by hand: found cheaply through the index's stat data, judged one file at a time, never guessed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core import memory
from oneiro_vault.core.listing import Refused, Stat, blob_id
from oneiro_vault.errors import UnreadableNote, UnsafePath
from oneiro_vault.vault.files import LARGEST, Files, describe
from oneiro_vault.vault.git import Repo
from oneiro_vault.vault.paths import is_note, is_ours
from oneiro_vault.vault.staging import CONFLICTED, STAGED, Entry

_MARKERS: Final = re.compile(rb"(?m)^<{7}[ \r\n][\s\S]*?^={7}\r?$[\s\S]*?^>{7}([ \r\n]|\Z)")
_HEAD_ID: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?---[^\n]*\n(?:[^\n]*\n){0,200}?id:[ \t]*[\"']?([0-9a-z]{12})[\"']?[ \t]*\r?\n")
BRAKE_FROM: Final = 10
"""Up to this many deletions at once are always believed."""


@dataclass
class Look:
    """What was found: `ready` path -> new bytes (None = deleted); the rest is left alone, with the reason to tell a person."""

    ready: dict[str, bytes | None] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)
    conflicted: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def has_markers(data: bytes) -> bool:
    """Does the text hold unresolved conflict markers?"""
    return b"<<<<<<<" in data and _MARKERS.search(data) is not None


def identify(path: str, data: bytes) -> tuple[str, str]:
    """(id, title) of a note's bytes; "" for an id it does not have, the file name for a title that cannot be read."""
    try:
        found = memory.parse(path, data)
    except UnreadableNote:
        match = _HEAD_ID.match(data[:65536])
        return (match[1].decode() if match else ""), path.rpartition("/")[2]
    return found.id, found.title


class Edits:
    """Differences between disk and HEAD that a person made."""

    def __init__(self, repo: Repo, files: Files) -> None:
        self._repo = repo
        self._files = files

    def look(
        self, tip: str, now: float, quiet: float, paths: Iterable[str] | None, owed: Collection[str], everything: bool = False
    ) -> Look:
        """Judge every changed file (or just `paths`). `owed` are paths whose index entry is known to lag behind; `everything` takes
        in files that are neither notes nor attachments (adopting a folder).
        """
        found = Look()
        for path, flags in self._changed(paths):
            if not (everything or is_ours(path)) or path.endswith("/"):
                continue
            if flags & CONFLICTED:
                found.conflicted.append(path)
            elif flags & STAGED and path not in owed:
                found.staged.append(path)
            else:
                self._judge(path, tip, now, quiet, found)
        return found

    def _changed(self, paths: Iterable[str] | None) -> list[tuple[str, int]]:
        status = self._repo.staging.status()
        if paths is None:
            return sorted(status.items())
        return [(path, status[path]) for path in dict.fromkeys(paths) if path in status]

    def _judge(self, path: str, tip: str, now: float, quiet: float, found: Look) -> None:
        stat = self._files.stat(path) if path != "README.md" else _plain(self._files)
        if isinstance(stat, Refused):
            found.refused.append(stat)
        elif stat is None:
            self._judge_missing(path, tip, now, quiet, found)
        elif stat.size > LARGEST:
            found.refused.append(Refused(path, f"it is larger than {LARGEST // 1_000_000} MB"))
        elif _fresh(stat, now, quiet):
            found.waiting.append(path)
        else:
            self._judge_content(path, tip, found)

    def _judge_content(self, path: str, tip: str, found: Look) -> None:
        try:
            data = self._files.read(path)
        except (OSError, UnsafePath) as error:
            found.refused.append(Refused(path, f"it cannot be read: {error}"))
            return
        known = self._repo.entry(tip, path)
        if has_markers(data) and is_note(path):
            found.conflicted.append(path)
        elif known is None or known.blob != blob_id(data):
            found.ready[path] = data

    def _judge_missing(self, path: str, tip: str, now: float, quiet: float, found: Look) -> None:
        """A deletion counts only when the nearest folder that is still there can be listed and has come to rest."""
        if self._repo.entry(tip, path) is None:
            return
        folder = self._files.root / path
        while not folder.parent.is_dir():
            folder = folder.parent
        try:
            age = now - folder.parent.stat().st_mtime
            next(folder.parent.iterdir(), None)
        except OSError as error:
            found.refused.append(Refused(path, f"its folder cannot be listed: {error.strerror}"))
            return
        if 0 <= age < quiet:
            found.waiting.append(path)
        else:
            found.ready[path] = None


def _plain(files: Files) -> Stat | Refused | None:
    """README.md as a file: `Files.stat` does not count the vault's own description among the notes."""
    try:
        stat = (files.root / "README.md").lstat()
    except OSError:
        return None
    return describe("README.md", stat)


def _fresh(stat: Stat, now: float, quiet: float) -> bool:
    """Is the file still being written? A time in the future says nothing, so the other one decides, and if both are, it is not."""
    age = now - stat.mtime_ns / 1e9
    if age < 0:
        age = now - stat.ctime_ns / 1e9
    return 0 <= age < quiet


def too_many(deleted: Collection[str], moved: Collection[str], total: int) -> bool:
    """Would more than half of the notes (and more than ten) vanish? Files that only moved are not gone."""
    gone = len([path for path in deleted if is_note(path)]) - len(moved)
    return gone > BRAKE_FROM and gone * 2 > total


def moved(ready: dict[str, bytes | None], before: dict[str, Entry]) -> set[str]:
    """Deleted paths whose bytes appear again under a new name."""
    new = {blob_id(data) for data in ready.values() if data is not None}
    return {path for path, data in ready.items() if data is None and path in before and before[path].blob in new}
