"""What could be found before can be found after, or the decision does not happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from oneiro_vault.mind.base import Decision, New, Set, Snapshot, superseding
from oneiro_vault.mind.recall_gate import Find, Gate, View, inherited, named
from tests.mind.support import note, snapshot

A, B, C = note("a", "alpha words"), note("b", "beta words"), note("c", "gamma words")


def finder(snap: Snapshot, top: int = 10) -> Find:
    """Every note whose words have the question in them answers, in the order of ids."""

    def find(query: str, view: View) -> Sequence[str]:
        texts = {
            ident: f"{one.memory.title} {one.memory.body}"
            for ident, one in snap.notes.items()
            if ident not in view.gone
        }
        texts |= {ident: f"{title} {body}" for ident, (title, body) in view.changed.items()}
        return [ident for ident in sorted(texts) if query in texts[ident]][:top]

    return find


def decision(*edits: New | Set, memories: tuple[str, ...] = ()) -> Decision:
    return Decision("consolidate", "merge", "x", "r", edits, memories)


def gate(snap: Snapshot, **facts: object) -> Gate:
    return Gate(snap, finder(snap), **facts)  # type: ignore[arg-type]  # keywords of one test, of many types


def test_a_merge_whose_keeper_is_found_by_both_passes() -> None:
    one, two = note("a", "the tap drips"), note("b", "the tap drips again", title="tap")
    snap = snapshot(one, two)
    found = gate(snap, asked={two.id: ["drips"]})
    kept, turned = found.judge(
        [decision(Set(one.id, {"supersedes": [two.id], "tags": ["tap"]}), superseding(two, one.id))]
    )
    assert len(kept) == 1
    assert not turned
    assert found.numbers == Counter(probes=3, before=3, after=3)


def test_a_merge_that_loses_a_name_is_dropped() -> None:
    snap = snapshot(A, B)
    found = gate(snap, asked={B.id: ["beta"]})
    kept, turned = found.judge([decision(Set(A.id, {"supersedes": [B.id]}), superseding(B, A.id))])
    assert not kept
    assert "recall gate" in turned[0].why
    assert found.numbers["dropped"] == 1
    assert (
        found.numbers["before"] == found.numbers["after"] == 3
    )  # it does not happen, so nothing is lost


def test_what_would_cost_recall_happens_in_its_harmless_form_if_it_has_one() -> None:
    snap = snapshot(A, B)
    harmless = decision(New({"type": "semantic", "title": "n"}, "delta"))
    costly = replace(
        decision(Set(A.id, {"supersedes": [B.id]}), superseding(B, A.id)), instead=harmless
    )
    found = gate(snap, asked={B.id: ["beta"]})
    kept, turned = found.judge([costly])
    assert kept == [harmless]
    assert [one.decision for one in turned] == [costly]
    assert gate(snap).judge([replace(decision(Set(A.id, {"tags": ["x"]})), instead=harmless)])[
        0
    ] != [harmless]


def test_what_was_not_found_before_cannot_be_lost() -> None:
    snap = snapshot(A, B)
    found = gate(snap, asked={B.id: ["delta"]})
    kept, _ = found.judge([decision(Set(B.id, {"body": "x"}, "b beta words"))])
    assert len(kept) == 1


def test_new_words_are_searched_as_they_will_be() -> None:
    snap = snapshot(A)
    losing = gate(snap, asked={A.id: ["alpha"]})
    assert losing.judge([decision(Set(A.id, {}, "other words"))])[0] == []
    keeping = gate(snap, asked={A.id: ["alpha"]})
    assert len(keeping.judge([decision(Set(A.id, {}, "alpha, in other words"))])[0]) == 1


def test_pieces_of_a_split_inherit_what_they_came_from() -> None:
    snap = snapshot(A)
    pieces = (
        New({"title": "a", "derived_from": [A.id]}, "alpha", "one"),
        New({"title": "a", "derived_from": [A.id]}, "words", "two"),
    )
    found = gate(snap, asked={A.id: ["alpha", "words"]})
    assert len(found.judge([decision(*pieces, superseding(A, "new:one"))])[0]) == 1
    assert found.numbers["after"] == 3
    worse = gate(snap, asked={A.id: ["alpha words"]})
    assert worse.judge([decision(*pieces, superseding(A, "new:one"))])[0] == []


def test_decisions_of_one_run_are_seen_together() -> None:
    """Each alone would leave an heir; both together leave none."""
    one, two, three = (
        note(name, name, title=title)
        for name, title in (("a", "key"), ("b", "key"), ("c", "other"))
    )
    snap = snapshot(one, two, three)
    found = gate(snap)
    kept, turned = found.judge(
        [
            decision(Set(one.id, {"superseded_by": two.id, "status": "superseded"})),
            decision(Set(two.id, {"title": "gone"})),
        ]
    )
    assert len(kept) == 1
    assert len(turned) == 1


def test_flags_need_no_search() -> None:
    snap = snapshot(A)
    asked: list[str] = []

    def find(query: str, view: View) -> Sequence[str]:
        asked.append(query)
        assert not view.gone
        return [A.id]

    found = Gate(snap, find)
    assert len(found.judge([decision(Set(A.id, {"flags": ["conflict"]}))])[0]) == 1
    assert asked == ["a"]  # once, before


def test_heirs_of_heirs_inherit() -> None:
    first = decision(superseding(A, B.id))
    second = decision(superseding(B, C.id))
    heirs = inherited(second, inherited(first, {}))
    assert heirs[A.id] == {B.id, C.id}
    made = decision(New({"title": "n", "supersedes": [C.id]}, "text", "k"), superseding(C, "new:k"))
    assert inherited(made, heirs)[A.id] == {B.id, C.id, named(made)[0][0]}


def test_dormant_memories_still_answer() -> None:
    view = View().after(decision(Set(A.id, {"status": "dormant"})), snapshot(A).notes)
    assert not view.gone
    assert View().after(decision(Set(A.id, {"status": "archived"})), snapshot(A).notes).gone == {
        A.id
    }


def test_what_is_no_longer_true_is_not_asked_for_in_its_own_words() -> None:
    new = New({"type": "semantic", "title": "m"}, "the choir meets on Mondays", "fact")
    for title, happens in (("the choir sings…", True), ("old choir plan", False)):
        old = note("a", "the choir sings on Fridays", title=title)
        wanted = Decision(
            "encode", "supersede", "x", "r", (new, superseding(old, "new:fact")), (old.id,)
        )
        kept, _ = gate(snapshot(old)).judge([wanted])
        assert bool(kept) is happens
