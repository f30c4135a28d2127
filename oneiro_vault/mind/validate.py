"""Which decisions of a run may happen: each at most once, none on changed ground, not too many, and
orientation stays what it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from oneiro_vault.classify.orientation_gate import objection
from oneiro_vault.core.memory import owned
from oneiro_vault.mind.base import Decision, New, Note, Set, Snapshot

SMALLEST_BRAKE: Final = 5
"""Notes a run may always touch, however small the vault."""
REMOVING: Final = frozenset(("superseded", "dormant", "archived"))
UNCOUNTED: Final = frozenset(("encoded", "topics", "outcome", "messages"))
"""Keys whose change alone touches nothing a memory says."""
AFTER: Final = "something it needs was not done in this run; it comes again"

Rule = Callable[[Decision], str]
"""Why a decision must not happen, "" when it may."""


@dataclass(frozen=True)
class Turned:
    """A decision that does not happen, and why."""

    decision: Decision
    why: str


def settle(
    snapshot: Snapshot, decisions: Sequence[Decision], share: float
) -> tuple[list[Decision], list[Turned]]:
    """(what may happen, in order; what may not). `share` of the notes may be touched by one run."""
    limit = max(SMALLEST_BRAKE, int(share * len(snapshot.notes)))
    touched: set[str] = set()
    made: set[str] = set()
    kept: list[Decision] = []
    turned: list[Turned] = []
    rules = [_may_edit(snapshot), _only_describes(snapshot), _keeps_orientation(snapshot)]
    for decision in decisions:
        sets = {
            edit.id
            for edit in decision.edits
            if isinstance(edit, Set) and (edit.body is not None or set(edit.changes) - UNCOUNTED)
        }
        why = ""
        if decision.id(snapshot) in snapshot.settled:
            why = "it was decided before"
        elif set(decision.after) - made - snapshot.settled:
            why = AFTER
        elif sets & touched:
            why = "another decision of this run changed one of its memories first"
        elif len(touched | sets) > limit and sets:
            why = f"the brake: a run touches at most {limit} notes"
        else:
            why = next((found for rule in rules if (found := rule(decision))), "")
        if why:
            turned.append(Turned(decision, why))
        else:
            kept.append(decision)
            made.add(decision.id(snapshot))
            touched |= sets
    return kept, turned


def _may_edit(snapshot: Snapshot) -> Rule:
    def rule(decision: Decision) -> str:
        for edit in decision.edits:
            if isinstance(edit, New):
                continue
            note = snapshot.notes.get(edit.id)
            if note is None:
                return f"{edit.id} is not in the vault"
            if note.memory.status == "pending":
                return f"{edit.id} waits for a person's review"
            if (why := owned(note.memory)) and (
                edit.body is not None or set(edit.changes) - {"flags", "derived_from"}
            ):
                return f"{edit.id} {why}; a loop may only flag it"
            if "core" in edit.changes:
                return "only a person ratifies"
        if any(isinstance(edit, New) and edit.meta.get("core") for edit in decision.edits):
            return "only a person ratifies"
        return ""

    return rule


def _only_describes(snapshot: Snapshot) -> Rule:
    limit = snapshot.settings.get("distil.characters", 800)

    def rule(decision: Decision) -> str:
        for edit in decision.edits:
            meta, body = (
                (edit.meta, edit.body) if isinstance(edit, New) else (edit.changes, edit.body)
            )
            old = snapshot.notes[edit.id].memory if isinstance(edit, Set) else None
            type_ = meta.get("type") or (old.type if old else "")
            if body == "" and meta.get("status") in REMOVING:
                continue  # it says nothing any more
            if type_ == "orientation" and (
                body is not None or not {"type", "title", "description"}.isdisjoint(meta)
            ):
                title, told = (
                    str(meta.get(key) or getattr(old, key, "")) for key in ("title", "description")
                )
                words = body if body is not None else old.body if old else ""
                if why := objection(title, told, words, limit):
                    return f"it would stand in the orientation, and {why}"
        return ""

    return rule


def _keeps_orientation(snapshot: Snapshot) -> Rule:
    left = {note.id for note in snapshot.of("orientation")}

    def rule(decision: Decision) -> str:
        leaving = {
            e.id
            for e in decision.edits
            if isinstance(e, Set) and e.id in left and e.changes.get("status") in REMOVING
        }
        coming = any(
            isinstance(e, New) and e.meta.get("type") == "orientation" for e in decision.edits
        )
        if (
            leaving
            and not left - leaving
            and not coming
            and any(_stands(snapshot.notes[ident], snapshot) for ident in leaving)
        ):
            return "the orientation would be empty"
        left.difference_update(leaving)
        if coming:
            left.add(f"new by {id(decision)}")
        return ""

    return rule


def _stands(block: Note, snapshot: Snapshot) -> bool:
    ground = block.memory.derived_from
    return not ground or any(
        ident in snapshot.notes
        and snapshot.notes[ident].memory.status not in REMOVING
        and not snapshot.notes[ident].doubted
        for ident in ground
    )
