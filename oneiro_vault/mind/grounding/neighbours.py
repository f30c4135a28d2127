"""What is known near a fact: what is like it, and what else is about the same subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oneiro_vault.core.conversation import turns
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.query import fold
from oneiro_vault.mind.base import Note, Snapshot
from oneiro_vault.mind.grounding.support import capitalised
from oneiro_vault.mind.loops.resolve import Unit, names

INSIGHTS: Final = 8
"""Candidates that are asked for beyond those that are wanted, for those that are insights."""
COMMON: Final = 50
"""Memories about a name beyond which it says too little."""


def subjects(snapshot: Snapshot) -> dict[str, list[Note]]:
    """Name -> active knowledge about it, insights left out."""
    found: dict[str, list[Note]] = {}
    for note in snapshot.of("semantic"):
        for name in {name.casefold() for name in note.memory.about} if _fits(note) else ():
            found.setdefault(name, []).append(note)
    return found


def named(snapshot: Snapshot, captures: Sequence[Note]) -> frozenset[str]:
    """Words (folded) that name people and things in what is known, or in the person's own words in
    one of these captures."""
    texts = [
        f"{note.memory.title}\n{note.memory.body}\n{' '.join(note.memory.about)}"
        for note in snapshot.of("semantic")
    ]
    for capture in captures:
        body = capture.memory.body
        texts += [
            body[one.start : one.end]
            for one in turns.spans(body)
            if one.own and one.speaker == turns.USER
        ]
    return frozenset(fold(word) for text in texts for word in capitalised(text))


def candidates(
    snapshot: Snapshot, unit: Unit, most: int, known: Mapping[str, Sequence[Note]]
) -> list[Note]:
    """The `most` active memories most like the fact, best first, and behind them some of what else
    is `known` of the same subject, in whatever words.

    No insights: what they are made of is filed beside, and would hide behind them.
    """
    likely = (
        snapshot.notes.get(ident) for ident in snapshot.candidates(unit.content, most + INSIGHTS)
    )
    near = [one for one in likely if one is not None and _fits(one)]
    telling = [
        found
        for name in names(unit.about)
        if len(found := known.get(name.casefold(), ())) <= COMMON
    ]
    said = f"{unit.content}\n{unit.quote}"  # what changed is often named only around the new state
    others = {one.id: one for found in telling for one in found}
    for one in near[:most]:
        others.pop(one.id, None)
    shares = [
        (share, one)
        for one in others.values()
        if (share := claims.share(said, one.memory.body)) > 0
    ]
    same = [one for _, one in sorted(shares, key=lambda pair: (-pair[0], pair[1].id))[: most // 4]]
    return [*near[:most], *same]


def _fits(note: Note) -> bool:
    return note.active and note.memory.type == "semantic" and note.memory.level == 0
