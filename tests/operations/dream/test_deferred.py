"""Questions that wait for the connected model or a person, and what follows when they are
answered."""

from __future__ import annotations

import json

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.judges import deferred
from oneiro_vault.judges.deferred import waiting
from oneiro_vault.operations.dream.choose_judge import folder
from tests.operations.dream.support import dream, merged, statuses


@pytest.fixture(autouse=True)
def _deferred(app: App) -> None:
    app.house.dreams.judges = None


def test_questions_wait_and_the_last_answer_lets_the_loop_go_on(app: App) -> None:
    run = dream(app, judge="deferred")
    assert (run["waiting"], run["calls"], run["decisions"]) == (2, 0, [])
    first = app.call("dream_next")
    assert first["waiting"] == 2
    assert "<memory" in first["question"]["prompt"]
    done = app.call(
        "dream_answers", {"answers": {first["question"]["id"]: merged(first["question"])}}
    )
    assert (done["waiting"], done["runs"]) == (1, [])
    second = app.call("dream_next")["question"]
    done = app.call("dream_answers", {"answers": {second["id"]: json.dumps(merged(second))}})
    assert done["waiting"] == 0
    assert [len(one["decisions"]) for one in done["runs"]] == [2]
    assert app.call("dream_next")["question"] is None
    assert not list(folder(app.house.dreams).glob("*.json"))
    assert list(statuses(app).values()).count("superseded") == 2


def test_what_waits_writes_no_report_and_stands_in_runs(app: App) -> None:
    files = app.house.vault.listing()
    for _ in range(2):
        run = dream(app, judge="deferred")
        assert (run["waiting"], run["report"]) == (2, None)
    assert app.house.vault.listing() == files
    assert {one["title"] for one in app.call("runs")["runs"]} == {
        "consolidate: 2 waiting for an answer"
    }


def test_an_answer_of_the_wrong_form_is_refused_at_once(app: App) -> None:
    dream(app, judge="deferred")
    question = app.call("dream_next")["question"]
    for wrong in (
        "no",
        "[]",
        "{}",
        {"action": "burn", "reason": "x"},
        {"action": "merge", "reason": "x" * 601},
        merged(question) | {"also": 1},
    ):
        with pytest.raises(InvalidInput):
            app.call("dream_answers", {"answers": {question["id"]: wrong}})
    with pytest.raises(NotFound):
        app.call("dream_answers", {"answers": {"feedfeed": {}}})
    assert app.call("dream_next")["waiting"] == 2


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_an_answer_nested_too_deeply_is_called_that(app: App, depth: int) -> None:
    """In one go 300 are too many for the form's reader, and 100,000 for any."""
    dream(app, judge="deferred")
    question = app.call("dream_next")["question"]
    for answer in ("[" * depth + "]" * depth, '{"reason": ' + "[" * depth + "]" * depth + "}"):
        with pytest.raises(InvalidInput) as refused:
            app.call("dream_answers", {"answers": {question["id"]: answer}})
        assert "recursion" not in str(refused.value)
        if answer.startswith("{") or depth == 100_000:
            assert "nested too deeply" in str(refused.value)
    assert app.call("dream_next")["waiting"] == 2


def test_an_answer_that_names_strangers_is_refused_at_once_and_the_question_waits_on(
    app: App,
) -> None:
    dream(app, judge="deferred")
    before = waiting(folder(app.house.dreams))
    (last,) = (entry["id"] for entry in before[1:])
    app.call("dream_answers", {"answers": {before[0]["id"]: merged(before[0])}})
    for stranger in (
        {"keep": "zzzzzzzzzzzz"},
        {"members": ["zzzzzzzzzzzz"]},
        {"members": before[0]["ids"]},
    ):
        with pytest.raises(InvalidInput, match="not shown") as refused:
            app.call("dream_answers", {"answers": {last: merged(before[1]) | stranger}})
        assert "still waits" in refused.value.kept
    assert [entry["id"] for entry in waiting(folder(app.house.dreams))] == [last]
    assert "superseded" not in statuses(app).values(), "what was answered waits for the last answer"
    assert app.call("dream_answers", {"answers": {last: merged(before[1])}})["runs"][0]["decisions"]


def test_an_answer_put_there_by_hand_that_names_strangers_is_asked_again(app: App) -> None:
    dream(app, judge="deferred")
    for entry in waiting(folder(app.house.dreams)):
        deferred.answer(
            folder(app.house.dreams), entry["id"], merged(entry) | {"keep": "zzzzzzzzzzzz"}
        )
    (run,) = app.call("dream", {"loops": ["consolidate"], "judge": "deferred"})["runs"]
    assert run["title"] == "consolidate: 2 of 2 questions failed"
    assert len(waiting(folder(app.house.dreams))) == 2
    assert "superseded" not in statuses(app).values()


def test_a_question_nobody_asks_any_more_is_forgotten(app: App) -> None:
    dream(app, judge="deferred")
    gone = app.call("dream_next")["question"]["ids"][0]
    app.call("forget", {"id": gone})
    dream(app, judge="deferred")
    assert app.call("dream_next")["waiting"] == 1


def test_what_was_said_comes_first_and_its_loop_goes_on_while_others_wait(app: App) -> None:
    dream(app, judge="deferred")
    app.call("capture", {"text": "User: The mast is repaired.\n\nAssistant: Good.", "session": "s"})
    dream(app, "encode", judge="deferred")
    found = app.call("dream_next")
    assert (found["waiting"], found["question"]["kind"]) == (3, "encode.units")
    answer = {"reason": "in passing", "units": [], "complete": True}
    done = app.call("dream_answers", {"answers": {found["question"]["id"]: answer}})
    loops = [run["loop"] for run in done["runs"]]
    assert loops == ["encode", "synthesize", "entities", "distil"], (
        "and what goes over what it filed"
    )
    assert "consolidate" not in loops, "its own questions still wait"
    assert app.call("dream_next")["question"]["kind"] == "merge"
