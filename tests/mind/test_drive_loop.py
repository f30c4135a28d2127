"""A loop gets a verdict for all it asked, whatever the judge does, and never asks anything
twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import Patience
from oneiro_vault.judges.budget import Budgeted, Ceilings
from oneiro_vault.mind.base import Asking, Snapshot
from oneiro_vault.mind.drive_loop import MOST_ROUNDS, Driver
from tests.judges.scripted import TEMPERAMENTS, ScriptedJudge, temperament
from tests.mind.support import Memo, Toy, about, note, snapshot

NOTES = [note(letter) for letter in "abcdef"]
SNAP = snapshot(*NOTES)


def yes(_: Question) -> dict[str, object]:
    return {"reason": "r", "yes": True}


def test_decisions_and_what_they_cost() -> None:
    judge = ScriptedJudge(lambda q: {"reason": "r", "yes": q.ids[0][0] in "ab"})
    driver = Driver(judge, Memo())
    assert [d.title for d in driver.drive(Toy().run(SNAP))] == ["a", "b"]
    assert driver.tally.asked["toy"] == 6
    assert (
        driver.tally.known == 0
    )  # the second round asks what the first one answered: nothing was known before
    assert not driver.tally.failed


def test_a_second_run_asks_nothing() -> None:
    memo = Memo()
    Driver(ScriptedJudge(yes), memo).drive(Toy().run(SNAP))
    again = ScriptedJudge(yes)
    driver = Driver(again, memo)
    assert len(driver.drive(Toy().run(SNAP))) == 6
    assert again.asked == []
    assert (driver.tally.known, driver.tally.asked.total()) == (12, 0)


def test_another_judge_is_asked_anew_and_a_changed_note_too() -> None:
    memo = Memo()
    Driver(ScriptedJudge(yes), memo).drive(Toy().run(SNAP))
    other = ScriptedJudge(yes, "other")
    Driver(other, memo).drive(Toy().run(SNAP))
    assert len(other.asked) == 6
    same = ScriptedJudge(yes)
    Driver(same, memo).drive(Toy().run(snapshot(*NOTES[1:], note("a", "new words"))))
    assert [q.shown[0].text for q in same.asked] == ["new words"]


@pytest.mark.parametrize(
    "name", sorted(TEMPERAMENTS.keys() - {"yes", "no", "random", "strange ids"})
)  # this form has no ids
def test_a_bad_judge_decides_nothing_and_is_reported(name: str) -> None:
    memo = Memo()
    driver = Driver(temperament(name), memo)
    assert driver.drive(Toy().run(SNAP)) == []
    assert len(driver.tally.failed) == 6
    assert not memo


def test_waiting_is_not_failing() -> None:
    driver = Driver(ScriptedJudge(lambda _: Raw(problem="later", waits=True)), Memo())
    assert driver.drive(Toy().run(SNAP)) == []
    assert driver.tally.waiting == [about(one).id for one in NOTES]
    assert not driver.tally.failed


class Odd:
    """Answers the first question twice, one nobody asked, and then breaks."""

    name = "odd"

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        yield questions[0].id, Raw({"reason": "r", "yes": True})
        yield questions[0].id, Raw({"reason": "r", "yes": False})
        yield "0" * 20, Raw({"reason": "r", "yes": True})
        raise OSError("gone")


def test_a_judge_that_breaks_half_way_keeps_what_it_said() -> None:
    driver = Driver(Odd(), Memo())
    assert [d.title for d in driver.drive(Toy().run(SNAP))] == ["a"]
    assert ("judge", "OSError: gone") in driver.tally.failed


def test_stopping_keeps_what_was_answered() -> None:
    judge, memo = ScriptedJudge(yes), Memo()

    def stop() -> bool:
        return len(judge.asked) >= 3

    driver = Driver(Budgeted(judge, Ceilings(), Patience(stop)), memo, stop)
    driver.drive(Toy().run(SNAP))
    assert len(memo) == 3
    assert (driver.tally.asked.total(), len(driver.tally.failed)) == (3, 0)
    assert {why.removeprefix("not asked: ") for _, why in driver.tally.unasked} == {
        "the run was stopped"
    }


def test_what_the_end_of_a_run_cut_off_is_not_held_against_its_question() -> None:
    driver = Driver(
        ScriptedJudge(lambda q: Raw(problem="no answer", cut=q.ids[0][0] in "ab")), Memo()
    )
    driver.drive(Toy().run(SNAP))
    assert (driver.tally.asked.total(), len(driver.tally.failed)) == (6, 6)
    assert driver.tally.unusable == [about(one).id for one in NOTES[2:]]


def test_a_loop_out_of_control_ends() -> None:
    def endless() -> Asking:
        while True:
            yield [about(NOTES[0])]

    driver = Driver(ScriptedJudge(yes), Memo())
    assert driver.drive(endless()) == []
    assert str(MOST_ROUNDS) in driver.tally.failed[-1][1]


def test_a_loop_that_asks_nothing_costs_nothing() -> None:
    def silent(_: Snapshot) -> Asking:
        return []
        yield []

    judge = ScriptedJudge(yes)
    assert Driver(judge, Memo()).drive(silent(SNAP)) == []
    assert judge.asked == []
