"""A question that was captured is no memory of its answer: the hundred conversations, and every
prompt asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.question import Question
from oneiro_vault.mind.loops import encode
from oneiro_vault.operations.remember import store_captures
from oneiro_vault.recall.answer_order import Captures
from tests.judges.scripted import ScriptedJudge
from tests.operations.conftest import Call, hits, stored
from tests.recall.sessions import NOTES, SESSIONS, Talked

FACTS = {talk.text: talk.fact for talk in SESSIONS}


def judge(question: Question) -> Mapping[str, Any]:
    """Takes out of every conversation what the table says; files each fact as it is."""
    if question.kind != encode.KIND:
        return {"reason": "new", "action": "create"}
    fact = FACTS.get(question.shown[0].text, "")
    return {"reason": "read", "units": [{"content": fact}] if fact else [], "complete": True}


def captured(call: Call, text: str, **given: Any) -> str:
    ident: str = call("capture", text=text, kind="session", **given)["id"]
    return ident


def encoded(app: App) -> None:
    app.house.dreams.judges = lambda _name: ScriptedJudge(judge)
    app.call("dream", {"loops": ["encode"]})
    assert store_captures.waiting(app.house) == []


@pytest.mark.parametrize(
    "talks", [SESSIONS[::6], pytest.param(SESSIONS, marks=pytest.mark.drill)], ids=["some", "all"]
)
def test_every_prompt_asked_again_finds_facts_and_no_echo(
    app: App, call: Call, talks: Sequence[Talked]
) -> None:
    for note in NOTES:
        stored(call, note)
    captures = {
        talk.prompt: captured(call, talk.text, session=f"s{number}")
        for number, talk in enumerate(talks)
    }
    assert not [
        talk.prompt
        for talk in talks
        if set(call("inject", prompt=talk.prompt)["ids"]) & set(captures.values())
    ]
    encoded(app)
    facts = {
        row["title"]: row["id"] for row in call("list", type="semantic", limit=1000)["results"]
    }
    assert not [talk.fact for talk in talks if talk.fact and talk.fact not in facts]
    empty = {captures[talk.prompt] for talk in talks if not talk.fact}
    wrong = []
    for talk in talks:
        found = hits(call, talk.prompt, k=8)
        first = next((place for place, ident in enumerate(found) if ident in empty), len(found))
        before = (
            found[: found.index(captures[talk.prompt])] if captures[talk.prompt] in found else found
        )
        echoed = set(call("inject", prompt=talk.prompt)["ids"]) & set(captures.values())
        if (
            echoed
            or set(found[first:]) - set(captures.values())
            or (talk.fact and facts[talk.fact] not in before)
        ):
            wrong.append(talk.prompt)
    assert not wrong
    assert len(facts) == len(NOTES) + sum(bool(talk.fact) for talk in talks)


BOAT = "The boat is called Petrel."
ASKED = "what is the boat called?"
TALK = f"User: {ASKED}\n\nAssistant: It is called Petrel."


def test_what_waits_ranks_behind_everything_else(call: Call) -> None:
    capture = captured(call, TALK)
    others = [stored(call, f"The boat is in the news again, part {number}.") for number in range(3)]
    found = call("recall", query=ASKED)["results"]
    assert [row["id"] for row in found][-1] == capture
    assert {row["id"] for row in found} == {capture, *others}
    assert found[-1]["score"] == min(row["score"] for row in found)
    assert call("orient", context=ASKED)["recent"][-1]["id"] == capture


def test_it_is_found_where_nothing_else_answers(call: Call) -> None:
    capture = captured(call, TALK)
    for number in range(20):
        stored(call, f"Called number {number} about the invoice, what a day.")
    assert hits(call, "what is the boat Petrel called", k=5)[-1] == capture


def test_a_capture_does_not_make_an_answer_of_what_is_none(call: Call) -> None:
    capture = captured(call, TALK)
    stored(call, "Invoices are numbered without gaps, as the law demands.")
    assert hits(call, ASKED) == [capture]


def test_its_fact_stands_in_its_place(call: Call) -> None:
    """Also a fact that shares no word with the question, and what replaced a fact since."""
    capture = captured(call, "User: fix the failing test\n\nAssistant: Done, the clock was wrong.")
    other = stored(call, "The failing suite of the importer is being looked at.")
    fact = stored(call, "Frozen time.", derived_from=[capture])
    found = hits(call, "fix the failing test")
    assert (set(found[:-1]), found[-1]) == ({fact, other}, capture)
    later = stored(call, "Time stands still at noon.")
    stored(
        call,
        "The runner was slow.",
        derived_from=[capture],
        status="superseded",
        superseded_by=later,
    )
    call("forget", id=fact)
    found = hits(call, "fix the failing test")
    assert (set(found[:-1]), found[-1]) == ({later, other}, capture)


def test_a_persons_own_episodes_and_imported_ones_are_memories(call: Call) -> None:
    own = stored(call, TALK, type="episodic", title="Said about the boat")
    there = stored(call, f"{TALK} Really.", type="episodic", source="import:mail")
    stored(call, "The boat is in the news again.")
    assert set(hits(call, ASKED)[:2]) == {own, there}
    assert call("inject", prompt=ASKED)["ids"]


def test_a_capture_with_facts_follows_one_of_them_where_it_fits() -> None:
    """Not all that was said in it was filed; half of the rows are its like at most."""
    captures = Captures(
        frozenset(), {"c": frozenset("b"), "d": frozenset("b"), "e": frozenset("z")}
    )
    scores = {"a": 0.9, "b": 0.8, "f": 0.6, "g": 0.5, "c": 0.95, "d": 0.7, "e": 0.99}
    order = ["c", "a", "b", "d", "f", "g", "e"]
    assert captures.behind(order, scores, 6) == ["a", "b", "c", "d", "f", "g"]
    assert captures.behind(order, scores, 2) == ["a", "b"]
    assert captures.behind(order, scores, 9) == ["a", "b", "c", "d", "f", "g", "e"]


def test_rows_that_barely_fit_make_room() -> None:
    captures = Captures(frozenset({"c", "d"}), {})
    scores = {"a": 0.9, "b": 0.3, "c": 0.8, "d": 0.5}
    assert captures.behind(["c", "a", "b", "d"], scores, 2) == ["a", "c"]
    assert captures.behind(["c", "a", "b", "d"], scores, 3) == ["a", "b", "c"]
    assert captures.behind(["c", "a", "b", "d"], scores, 9) == ["a", "b", "c", "d"]
    assert captures.capped(["a", "b", "c"], scores) == {"a": 0.9, "b": 0.3, "c": 0.3}
