"""A contradiction ends on both sides when one of them is settled. (What was announced:
`test_encode`.)"""

from __future__ import annotations

from dataclasses import replace

import pytest

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
