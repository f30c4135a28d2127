"""What two machines made of the same memories, neither knowing of the other: which notes are
doubles, and which of them stays.

Whoever looks comes to the same answer, and to the same bytes: nothing here depends on a clock, or
on which machine's is called ours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Protocol, TypeVar

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory
from oneiro_vault.mind.base import Note, Set, superseding
from oneiro_vault.mind.blocks import alike, words
from oneiro_vault.mind.loops.consolidate import folded

Apart = Callable[[str, str], bool]
"""Were these two (ids) made by different machines, as far as is known?"""


class Origin(Protocol):
    """What a note and its row in the index both tell."""

    @property
    def type(self) -> str:
        """As in frontmatter."""
        ...

    @property
    def level(self) -> int:
        """0 for what was said, more for what was concluded."""
        ...

    @property
    def derived_from(self) -> tuple[str, ...]:
        """Ids."""
        ...


Known = TypeVar("Known", bound=Origin)


def sharing(notes: Iterable[Known], said: Callable[[Known], str]) -> list[list[Known]]:
    """Those among which doubles may be, without comparing each with each: what is in no list
    together is no double. `said` gives the words, or anything that is equal for equal words: with
    less of it there is more in the lists."""
    found: dict[Hashable, list[Known]] = {}
    for note in notes:
        for key in _keys(note, said(note)):
            found.setdefault(key, []).append(note)
    return [group for group in found.values() if len(group) > 1]


def _keys(note: Origin, said: str) -> Iterator[Hashable]:
    """Two notes that `night_duplicates` calls so have one of these in common."""
    lineage = frozenset(note.derived_from)
    if note.type == "orientation":
        yield from (("block", source) for source in lineage)
        return
    yield note.type, lineage, said
    if note.level > 0 and len(lineage) > 1:
        yield note.type, lineage, note.level


def groups(notes: Iterable[Note], apart: Apart, touched: Callable[[str], bool]) -> list[list[Note]]:
    """Doubles, the one that stays first: what a person has `touched`, else the older one. Two that
    a person touched stay both.

    `apart` is asked about doubles only, `touched` about those that are apart: both may be dear.
    """
    of = {note.id: note for note in notes if _made(note)}
    same = _same(of, apart)
    order = sorted(same, key=lambda ident: _rank(of[ident], touched))
    place = {ident: number for number, ident in enumerate(order)}
    found: list[list[Note]] = []
    gone: set[str] = set()
    for keeper in order:
        if keeper not in gone:
            others = [
                one
                for one in sorted(same[keeper], key=place.__getitem__)
                if one not in gone and not touched(one)
            ]
            gone |= {keeper, *others}
            found += [[of[one] for one in (keeper, *others)]] if others else []
    return found


def _same(of: dict[str, Note], apart: Apart) -> dict[str, set[str]]:
    """Id -> ids of its doubles that another machine made; who has none is left out."""
    found: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    for group in sharing(
        (note.memory for note in of.values()), lambda memory: " ".join(memory.body.split())
    ):
        for one, other in combinations(group, 2):
            if (one.id, other.id) not in seen and doubles(one, other) and apart(one.id, other.id):
                found.setdefault(one.id, set()).add(other.id)
                found.setdefault(other.id, set()).add(one.id)
            seen.add((one.id, other.id))
    return found


def _made(note: Note) -> bool:
    m = note.memory
    return bool(note.active and m.source == "dream" and m.derived_from and not m.core)


def _rank(note: Note, touched: Callable[[str], bool]) -> tuple[bool, float, str]:
    return not touched(note.id), memories.epoch(note.memory.created) or 0.0, note.id


def doubles(one: Memory, other: Memory) -> bool:
    """Do two notes that loops made say one thing of one origin? Blocks and insights when all they
    came from is the same, blocks also when some of it is and most words are; single facts only word
    for word: one conversation holds many."""
    if one.type != other.type:
        return False
    mine, theirs = set(one.derived_from), set(other.derived_from)
    if one.type == "orientation":
        return mine == theirs or bool(mine & theirs and alike(words(one.body), words(other.body)))
    insights = one.level > 0 and one.level == other.level and len(mine) > 1
    return mine == theirs and (insights or one.body.split() == other.body.split())


def joined(keeper: Note, others: Sequence[Note]) -> list[Set]:
    """The edits by which one stands for all: it takes their lineage, they keep their words behind
    it, as of when they were made."""
    ended = [
        replace(edit, changes={**edit.changes, "valid_until": _end(other)})
        for other in others
        for edit in (superseding(other, keeper.id),)
    ]
    return [Set(keeper.id, folded(keeper, others)), *ended]


def _end(note: Note) -> str:
    return note.memory.valid_until or note.memory.created or note.memory.timestamp
