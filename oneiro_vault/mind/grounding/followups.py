"""What follows from earlier decisions without asking anybody: what was announced begins, and a
contradiction ends with one of its sides, and of memories that replaced one another one stays."""

from __future__ import annotations

from typing import Final

from oneiro_vault.core.memory import epoch
from oneiro_vault.core.merge import cycles
from oneiro_vault.mind.base import Decision, Note, Set, Snapshot, superseding

CONTRADICTION: Final = "contradiction"
_AT_ONCE: Final = 60.0
"""Seconds between a decision and its commit: an end of validity this near is the decision's."""


def due(snapshot: Snapshot, loop: str) -> list[Decision]:
    """All of them, in the name of `loop`."""
    return [*begun(snapshot, loop), *settled(snapshot, loop), *reinstated(snapshot, loop)]


def begun(snapshot: Snapshot, loop: str) -> list[Decision]:
    """What has begun by now replaces what it was to replace."""
    found = []
    for note in snapshot.of("semantic"):
        begins = epoch(note.memory.valid_from)
        known = (snapshot.notes.get(ident) for ident in note.memory.supersedes)
        old = [one for one in known if one is not None and one.active and not one.memory.core]
        if begins is not None and begins <= snapshot.now and old:
            edits = tuple(superseding(one, note.id) for one in old)
            ids = (note.id, *(one.id for one in old))
            found.append(
                Decision(
                    loop,
                    "supersede",
                    old[0].memory.title,
                    "what was announced has begun",
                    edits,
                    ids,
                )
            )
    return found


def settled(snapshot: Snapshot, loop: str) -> list[Decision]:
    """Of two that could not both be true, one was replaced, taken out or found right: the other is
    contested no more."""
    found: dict[str, Decision] = {}
    contested = {note.id for note in snapshot.of("semantic") if CONTRADICTION in note.memory.flags}
    pairs = [
        row["memories"]
        for row in snapshot.history
        if (row["loop"], row["op"]) == ("encode", "flag")
    ]
    still = {
        ident
        for ids in pairs
        if len(contested.intersection(ids)) > 1
        for ident in contested.intersection(ids)
    }
    for ids in pairs:
        for ident in contested.intersection(ids) - still:
            found[ident] = _free(snapshot.notes[ident], ids, loop)
    return list(found.values())


def reinstated(snapshot: Snapshot, loop: str) -> list[Decision]:
    """Memories that two machines replaced by each other: one of each circle is in force again,
    with the end it had before."""
    behind = [one for one in snapshot.notes.values() if one.memory.status == "superseded"]
    replaced = {note.id: by for note in behind if (by := note.memory.superseded_by)}
    found = []
    for ident in cycles.broken(replaced):
        note, end = snapshot.notes[ident], epoch(snapshot.notes[ident].memory.valid_until)
        times = [row["when"] for row in snapshot.history if ident in row["memories"]]
        changes: dict[str, None] = {"status": None, "superseded_by": None}
        if end is not None and any(abs(end - when) < _AT_ONCE for when in times):
            changes["valid_until"] = None
        reason = "two machines replaced these by each other"
        ids = (ident, replaced[ident])
        edits = (Set(ident, changes),)
        found.append(Decision(loop, "revise", note.memory.title, reason, edits, ids))
    return found


def _free(note: Note, ids: tuple[str, ...], loop: str) -> Decision:
    flags = [flag for flag in note.memory.flags if flag != CONTRADICTION]
    reason = "what it could not hold together with is settled"
    others = tuple(ident for ident in ids if ident != note.id)
    return Decision(
        loop,
        "revise",
        note.memory.title,
        reason,
        (Set(note.id, {"flags": flags or None}),),
        (note.id, *others),
    )
