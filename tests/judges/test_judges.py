"""Judges without a network: scripted ones of every temperament, ceilings, and questions that wait."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from oneiro_vault.core.question import Answer, Question, Raw, Shown, ShownId, check
from oneiro_vault.judges import deferred
from oneiro_vault.judges.budget import Budgeted, Ceilings
from oneiro_vault.judges.scripted import TEMPERAMENTS, ScriptedJudge, leaning, random_answer, temperament
from oneiro_vault.mind.registry import LOOPS

IDS = ("a" * 12, "b" * 12, "c" * 12)


class File(Answer):
    """All kinds of fields."""

    action: Literal["create", "link", "skip"]
    existing_id: ShownId | None = None
    members: list[ShownId] = Field(default_factory=list)
    score: int = 0
    sure: bool = False
    text: str = ""


def question(text: str = "some words to choose from", shown: bool = True) -> Question:
    return Question("file", "Where?", File, tuple(Shown(i, i, text) for i in IDS) if shown else (), given=text)


@pytest.mark.parametrize("shown", [True, False])
def test_random_answers_fit_the_form(shown: bool) -> None:
    rng = random.Random(1)
    verdicts = [check(question(shown=shown), Raw(random_answer(question(shown=shown), rng))) for _ in range(300)]
    good = sum(verdict.ok for verdict in verdicts)
    assert good == 300 if shown else good > 0  # where nothing was shown an answer may still name something: that one is refused
    assert len({str(verdict.kept) for verdict in verdicts}) > 20


@pytest.mark.parametrize("form", Answer.__subclasses__(), ids=lambda form: form.__name__)
def test_answers_fit_every_form_a_loop_asks_for(form: type[Answer]) -> None:
    """Else a judge of drills would be refused before anything it says could do harm."""
    rng = random.Random(2)
    asked = Question("any", "What?", form, tuple(Shown(i, i, "User: a long text " * 200) for i in IDS), given="words of a capture " * 200)
    for said in (leaning(asked, True), leaning(asked, False), *(random_answer(asked, rng) for _ in range(50))):
        assert check(asked, Raw(said)).problem == ""


def test_the_forms_of_all_loops_were_looked_at() -> None:
    assert {"Place", "Units", "Merge", "Distilled", "Synthesis"} <= {form.__name__ for form in Answer.__subclasses__()}, LOOPS


def test_yes_and_no() -> None:
    yes, no = leaning(question(), True), leaning(question(), False)
    assert (yes["action"], yes["sure"], no["action"], no["sure"]) == ("create", True, "skip", False)
    assert check(question(), Raw(yes)).ok
    assert check(question(), Raw(no)).ok


@pytest.mark.parametrize("name", TEMPERAMENTS)
def test_every_temperament_ends_in_a_verdict(name: str) -> None:
    judge = temperament(name)
    (pair,) = judge.ask([question()])
    verdict = check(question(), pair[1], judge.name)
    assert pair[0] == question().id
    assert verdict.ok == (name in ("yes", "no", "random"))


def test_a_ceiling_of_calls_leaves_the_rest_for_another_run() -> None:
    inner = ScriptedJudge(lambda q: leaning(q, True))
    judge = Budgeted(inner, Ceilings(calls=5), chunk=2)
    said = dict(judge.ask([question(f"text {n}") for n in range(9)]))
    assert len(inner.asked) == 5
    assert sum(raw.waits for raw in said.values()) == 4
    assert judge.spent.calls == 5
    assert "ceiling of calls" in next(raw.problem for raw in said.values() if raw.waits)


def test_a_ceiling_of_tokens_and_of_cost() -> None:
    ask = [question(f"text {n}") for n in range(40)]
    by_tokens = Budgeted(ScriptedJudge(lambda _: Raw({}, tokens_in=900, tokens_out=100)), Ceilings(tokens=10_000))
    list(by_tokens.ask(ask))
    assert 10_000 <= by_tokens.spent.tokens <= 17_000
    by_cost = Budgeted(ScriptedJudge(lambda _: Raw({}, tokens_in=1000, tokens_out=0)), Ceilings(cost=0.02, price_in=1.0))
    list(by_cost.ask(ask))
    assert 0.02 <= by_cost.spent.cost < 0.03


def test_a_parked_question_waits_until_somebody_answers(tmp_path: Path) -> None:
    judge, asked = deferred.DeferredJudge(tmp_path / "q"), question()
    (first,) = judge.ask([asked])
    assert first[1].waits
    (entry,) = deferred.waiting(tmp_path / "q")
    assert (entry["id"], entry["ids"], entry["prompt"]) == (asked.id, list(IDS), asked.prompt())
    assert not deferred.answer(tmp_path / "q", "0" * 20, {})
    assert not deferred.answer(tmp_path / "q", "../x", {})
    assert deferred.answer(tmp_path / "q", asked.id, leaning(asked, True))
    assert deferred.waiting(tmp_path / "q") == []
    (again,) = judge.ask([asked])
    assert check(asked, again[1]).ok
    deferred.drop(tmp_path / "q", [asked.id, "unknown"])
    assert list((tmp_path / "q").iterdir()) == []


def test_a_damaged_parked_file_is_asked_again(tmp_path: Path) -> None:
    judge, asked = deferred.DeferredJudge(tmp_path), question()
    list(judge.ask([asked]))
    (tmp_path / f"{asked.id}.answer.json").write_text('{"half')
    (only,) = judge.ask([asked])
    assert only[1].waits
