"""Two commits by memory: what each note said before and says after, paired by id, with the reasons
that the commits between them give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown import orientation
from oneiro_vault.core.memory import Memory
from oneiro_vault.errors import GitProblem, InvalidInput, UnreadableNote, shown
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.paths import is_note

ALIVE: Final = ("active", "dormant")
_DOUBTS: Final = ("contradiction", "conflict")
_PROBES: Final = re.compile(
    r"(\d{1,9}) probes; (\d{1,9}) found their memory before, (\d{1,9}) after; (\d{1,9}) "
    r"decisions? dropped"
)


@dataclass(frozen=True)
class Pair:
    """One memory on both sides; None where it is not."""

    before: Memory | None
    after: Memory | None

    @property
    def now(self) -> Memory:
        """The newest of it that there is."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def kind(self) -> str:
        """new, pending, revised, retired, kept (only its frontmatter changed), or passing (came and
        went)."""
        was = self.before is not None and self.before.status in ALIVE
        if self.after is None or self.after.status not in ALIVE:
            return (
                "pending"
                if self.after and self.after.status == "pending" and not was
                else "retired"
                if was
                else "passing"
            )
        if not was:
            return "new"
        assert self.before is not None
        if self.after.valid_until and not self.before.valid_until:
            return "retired"
        return "revised" if len(set(said(self.before, self.after))) > 1 else "kept"

    @property
    def loaded(self) -> bool:
        """Is or was it a block of the orientation (not only a proposal)?"""
        return any(
            note is not None and note.type == "orientation" and note.status != "pending"
            for note in (self.before, self.after)
        )

    @property
    def doubts(self) -> list[str]:
        """Questions for a person that the note did not have before."""
        old = set(self.before.flags) if self.before else set()
        return (
            [flag for flag in self.after.flags if flag not in old]
            if self.after and self.after.status in ALIVE
            else []
        )

    @property
    def contradicted(self) -> bool:
        """Does something speak against it now?"""
        return any(flag in _DOUBTS for flag in self.doubts)


def said(before: Memory, after: Memory) -> tuple[str, str]:
    """The words of both; without titles where they only repeat the first words, or did not
    change."""
    both = (before, after)
    if before.title == after.title or all(
        note.body.lstrip("#>-* \n").startswith(note.title.rstrip("…")) for note in both
    ):
        return before.body.strip(), after.body.strip()
    old, new = (f"{note.title}: {note.body.strip()}" for note in both)
    return old, new


@dataclass
class Comparison:
    """`pairs`: id (or path) -> what changed, without reports; `why`: id -> its newest commit;
    `reports`: (probes, before, after, dropped) of each run; `blocks`: id -> what is always loaded,
    on each side."""

    base: str
    head: str
    commits: int
    pairs: dict[str, Pair] = field(default_factory=dict)
    why: dict[str, Entry] = field(default_factory=dict)
    reports: list[tuple[int, int, int, int]] = field(default_factory=list)
    blocks: tuple[dict[str, Memory], dict[str, Memory]] = ({}, {})
    unreadable: list[str] = field(default_factory=list)
    captures: int = 0

    def fate(self, key: str) -> str:
        """The kind of a pair, `merged` for what was retired by becoming part of another."""
        kind = self.pairs[key].kind
        return (
            "merged"
            if kind == "retired" and key in self.why and self.why[key].op == "merge"
            else kind
        )


def compare(house: House, span: str) -> Comparison:
    """What the commits of `BASE..HEAD` bring: against where the two parted, as a hosting site
    compares them. Raises InvalidInput."""
    return between(house, *_ends(house, span))


def between(house: House, base: str, head: str) -> Comparison:
    """What was believed at one commit ("" = nothing yet) and at another."""
    entries = [
        house.vault.erased.veiled(entry)
        for entry in house.vault.history.log(start=f"{base}..{head}" if base else head)
    ]
    found = Comparison(base, head, len(entries))
    for entry in entries:
        for ident in entry.memories if entry.op != "ledger" else ():
            found.why.setdefault(ident, entry)
    sides = _sides(house, found)
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        pair = Pair(sides[0].get(key), sides[1].get(key))
        if pair.now.source == "capture" and pair.now.type == "episodic" and pair.before is None:
            found.captures += 1
        else:
            found.pairs[key] = pair
    found.blocks = _blocks(house, head, found.pairs)
    return found


def _ends(house: House, span: str) -> tuple[str, str]:
    first, _, second = span.replace("...", "..").partition("..")
    repo = house.vault.repo
    ends = [
        repo.resolve(name) if not name.startswith("-") else ""
        for name in (first.strip(), second.strip() or "HEAD")
    ]
    for name, commit in zip((first, second or "HEAD"), ends, strict=True):
        if not commit:
            hint = "For example main..HEAD; in CI, fetch the history (fetch-depth: 0)."
            raise InvalidInput(
                f"{shown(name)} names no commit here", kept="Nothing was changed.", hint=hint
            )
    try:
        return repo.commands.text("merge-base", *ends), ends[1]
    except GitProblem:
        return "", ends[1]  # nothing in common: all of it is new


def _sides(house: House, found: Comparison) -> tuple[dict[str, Memory], dict[str, Memory]]:
    """Changed notes before and after, by id; reports are only counted."""
    sides: tuple[dict[str, Memory], dict[str, Memory]] = ({}, {})
    for path, entries in sorted(house.vault.repo.difference(found.base, found.head).items()):
        for side, entry in zip((0, 1), entries, strict=True):
            if entry is None or not is_note(path) or path == "README.md":
                continue
            note = _read(house, path, entry.blob)
            if note is None:
                found.unreadable += [path] if side else []
            elif note.type != "dream":
                sides[side][note.id or path] = note
            elif side and (told := _PROBES.search(note.body)):
                numbers = [int(number) for number in told.groups()]
                found.reports.append((numbers[0], numbers[1], numbers[2], numbers[3]))
    return sides


def _read(house: House, path: str, blob: str) -> Memory | None:
    try:
        data = house.vault.repo.data(blob)
        return None if house.vault.erased.in_file(path, data) else memories.parse(path, data)
    except UnreadableNote:
        return None


def _blocks(
    house: House, head: str, pairs: dict[str, Pair]
) -> tuple[dict[str, Memory], dict[str, Memory]]:
    """What is always loaded: after is read from the commit, before is that with the changes taken
    back."""
    after = {note.id or note.path: note for note in _orientation(house, head)}
    before = {key: note for key, note in after.items() if key not in pairs}
    before |= {
        key: pair.before
        for key, pair in pairs.items()
        if pair.before is not None and orientation.belongs(pair.before)
    }
    return before, after


def _orientation(house: House, head: str) -> Iterator[Memory]:
    for path, blob in house.vault.listing(head).items():
        if b"orientation" in house.vault.repo.data(blob):
            note = _read(house, path, blob)
            if note is not None and orientation.belongs(note):
                yield note
