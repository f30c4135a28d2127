"""What two machines made of the same memories in one night, neither knowing of the other: which notes are doubles, and which of them stays.

Whoever looks comes to the same answer, and to the same bytes: nothing here depends on a clock, or on which machine's is called ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory
from oneiro_vault.mind.base import Note, Set, superseding
from oneiro_vault.mind.blocks import alike, words
from oneiro_vault.mind.consolidate import folded

Apart = Callable[[str, str], bool]
"""Were these two (ids) made by different machines, as far as is known?"""


def groups(notes: Iterable[Note], apart: Apart, touched: Callable[[str], bool]) -> list[list[Note]]:
    """Doubles, the one that stays first: what a person has `touched`, else the older one. Two that a person touched stay both."""
    left = sorted((note for note in notes if _made(note)), key=lambda note: _rank(note, touched))
    found = []
    while left:
        keeper, *left = left
        same = [one for one in left if doubles(keeper.memory, one.memory) and not touched(one.id) and apart(keeper.id, one.id)]
        left = [one for one in left if one not in same]
        if same:
            found.append([keeper, *same])
    return found


def _made(note: Note) -> bool:
    m = note.memory
    return bool(note.active and m.source == "dream" and m.derived_from and not m.core)


def _rank(note: Note, touched: Callable[[str], bool]) -> tuple[bool, float, str]:
    return not touched(note.id), memories.epoch(note.memory.created) or 0.0, note.id


def doubles(one: Memory, other: Memory) -> bool:
    """Do two notes that loops made say one thing of one origin? Blocks and insights when all they came from is the same, blocks also when
    some of it is and most words are; single facts only word for word: one conversation holds many."""
    if one.type != other.type:
        return False
    mine, theirs = set(one.derived_from), set(other.derived_from)
    if one.type == "orientation":
        return mine == theirs or bool(mine & theirs and alike(words(one.body), words(other.body)))
    insights = one.level > 0 and one.level == other.level and len(mine) > 1
    return mine == theirs and (insights or one.body.split() == other.body.split())


def joined(keeper: Note, others: Sequence[Note]) -> list[Set]:
    """The edits by which one stands for all: it takes their lineage, they keep their words behind it, as of when they were made."""
    ended = [
        replace(edit, changes={**edit.changes, "valid_until": _end(other)}) for other in others for edit in (superseding(other, keeper.id),)
    ]
    return [Set(keeper.id, folded(keeper, others)), *ended]


def _end(note: Note) -> str:
    return note.memory.valid_until or note.memory.created or note.memory.timestamp
