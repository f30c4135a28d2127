"""Every wording a memory had, and what was believed before and after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput, NotFound
from tests.operations.conftest import Call, stored


def test_wordings_newest_first(call: Call) -> None:
    ident = stored(call, "The boat is red.")
    call("reframe", id=ident, text="The boat is blue.", reason="painted", actor="model")
    found = call("versions", id=ident[:5])
    new, old = found["versions"]
    assert (found["id"], found["status"], found["more"]) == (ident, "active", False)
    assert (new["op"], new["actor"], new["reason"]) == ("reframe", "model", "painted")
    assert (new["body"].strip(), old["body"].strip()) == ("The boat is blue.", "The boat is red.")
    assert new["words"]
    assert new["keys"]["title"] == ["The boat is red.", "The boat is blue."]
    assert old["keys"] == {}
    assert old["there"]
    assert new["sha256"] == call("show", id=ident)["sha256"]
    assert len(call("versions", id=ident, limit=1)["versions"]) == 1
    assert call("versions", id=ident, limit=1)["more"]


def test_what_was_taken_back_says_so(call: Call) -> None:
    ident = stored(call, "The boat is red.")
    done = call("reframe", id=ident, text="The boat is blue.")["commit"]
    call("undo", commit=done)
    marks = [(one["op"], one["undone"]) for one in call("versions", id=ident)["versions"]]
    assert marks == [("restore", False), ("reframe", True), ("remember", False)]


def test_a_forgotten_memory(call: Call) -> None:
    ident = stored(call, "The boat is red.")
    call("forget", id=ident, reason="sold")
    found = call("versions", id=ident)
    gone, first = found["versions"]
    assert (found["status"], found["path"], found["title"]) == (
        "forgotten",
        None,
        "The boat is red.",
    )
    assert (gone["there"], gone["reason"], gone["words"]) == (False, "sold", True)
    assert first["body"].strip() == "The boat is red."


def test_a_note_that_was_moved_and_edited_by_hand(call: Call, app: App, root: Path) -> None:
    ident = stored(call, "The boat is red.")
    call("move", id=ident, path="semantic/boats/boat.md")
    place = root / "semantic/boats/boat.md"
    place.write_text(place.read_text().replace("is red.\n", "is green.\n"))
    found = call("versions", id=ident)["versions"]
    assert [one["commit"] == "" for one in found] == [True, False, False]
    assert found[0]["body"].strip() == "The boat is green."
    assert found[0]["words"]
    assert not found[1]["words"]
    assert found[-1]["op"] == "remember"


def test_what_replaced_what(call: Call) -> None:
    ident = stored(call, "The kiln is in York.")
    second = call("correct", id=ident, text="The kiln is in Leeds.", valid_from="2026-05-01")["id"]
    third = call("correct", id=second, text="The kiln is in Hull.", valid_from="2026-07-01")["id"]
    for one in (ident, second, third):
        chain = call("versions", id=one)["chain"]
        assert [held["id"] for held in chain] == [ident, second, third]
    assert [held["superseded_by"] for held in chain] == [second, third, None]
    assert chain[1]["until"][:10] == "2026-07-01"
    assert chain[1]["says"] == "The kiln is in Leeds."


def test_odd_asking(call: Call) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        call("versions", id="abcd", limit=0)
    with pytest.raises(NotFound):
        call("versions", id="zzzzzzzzzzzz")


def test_commits_made_by_hand_are_versions_too(call: Call, app: App, root: Path) -> None:
    ident = stored(call, "The boat is red.")
    call("move", id=ident, path="boats/first.md")
    place, git = root / "boats/first.md", app.house.vault.repo.commands
    place.write_text(place.read_text().replace("is red.\n", "is green.\n"))
    git.run("commit", "-qam", "painted it")
    git.run("mv", "boats/first.md", "boats/second.md")
    git.run("commit", "-qam", "another name")
    call("reframe", id=ident, text="The boat is blue.")
    found = call("versions", id=ident)["versions"]
    assert [one["title"] for one in found if not one["op"]] == ["another name", "painted it"]
    assert [one["body"].strip()[-6:] for one in found if one["words"]] == [
        " blue.",
        "green.",
        "s red.",
    ]
    log = app.house.vault.history
    path = found[0]["paths"][0]
    assert [one.commit for one in log.touching(ident, path)] == [
        one.commit for one in log.of(ident, path)
    ]
