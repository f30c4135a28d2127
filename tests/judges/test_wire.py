"""The vendors' real SDKs against an endpoint that speaks their formats, well and badly. Whatever happens, a verdict comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from oneiro_vault.core.question import Answer, Question, Shown, Verdict, check
from oneiro_vault.judges.anthropic_api import AnthropicJudge
from oneiro_vault.judges.base import Judge
from oneiro_vault.judges.openai_api import OpenAIJudge
from tests.judges.wire import Endpoint, endpoint


class Same(Answer):
    """Do two notes say the same?"""

    same: bool


def question(text: str = "x") -> Question:
    return Question("same", "Do they say the same?", Same, (Shown("a" * 12, "A", text), Shown("b" * 12, "B", "y")), stage="merge")


@pytest.fixture
def vendor() -> Iterator[Endpoint]:
    with endpoint() as state:
        yield state


Make = Callable[..., Judge]


@pytest.fixture(params=["anthropic", "openai"])
def make(request: pytest.FixtureRequest, vendor: Endpoint) -> Iterator[Make]:
    made: list[Judge] = []

    def build(timeout: float = 5.0, retries: int = 2) -> Judge:
        judge: Judge
        if request.param == "anthropic":
            judge = AnthropicJudge(lambda stage: f"m-{stage}", api_key="k", base_url=vendor.url, timeout=timeout, retries=retries)
        else:
            judge = OpenAIJudge(lambda stage: f"m-{stage}", api_key="k", base_url=vendor.url + "/v1", timeout=timeout, retries=retries)
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


@pytest.mark.parametrize("what", ["429", "500", "401", "400", "hang up", "not json", "strange", "refusal", "cut"])
def test_what_stays_bad_changes_nothing_and_says_why(vendor: Endpoint, make: Make, what: str) -> None:
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
    "text", ["", "{", "[]", '{"reason": "r", "same": "perhaps"}', '{"same": true}', '{"reason": "r", "same": true, "more": 1}']
)
def test_answers_of_the_wrong_form(vendor: Endpoint, make: Make, text: str) -> None:
    vendor.text = text
    (verdict,) = ask(make(), question())
    assert not verdict.ok


def test_nobody_there(make: Make, vendor: Endpoint) -> None:
    judge = AnthropicJudge(lambda _: "m", api_key="k", base_url="http://127.0.0.1:9", timeout=1, retries=0)
    (verdict,) = ask(judge, question())
    assert not verdict.ok
    assert "could not be asked" in verdict.problem
    judge.close()


def test_a_batch(vendor: Endpoint) -> None:
    judge = AnthropicJudge(lambda _: "m", api_key="k", base_url=vendor.url, batch=True, poll=0.01)
    asked = [question("one"), question("two"), question("errored")]
    found = {verdict.question: verdict for verdict in ask(judge, *asked)}
    assert [found[q.id].ok for q in asked] == [True, True, False]
    assert "errored" in found[asked[2].id].problem
    assert not vendor.cancelled
    judge.close()


def test_a_batch_nobody_finishes_is_cancelled(vendor: Endpoint) -> None:
    vendor.plan = ["never"]
    judge = AnthropicJudge(lambda _: "m", api_key="k", base_url=vendor.url, batch=True, poll=0.01, patience=0.05)
    found = ask(judge, question("one"), question("two"))
    assert [verdict.problem for verdict in found] == ["the batch gave no answer"] * 2
    assert len(vendor.cancelled) == 1
    judge.close()


def test_a_local_endpoint_needs_no_key(vendor: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = OpenAIJudge(lambda _: "m", base_url=vendor.url + "/v1")
    assert ask(judge, question())[0].ok
    judge.close()
