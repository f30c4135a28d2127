"""The index has a history (what was written when, what was changed and taken out); a new one of the
same files has none. The answers of both are the same: the same notes in the same order, whatever
they are asked."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings

NOTES, STEP, QUESTIONS = 900, 150, 60
SETTINGS = Settings({"embed.model": "hash", "disk.reserve": 0})
WHO = ["Ana", "Tomás", "Priya", "Jon", "the gardener"]
WHAT = [
    f"{colour} {thing}"
    for colour in ("red", "blue", "old", "small")
    for thing in ("boat", "door", "lamp", "cat", "bread", "garden")
]
DID = ["painted", "sold", "lost", "found", "described", "photographed"]


def sentence(pick: random.Random) -> str:
    more = f" and {pick.choice(DID)} the {pick.choice(WHAT)}" * pick.randrange(3)
    return (
        f"{pick.choice(WHO)} {pick.choice(DID)} the {pick.choice(WHAT)}{more} on day "
        f"{pick.randrange(40)}."
    )


def lived(app: App, root: Path, pick: random.Random) -> None:
    """Written in parts, with the vectors computed in between; some of it changed, copied and taken
    out by hand."""
    for start in range(0, NOTES, STEP):
        items = [
            {
                "text": sentence(pick),
                "type": pick.choice(["episodic", "semantic"]),
                "session": f"s{start}",
            }
            for _ in range(STEP)
        ]
        app.call("remember", {"items": items, "dedupe": False})
        app.house.indexing.converge()
        app.house.index.embed()
    notes = sorted(root.glob("*/2*/*/*.md"))
    assert len(notes) == NOTES
    for note in pick.sample(notes, 40):
        note.write_text(note.read_text() + "\n" + sentence(pick) + "\n")
    for note in pick.sample(notes, 40):
        note.with_name(f"a copy of {note.name}").write_text(
            "".join(
                line for line in note.read_text().splitlines(True) if not line.startswith("id:")
            )
        )
    for note in pick.sample(notes, 40):
        note.unlink()
    app.house.indexing.reconcile()
    app.house.index.embed()


def answers(app: App) -> list[list[dict[str, Any]]]:
    pick = random.Random(5)
    asked = [f"who {pick.choice(DID)} the {pick.choice(WHAT)}?" for _ in range(QUESTIONS)]
    found = [app.call("recall", {"query": question, "k": 20})["results"] for question in asked]
    return [[{key: row[key] for key in ("path", "score")} for row in rows] for rows in found]


@pytest.mark.slow
def test_an_index_made_anew_gives_the_answers_of_one_that_lived(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    init_vault(root)
    with App.open(root, SETTINGS, owner=True) as app:
        app.house.index.open_vectors()
        lived(app, root, random.Random(3))
        before = answers(app)
        assert all(len(rows) > 5 for rows in before)
    shutil.rmtree(root / ".oneiro")
    with App.open(root, SETTINGS, owner=True) as app:
        app.house.indexing.reconcile()
        app.house.index.open_vectors()
        app.house.index.embed()
        after = answers(app)
    for one, other in zip(before, after, strict=True):
        assert [row["path"] for row in one] == [row["path"] for row in other]
        assert (
            max(abs(left["score"] - right["score"]) for left, right in zip(one, other, strict=True))
            < 0.001
        )
