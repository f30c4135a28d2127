"""What becomes of every file when two histories meet: the differences of both sides to their
common base go in, actions come out; merged bytes wait in `Contents` until they are committed.

A memory is followed by its id, not by its name or likeness; a file without one by its path. Nothing
depends on which side is called ours, so two machines that plan the same meeting get the same tree.
The rules:

- one side changed it: that; both: their words are merged; both moved it: the name of the side whose
  history is later
- one side took it away, the other left it: away. The other changed it: it stays, unless it was
  forgotten (a tombstone) and the change is a machine's
- both made a file of one name: one memory, merged; two memories: both stay, one of them gets
  another name (names that differ only in case count as one)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter.yaml_block import edit
from oneiro_vault.core.merge import three_way
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.errors import GitProblem, InvalidInput, UnreadableNote, UnsafePath
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.git.staging_area import EXECUTABLE, FILE, Entry
from oneiro_vault.vault.history.commit_log import History
from oneiro_vault.vault.worktree.edits import id_of
from oneiro_vault.vault.worktree.files import is_note, twin_key

Differences: TypeAlias = Mapping[str, tuple[Entry | None, Entry | None]]
"""path -> (before, after), None for absent."""
Which: TypeAlias = Literal["ours", "theirs"]


class At(NamedTuple):
    """A file where one side has it."""

    path: str
    entry: Entry


@dataclass
class Action:
    """What happens to one file: `take` (their change comes here), `send`, `merge`, `forget`,
    `revive` (taken away by one, changed by the other) or `rename`. `to` is "" for a file that goes
    away, `was` where it was before."""

    doing: str
    to: str
    was: str = ""
    memory: str = ""
    clashes: int = 0


@dataclass
class _File:
    base: At | None
    ours: At | None
    theirs: At | None
    memory: str = ""
    to: str = ""
    entry: Entry | None = None
    action: Action | None = None


@dataclass
class Plan:
    """`changes` lead from our files to the joint ones, `sends` from theirs; `gone_here`,
    `gone_there`: notes that each side loses; `revived`: forgotten by one side and kept."""

    changes: dict[str, Entry | None] = field(default_factory=dict)
    sends: dict[str, Entry | None] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)
    gone_here: list[str] = field(default_factory=list)
    gone_there: list[str] = field(default_factory=list)
    revived: list[str] = field(default_factory=list)


@dataclass
class _Side:
    """Base path -> where that file is now (None: gone), and what is new."""

    now: dict[str, At | None] = field(default_factory=dict)
    new: dict[str, Entry] = field(default_factory=dict)


def make(
    ours: Differences,
    theirs: Differences,
    words: Contents,
    *,
    later: Which = "ours",
    forgotten: Mapping[Which, frozenset[str]] | None = None,
    names: Callable[[], Iterable[str]] = tuple,
) -> Plan:
    """The plan for two sides given by their differences to one base.

    `later`: whose history is the later one; `forgotten`: ids that each side forgot; `names`: all
    paths of our side. Raises UnsafePath when one name is a file here and a folder there.
    """
    meeting = _Meeting(words, later, forgotten or {})
    files = meeting.files(_side(ours, words), _side(theirs, words), ours, theirs)
    for file in files:
        meeting.settle(file)
    files += meeting.copies
    _part(files, names)
    return _planned(files, meeting.revived)


def _side(differences: Differences, words: Contents) -> _Side:
    """By id, else by equal bytes."""
    side, gone = _Side(), {}
    went = _went(differences, words)
    for path, (before, after) in differences.items():
        if (
            before is not None
            and after is not None
            and not _replaced(path, before, after, words, went)
        ):
            side.now[path] = At(path, after)
            continue
        if before is not None:
            gone[path] = before
        if after is not None:
            side.new[path] = after
    for mark in (
        lambda path, entry: words.ident(entry.blob) if is_note(path) else "",
        lambda _path, entry: entry.blob,
    ):
        _pair(side, gone, mark)
    side.now |= dict.fromkeys(gone)
    return side


def _pair(side: _Side, gone: dict[str, Entry], mark: Callable[[str, Entry], str]) -> None:
    free: dict[str, list[str]] = {}
    for path in sorted(gone):
        free.setdefault(mark(path, gone[path]), []).append(path)
    for path in sorted(side.new) if free else ():
        found = mark(path, side.new[path])
        if found and free.get(found):
            old = free[found].pop(0)
            side.now[old] = At(path, side.new.pop(path))
            del gone[old]


def _replaced(
    path: str, before: Entry, after: Entry, words: Contents, went: frozenset[str]
) -> bool:
    """One that got or lost an id is the same, unless that id `went` from one path to another."""
    if not is_note(path) or before.blob == after.blob:
        return False
    old, new = words.ident(before.blob), words.ident(after.blob)
    return old != new and (bool(old and new) or (old or new) in went)


def _went(differences: Differences, words: Contents) -> frozenset[str]:
    left: set[tuple[str, str]] = set()
    came: set[tuple[str, str]] = set()
    for path, sides in differences.items():
        for entry, found in zip(sides, (left, came), strict=True):
            if entry is not None and is_note(path):
                found.add((words.ident(entry.blob), path))
    return frozenset(ident for ident, _ in left - came) & frozenset(
        ident for ident, _ in came - left
    )


class _Meeting:
    """The rules."""

    def __init__(
        self, words: Contents, later: Which, forgotten: Mapping[Which, frozenset[str]]
    ) -> None:
        self._words = words
        self._later = later
        self._forgotten = forgotten
        self.copies: list[_File] = []
        self.revived: list[str] = []

    def files(
        self, mine: _Side, yours: _Side, ours: Differences, theirs: Differences
    ) -> list[_File]:
        found = []
        for path in sorted(mine.now.keys() | yours.now.keys()):
            base = At(path, _before(path, ours, theirs))
            found.append(
                _File(base, mine.now.get(path, base), yours.now.get(path, base), self._ident(base))
            )
        found += self._added(mine.new, yours.new)
        return found

    def _added(self, mine: Mapping[str, Entry], yours: Mapping[str, Entry]) -> list[_File]:
        left = {
            path: _File(None, At(path, entry), None, self._ident(At(path, entry)))
            for path, entry in mine.items()
        }
        by_id = {file.memory: file for file in left.values() if file.memory}
        found = [*left.values()]
        for path, entry in sorted(yours.items()):
            ident, same = self._ident(At(path, entry)), left.get(path)
            pair = (
                by_id.get(ident)
                if ident
                else same
                if same is not None and not same.memory
                else None
            )
            if pair is not None and pair.theirs is None:
                pair.theirs = At(path, entry)
            else:
                found.append(_File(None, None, At(path, entry), ident))
        return found

    def _ident(self, at: At) -> str:
        return self._words.ident(at.entry.blob) if is_note(at.path) else ""

    def settle(self, file: _File) -> None:
        if file.ours is not None and file.theirs is not None:
            self._both(file, file.ours, file.theirs)
        elif file.ours is not None or file.theirs is not None:
            self._one(file, file.ours or file.theirs)

    def _one(self, file: _File, there: At | None) -> None:
        assert there is not None
        who: Which = "ours" if file.ours is not None else "theirs"
        doing = "send" if who == "ours" else "take"
        if file.base is None:
            file.to, file.entry, file.action = (
                there.path,
                there.entry,
                Action(doing, there.path, memory=file.memory),
            )
            return
        forgot = file.memory in self._forgotten.get(
            "theirs" if who == "ours" else "ours", frozenset()
        )
        changed = there.entry.blob != file.base.entry.blob
        person = (
            changed
            and is_note(there.path)
            and self._words.by_person(there.path, file.base.entry.blob, there.entry.blob)
        )
        if changed and (person or not forgot):
            file.to, file.entry, file.action = (
                there.path,
                there.entry,
                Action("revive", there.path, file.base.path, file.memory),
            )
            if forgot:
                self.revived.append(file.memory)
        elif changed:
            file.action = Action("forget", "", there.path, file.memory)
        else:
            file.action = Action("take" if who == "ours" else "send", "", there.path, file.memory)

    def _both(self, file: _File, ours: At, theirs: At) -> None:
        base = file.base
        file.to = self._place(base, ours, theirs)
        mode = _mode(base.entry.mode if base else 0, ours.entry.mode, theirs.entry.mode)
        blob, clashes = self._content(file, ours, theirs, mode)
        file.entry = Entry(blob, mode)
        mine, yours = (
            (ours.path, ours.entry) == (file.to, file.entry),
            (theirs.path, theirs.entry) == (file.to, file.entry),
        )
        if mine and yours:
            return  # they did the same
        doing = "send" if mine else "take" if yours else "merge"
        was = ours.path if ours.path != file.to else theirs.path if theirs.path != file.to else ""
        file.action = Action(doing, file.to, was, file.memory, clashes)

    def _place(self, base: At | None, ours: At, theirs: At) -> str:
        if base is not None and ours.path == base.path:
            return theirs.path
        if base is not None and theirs.path == base.path:
            return ours.path
        return ours.path if self._later == "ours" else theirs.path

    def _content(self, file: _File, ours: At, theirs: At, mode: int) -> tuple[str, int]:
        one, other = ours.entry.blob, theirs.entry.blob
        base = file.base.entry.blob if file.base else ""
        if one == other or other == base:
            return one, 0
        if one == base:
            return other, 0
        if mode not in (FILE, EXECUTABLE):
            return max(one, other), 1
        blob, clashes = self._words.merge(file.to, base, one, other)
        if (
            clashes and not is_note(file.to) and blob in (one, other)
        ):  # it cannot hold both: the other one stands beside it
            left = ours if blob == other else theirs
            self.copies.append(_copy(file, left))
        return blob, clashes


def _before(path: str, *sides: Differences) -> Entry:
    return next(before for side in sides if path in side and (before := side[path][0]) is not None)


def _mode(base: int, one: int, other: int) -> int:
    return other if one == base else one if other == base else max(one, other)


def _copy(file: _File, left: At) -> _File:
    stem, dot, ending = file.to.rpartition(".")
    name = (
        f"{stem}.conflict-{left.entry.blob[:8]}{dot}{ending}"
        if dot and "/" not in ending
        else f"{file.to}.conflict-{left.entry.blob[:8]}"
    )
    made = _File(None, None, None, to=name, entry=left.entry)
    made.action = Action("rename", name, file.to)
    return made


def _part(files: list[_File], names: Callable[[], Iterable[str]]) -> None:
    """Give files that would have one name (on some disk) two."""
    placed = [file for file in files if file.entry is not None]
    if all(_is_old(file) for file in placed):
        return
    groups: dict[str, list[_File]] = {}
    for file in placed:
        groups.setdefault(twin_key(file.to), []).append(file)
    touched = {file.ours.path for file in files if file.ours is not None}
    others = {twin_key(path) for path in names() if path not in touched}
    folders = {above for key in (*others, *groups) for above in _above(key)}
    for key, group in groups.items():
        if key in folders or not others.isdisjoint(_above(key)):
            text = f"{group[0].to} would be a file and a folder at once"
            raise UnsafePath(
                text, kept="Nothing was changed.", hint="Rename one of them, then sync again."
            )
        if _all(group, "ours") or _all(group, "theirs"):
            continue  # nothing met here; or twins that one side had already
        for file in sorted(group, key=_firmness)[0 if key in others else 1 :]:
            if not _is_old(file):
                was, file.to = file.to, _other_name(file, groups.keys() | others)
                file.action = Action("rename", file.to, was, file.memory)


def _is_old(file: _File) -> bool:
    return file.base is not None and file.base.path == file.to


def _all(group: list[_File], side: str) -> bool:
    return all((at := getattr(file, side)) is not None and at.path == file.to for file in group)


def _firmness(file: _File) -> tuple[bool, bool, str, str]:
    """What had the name before, what cannot be told by an id, then by the id."""
    return not _is_old(file), bool(file.memory), file.memory, file.entry.blob if file.entry else ""


def _above(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _other_name(file: _File, taken: Iterable[str]) -> str:
    return apart(file.to, file.memory or (file.entry.blob if file.entry else ""), taken)


def apart(path: str, mark: str, taken: Iterable[str]) -> str:
    """Another name: with as much of `mark` (an id, else the blob) as tells it from the `taken` twin
    keys."""
    known = set(taken)
    names = [_marked(path, f"-{mark[:length]}") for length in (4, 8, len(mark))]
    return next((name for name in names if twin_key(name) not in known), names[-1])


def _marked(path: str, mark: str) -> str:
    stem, dot, ending = path.rpartition(".")
    return f"{stem}{mark}.{ending}" if dot and "/" not in ending else path + mark


def _planned(files: list[_File], revived: list[str]) -> Plan:
    plan = Plan(revived=revived)
    for changes, side, gone in (
        (plan.changes, "ours", plan.gone_here),
        (plan.sends, "theirs", plan.gone_there),
    ):
        for file in files:
            at: At | None = getattr(file, side)
            if at is not None and (file.entry is None or file.to != at.path):
                changes.setdefault(at.path, None)
            if at is not None and file.entry is None and is_note(at.path):
                gone.append(at.path)
            if file.entry is not None and (at is None or at != (file.to, file.entry)):
                changes[file.to] = file.entry
    plan.actions = [file.action for file in files if file.action is not None]
    return plan


class Contents:
    """Blobs of a repository and blobs that are being made (`made`: blob id -> bytes)."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.made: dict[str, bytes] = {}
        self.tips = ("", "")
        """The two histories that meet."""
        self.ident = cache(self._ident)

    def data(self, blob: str) -> bytes:
        """The bytes of a blob, b"" for "". Raises GitProblem."""
        return self.made[blob] if blob in self.made else self._repo.data(blob) if blob else b""

    def keep(self, data: bytes) -> str:
        """The blob id of new bytes."""
        blob = blob_id(data)
        self.made[blob] = data
        return blob

    def _ident(self, blob: str) -> str:
        try:
            return id_of(self.data(blob))
        except GitProblem:
            return ""  # a submodule is no file

    def by_person(self, path: str, base: str, blob: str) -> bool:
        """A machine that changes words moves `timestamp`; what nobody can read only a person
        writes. Who let this program change it, the commits of its side say."""
        try:
            old, new = (memory.parse(path, self.data(each)) for each in (base, blob))
        except UnreadableNote:
            return True
        told = old.timestamp == new.timestamp and (old.body, old.title, old.description) != (
            new.body,
            new.title,
            new.description,
        )
        return told or any(
            self._persons(path, new.id, *tips)
            for tips in (self.tips, self.tips[::-1])
            if self._has(tips[0], path, blob)
        )

    def _has(self, tip: str, path: str, blob: str) -> bool:
        found = self._repo.entry(tip, path)
        return found is not None and found.blob == blob

    def _persons(self, path: str, ident: str, tip: str, other: str) -> bool:
        if not other:
            return False
        made = History(self._repo.commands).of(ident, path, start=f"{other}..{tip}")
        return any(entry.by_person for entry in made if len(self._repo.parents(entry.commit)) == 1)

    def merge(self, path: str, base: str, ours: str, theirs: str) -> tuple[str, int]:
        """The blob that holds the words of both, and how many clashes it shows."""
        found = three_way.merge_file(
            path, self.data(base) if base else None, self.data(ours), self.data(theirs)
        )
        return self.keep(found.data), found.clashes

    def superseded_by(self, path: str, blob: str) -> tuple[str, str]:
        """(id, id of what replaced it) of a note that is out of force; "" for others."""
        data = self.data(blob)
        if b"superseded_by" not in data:
            return "", ""
        try:
            found = memory.parse(path, data)
        except UnreadableNote:
            return "", ""
        return (found.id, found.superseded_by) if found.status == "superseded" else ("", "")

    def reinstated(self, blob: str, base: str) -> str:
        """The same note in force again, with the end it had in `base` (if any)."""
        text = self.data(blob).decode("utf-8", "surrogateescape")
        ended = b"valid_until" in self.data(base)
        try:
            text = edit(
                text,
                {"status": None, "superseded_by": None} | ({} if ended else {"valid_until": None}),
            )
        except InvalidInput:
            return blob
        return self.keep(text.encode("utf-8", "surrogateescape"))
