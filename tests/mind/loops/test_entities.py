"""Names that several memories are about get a profile: each sentence with its source, nobody
guessed, nobody merged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.operations.conftest import Call, stored

SAID = [
    ("Peter Novak writes eight articles a week.", ["Peter Novak"], "2026-05-01"),
    ("Peter Novak moved to the Miller order.", ["Peter Novak", "Miller order"], "2026-05-09"),
    ("The Miller order is due in June.", ["Miller order"], "2026-05-10"),
    ("Dana leads the editors.", ["Dana"], "2026-05-02"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init_vault(tmp_path / "vault")
    return tmp_path / "vault"


@pytest.fixture
def call(root: Path) -> Iterator[Call]:
    settings = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})
    with App.open(root, settings) as app:
        yield lambda op, **params: app.call(op, params)


def say(call: Call, text: str, about: list[str], day: str, **more: Any) -> str:
    return stored(call, text, about=about, created=day, **more)


def night(call: Call) -> dict[str, dict[str, Any]]:
    """Title -> what each entity says after a night."""
    call("dream", loops=["entities"], judge="offline")
    return entities(call)


def entities(call: Call) -> dict[str, dict[str, Any]]:
    rows = call("list", type="entity", limit=100)["results"]
    return {row["title"]: call("show", id=row["id"]) for row in rows}


def test_whoever_two_memories_are_about_has_a_note(call: Call, root: Path) -> None:
    ids = [say(call, *one) for one in SAID]
    found = night(call)
    assert set(found) == {"Peter Novak", "Miller order"}, "once is not enough"
    body = found["Peter Novak"]["body"].strip().splitlines()
    files = [next(root.rglob(f"*-{one}.md")).stem for one in ids[:2]]
    assert body == [
        f"- 2026-05-01: “Peter Novak writes eight articles a week.” ([[{files[0]}|{ids[0]}]])",
        f"- 2026-05-09: “Peter Novak moved to the Miller order.” ([[{files[1]}|{ids[1]}]])",
    ], "by their files' names: Obsidian opens them"
    assert list(found["Peter Novak"]["meta"]["derived_from"]) == ids[:2]
    assert found["Peter Novak"]["meta"]["trust"] == "model"
    graph = call("graph", name="peter")
    assert ids[1] in {node["id"] for node in graph["nodes"]}
    before = call("log", limit=1)["entries"][0]["commit"]
    assert night(call).keys() == found.keys()
    assert call("log", limit=1)["entries"][0]["commit"] == before, "a second night changes nothing"


def test_the_profile_lives(call: Call) -> None:
    ids = [say(call, *one) for one in SAID]
    night(call)
    say(call, "Peter Novak works for Acme now.", ["Peter Novak"], "2026-05-20", replaces=ids[1])
    body = night(call)["Peter Novak"]["body"]
    assert "works for Acme" in body
    assert "Miller" not in body, "what was replaced leaves the profile"


def test_two_of_one_first_name_stay_two(call: Call) -> None:
    for name in ("Peter Novak", "Peter Okafor"):
        for day in ("2026-05-01", "2026-05-02"):
            say(call, f"{name} was in on {day}.", [name], day)
    for day in ("2026-05-03", "2026-05-04"):
        say(call, f"Peter called on {day}.", ["Peter"], day)
    assert set(night(call)) == {"Peter Novak", "Peter Okafor"}


def test_what_is_no_name_makes_nobody(call: Call) -> None:
    for day in ("2026-05-01", "2026-05-02"):
        for name in ("Monday", "user", "the boat", "The person"):
            say(call, f"About {name} on {day}.", [name], day)
        call(
            "remember",
            items=[{"text": f"Mallory on {day}.", "about": ["Mallory"], "trust": "external"}],
        )
    assert night(call) == {}


def test_a_person_may_change_or_forbid_it(call: Call, root: Path) -> None:
    for one in SAID:
        say(call, *one)
    found = night(call)
    call("forget", id=found["Miller order"]["id"])
    own = found["Peter Novak"]
    call("reframe", id=own["id"], text="My best writer.", title="Peter Novák", actor="user")
    say(call, "Peter Novak is ill.", ["Peter Novak"], "2026-05-21")
    say(call, "The Miller order grew.", ["Miller order"], "2026-05-21")
    after = night(call)
    assert set(after) == {"Peter Novák"}
    assert after["Peter Novák"]["body"].strip() == "My best writer."


def test_a_profile_stands_in_no_answers_way(call: Call) -> None:
    ids = [say(call, *one) for one in SAID]
    before = [row["id"] for row in call("recall", query="Peter Novak")["results"]]
    profile = night(call)["Peter Novak"]["id"]
    after = [row["id"] for row in call("recall", query="Peter Novak")["results"]]
    assert after == before
    assert set(ids[:2]) <= set(after)
    assert (
        next(row["id"] for row in call("recall", query="Peter Novak", type="entity")["results"])
        == profile
    )
    shown = call("context", prompt="What does Peter Novak do?")["sections"]
    assert profile in shown["people"]


def test_a_night_makes_some_and_the_next_goes_on(call: Call) -> None:
    items = [
        {"text": f"Person{n} did thing {m}.", "about": [f"Person{n}"], "created": "2026-05-01"}
        for n in range(45)
        for m in range(2 + (n == 44))
    ]
    call("remember", items=items)
    first = night(call)
    assert len(first) == 40
    assert "Person44" in first, "what most memories are about goes first"
    assert len(night(call)) == 45
