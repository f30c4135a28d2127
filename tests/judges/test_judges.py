"""Judges without a network: scripted ones of every temperament, ceilings, and questions that
wait."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from oneiro_vault.core.question import Answer, Question, Raw, Shown, ShownId, check
from oneiro_vault.judges import deferred
from oneiro_vault.judges.base import Patience, in_parallel
from oneiro_vault.judges.budget import AWAY, Budgeted, Ceilings
from oneiro_vault.judges.deferred import SamplingJudge
from oneiro_vault.operations.dream.run_now import LOOPS
from tests.judges.scripted import (
    TEMPERAMENTS,
    ScriptedJudge,
    leaning,
    random_answer,
    temperament,
)

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
    return Question(
        "file", "Where?", File, tuple(Shown(i, i, text) for i in IDS) if shown else (), given=text
    )


@pytest.mark.parametrize("shown", [True, False])
def test_random_answers_fit_the_form(shown: bool) -> None:
    rng = random.Random(1)
    verdicts = [
        check(question(shown=shown), Raw(random_answer(question(shown=shown), rng)))
        for _ in range(300)
    ]
    good = sum(verdict.ok for verdict in verdicts)
    assert (
        good == 300 if shown else good > 0
    )  # where nothing was shown an answer may still name something: that one is refused
    assert len({str(verdict.kept) for verdict in verdicts}) > 20


@pytest.mark.parametrize("form", Answer.__subclasses__(), ids=lambda form: form.__name__)
def test_answers_fit_every_form_a_loop_asks_for(form: type[Answer]) -> None:
    """Else a judge of drills would be refused before anything it says could do harm."""
    rng = random.Random(2)
    asked = Question(
        "any",
        "What?",
        form,
        tuple(Shown(i, i, "User: a long text " * 200) for i in IDS),
        given="words of a capture " * 200,
    )
    for said in (
        leaning(asked, True),
        leaning(asked, False),
        *(random_answer(asked, rng) for _ in range(50)),
    ):
        assert check(asked, Raw(said)).problem == ""


def test_the_forms_of_all_loops_were_looked_at() -> None:
    assert {"Place", "Units", "Merge", "Distilled", "Synthesis"} <= {
        form.__name__ for form in Answer.__subclasses__()
    }, LOOPS


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
    inner.at_once = 2
    judge = Budgeted(inner, Ceilings(calls=5))
    said = dict(judge.ask([question(f"text {n}") for n in range(9)]))
    assert len(inner.asked) == 5
    assert sum(raw.unasked for raw in said.values()) == 4
    assert judge.spent.calls == 5
    assert "ceiling of calls" in next(raw.problem for raw in said.values() if raw.unasked)


def test_what_waits_takes_nobodys_call() -> None:
    inner = ScriptedJudge(
        lambda q: Raw(problem="later", waits=True) if "early" in q.given else leaning(q, True)
    )
    inner.at_once = 2
    judge = Budgeted(inner, Ceilings(calls=2))
    asked = [question(f"early {n}") for n in range(6)] + [question(f"text {n}") for n in range(4)]
    said = dict(judge.ask(asked))
    assert [(raw.waits, raw.unasked) for raw in (said[one.id] for one in asked)] == [
        (True, False)
    ] * 6 + [(False, False)] * 2 + [(False, True)] * 2
    assert judge.spent.calls == 2


@pytest.mark.parametrize("claimed", [(-1_000_000, -1_000_000), (-900, 100)])
def test_no_judge_gives_a_budget_back(claimed: tuple[int, int]) -> None:
    ceilings = Ceilings(calls=3, tokens=10_000, cost=1.0, price_in=1.0, price_out=1.0)
    inner = ScriptedJudge(lambda _: Raw({}, tokens_in=claimed[0], tokens_out=claimed[1]))
    inner.at_once = 1
    judge = Budgeted(inner, ceilings)
    said = dict(judge.ask([question(f"text {n}") for n in range(9)]))
    assert min(judge.spent.tokens_in, judge.spent.tokens_out, judge.spent.cost) >= 0
    assert sum(raw.unasked for raw in said.values()) == 6


def test_who_leaves_questions_out_has_failed_them_and_who_is_gone_is_left_alone() -> None:
    silent = ScriptedJudge(lambda _: Raw({}))
    silent.ask = lambda questions: iter([])  # type: ignore[method-assign]  # a judge that loses what it is asked
    found = dict(Budgeted(silent, Ceilings()).ask([question("a"), question("b")]))
    assert [(raw.problem, raw.unasked) for raw in found.values()] == [("not answered", False)] * 2
    away = ScriptedJudge(
        lambda q: Raw({}) if q.given == "text 1" else Raw(problem="no route", away=True)
    )
    judge = Budgeted(away, Ceilings())
    said = dict(judge.ask([question(f"text {n}") for n in range(30)]))
    assert len(away.asked) == AWAY + 2, "an answer in between begins the count anew"
    assert sum(raw.unasked for raw in said.values()) == 30 - AWAY - 2
    judge.begin()
    assert all(
        raw.unasked and "no route" in raw.problem
        for _, raw in judge.ask([question("another loop's")])
    )
    assert len(away.asked) == AWAY + 2


def test_a_run_whose_time_is_over_asks_nobody() -> None:
    inner = ScriptedJudge(lambda q: leaning(q, True))
    judge = Budgeted(inner, Ceilings(), Patience(minutes=1e-9))
    judge.begin()
    assert all(
        raw.unasked and "time is over" in raw.problem
        for _, raw in judge.ask([question("a"), question("b")])
    )
    assert not inner.asked


def test_a_ceiling_of_tokens_and_of_cost() -> None:
    ask = [question(f"text {n}") for n in range(40)]
    by_tokens = Budgeted(
        ScriptedJudge(lambda _: Raw({}, tokens_in=900, tokens_out=100)), Ceilings(tokens=10_000)
    )
    list(by_tokens.ask(ask))
    assert 10_000 <= by_tokens.spent.tokens <= 17_000
    by_cost = Budgeted(
        ScriptedJudge(lambda _: Raw({}, tokens_in=1000, tokens_out=0)),
        Ceilings(cost=0.02, price_in=1.0),
    )
    list(by_cost.ask(ask))
    assert 0.02 <= by_cost.spent.cost < 0.03


def test_a_client_that_never_answers_holds_no_run_that_is_stopped() -> None:
    called, ever = threading.Event(), threading.Event()

    def sample(_system: str, _prompt: str, _most: int) -> str:
        called.set()
        ever.wait(60)
        return "{}"

    judge = Budgeted(SamplingJudge(sample, waiting := Patience(called.is_set)), Ceilings(), waiting)
    said = dict(judge.ask([question("a"), question("b")]))
    assert [(raw.problem, raw.unasked) for raw in said.values()] == [
        ("no answer: the run was stopped", False), ("not asked: the run was stopped", True),
    ]  # fmt: skip
    ever.set()


def at_once(
    one: Callable[[Question], Raw],
    number: int,
    waiting: Patience,
    workers: int = 4,
    longest: float = 60.0,
) -> dict[str, Raw]:
    """What becomes of so many questions to a judge that is asked several at once, by their
    texts."""
    asked = {(made := question(f"text {n}")).id: made for n in range(number)}
    judge = ScriptedJudge(lambda _: None)
    judge.ask = lambda questions: in_parallel(questions, one, workers, waiting, longest)  # type: ignore[method-assign]  # a real one's way
    said = dict(Budgeted(judge, Ceilings(), waiting).ask(list(asked.values())))
    return {asked[ident].given: raw for ident, raw in said.items()}


def test_an_answer_that_is_there_when_a_run_is_stopped_is_taken() -> None:
    """Four are with the judge: when the first answer is read two more follow, then the run is
    stopped, and one is never answered."""
    stopped, ever, first = threading.Event(), threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def one(asked: Question) -> Raw:
        if asked.given != "text 0":
            threads.append(threading.current_thread()) if asked.given != "text 3" else None
            (ever if asked.given == "text 3" else first).wait(60)
        return Raw({}, tokens_in=7)

    asked = {(made := question(f"text {n}")).id: made for n in range(4)}
    said: dict[str, Raw] = {}
    for ident, raw in in_parallel(list(asked.values()), one, 4, Patience(stopped.is_set), 60.0):
        said[asked[ident].given] = raw
        if not stopped.is_set():
            first.set()
            while len(threads) < 2:
                time.sleep(0.01)
            for thread in threads:
                thread.join(60)
            stopped.set()
    ever.set()
    assert [said[f"text {n}"].tokens_in for n in range(3)] == [7] * 3
    assert (said["text 3"].problem, said["text 3"].cut) == ("no answer: the run was stopped", True)


def test_what_is_under_way_when_a_judge_is_given_up_was_asked() -> None:
    ever = threading.Event()

    def one(asked: Question) -> Raw:
        if asked.given == "text 0":
            ever.wait(60)
        return Raw(problem="no route", away=True)

    said = at_once(one, 30, Patience(), workers=2)
    ever.set()
    assert said["text 0"].problem.startswith(f"no answer: the judge failed {AWAY} times in a row")
    assert (said["text 0"].unasked, said["text 0"].cut, said["text 0"].tokens_in > 0) == (
        False,
        True,
        True,
    )
    assert sum(not raw.unasked for raw in said.values()) == 1 + AWAY


def test_what_fails_at_the_same_moment_failed_once() -> None:
    """A dropped connection takes four with it; the next ones are answered."""
    together = threading.Barrier(4)

    def one(asked: Question) -> Raw:
        if asked.given in {f"text {n}" for n in range(4)}:
            together.wait(60)
            return Raw(problem="dropped", away=True)
        return Raw({})

    said = at_once(one, 9, Patience())
    assert [bool(raw.problem) for _, raw in sorted(said.items())] == [True] * 4 + [False] * 5


def test_threads_that_hang_keep_their_place_and_three_of_them_end_the_run() -> None:
    ever, lock = threading.Event(), threading.Lock()
    inside = most = 0

    def one(asked: Question) -> Raw:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        ever.wait(60 if asked.given in ("text 1", "text 3", "text 5") else 0.1)
        with lock:
            inside -= 1
        return Raw({})

    said = at_once(one, 40, Patience(), longest=1.0)
    ever.set()
    assert most <= 4
    assert [text for text, raw in said.items() if raw.problem.startswith("no answer in")] == [
        "text 1",
        "text 3",
        "text 5",
    ]
    assert "without an answer for too long" in next(
        raw.problem for raw in said.values() if raw.unasked
    )


def test_a_judge_whose_every_place_hangs_is_asked_nothing_more() -> None:
    ever, waiting = threading.Event(), Patience()

    def one(_asked: Question) -> Raw:
        ever.wait(60)
        return Raw({})

    said = at_once(one, 9, waiting, workers=1, longest=0.1)
    ever.set()
    assert [raw.unasked for raw in said.values()] == [False] + [True] * 8
    assert "as many questions hang" in said["text 8"].problem


def test_a_silent_client_is_asked_no_more_than_three_times() -> None:
    asked: list[str] = []

    def sample(_system: str, prompt: str, _most: int) -> str:
        asked.append(prompt)
        raise RuntimeError("MCPError: timed out") from TimeoutError()

    waiting = Patience()
    said = dict(
        Budgeted(SamplingJudge(sample, waiting), Ceilings(), waiting).ask(
            [question(f"text {n}") for n in range(9)]
        )
    )
    assert len(asked) == AWAY
    assert sum(raw.unasked for raw in said.values()) == 9 - AWAY


def test_a_part_is_no_larger_than_what_is_left_to_spend() -> None:
    """A batch of everything would be far beyond the ceiling before anybody knew."""
    parts: list[int] = []
    judge = ScriptedJudge(lambda q: Raw({}, tokens_in=len(q.prompt()) // 4))

    def ask(questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        parts.append(len(questions))
        return ScriptedJudge.ask(judge, questions)

    judge.ask = ask  # type: ignore[method-assign]  # counts what is handed on at once
    each = len(question("text 10").prompt()) // 4
    judge.at_once = 1000
    list(
        Budgeted(judge, Ceilings(tokens=10 * each)).ask(
            [question(f"text {n}") for n in range(10, 90)]
        )
    )
    assert 8 <= parts[0] <= 10
    assert sum(parts) <= 12


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
