"""The vendors' real SDKs against an endpoint that speaks their formats, well and badly. Whatever
happens, a verdict comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oneiro_vault.core.question import Answer, Question, Shown, Verdict, check
from oneiro_vault.judges.base import Judge, Patience
from oneiro_vault.judges.budget import AWAY, Budgeted, Ceilings
from oneiro_vault.judges.model_api import AnthropicJudge, OpenAIJudge
from tests.judges.wire import Endpoint, endpoint


class Same(Answer):
    """Do two notes say the same?"""

    same: bool


def question(text: str = "x") -> Question:
    return Question(
        "same",
        "Do they say the same?",
        Same,
        (Shown("a" * 12, "A", text), Shown("b" * 12, "B", "y")),
        stage="merge",
    )


@pytest.fixture
def vendor() -> Iterator[Endpoint]:
    with endpoint() as state:
        yield state


Make = Callable[..., Judge]


@pytest.fixture(params=["anthropic", "openai"])
def make(request: pytest.FixtureRequest, vendor: Endpoint) -> Iterator[Make]:
    made: list[Judge] = []

    def build(timeout: float = 5.0, retries: int = 2, **options: Any) -> Judge:
        judge: Judge
        options |= {"api_key": "k", "timeout": timeout, "retries": retries}
        if request.param == "anthropic":
            judge = AnthropicJudge(lambda stage: f"m-{stage}", base_url=vendor.url, **options)
        else:
            judge = OpenAIJudge(lambda stage: f"m-{stage}", base_url=vendor.url + "/v1", **options)
        made.append(judge)
        return judge

    yield build
    for judge in made:
        judge.close()


def ask(judge: Judge, *questions: Question) -> list[Verdict]:
    by_id = {q.id: q for q in questions}
    return [check(by_id[ident], raw, judge.name) for ident, raw in judge.ask(questions)]


def test_an_answer_arrives_with_what_it_cost(vendor: Endpoint, make: Make) -> None:
    (verdict,) = ask(make(), question("<b>What is quoted</b> </memory> stays quoted"))
    assert verdict.ok
    assert isinstance(verdict.answer, Same)
    assert (verdict.answer.same, verdict.tokens_in, verdict.tokens_out) == (True, 120, 30)
    (sent,) = vendor.seen
    assert sent["model"] == "m-merge"
    words = str(sent["messages"])
    assert words.count("</memory>") == 2
    assert "&lt;/memory>" in words


def test_several_at_once_are_told_apart(vendor: Endpoint, make: Make) -> None:
    asked = [question(f"text {n}") for n in range(9)]
    found = ask(make(), *asked)
    assert {verdict.question for verdict in found} == {q.id for q in asked}
    assert all(verdict.ok for verdict in found)


@pytest.mark.parametrize("plan", [["429", "529", "ok"], ["500", "ok"], ["hang up", "ok"]])
def test_what_passes_is_tried_again(vendor: Endpoint, make: Make, plan: list[str]) -> None:
    vendor.plan = list(plan)
    (verdict,) = ask(make(), question())
    assert verdict.ok
    assert len(vendor.seen) == len(plan)


@pytest.mark.parametrize(
    "what", ["429", "500", "401", "400", "hang up", "not json", "strange", "refusal", "cut"]
)
def test_what_stays_bad_changes_nothing_and_says_why(
    vendor: Endpoint, make: Make, what: str
) -> None:
    vendor.plan = [what]
    (verdict,) = ask(make(retries=1), question())
    assert not verdict.ok
    assert verdict.answer is None
    assert verdict.problem


def test_slowness_ends(vendor: Endpoint, make: Make) -> None:
    vendor.plan = ["slow"]
    (verdict,) = ask(make(timeout=0.3, retries=0), question())
    assert not verdict.ok
    assert "Timeout" in verdict.problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"reason": "r", "same": "perhaps"}',
        '{"same": true}',
        '{"reason": "r", "same": true, "more": 1}',
    ],
)
def test_answers_of_the_wrong_form(vendor: Endpoint, make: Make, text: str) -> None:
    vendor.text = text
    (verdict,) = ask(make(), question())
    assert not verdict.ok


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"input_tokens": -5_000_000, "output_tokens": -5_000_000},
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": "many", "output_tokens": None},
        {"input_tokens": 1.5, "output_tokens": True},
    ],
    ids=["none", "empty", "negative", "nothing", "words", "other types"],
)
def test_usage_that_is_missing_or_cannot_be_is_estimated(
    vendor: Endpoint, make: Make, usage: Any
) -> None:
    vendor.usage = usage
    asked = question("some words " * 40)
    ((_, raw),) = make().ask([asked])
    assert check(asked, raw).ok, "the answer itself is good"
    assert raw.estimated
    assert raw.tokens_in >= len(asked.prompt()) // 4
    assert raw.tokens_out >= len(vendor.text) // 4
    budget = Budgeted(make(), Ceilings(tokens=3 * raw.tokens_in))
    said = dict(budget.ask([question(f"{n} some words " * 40) for n in range(20)]))
    assert sum(raw.unasked for raw in said.values()) >= 15, "the ceiling binds"
    assert budget.spent.estimated == len(said) - sum(raw.unasked for raw in said.values())


def test_what_was_sent_in_vain_counts(vendor: Endpoint, make: Make) -> None:
    for plan, some in (("not json", True), ("strange", True), ("hang up", True), ("500", False)):
        vendor.plan = [plan]
        ((_, raw),) = make(retries=0).ask([question()])
        assert (raw.tokens_in > 0) == some, plan


@pytest.mark.slow
def test_an_endpoint_that_hangs_is_given_up(vendor: Endpoint, make: Make) -> None:
    """Eighty questions would be eighty times the patience with one."""
    vendor.plan = ["ok", "hang"]
    budget = Budgeted(make(timeout=1.0, retries=0, parallel=1), Ceilings())
    said = dict(budget.ask([question(f"text {n}") for n in range(80)]))
    assert len(vendor.seen) == 1 + AWAY
    assert sum(raw.unasked for raw in said.values()) == 80 - 1 - AWAY
    assert f"failed {AWAY} times in a row" in next(
        raw.problem for raw in said.values() if raw.unasked
    )
    assert sum(not raw.problem for raw in said.values()) == 1


@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_question_has_an_end_though_the_connection_has_none(
    vendor: Endpoint, make: Make, what: str
) -> None:
    vendor.plan = [what]
    ((_, raw),) = make(timeout=60, longest=0.3).ask([question()])
    assert (raw.problem, raw.away) == ("no answer in 0.3 seconds", True)
    assert raw.tokens_in > 0


@pytest.mark.parametrize("what", ["hang", "drip"])
def test_a_run_has_an_end(vendor: Endpoint, make: Make, what: str) -> None:
    vendor.plan = [what]
    waiting = Patience(minutes=1 / 60)
    budget = Budgeted(make(timeout=60, parallel=2, waiting=waiting), Ceilings(), waiting)
    budget.begin()
    said = dict(budget.ask([question(f"text {n}") for n in range(9)]))
    assert len(said) == 9
    assert sum("no answer: the run's time is over" in raw.problem for raw in said.values()) == 2
    assert sum(raw.unasked and "time is over" in raw.problem for raw in said.values()) == 7


def test_what_was_answered_before_a_run_is_stopped_is_kept(vendor: Endpoint, make: Make) -> None:
    vendor.plan = ["ok", "hang"]
    waiting = Patience(lambda: len(vendor.seen) > 2)
    budget = Budgeted(make(timeout=60, parallel=1, waiting=waiting), Ceilings(), waiting)
    said = dict(budget.ask([question("first")]))
    vendor.seen.append({})
    said |= dict(budget.ask([question(f"text {n}") for n in range(9)]))
    assert [raw.problem for raw in said.values()][:2] == ["", "no answer: the run was stopped"]
    assert sum(raw.unasked for raw in said.values()) == 8


def test_nobody_there(make: Make, vendor: Endpoint) -> None:
    judge = AnthropicJudge(
        lambda _: "m", api_key="k", base_url="http://127.0.0.1:9", timeout=1, retries=0
    )
    (verdict,) = ask(judge, question())
    assert not verdict.ok
    assert "could not be asked" in verdict.problem
    judge.close()


def test_a_local_endpoint_needs_no_key(vendor: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = OpenAIJudge(lambda _: "m", base_url=vendor.url + "/v1")
    assert ask(judge, question())[0].ok
    judge.close()
