"""What says the same becomes one; whatever a judge says, no words and no lineage are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.memory import epoch
from oneiro_vault.core.question import Question
from oneiro_vault.mind.base import NOW, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import consolidate
from oneiro_vault.mind.loops.consolidate import clusters, doubled, pairs
from tests.judges.scripted import ScriptedJudge, temperament
from tests.mind.stepping import DEFAULTS
from tests.mind.support import Memo, decided, note, snapshot

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


def test_what_begins_where_another_ends_is_no_copy_of_it() -> None:
    ends: dict[str, Any] = {"valid_until": "2027-01-01T00:00:00+01:00"}
    now = replace(FULL, memory=replace(FULL.memory, **ends))
    later, beside = (
        replace(SHORT, memory=replace(SHORT.memory, valid_from=day))
        for day in ("2027-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00")
    )
    assert consolidate.groups(snap(now, later, OTHER)) == []
    assert consolidate.groups(snap(now, beside, OTHER)) == [[now, beside]]
    once = replace(later, memory=replace(later.memory, **ends))
    same = replace(FULL, memory=replace(once.memory, id=FULL.id))
    assert consolidate.groups(snap(once, same)) == [[same, once]], "two of the same day"
    copies = [later, replace(later, memory=replace(later.memory, id="copy"))]
    assert consolidate.at_once([now, *copies]) == [[now], copies]


def test_the_keeper_keeps_its_words_and_takes_over_the_lineage() -> None:
    judge = ScriptedJudge(merge)
    (decision,) = Driver(judge, Memo()).drive(consolidate.run(snap(FULL, SHORT, OTHER)))
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
    assert Driver(judge, Memo()).drive(consolidate.run(snap(FULL, SHORT, OTHER))) == []


def test_only_active_knowledge_with_a_vector_is_compared() -> None:
    for gone in ({"status": "superseded"}, {"status": "pending"}, {"type": "episodic"}):
        twin = note("s", "Ana ships on Friday.", **gone)
        judge = ScriptedJudge(merge)
        assert Driver(judge, Memo()).drive(consolidate.run(snap(FULL, twin))) == []
        assert judge.asked == []


def test_a_settled_cluster_is_not_asked_about_again() -> None:
    memo = Memo()
    Driver(temperament("no"), memo).drive(consolidate.run(snap(FULL, SHORT)))
    again = temperament("no")
    Driver(again, memo).drive(consolidate.run(snap(FULL, SHORT)))
    assert again.asked == []


def test_no_more_clusters_than_the_setting() -> None:
    judge = ScriptedJudge(merge)
    Driver(judge, Memo()).drive(
        consolidate.run(snap(FULL, SHORT, settings=DEFAULTS | {"consolidate.clusters": 0}))
    )
    assert judge.asked == []


def test_words_that_are_trusted_less_stand_for_nobody_elses() -> None:
    theirs = note("s", "Ana ships on Friday.", trust="user")
    outside = note("f", "Ana ships on Friday at noon.", trust="external")
    judge = ScriptedJudge(merge)
    assert Driver(judge, Memo()).drive(consolidate.run(snap(outside, theirs))) == []
    assert len(judge.asked) == 1
    (found,) = Driver(
        ScriptedJudge(
            lambda q: {"reason": "r", "action": "merge", "keep": theirs.id, "members": [outside.id]}
        ),
        Memo(),
    ).drive(consolidate.run(snap(outside, theirs)))
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
        Driver(judge, memo).drive(consolidate.run(taken))
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
        decided("distil", "distil", one.id, when=1.0, device=device)
        for one, device in ((first, "left"), (second, "right"), (far, "right"))
    )
    (decision,) = doubled(snap(first, second, far, own, history=made))
    assert decision.memories == (first.id, second.id)
    edited = replace(second, edited=1.0)
    (other,) = doubled(snap(first, edited, far, history=made))
    assert other.memories == (second.id, first.id)
    assert other.id(snap()) == decision.id(snap())
    alone = tuple(replace(row, device="left") for row in made)
    assert doubled(snap(first, second, far, history=alone)) == [], "one machine means both"


def around(*angles: float) -> npt.NDArray[np.float32]:
    """Unit vectors in the plane, by degrees."""
    radians = np.radians(angles)
    return np.stack((np.cos(radians), np.sin(radians)), axis=1).astype(np.float32)


def test_near_ones_are_together_and_far_ones_alone() -> None:
    assert clusters(around(0, 5, 90, 93, 200), 0.99) == [[0, 1], [2, 3]]


def test_a_chain_falls_into_its_tight_parts() -> None:
    chain = around(*range(0, 200, 10))  # neighbours are near (.985), the ends are opposite
    found = clusters(chain, 0.98)
    assert found
    assert all((chain[group] @ chain[group].T).min() >= 0.98 for group in found)


@pytest.mark.parametrize("largest", [2, 3, 8])
def test_no_group_is_larger_than_asked(largest: int) -> None:
    found = clusters(around(*[0.01 * n for n in range(30)]), 0.9, largest)
    assert max(map(len, found)) == largest
    assert sum(map(len, found)) <= 30


def test_largest_first() -> None:
    assert [len(group) for group in clusters(around(0, 1, 90, 91, 92, 180, 181), 0.99)] == [3, 2, 2]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_compare(count: int) -> None:
    assert clusters(around(*range(count)).reshape(count, 2), 0.5) == []


def test_zeros_are_near_nothing() -> None:
    assert clusters(np.zeros((3, 4), np.float32), 0.5) == []


@given(
    st.lists(st.integers(0, 359), min_size=2, max_size=40),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.integers(1, 7),
)
def test_pairs_are_all_pairs(angles: list[int], threshold: float, block: int) -> None:
    vectors = around(*angles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidate, "BLOCK", block)
        found, scores = pairs(vectors, threshold, len(angles))
    every = {
        (i, j)
        for i in range(len(angles))
        for j in range(i + 1, len(angles))
        if float(vectors[i] @ vectors[j]) >= threshold + 1e-5
    }
    assert every <= set(map(tuple, found.tolist()))
    assert list(scores) == sorted(scores, reverse=True)


@given(st.lists(st.integers(0, 359), min_size=2, max_size=40), st.integers(1, 5), st.integers(1, 7))
def test_of_a_crowded_store_the_nearest_are_looked_at(
    angles: list[int], most: int, block: int
) -> None:
    vectors = around(*angles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consolidate, "BLOCK", block)
        found, scores = pairs(vectors, 0.51, most)
    every, cosines = pairs(vectors, 0.51, len(angles))
    assert set(map(tuple, found.tolist())) <= set(map(tuple, every.tolist()))
    for i in range(len(angles)):
        wanted = sorted(cosines[every[:, 0] == i], reverse=True)[:most]
        assert sorted(scores[found[:, 0] == i], reverse=True) == pytest.approx(wanted, abs=1e-5)


@given(st.lists(st.integers(0, 359), max_size=40), st.sampled_from([0.5, 0.9, 0.99]))
def test_groups_are_disjoint_and_tight(angles: list[int], threshold: float) -> None:
    vectors = around(*angles).reshape(len(angles), 2)
    found = clusters(vectors, threshold)
    members = [member for group in found for member in group]
    assert len(members) == len(set(members))
    assert all(
        2 <= len(group) <= 8 and (vectors[group] @ vectors[group].T).min() >= threshold - 1e-5
        for group in found
    )


FLAGGED = ("contradiction", "stale")
ONE, SECOND = (
    note("a", "The shop opens at eight.", flags=FLAGGED),
    note("b", "The shop opens at nine.", flags=("contradiction",)),
)
PAIR = decided("encode", "flag", "c" * 12, ONE.id, SECOND.id)


def changed(one: Note, **facts: object) -> Note:
    return replace(one, memory=replace(one.memory, **facts))  # type: ignore[arg-type]  # any field


def test_both_stay_flagged_while_both_hold() -> None:
    assert consolidate.following(snapshot(ONE, SECOND, history=(PAIR,))) == []
    assert consolidate.following(snapshot(ONE, history=())) == [], (
        "other questions are not answered by this"
    )


@pytest.mark.parametrize(
    "other", [None, changed(SECOND, status="superseded"), changed(SECOND, flags=())]
)
def test_one_that_is_settled_frees_the_other(other: Note | None) -> None:
    notes = [ONE] if other is None else [ONE, other]
    (free,) = consolidate.following(snapshot(*notes, history=(PAIR,)))
    assert free.edits == (Set(ONE.id, {"flags": ["stale"]}),)


def test_one_of_three_stays_contested() -> None:
    third = note("d", "The shop opens at ten.", flags=("contradiction",))
    more = decided("encode", "flag", "c" * 12, ONE.id, third.id)
    assert consolidate.following(snapshot(ONE, third, history=(PAIR, more))) == []


def test_of_memories_that_replaced_each_other_one_is_in_force_again() -> None:
    ended = "2026-11-02T12:00:00+00:00"
    gone = {"status": "superseded", "valid_until": ended}
    a, b = "a" * 12, "b" * 12
    one, other = note("a", "Hello.", superseded_by=b, **gone), note("b", "Hi.", **gone)
    assert consolidate.reinstated(snapshot(one, other)) == []
    circle = snapshot(one, note("b", "Hi.", superseded_by=a, **gone))
    (kept,) = consolidate.reinstated(circle)
    assert kept.edits == (Set(a, {"status": None, "superseded_by": None}),)
    row = decided("consolidate", "merge", a, b, when=epoch(ended) or 0.0)
    (kept,) = consolidate.reinstated(replace(circle, history=(row,)))
    (edit,) = kept.edits
    assert isinstance(edit, Set)
    assert "valid_until" in edit.changes, "the end came with the decision"
