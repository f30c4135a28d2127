"""What a person changed or moved by hand: found cheaply through the index's stat data, judged one
file at a time, never guessed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from oneiro_vault.core import memory
from oneiro_vault.core.memory import fingerprint
from oneiro_vault.core.tree_diff import Refused, Stat, blob_id
from oneiro_vault.errors import UnreadableNote, UnsafePath
from oneiro_vault.vault.git.activity import Snapshot
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import (
    CONFLICTED,
    EXECUTABLE,
    FILE,
    GONE,
    MODIFIED,
    NEW,
    STAGED,
    Entry,
)
from oneiro_vault.vault.worktree.files import LARGEST, Files, describe, is_note, is_ours

_MARKERS: Final = re.compile(rb"(?m)^<{7}[ \r\n][\s\S]*?^={7}\r?$[\s\S]*?^>{7}([ \r\n]|\Z)")
MARKED: Final = "it holds conflict markers"
HANDFUL: Final = 5
"""More files than these that are gone at once, or that became what another branch has, are never
committed for a person: a git that was stopped half-way looks just the same."""
LATELY: Final = 600.0
"""Seconds in which deletions that come one by one count as at once."""
MOMENT: Final = 0.15
"""Seconds without a change before the bytes of a file are believed to be whole: many editors empty
a file before they write it anew."""


@dataclass
class Look:
    """`ready`: path -> new bytes (None = deleted); the rest is left alone, with the reason to tell
    a person.

    `moved`: new path -> old path, both in `ready`. `secret`: path -> what it looks as if it held;
    `erased`: path -> that it was purged. `gone`: missing and not moved; `known`: changed to bytes
    git has already, or to none; `asked`: only the person can say whether these two are meant.
    `changed`: path -> whether the last commit has it. `git`: before anything was looked at.
    """

    ready: dict[str, bytes | None] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    staged: list[str] = field(default_factory=list)
    conflicted: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    secret: dict[str, str] = field(default_factory=dict)
    erased: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    asked: bool = False
    changed: dict[str, bool] = field(default_factory=dict)
    git: Snapshot | None = None

    @property
    def lock(self) -> Path | None:
        """Of a git that is at work."""
        return self.git.lock if self.git else None

    def held(self) -> dict[str, str]:
        """Path -> why an edit is in no commit: it holds a secret, or what was purged."""
        return {
            path: f"it holds what looks like {what}" for path, what in self.secret.items()
        } | self.erased

    def wait(self) -> None:
        """Nothing is ready: git changed the folder meanwhile, or does so now."""
        self.waiting += self.ready
        self.ready, self.moved = {}, {}

    def ask(self) -> None:
        """Nothing that git may have done is ready: the person is asked."""
        self.asked, held = True, self.doubtful()
        self.ready = {path: data for path, data in self.ready.items() if path not in held}

    def doubtful(self) -> set[str]:
        """What a git that was stopped half-way may have left here."""
        return {*self.gone, *self.known}

    def question(self) -> str:
        """What the person is asked, "" for nothing."""
        if not self.asked:
            return ""
        parts = [
            _counted(paths, what)
            for paths, what in (
                (self.gone, "gone from the disk"),
                (self.known, "now as another version in git"),
            )
            if paths
        ]
        return f"{' and '.join(parts)}, and that is not committed"

    def way_back(self) -> str:
        """It names these files, or folders in which nothing else has changed."""
        held = self.doubtful()
        others = self.changed.keys() - held
        there = [path for path in held if self.changed.get(path)]
        back = (
            f"`git restore {_named(there, others)}` in the vault takes that back (files that are "
            f"new stay). "
        )
        meant = f"If it is meant, commit it: `git add -A {_named(held, others)}`, `git commit`."
        return f"{back if there else ''}{meant}"

    def hold(self, path: str, why: str) -> None:
        """Keep a file out of history (`why`: the secret in it); a moved note keeps its old place
        there too."""
        if why:
            self.secret[path] = why
        self.ready.pop(path, None)
        if (old := self.moved.pop(path, "")) in self.ready:
            del self.ready[old]


def _named(paths: Iterable[str], others: Iterable[str]) -> str:
    """Whole folders where nothing of `others` lies."""
    shared = {folder for path in others for folder in _folders(path)}
    found = {
        next((folder for folder in _folders(path) if folder not in shared), path) for path in paths
    }
    return " ".join(map(shlex.quote, sorted(found)))


def _folders(path: str) -> list[str]:
    return [".", *(path[:at] for at, letter in enumerate(path) if letter == "/")]


def _counted(paths: list[str], what: str) -> str:
    kind = "note" if all(map(is_note, paths)) else "file"
    return f"1 more {kind} is {what}" if len(paths) == 1 else f"{len(paths)} {kind}s are {what}"


Fresh = Callable[[float], bool]
"""Was something touched so lately (epoch seconds) that it may not be at rest?"""


def fresher(clock: Callable[[], float], quiet: float) -> Fresh:
    """Touched within `quiet` seconds before now, or since; a time in the future says nothing."""
    began = clock()
    return lambda touched: began - quiet < touched <= clock()


def has_markers(data: bytes) -> bool:
    """Does the text hold unresolved conflict markers?"""
    return b"<<<<<<<" in data and _MARKERS.search(data) is not None


def conflict(files: Files, path: str) -> str:
    """What git could not merge leaves markers, what one side took away leaves none."""
    try:
        marked = has_markers(files.read(path))
    except (OSError, UnsafePath):
        marked = False
    return MARKED if marked else "one side of a merge took it away, and the other changed it"


def identify(path: str, data: bytes) -> tuple[str, str]:
    """(id, title); "" for an id it does not have, the file name for a title that cannot be read."""
    try:
        found = memory.parse(path, data)
    except UnreadableNote:
        return id_of(data), path.rpartition("/")[2]
    return found.id, found.title


def words_of(path: str, data: bytes) -> str:
    """The fingerprint of a note's words (`core.memory.fingerprint`), "" when it cannot be read."""
    try:
        found = memory.parse(path, data)
    except UnreadableNote:
        return ""
    return fingerprint(found.type, found.title, found.body)


class Edits:
    """Differences between disk and HEAD that a person made."""

    def __init__(self, repo: Repo, files: Files) -> None:
        self._repo = repo
        self._files = files

    def look(
        self,
        tip: str,
        fresh: Fresh,
        paths: Iterable[str] | None,
        owed: Collection[str],
        status: Mapping[str, int],
    ) -> Look:
        """Judge every changed file (or just `paths`). `owed`: paths whose index entry lags
        behind."""
        found = Look(changed={path: not flags & NEW for path, flags in status.items()})
        wanted = (
            sorted(status)
            if paths is None
            else [path for path in dict.fromkeys(paths) if path in status]
        )
        for path in wanted:
            flags = status[path]
            if not is_ours(path) or path.endswith("/"):
                continue
            if flags & CONFLICTED:
                found.conflicted.append(path)
            elif flags & STAGED and path not in owed:
                found.staged.append(path)
            else:
                self._judge(path, tip, fresh, found)
        new, gone = self._ends(tip, status, owed)
        moved = self._pairs(tip, new, gone, found)
        for path, old in moved.items():
            if paths is None or path in wanted or old in wanted:
                self._judge_move(path, old, tip, fresh, found)
        found.gone = sorted(set(gone).difference(moved.values()))
        found.known = [
            path for path in found.known if path in found.ready and path not in found.moved
        ]
        return found

    def complete(
        self,
        tip: str,
        edits: Mapping[str, bytes | None],
        owed: Collection[str],
        status: Mapping[str, int],
    ) -> dict[str, bytes | None]:
        """With the old path of every moved note, so that no commit holds a memory twice."""
        new = {path: data for path, data in edits.items() if data is not None and is_note(path)}
        gone = self._ends(tip, status, owed)[1] if new else []
        return {**edits, **dict.fromkeys(pairs(self._repo, tip, new, gone).values())}

    def _ends(
        self, tip: str, status: Mapping[str, int], owed: Collection[str]
    ) -> tuple[list[str], list[str]]:
        ours = {
            path: flags
            for path, flags in status.items()
            if is_ours(path) and not flags & CONFLICTED
        }
        lagging = {path for path, flags in ours.items() if flags & STAGED and path in owed}
        new = [
            path
            for path, flags in ours.items()
            if path in lagging or (flags & (NEW | MODIFIED) and not flags & STAGED)
        ]
        gone = [
            path
            for path, flags in ours.items()
            if path in lagging or (flags & GONE and not flags & STAGED)
        ]
        return new, [
            path
            for path in gone
            if _is_file(self._repo.entry(tip, path)) and self._files.stat(path) is None
        ]

    def _pairs(self, tip: str, new: list[str], gone: list[str], found: Look) -> dict[str, str]:
        if not new or not gone:
            return {}
        held = {refused.path for refused in found.refused}.union(found.conflicted)
        contents = {
            path: found.ready.get(path) or self._bytes(path) for path in new if path not in held
        }
        return pairs(
            self._repo,
            tip,
            {path: data for path, data in contents.items() if data is not None},
            gone,
        )

    def _bytes(self, path: str) -> bytes | None:
        try:
            return self._files.read(path)
        except (OSError, UnsafePath):
            return None

    def _judge_move(self, path: str, old: str, tip: str, fresh: Fresh, found: Look) -> None:
        """Both ends are ready together or wait together.

        A file keeps its time when it is moved, and the folder it left may never come to rest: so
        the new file must not have been written or renamed for a while, or both ends have rested by
        themselves.
        """
        for end in (path, old):
            if end not in found.ready and end not in found.waiting:
                self._judge(end, tip, fresh, found)
        stat = self._stat(path)
        renamed = isinstance(stat, Stat) and fresh(stat.ctime_ns / 1e9)
        if found.ready.get(path) is not None and (
            old in found.ready or (old in found.waiting and not renamed)
        ):
            found.ready[old] = None
            found.waiting = [other for other in found.waiting if other != old]
            found.moved[path] = old
        elif {path, old} <= found.ready.keys() | set(found.waiting):
            for end in (path, old):
                if found.ready.pop(end, found) is not found:
                    found.waiting.append(end)

    def _stat(self, path: str) -> Stat | Refused | None:
        return self._files.stat(path) if path != "README.md" else _plain(self._files)

    def _judge(self, path: str, tip: str, fresh: Fresh, found: Look) -> None:
        stat = self._stat(path)
        if isinstance(stat, Refused):
            found.refused.append(stat)
        elif stat is None:
            self._judge_missing(path, tip, fresh, found)
        elif stat.size > LARGEST:
            found.refused.append(Refused(path, f"it is larger than {LARGEST // 1_000_000} MB"))
        elif fresh(stat.mtime_ns / 1e9) or (
            stat.mtime_ns > stat.ctime_ns and fresh(stat.ctime_ns / 1e9)
        ):
            found.waiting.append(path)
        else:
            self._judge_content(stat, tip, found)

    def _judge_content(self, stat: Stat, tip: str, found: Look) -> None:
        path = stat.path
        try:
            data = self._files.read(path)
        except (OSError, UnsafePath) as error:
            found.refused.append(Refused(path, f"it cannot be read: {error}"))
            return
        if len(data) != stat.size or self._stat(path) != stat:
            found.waiting.append(
                path
            )  # somebody is writing it this very moment: these bytes may be half of theirs
            return
        known, blob = self._repo.entry(tip, path), blob_id(data)
        if has_markers(data) and is_note(path):
            found.conflicted.append(path)
        elif known is None or known.blob != blob:
            found.ready[path] = data
            if not data or self._repo.knows(blob):
                found.known.append(path)

    def _judge_missing(self, path: str, tip: str, fresh: Fresh, found: Look) -> None:
        """It counts only when the nearest folder that is still there can be listed and has come to
        rest."""
        if not _is_file(self._repo.entry(tip, path)):
            return
        folder = self._files.root / path
        while not folder.parent.is_dir():
            folder = folder.parent
        try:
            touched = folder.parent.stat().st_mtime
            next(folder.parent.iterdir(), None)
        except OSError as error:
            found.refused.append(Refused(path, f"its folder cannot be listed: {error.strerror}"))
            return
        if fresh(touched):
            found.waiting.append(path)
        else:
            found.ready[path] = None


def _is_file(entry: Entry | None) -> bool:
    """A merge leaves links out of the folder."""
    return entry is not None and entry.mode in (FILE, EXECUTABLE)


def _plain(files: Files) -> Stat | Refused | None:
    """`Files.stat` does not count the vault's own description among the notes."""
    try:
        stat = (files.root / "README.md").lstat()
    except OSError:
        return None
    return describe("README.md", stat)


_ID: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?---[^\n]*\n(?:[^\n]*\n){0,200}?id:[ \t]*[\"']?([0-9a-z]{12})[\"']?[ "
    rb"\t]*\r?\n"
)


def id_of(data: bytes) -> str:
    """The id in a note's frontmatter, found without reading YAML; "" when there is none."""
    match = _ID.match(data[:65536])
    return match[1].decode() if match else ""


def pairs(repo: Repo, tip: str, new: Mapping[str, bytes], gone: Collection[str]) -> dict[str, str]:
    """New path -> the path of `tip` it came from: the same bytes, else the same id."""
    if not new or not gone:
        return {}
    blobs = {
        path: entry.blob for path in sorted(gone) if (entry := repo.entry(tip, path)) is not None
    }
    found = _matched(((path, blob_id(data)) for path, data in sorted(new.items())), blobs.items())
    named = [
        (path, ident)
        for path, data in sorted(new.items())
        if path not in found and (ident := id_of(data))
    ]
    if named:
        left = filter(is_note, blobs.keys() - found.values())
        found |= _matched(named, ((path, id_of(repo.data(blobs[path]))) for path in sorted(left)))
    return found


def _matched(new: Iterable[tuple[str, str]], old: Iterable[tuple[str, str]]) -> dict[str, str]:
    free: dict[str, list[str]] = {}
    for path, mark in old:
        free.setdefault(mark, []).append(path)
    return {path: free[mark].pop(0) for path, mark in new if free.get(mark)}
