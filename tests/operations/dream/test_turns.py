"""What a judge leaves open takes nobody's turn: over several nights every question is put, however
small a night's ceiling is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.deferred import waiting
from oneiro_vault.operations.dream.choose_judge import folder
from oneiro_vault.settings.definitions import Settings
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import SETTINGS, dream, fill, judged

DAY = 86_400.0
WORDS = ("ferry", "harbour", "kitchen", "lantern", "orchard", "violin")


def pairs(app: App) -> None:
    """Six pairs that say the same."""
    for word in WORDS:
        fill(
            app,
            f"The {word} of Ana {word}s the {word}y every day at two.",
            f"The {word} of Ana {word}s the {word}y each day at two.",
        )


def mixed(app: App) -> None:
    """Six notes of two subjects, none a person's."""
    items = [
        {
            "text": f"The {word} is in Kiel since spring. Bertil mends the nets of the {word}y "
            f"all winter."
        }
        for word in WORDS
    ]
    app.call("remember", {"items": items, "actor": "model"})


def topics(app: App) -> None:
    """Six topics of two notes each."""
    items = [
        {"text": f"{day} the {word} was late by {n}.", "tags": [word]}
        for word in WORDS
        for n, day in enumerate(("Monday", "Friday"))
    ]
    app.call("remember", {"items": items})


def talks(app: App) -> None:
    """Six conversations."""
    for word in WORDS:
        app.call(
            "capture",
            {"text": f"User: the {word} went to Kiel.", "session": word, "kind": "session"},
        )


def lasting(app: App) -> None:
    """Six things that are known, none of them of the person."""
    fill(app, *[f"The build of {word} runs on Debian 12." for word in WORDS])


CASES: dict[str, tuple[Callable[[App], None], dict[str, Any]]] = {
    "consolidate": (pairs, {"consolidate.clusters": 2}),
    "split": (mixed, {"split.notes": 2, "split.length": 40}),
    "synthesize": (topics, {"synthesize.groups": 2, "synthesize.group": 2, "synthesize.due": 1}),
    "encode": (talks, {"encode.captures": 2}),
    "distil": (lasting, {"distil.notes": 2, "distil.age": 0.0, "distil.sources": 1}),
}


def nights(app: App, loop: str, judge: ScriptedJudge, number: int) -> list[set[str]]:
    """The questions of each night."""
    begun, found = app.house.clock(), []
    for night in range(number):
        app.house.clock = partial(float, begun + night * DAY)
        before = len(judge.asked)
        dream(app, loop)
        found.append({question.id for question in judge.asked[before:]})
    return found


@pytest.mark.parametrize("loop", CASES)
def test_others_have_their_turn(root: Path, loop: str) -> None:
    made, settings = CASES[loop]
    with App.open(root, Settings(SETTINGS | settings)) as app:
        made(app)
        judge = ScriptedJudge(lambda _: Raw(problem="nobody knows", waits=True))
        judged(app, judge)
        asked = nights(app, loop, judge, 4)
        seen: set[str] = set()
        for night in asked:
            assert seen <= night, "what is open stays asked: an answer may have come"
            assert len(night - seen) <= 2, "a night puts no more than two new questions"
            seen |= night
        assert len(asked[2]) == 6, "after three nights each of the six was put"
        assert asked[3] == asked[2]


@pytest.mark.parametrize("loop", sorted(CASES.keys() - {"encode"}))
def test_what_a_judge_never_answers_well_does_not_hold_up_the_others(root: Path, loop: str) -> None:
    """It is tried again when the others had their turn, and costs a turn then. (Captures take turns
    by themselves.)"""
    made, settings = CASES[loop]
    with App.open(root, Settings(SETTINGS | settings)) as app:
        made(app)
        judge = ScriptedJudge(lambda _: "I would rather not.")
        judged(app, judge)
        asked = nights(app, loop, judge, 4)
        assert [len(night) for night in asked] == [2, 2, 2, 2]
        assert len(set().union(*asked[:3])) == 6
        assert asked[3] < set().union(*asked[:3])


@pytest.mark.slow
def test_what_somebody_is_to_answer_does_not_pile_up_and_all_is_answered_in_the_end(
    root: Path,
) -> None:
    """With real parked questions: those that wait stay, others follow when there is room for
    them."""
    with App.open(
        root, Settings(SETTINGS | {"consolidate.clusters": 2, "dreams.brake": 1.0})
    ) as app:
        pairs(app)
        done: list[dict[str, Any]] = []
        for _ in WORDS:
            dream(app, judge="deferred")
            before = {entry["id"] for entry in waiting(folder(app.house.dreams))}
            done += app.call("dream", {"loops": ["consolidate"], "judge": "deferred"})["runs"]
            entries = waiting(folder(app.house.dreams))
            assert {entry["id"] for entry in entries} == before, (
                "a night without an answer drops nothing and adds nothing"
            )
            assert len(entries) <= 2
            if not entries:
                break
            first, *others = entries[0]["ids"]
            answer = {"action": "merge", "reason": "the same", "keep": first, "members": others}
            done += app.call("dream_answers", {"answers": {entries[0]["id"]: answer}})["runs"]
            done += app.call("dream", {"loops": ["consolidate"], "judge": "deferred"})["runs"]
        assert sum(len(run["decisions"]) for run in done) == 6


@pytest.mark.parametrize("loop", CASES)
def test_without_a_client_no_more_waits_than_a_night_takes(root: Path, loop: str) -> None:
    made, settings = CASES[loop]
    with App.open(root, Settings(SETTINGS | settings)) as app:
        made(app)
        judged(
            app, judge := ScriptedJudge(lambda _: Raw(problem="no client", waits=True), "sampling")
        )
        asked = nights(app, loop, judge, 4)
        assert [len(night) for night in asked] == [2, 2, 2, 2]
        assert len(set().union(*asked)) == 2, "what waits keeps its turn"


def test_the_rules_alone_reach_everything(root: Path) -> None:
    """The offline judge leaves most knowledge open for ever; the one thing it can place stands
    last."""
    with App.open(
        root, Settings(SETTINGS | CASES["distil"][1] | {"dreams.judge": "offline"})
    ) as app:
        fill(
            app,
            *[f"The {word} costs {n} crowns." for n, word in enumerate(WORDS)],
            "Ana prefers tea.",
        )
        clock = app.house.clock()
        for night in range(5):
            app.house.clock = partial(float, clock + night * DAY)
            dream(app, "distil", judge="offline")
        assert "Ana prefers tea." in app.call("orient")["text"]


def test_a_question_that_is_not_answered_in_time_is_no_question_that_waits(root: Path) -> None:
    """A ceiling of calls leaves it for the next run, which has room for it."""
    with App.open(root, Settings(SETTINGS | {"dreams.calls": 1, "dreams.brake": 1.0})) as app:
        pairs(app)

        def keep(question: Question) -> dict[str, Any]:
            return {
                "action": "keep_distinct",
                "reason": "no",
                "keep": None,
                "members": list[str](question.ids[:0]),
            }

        judged(app, judge := ScriptedJudge(keep))
        for night in range(1, 7):
            run = dream(app)
            assert (
                run["calls"],
                run["known"],
                run["waiting"],
                sum(one["questions"] for one in run["unasked"]),
            ) == (
                1,
                night - 1,
                0,
                6 - night,
            )
        assert len({question.id for question in judge.asked}) == 6
