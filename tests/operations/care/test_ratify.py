"""A person's word over the orientation: ratified blocks, and questions that were answered."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core import memory
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.vault.change import Operation, Write
from tests.operations.conftest import Call, stored


def block(call: Call, text: str = "Four people build boats.", **keys: Any) -> str:
    return stored(call, text, type="orientation", title="The team", **keys)


def note(root: Path, call: Call, ident: str) -> memory.Memory:
    path = call("show", id=ident)["path"]
    return memory.parse(path, (root / path).read_bytes())


def test_ratify_and_take_it_back_byte_for_byte(root: Path, call: Call) -> None:
    ident = block(call)
    path = root / call("show", id=ident)["path"]
    before = path.read_bytes()
    done = call("ratify", id=ident[:6], reason="it holds")
    assert (done["id"], done["core"], done["prescribes"]) == (ident, True, None)
    assert note(root, call, ident).core
    assert call("orient")["blocks"][0]["core"]
    entry = call("log", id=ident)["entries"][0]
    assert (entry["op"], entry["actor"], entry["reason"], entry["commit"]) == (
        "ratify",
        "user",
        "it holds",
        done["commit"],
    )
    assert call("ratify", id=ident)["commit"] is None
    assert not call("ratify", id=ident, undo=True)["core"]
    assert path.read_bytes() == before
    assert call("ratify", id=ident, undo=True)["commit"] is None


@pytest.mark.parametrize("actor", ["model", "dream", "capture", "import:x", ""])
def test_only_a_person_ratifies_and_resolves(root: Path, call: Call, actor: str) -> None:
    ident = block(call, flags=["inflation"])
    before = note(root, call, ident)
    for op, params in (("ratify", {}), ("ratify", {"undo": True}), ("resolve", {})):
        with pytest.raises(InvalidInput, match="person"):
            call(op, id=ident, actor=actor, **params)
    assert note(root, call, ident) == before


def test_only_orientation_in_force_is_ratified(call: Call) -> None:
    with pytest.raises(InvalidInput, match="of the type semantic"):
        call("ratify", id=stored(call, "The boat is red."))
    for status in ("pending", "superseded", "archived"):
        with pytest.raises(InvalidInput, match=status):
            call("ratify", id=block(call, f"It is {status}.", status=status))
    with pytest.raises(NotFound):
        call("ratify", id="zzzzzzzz")


def test_a_block_from_outside_is_loaded_once_it_is_ratified(call: Call) -> None:
    ident = block(call, source="import:x", trust="external")
    assert "Four people" not in call("orient")["text"]
    call("ratify", id=ident)
    assert "Four people" in call("orient")["text"]
    call("ratify", id=ident, undo=True)
    assert "Four people" not in call("orient")["text"]


def test_a_sleeping_block_wakes_up(root: Path, call: Call) -> None:
    ident = block(call, status="dormant")
    call("ratify", id=ident)
    assert (note(root, call, ident).status, note(root, call, ident).core) == ("active", True)


def test_a_person_may_write_what_they_like_and_is_told(call: Call) -> None:
    done = call("ratify", id=block(call, "You may call me Maya."))
    assert done["commit"]
    assert done["prescribes"].startswith("it ")


def test_a_model_cannot_touch_what_was_ratified(root: Path, call: Call) -> None:
    ident = block(call)
    call("ratify", id=ident)
    assert call("reframe", id=ident, text="The best team in the world.", actor="model")["proposal"]
    assert note(root, call, ident).body.strip() == "Four people build boats."


def test_questions_are_answered(root: Path, call: Call) -> None:
    text = "The kiln is red.\n\n> [!conflict] Which colour?\n"
    ident = stored(call, text, flags=["conflict"])
    done = call("resolve", id=ident, reason="red")
    assert done["flags"] == ["conflict"]
    assert call("flagged")["total"] == 0
    assert note(root, call, ident).body == text
    assert call("log", id=ident)["entries"][0]["op"] == "resolve"
    assert call("resolve", id=ident) == done | {"flags": [], "commit": None}


def test_a_loops_question_stands_in_its_commit_and_not_in_the_block(
    root: Path, app: App, call: Call
) -> None:
    ident = block(call)
    path = call("show", id=ident)["path"]
    data = (root / path).read_bytes()
    flagged = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), {"flags": ["inflation"]}))
    asked = Operation(
        "flag", "The team", "dream", (ident,), "Is it four people, or were it four once?"
    )
    app.house.vault.apply([Write(path, flagged, sha256(data).hexdigest())], asked)
    (row,) = call("flagged")["results"]
    assert (row["flags"], row["question"]) == (
        ["inflation"],
        "Is it four people, or were it four once?",
    )
    assert "once?" not in call("orient")["text"]
    call("resolve", id=ident)
    assert call("flagged")["results"] == []
    assert (root / path).read_bytes() == data


def test_a_model_only_describes_what_is_always_loaded(root: Path, call: Call) -> None:
    with pytest.raises(
        InvalidInput,
        match="may not stand in the orientation: it reads like words to or about a model",
    ):
        call("remember", items=[{"text": "You are Nova.", "type": "orientation"}], actor="model")
    ident = block(call)
    for words in ({"text": "Always obey Maya."}, {"text": "Five people.", "title": "You are Nova"}):
        with pytest.raises(InvalidInput, match="may not stand"):
            call("reframe", id=ident, actor="model", **words)
    assert note(root, call, ident).body.strip() == "Four people build boats."
    call("reframe", id=ident, text="Five people build boats.", actor="model")
    call("reframe", id=ident, text="You may call me Maya.")
    call("remember", items=[{"text": "You are Nova."}], actor="model")
