"""A contradiction ends on both sides when one of them is settled. (What was announced:
`test_encode`.)"""

from __future__ import annotations

from dataclasses import replace

import pytest

from oneiro_vault.core.memory import epoch
from oneiro_vault.mind.base import Note, Set
from oneiro_vault.mind.grounding import followups
from tests.mind.support import note, snapshot

FLAGGED = ("contradiction", "stale")
ONE, OTHER = (
    note("a", "The shop opens at eight.", flags=FLAGGED),
    note("b", "The shop opens at nine.", flags=("contradiction",)),
)
PAIR = {"loop": "encode", "op": "flag", "memories": ("c" * 12, ONE.id, OTHER.id), "when": 0.0}


def changed(one: Note, **facts: object) -> Note:
    return replace(one, memory=replace(one.memory, **facts))  # type: ignore[arg-type]  # any field


def test_both_stay_flagged_while_both_hold() -> None:
    assert followups.due(snapshot(ONE, OTHER, history=(PAIR,)), "consolidate") == []
    assert followups.due(snapshot(ONE, history=()), "consolidate") == [], (
        "other questions are not answered by this"
    )


@pytest.mark.parametrize(
    "other", [None, changed(OTHER, status="superseded"), changed(OTHER, flags=())]
)
def test_one_that_is_settled_frees_the_other(other: Note | None) -> None:
    notes = [ONE] if other is None else [ONE, other]
    (free,) = followups.due(snapshot(*notes, history=(PAIR,)), "consolidate")
    assert free.edits == (Set(ONE.id, {"flags": ["stale"]}),)


def test_one_of_three_stays_contested() -> None:
    third = note("d", "The shop opens at ten.", flags=("contradiction",))
    more = PAIR | {"memories": ("c" * 12, ONE.id, third.id)}
    assert followups.due(snapshot(ONE, third, history=(PAIR, more)), "consolidate") == []


def test_of_memories_that_replaced_each_other_one_is_in_force_again() -> None:
    ended = "2026-11-02T12:00:00+00:00"
    gone = {"status": "superseded", "valid_until": ended}
    a, b = "a" * 12, "b" * 12
    one, other = note("a", "Hello.", superseded_by=b, **gone), note("b", "Hi.", **gone)
    assert followups.reinstated(snapshot(one, other), "consolidate") == []
    circle = snapshot(one, note("b", "Hi.", superseded_by=a, **gone))
    (kept,) = followups.reinstated(circle, "consolidate")
    assert kept.edits == (Set(a, {"status": None, "superseded_by": None}),)
    row = {"memories": (a, b), "when": epoch(ended), "loop": "consolidate", "op": "merge"}
    (kept,) = followups.reinstated(replace(circle, history=(row,)), "consolidate")
    (edit,) = kept.edits
    assert isinstance(edit, Set)
    assert "valid_until" in edit.changes, "the end came with the decision"
