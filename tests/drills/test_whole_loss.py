"""The indexes are disposable: with `.oneiro` deleted every question has the answer it had
before."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.box import Box, eventually

FACTS = [
    ("Priya cannot drink milk or eat cheese.", "Priya", "s1"),
    ("The launch of Lantern moves to 14 May.", "Lantern", "s1"),
    ("The staging database is on port 5433.", "Lantern", "s2"),
    ("Tomás prefers short written updates.", "Tomás", "s2"),
    ("Ana feeds the cat on Tuesdays.", "Ana", "s3"),
    ("The boat is called Petrel and lies in Kiel.", "boat", "s3"),
    ("Bread needs eighteen hours in the fridge.", "kitchen", "s4"),
    ("The gate code is on the blue card.", "garden", "s4"),
]  # fmt: skip
QUESTIONS = ["is anyone lactose intolerant", "when do we ship Lantern", "port of the database", "who likes meetings", "Petrel", "the cat", "code",
             "what did Ana do last week", "sourdough", "nothing of this kind"]  # fmt: skip


def fill(box: Box) -> None:
    facts = [
        {"text": text, "about": [who], "session": session, "type": "episodic"}
        for text, who, session in FACTS
    ]
    rest = [
        {"text": f"Filler {n}: the {word} was painted on day {n}.", "tags": [word]}
        for n in range(8)
        for word in ("fence", "door", "shed")
    ]
    box.ok(
        "remember",
        "--from-jsonl",
        "-",
        stdin="".join(json.dumps(item) + "\n" for item in facts + rest).encode(),
    )
    box.ok("show", box.json("list")["results"][0]["id"])  # a use, which must outlive the index too
    (box.vault / "mine.md").write_text("# Mine\n\nA note a person wrote about [[Petrel]].\n")
    (box.vault / "broken.md").write_text("---\na: [\n---\n")


def answers(box: Box) -> list[Any]:
    """Everything a person could ask, once the vectors are there."""
    box.ok("list")  # `status` starts no owner
    eventually(lambda: (state := box.json("status"))["pending"] == 0 and state["notes"] == 34, 60)
    asked = [box.json("recall", question, "--explain", "-k", "6") for question in QUESTIONS]
    for one in asked:
        for row in one["results"]:
            row["why"] = {
                name: round(value, 4) if isinstance(value, float) else value
                for name, value in row["why"].items()
            }
            row["score"] = round(row["score"], 3)  # strength falls from second to second
    state = {
        key: value
        for key, value in box.json("status").items()
        if key in ("notes", "chunks", "unreadable", "model", "degraded")
    }
    return [asked, box.json("list", "-n", "100")["results"], state]


def loss(box: Box) -> None:
    fill(box)
    before = answers(box)
    for running in (True, False):
        if not running:
            box.ok("stop")
        shutil.rmtree(box.vault / ".oneiro")
        after = answers(box)
        for one, other, question in zip(before[0], after[0], QUESTIONS, strict=True):
            assert [row["id"] for row in one["results"]] == [
                row["id"] for row in other["results"]
            ], (running, question)
        _alike(before, after)


def _alike(one: Any, other: Any) -> None:
    """Equal but for the last digits of numbers."""
    if isinstance(one, float):
        assert other == pytest.approx(one, abs=0.002)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            _alike(value, other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            _alike(left, right)
    else:
        assert one == other


@pytest.mark.slow
def test_answers_survive_the_loss_of_every_index(box: Box) -> None:
    loss(box)


@pytest.mark.model
def test_answers_survive_it_with_the_real_model_too(box: Box) -> None:
    box.ok("stop")
    box.env["ONEIRO_EMBED_MODEL"] = "default"
    loss(box)
    assert any("milk" in row["title"] for row in box.json("recall", QUESTIONS[0])["results"][:2])
