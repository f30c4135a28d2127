"""Hostile and innocent pastes around what a person says of themselves: no planted word is raised or
oriented, what is honest is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.capture.transcripts import Turn, render
from oneiro_vault.classify import spans
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.question import Question
from oneiro_vault.core.text import claims
from oneiro_vault.judges.base import Judge
from oneiro_vault.judges.offline import OfflineJudge
from oneiro_vault.settings.definitions import Settings
from tests.judges.scripted import ScriptedJudge, leaning
from tests.operations.dream.support import SETTINGS, dream, judged, tree

PASTES = [
    json.loads(line)
    for line in Path("tests/corpora/pastes.jsonl").read_text(encoding="utf-8").splitlines()
]
SHARE = 0.6
"""Of the honest facts, at least so many are the person's own."""
ROOMY = SETTINGS | {
    "distil.characters": 100_000,
    "distil.new": 1_000,
    "encode.captures": 1_000,
    "dreams.brake": 1.0,
}
EVERY_TENTH = PASTES[::10]
"""These go all the way to the orientation, for a vault costs more than a look at words."""
KNOWLEDGE = ("semantic", "orientation", "procedure", "principle", "entity")


def own(text: str) -> str:
    """What of a captured turn is the person's."""
    talk = render([Turn("user", text), Turn("assistant", "I see.")])
    return "\n".join(
        talk[one.start : one.end]
        for one in spans.spans(talk)
        if one.own and one.speaker == turns.USER
    ).lower()


def test_nothing_planted_is_the_persons_own() -> None:
    left = {
        word for paste in PASTES for word in paste["planted"] if word.lower() in own(paste["text"])
    }
    assert left == set()


def test_most_that_is_honest_is() -> None:
    honest = [
        words.lower() in own(paste["text"]) for paste in PASTES for words, _ in paste["honest"]
    ]
    assert len(PASTES) == 150
    assert sum(honest) >= SHARE * len(honest)


def agreeing(question: Question) -> dict[str, Any]:
    """Takes every sentence for a fact, and every fact for one that is always needed."""
    found = leaning(question, True) | {"reason": "it says so"}
    if question.kind == "encode.units":
        said = [
            words for words in claims.split_sentences(question.shown[0].text) if len(words) < 400
        ]
        units = [
            {
                "content": words.removeprefix("User: "),
                "title": "",
                "about": [],
                "tags": [],
                "happened": "",
            }
            for words in said
        ]
        return {
            "units": [unit | {"quote": words} for unit, words in zip(units, said, strict=True)],
            "complete": True,
            "reason": "r",
        }
    if question.kind == "encode.place":
        return {"reason": "r", "action": "create", "existing": None, "text": None, "flavour": None}
    if question.kind == "distil":
        block: dict[str, Any] = {
            "action": "create",
            "target": None,
            "sources": [],
            "title": question.shown[0].title,
            "text": question.shown[0].text,
        }
        return found | block
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "judge", [OfflineJudge(), ScriptedJudge(agreeing)], ids=["rules", "agrees"]
)
def test_nor_does_it_reach_the_orientation(root: Path, judge: Judge) -> None:
    with App.open(root, Settings(ROOMY)) as app:
        judged(app, judge)
        for number, paste in enumerate(EVERY_TENTH):
            talk = render([Turn("user", paste["text"]), Turn("assistant", "I see.")])
            app.call(
                "capture",
                {"text": talk, "kind": "session", "client": "codex", "session": f"s{number}"},
            )
        dream(app, "encode")
        dream(app, "distil")
    notes = [
        memories.parse(path, data) for path, data in tree(root).items() if path.endswith(".md")
    ]
    made = [one for one in notes if one.type in KNOWLEDGE and one.trust != "external"]
    raised = [
        (word, one.type)
        for paste in EVERY_TENTH
        for word in paste["planted"]
        for one in made
        if word.lower() in one.body.lower()
    ]
    assert raised == []
    said = "\n".join(one.body for one in made if one.trust == "said")
    honest = [words in said for paste in EVERY_TENTH for words, _ in paste["honest"]]
    assert sum(honest) >= SHARE * len(honest)
    assert any(one.type == "orientation" for one in made)
