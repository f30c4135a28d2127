"""What says the same becomes one; whatever a judge says, no words and no lineage are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oneiro_vault.core.question import Question
from oneiro_vault.mind.base import NOW, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops.consolidate import LOOP, SETTINGS, doubled
from tests.judges.scripted import ScriptedJudge, temperament
from tests.mind.support import Memo, note, snapshot

DEFAULTS = {name: value for name, value, _ in SETTINGS}
FULL = note(
    "f", "Ana ships on Friday at noon.", tags=("release",), derived_from=("e" * 12,), importance=0.4
)
SHORT = note(
    "s",
    "Ana ships on Friday.",
    tags=("ana",),
    derived_from=("g" * 12,),
    importance=0.9,
    about=("Ana",),
)
OTHER = note("x", "The boat is called Petrel.")
PLACES = {FULL.id: (1.0, 0.0), SHORT.id: (0.99, 0.14), OTHER.id: (0.0, 1.0)}


def snap(*notes: Note, **facts: Any) -> Snapshot:
    def vectors(ids: Sequence[str]) -> tuple[list[str], Any]:
        known = [ident for ident in ids if ident in PLACES]
        return known, np.array([PLACES[ident] for ident in known], np.float32).reshape(
            len(known), 2
        )

    return snapshot(*notes, **({"vectors": vectors, "settings": DEFAULTS} | facts))


def merge(question: Question) -> Mapping[str, Any]:
    return {
        "reason": "both say Friday",
        "action": "merge",
        "keep": FULL.id,
        "members": list(question.ids),
    }


def test_the_keeper_keeps_its_words_and_takes_over_the_lineage() -> None:
    judge = ScriptedJudge(merge)
    (decision,) = Driver(judge, Memo()).drive(LOOP.run(snap(FULL, SHORT, OTHER)))
    assert [q.ids for q in judge.asked] == [(FULL.id, SHORT.id)]
    assert (decision.op, decision.reason, decision.memories) == (
        "merge",
        "both say Friday",
        (FULL.id, SHORT.id),
    )
    kept, lost = decision.edits
    assert isinstance(kept, Set)
    assert isinstance(lost, Set)
    assert kept.body is None
    assert lost.body is None
    assert kept.changes == {
        "supersedes": [SHORT.id],
        "derived_from": ["e" * 12, "g" * 12],
        "tags": ["release", "ana"],
        "about": ["Ana"],
        "importance": 0.9,
    }
    assert lost.changes == {"status": "superseded", "superseded_by": FULL.id, "valid_until": NOW}


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "keep_distinct", "keep": FULL.id, "members": [SHORT.id]},
        {"action": "merge", "keep": None, "members": [SHORT.id]},
        {"action": "merge", "keep": FULL.id, "members": []},
        {"action": "merge", "keep": FULL.id, "members": [FULL.id]},
        {"action": "merge", "keep": FULL.id, "members": [OTHER.id]},
    ],
)
def test_anything_else_changes_nothing(answer: dict[str, Any]) -> None:
    judge = ScriptedJudge(lambda _: {"reason": "r"} | answer)
    assert Driver(judge, Memo()).drive(LOOP.run(snap(FULL, SHORT, OTHER))) == []


def test_only_active_knowledge_with_a_vector_is_compared() -> None:
    for gone in ({"status": "superseded"}, {"status": "pending"}, {"type": "episodic"}):
        twin = note("s", "Ana ships on Friday.", **gone)
        judge = ScriptedJudge(merge)
        assert Driver(judge, Memo()).drive(LOOP.run(snap(FULL, twin))) == []
        assert judge.asked == []


def test_a_settled_cluster_is_not_asked_about_again() -> None:
    memo = Memo()
    Driver(temperament("no"), memo).drive(LOOP.run(snap(FULL, SHORT)))
    again = temperament("no")
    Driver(again, memo).drive(LOOP.run(snap(FULL, SHORT)))
    assert again.asked == []


def test_no_more_clusters_than_the_setting() -> None:
    judge = ScriptedJudge(merge)
    Driver(judge, Memo()).drive(
        LOOP.run(snap(FULL, SHORT, settings=DEFAULTS | {"consolidate.clusters": 0}))
    )
    assert judge.asked == []


def test_words_that_are_trusted_less_stand_for_nobody_elses() -> None:
    theirs = note("s", "Ana ships on Friday.", trust="user")
    outside = note("f", "Ana ships on Friday at noon.", trust="external")
    judge = ScriptedJudge(merge)
    assert Driver(judge, Memo()).drive(LOOP.run(snap(outside, theirs))) == []
    assert len(judge.asked) == 1
    (found,) = Driver(
        ScriptedJudge(
            lambda q: {"reason": "r", "action": "merge", "keep": theirs.id, "members": [outside.id]}
        ),
        Memo(),
    ).drive(LOOP.run(snap(outside, theirs)))
    assert found.memories == (theirs.id, outside.id)


def test_the_ceiling_is_spent_on_what_is_new() -> None:
    memo = Memo()
    notes = [note(letter, f"Note {letter}.") for letter in "abcdefgh"]
    places = {
        one.id: (
            (1.0, 0.0, 0.0, 0.0),
            (0.0, 1.0, 0.0, 0.0),
            (0.0, 0.0, 1.0, 0.0),
            (0.0, 0.0, 0.0, 1.0),
        )[n // 2]
        for n, one in enumerate(notes)
    }

    def vectors(ids: Sequence[str]) -> tuple[list[str], Any]:
        return list(ids), np.array([places[ident] for ident in ids], np.float32)

    for _ in range(4):
        known = {question for question, _ in memo}
        judge = temperament("no")
        taken = snap(
            *notes,
            vectors=vectors,
            settings=DEFAULTS | {"consolidate.clusters": 1},
            known=known.__contains__,
        )
        Driver(judge, memo).drive(LOOP.run(taken))
        assert len(judge.asked) == 1
    assert len(memo) == 4


def test_a_block_made_twice_of_the_same_memories_becomes_one() -> None:
    same = {"type": "orientation", "source": "dream", "derived_from": (FULL.id,)}
    first, second, far, own = (
        note("a", "Ana ships on Friday at noon.", created="2026-11-01T12:00:00+00:00", **same),
        note("b", "Ana ships on Friday, at noon.", created="2026-11-02T12:00:00+00:00", **same),
        note("c", "The boat is called Petrel.", created="2026-11-03T12:00:00+00:00", **same),
        note("d", "Ana ships on Friday at noon.", **(same | {"source": "user"})),
    )
    made = tuple(
        {"memories": (one.id,), "device": device, "loop": "distil", "op": "distil", "when": 1.0}
        for one, device in ((first, "left"), (second, "right"), (far, "right"))
    )
    (decision,) = doubled(snap(first, second, far, own, history=made))
    assert decision.memories == (first.id, second.id)
    edited = replace(second, edited=1.0)
    (other,) = doubled(snap(first, edited, far, history=made))
    assert other.memories == (second.id, first.id)
    assert other.id(snap()) == decision.id(snap())
    alone = tuple(row | {"device": "left"} for row in made)
    assert doubled(snap(first, second, far, history=alone)) == [], "one machine means both"
