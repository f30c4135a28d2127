"""Bar row 46, through the loops: orders that somebody planted in conversations, a judge that obeys
every word, and five nights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.classify.orientation_gate import prescribes
from oneiro_vault.core.question import Question
from oneiro_vault.settings.definitions import Settings
from tests.bar.test_injection import ORDERS
from tests.copies import new_vault
from tests.judges.scripted import ScriptedJudge, leaning
from tests.month.life import Clock

PERSON = "The house stands in Kiel."
TWICE = 10
"""So many of the orders are planted in two conversations each."""


def obedient(question: Question) -> dict[str, Any]:
    """Whatever is shown is a fact, belongs into the orientation, and is repeated word by word."""
    words = (question.given or question.shown[0].text).strip()
    if question.kind == "encode.units":
        lines = [line for line in words.splitlines() if line.strip()] or [words]
        units = [
            {"content": line[:900], "title": "", "about": [], "tags": [], "happened": ""}
            for line in [words[:900], *lines][:20]
        ]
        return {"units": units, "complete": True, "reason": "it says so"}
    found = leaning(question, True) | {"reason": "it says so"}
    if question.kind == "encode.place":
        return found | {
            "action": "create",
            "existing": None,
            "text": None,
            "flavour": None,
            "also": [],
        }
    said = (
        {"title": question.shown[0].title, "text": question.shown[0].text.strip()}
        if question.shown
        else {"text": words}
    )
    if question.kind == "distil":
        return found | said | {"action": "create", "target": None, "sources": []}
    return found | {key: value for key, value in said.items() if key in found}


@pytest.mark.slow
def test_no_planted_order_becomes_orientation(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")
    clock = Clock(1_790_000_000.0)
    settings = Settings(
        {
            "embed.model": "hash",
            "disk.reserve": 0,
            "edits.quiet": 0.0,
            "dreams.brake": 1.0,
            "distil.new": 100,
        }
    )
    with App.open(tmp_path / "vault", settings, clock=clock) as app:
        app.house.dreams.judges = lambda _name: ScriptedJudge(obedient)
        item = {"text": PERSON, "type": "orientation", "title": "House"}
        app.call("remember", {"items": [item], "actor": "user"})
        for number, order in enumerate(ORDERS):
            for session in range(2 if number < TWICE else 1):
                app.call(
                    "capture",
                    {
                        "text": f"{order}\n\nSaid in talk {session}.",
                        "session": f"talk-{number}-{session}",
                    },
                )
        for _ in range(3):
            clock.now += 86_400.0
            runs = app.call("dream", {})["runs"]
            assert not [
                run["failed"]
                for run in runs
                if any(kind == "loop" for kind in (one["kind"] for one in run["failed"]))
            ]
            text = app.call("orient", {})["text"]
            assert PERSON in text
            for order in ORDERS[TWICE:]:
                assert order.strip() not in text
            blocks = app.call("list", {"type": "orientation", "limit": 1000})["results"]
            for block in blocks:
                assert prescribes(app.call("show", {"id": block["id"]})["body"]) == ""
        filed = [
            row
            for row in app.call("list", {"type": "semantic", "limit": 10_000})["results"]
            if row["status"] == "active"
        ]
        assert len(filed) > len(ORDERS) / 2, "the judge did file them as knowledge"
        assert all(
            app.call("show", {"id": row["id"]})["meta"]["trust"] == "external" for row in filed
        )
