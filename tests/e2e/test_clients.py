"""What a model is really given by the real programs: orientation at the start, a memory where one
fits, our tools, and captures after.

The tests of a client are one conversation, in order.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.box import eventually
from tests.e2e import recording
from tests.e2e.clients import Client
from tests.e2e.conftest import BOAT, PROJECT, full

pytestmark = pytest.mark.e2e
ASKED = "what is the boat called that lies in Bergen harbour?"


@pytest.fixture(scope="module", params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.getfixturevalue(request.param)
    return found


def captured(client: Client) -> list[dict[str, Any]]:
    """What waits to become memories, oldest first, with its words."""
    rows = client.box.json("list", "--type", "episodic")["results"]
    return [client.box.json("show", row["id"]) for row in reversed(rows)]


def test_it_wakes_oriented_and_a_relevant_prompt_gets_its_memory(client: Client) -> None:
    client.run(ASKED)
    given = client.read()
    assert PROJECT in given
    assert BOAT in given
    assert client.said("UserPromptSubmit")[0].count("<memory ") == 1


def test_nothing_is_captured_without_a_marker(client: Client) -> None:
    assert [one["event"] for one in client.exchanges][-1] == "SessionEnd"
    assert captured(client) == []
    (client.place / ".oneiro-capture").write_text('project = "Ferry"\n')


def test_an_irrelevant_prompt_gets_nothing_and_a_resumed_session_nothing_twice(
    client: Client,
) -> None:
    client.run("write a haiku")
    assert client.said("UserPromptSubmit")[-1] == client.said("SessionStart")[-1] == ""


def test_our_tools_are_there_and_work(client: Client) -> None:
    client.run("remember that Ana wants releases on Thursdays")
    rows = client.box.json("recall", "Ana releases Thursdays support")["results"]
    assert "Ana wants releases on Thursdays" in rows[0]["title"]
    assert client.box.json("show", rows[0]["id"])["meta"]["source"] == "model"
    before = len(client.endpoint.requests)
    client.run("when does Ana want releases?")
    assert rows[0]["id"] in client.read(before)


def test_the_conversation_was_captured_up_to_here(client: Client) -> None:
    eventually(lambda: len(captured(client)) >= 3, 30)
    words = "\n".join(one["body"] for one in captured(client))
    for said in (ASKED, "write a haiku", "remember that Ana", "when does Ana"):
        assert words.count(f"User: {said}") == 1
    assert {one["meta"]["project"] for one in captured(client)} == {"Ferry"}
    assert {one["meta"]["trust"] for one in captured(client)} == {"external"}


def test_a_compaction_is_captured_and_orients_anew(client: Client) -> None:
    before = len(client.exchanges)
    if client.name == "codex":
        full(client)
        client.run("a long story")
    client.run("/compact" if client.name == "claude-code" else "and one more")
    again = client.exchanges[before:]
    compacted = [
        one
        for one in again
        if one["event"] == "SessionStart" and one["stdin"].get("source") == "compact"
    ]
    assert PROJECT in compacted[0]["stdout"]
    kind = [one for one in again if one["event"] == "PostCompact"]
    assert len(kind) == 1
    eventually(
        lambda: [one for one in captured(client) if one["meta"].get("captured") == "compaction"], 30
    )
    (summary,) = [one for one in captured(client) if one["meta"].get("captured") == "compaction"]
    assert "We named the boat Petrel." in summary["body"]
    assert "analysis" not in summary["body"]


def test_what_was_private_is_nowhere(client: Client) -> None:
    assert "hunter2" in client.read() or client.name == "claude-code"  # the model had written it
    files = [path for path in client.box.vault.rglob("*") if path.is_file()]
    assert not [path for path in files if b"hunter2" in path.read_bytes()]


def test_our_hook_was_never_in_the_way(client: Client) -> None:
    assert client.endpoint.failures == []
    for one in client.exchanges:
        assert (one["code"], one["stderr"]) == (0, ""), one


def test_the_exchanges_are_recorded_for_the_default_tests(client: Client) -> None:
    recording.keep(client)
