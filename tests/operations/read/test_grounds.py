"""What a session is given, and what every line of a memory rests on."""

from __future__ import annotations

import pytest

from oneiro_vault.core.markdown import orientation
from oneiro_vault.errors import InvalidInput
from tests.operations.conftest import Call, stored


def test_lines_and_their_grounds(call: Call) -> None:
    boat = stored(call, "i sail a boat called petrel")
    kiln = stored(call, "The kiln stands in Leeds.")
    text = (
        "- On 2026-10-03 the person said: “i sail a boat called petrel”\n- Nobody said this ever."
    )
    block = stored(call, text, type="orientation", title="Boats", derived_from=[boat, kiln])
    found = call("grounds", ids=[block])["results"][0]
    assert [[one["id"] for one in line["grounds"]] for line in found["lines"]] == [[boat], []]
    assert [one["id"] for one in found["sources"]] == [boat, kiln]
    with pytest.raises(InvalidInput, match="too many"):
        call("grounds", ids=[block] * 101)


def test_a_session_is_given_what_the_page_shows(call: Call) -> None:
    assert call("wake")["text"] == ""
    block = stored(call, "Four people work here.", type="orientation", title="Work")
    found = call("wake")
    assert found["text"] == call("orient")["text"]
    assert found["units"] == orientation.units(found["text"]) <= found["limit"]
    assert [one["id"] for one in found["blocks"]] == [block]
    assert found["blocks"][0]["lines"][0]["text"] == "Four people work here."


def test_how_the_last_conversation_ended(call: Call) -> None:
    call(
        "capture",
        text="User: the boat has a new mast now, and I sail on Sunday.\n\nAssistant: Good.",
        kind="session",
        session="s1",
        project="boats",
    )
    assert "ended" not in call("wake")["text"]
    found = call("wake", project="boats")
    assert [one["project"] for one in found["ended"]] == ["boats"]
    assert found["text"].endswith(found["ended"][0]["line"])
    assert "the boat has a new mast now" in found["text"]


def test_what_a_session_was_told_earlier(call: Call) -> None:
    block = stored(call, "Four people work here.", type="orientation", title="Work")
    commit = call("log", id=block)["entries"][0]["commit"]
    call("reframe", id=block, text="Five people work here.")
    assert "Five people" in call("wake")["text"]
    then = call("wake", as_of=commit)
    assert "Four people work here." in then["text"]
    assert then["blocks"][0]["lines"][0]["text"] == "Four people work here."
    assert then["ended"] == []
