"""The orientation is brought under its cap; nothing is deleted, a person's word stays, and no judge
is needed in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.mind.base import Decision, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import whittle
from oneiro_vault.mind.loops.whittle import rfm
from tests.judges.scripted import ScriptedJudge, temperament
from tests.mind.stepping import DEFAULTS, picture, remembered
from tests.mind.support import Memo

LETTERS = "abcdefghjkmnpqrstvwxyz"


def block(letter: str, **facts: Any) -> Note:
    return remembered(
        letter, f"Text {letter}.", **({"type": "orientation", "source": "dream"} | facts)
    )


def capped(cap: int, *notes: Note, rubric: bool = True) -> Snapshot:
    return picture(*notes, settings=DEFAULTS | {"whittle.cap": cap, "whittle.rubric": rubric})


def grades(question: Question) -> dict[str, Any]:
    """The later in the alphabet, the more it matters."""
    number = LETTERS.index(question.ids[0][0])
    total = min(number, 12)
    parts = [min(3, max(0, total - 3 * at)) for at in range(4)]
    names = ("relational", "durability", "irreplaceable", "cost_of_absence")
    return {"reason": "so", "meaning": 1 + number % 10} | dict(zip(names, parts, strict=True))


def asleep(decisions: list[Decision]) -> list[str]:
    for decision in decisions:
        (edit,) = decision.edits
        assert edit == Set(decision.memories[0], {"status": "dormant"})
        assert decision.op == "whittle"
    return [decision.memories[0][0] for decision in decisions]


def driven(snapshot: Snapshot, judge: ScriptedJudge) -> list[Decision]:
    return Driver(judge, Memo()).drive(whittle.run(snapshot))


def test_nothing_is_asked_while_there_is_room() -> None:
    judge = ScriptedJudge(grades)
    assert driven(capped(3, block("a"), block("b"), block("c")), judge) == []
    assert judge.asked == []


def test_the_rubric_decides() -> None:
    judge = ScriptedJudge(grades)
    decisions = driven(capped(2, *(block(letter) for letter in "badc")), judge)
    assert sorted(asleep(decisions)) == ["a", "b"]
    assert "rubric 1 of 12, meaning 2: so" in {d.reason.partition("(")[2][:-1] for d in decisions}
    assert all(
        decision.judge == "scripted" and len(decision.questions) == 1 for decision in decisions
    )
    assert [question.ids for question in judge.asked] == [(letter * 12,) for letter in "abcd"]


def test_equal_grades_fall_back_on_meaning_and_then_on_the_id() -> None:
    same = {
        "relational": 1,
        "durability": 1,
        "irreplaceable": 1,
        "cost_of_absence": 1,
        "reason": "r",
    }
    judge = ScriptedJudge(
        lambda question: same | {"meaning": 9 if question.ids[0][0] == "c" else 2}
    )
    assert asleep(driven(capped(2, block("a"), block("b"), block("c")), judge)) == ["b"]


def test_what_a_person_ratified_or_wrote_stays() -> None:
    core = block("a", core=True)
    theirs = block("b", source="user", trust="user")
    foreign = block("z", trust="external")
    notes = (core, theirs, foreign, block("c"), block("d"))
    judge = ScriptedJudge(grades)
    assert asleep(driven(capped(3, *notes), judge)) == ["c", "z"]
    assert not any({core.id, theirs.id} & {*question.ids} for question in judge.asked)
    assert sorted(asleep(driven(capped(1, *notes), ScriptedJudge(grades)))) == ["c", "d", "z"]
    assert sorted(asleep(driven(capped(0, *notes), ScriptedJudge(grades)))) == ["c", "d", "z"]


def test_a_cap_of_nothing_leaves_one() -> None:
    assert asleep(driven(capped(0, block("a"), block("b")), ScriptedJudge(grades))) == ["a"]


def test_recency_frequency_magnitude_by_setting_asks_nobody() -> None:
    notes = [
        block("a", days=200.0, derived_from=("x" * 12,)),
        block("b", days=1.0, derived_from=("x" * 12,)),
        block("c", days=1.0, derived_from=("x" * 12, "y" * 12)),
        block("d", days=1.0, derived_from=("x" * 12,), importance=1.0),
        block("e", days=100.0, importance=0.1),
    ]
    snapshot = capped(3, *notes, rubric=False)
    judge = ScriptedJudge(grades)
    assert asleep(driven(snapshot, judge)) == ["a", "e"]
    assert judge.asked == []
    assert rfm(notes[1], snapshot) == pytest.approx(0.5 ** (1 / 45) * 2 * 5)
    assert rfm(block("a", days=-9.0), snapshot) == pytest.approx(5)


@pytest.mark.parametrize(
    "habit", ["silent", "garbage", "refuses", "nul", "strange ids", "truncated", "extra keys"]
)
def test_without_a_judge_the_cap_holds_all_the_same(habit: str) -> None:
    notes = [block("a", days=1.0), block("b", days=300.0), block("c", days=2.0)]
    expected = ["b"] if habit != "strange ids" else None
    found = asleep(driven(capped(2, *notes), temperament(habit)))
    assert len(found) == 1
    assert expected is None or found == expected


def test_half_a_set_of_grades_is_none() -> None:
    judge = ScriptedJudge(
        lambda question: Raw(problem="refused") if question.ids[0][0] == "c" else grades(question)
    )
    decisions = driven(
        capped(2, block("a", days=1.0), block("b", days=300.0), block("c", days=2.0)), judge
    )
    assert asleep(decisions) == ["b"]
    assert "recency" in decisions[0].reason
    assert decisions[0].judge == ""


@pytest.mark.parametrize("rubric", [True, False])
def test_a_block_that_a_person_woke_again_stays_and_the_next_one_goes(rubric: bool) -> None:
    """What was taken back is not done again, and the cap holds all the same."""
    snapshot = capped(2, block("a"), block("b"), block("c"), rubric=rubric)
    (first,) = driven(snapshot, ScriptedJudge(grades))
    again = replace(snapshot, settled=frozenset({first.id(snapshot)}))
    (second,) = driven(again, ScriptedJudge(grades))
    assert second.memories != first.memories
    assert second.id(again) not in again.settled
