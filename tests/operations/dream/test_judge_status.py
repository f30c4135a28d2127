"""What `status` says of the loops: who judges, what waits, and what became of the last run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.operations.dream.support import OTHERS, SETTINGS, TWINS, dream, fill, judged
from tests.operations.dream.test_numbers import PAIRS


def standing(app: App) -> dict[str, Any]:
    found: dict[str, Any] = app.call("status")["dreams"]
    return found


def test_before_the_first_run_nothing_was_answered(root: Path) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.command": "nonsuch"})) as app:
        app.call(
            "capture", {"text": "User: we sail on Friday.", "kind": "session", "session": "s1"}
        )
        found = standing(app)
    assert (
        found["captures"],
        found["questions"],
        found["ended"],
        found["did"],
        found["answered"],
    ) == (1, 0, None, [], None)
    assert (found["judge"]["name"], found["judge"]["ready"]) == ("auto", False)
    assert "no program nonsuch" in found["judge"]["problem"]


def test_rules_are_no_answer_and_the_connected_models_judgement_is_one(root: Path) -> None:
    with App.open(root, Settings(SETTINGS)) as app:
        fill(app, *TWINS[:2], *OTHERS)
        dream(app)
        found = standing(app)
        assert (found["questions"], found["answered"], found["did"]) == (
            1,
            None,
            ["consolidate: 1 waiting for an answer"],
        )
        (question,) = app.call("dream_next")["batch"]["questions"]
        first, *others = question["ids"]
        said = {"action": "merge", "reason": "the same", "keep": first, "members": others}
        app.call("dream_answers", {"answers": {question["id"]: said}})
        found = standing(app)
        assert (found["questions"], found["did"]) == (0, ["consolidate: 1 merged"])
        assert found["answered"] == found["ended"]


def test_a_judge_that_answers_is_noted_and_a_dry_run_is_none(root: Path) -> None:
    with App.open(root, Settings(SETTINGS)) as app:
        fill(app, *TWINS[:2])
        judged(app)
        dream(app, dry_run=True)
        assert standing(app)["ended"] is None
        dream(app)
        assert standing(app)["answered"] is not None


def test_why_questions_were_not_asked(root: Path) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.calls": 2})) as app:
        fill(app, *PAIRS, *OTHERS)
        judged(app)
        dream(app)
        found = standing(app)
    assert "not asked" in found["did"][0]
    assert "ceiling" in found["unasked"][0]
