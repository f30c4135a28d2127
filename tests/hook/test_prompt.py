"""UserPromptSubmit with a warm owner: the memory that bears on the prompt, once, or nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.settings import locations
from oneiro_vault.settings.locations import stopped
from tests.box import Box, eventually
from tests.conftest import sealed
from tests.hook.conftest import Talk

BOAT = "The boat is called Petrel and lies in Bergen harbour."
ASKED = "what is the boat called that lies in Bergen harbour?"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    folder = tmp_path_factory.mktemp("w")
    box = Box(folder, sealed(folder)).init()
    box.remember(BOAT)
    box.remember("Invoices are numbered without gaps, as the law demands.")
    box.ok("recall", "warm up")
    yield box
    box.close()


@pytest.fixture
def talk(box: Box, tmp_path: Path) -> Talk:
    return Talk(box, tmp_path, session=tmp_path.name)


@pytest.mark.slow
def test_a_relevant_prompt_gets_the_memory_and_only_once(talk: Talk) -> None:
    found = talk("UserPromptSubmit", prompt=ASKED)
    assert BOAT in found
    assert found.count("<memory ") == 1
    assert talk("UserPromptSubmit", prompt=ASKED) == ""  # it is in the conversation already
    talk.session += "-another"
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED)


@pytest.mark.slow
def test_gemini_asks_before_its_agent_and_is_answered_by_that_name(talk: Talk) -> None:
    said = {"session_id": talk.session, "cwd": str(talk.place), "prompt": ASKED}
    said |= {"hook_event_name": "BeforeAgent", "timestamp": "2026-11-26T10:00:00Z"}
    wrong = talk.run("SessionStart", json.dumps(said).encode())
    assert wrong.stdout == b"", "another event than the command line names"
    done = talk.run("UserPromptSubmit", json.dumps(said).encode())
    found = json.loads(done.stdout)["hookSpecificOutput"]
    assert found["hookEventName"] == "BeforeAgent"
    assert BOAT in found["additionalContext"]


@pytest.mark.parametrize("source", ["clear", "compact", "startup"])
def test_a_new_context_may_get_it_again(talk: Talk, source: str) -> None:
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED)
    talk("SessionStart", source="resume")
    assert talk("UserPromptSubmit", prompt=ASKED) == ""
    talk("SessionStart", source=source)
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED)


@pytest.mark.parametrize(
    "prompt",
    [
        "write a haiku",
        "fix the failing test",
        "ok",
        "",
        "/compact the boat called Petrel in Bergen harbour",
        7,
        None,
    ],
)
def test_other_prompts_get_nothing(talk: Talk, prompt: object) -> None:
    assert talk("UserPromptSubmit", prompt=prompt) == ""


def test_only_what_a_person_wrote_is_asked_about(talk: Talk) -> None:
    assert talk("UserPromptSubmit", prompt=ASKED, source="schedule_wakeup") == ""
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED, source="user")


def test_private_words_are_not_even_asked_about(talk: Talk) -> None:
    assert talk("UserPromptSubmit", prompt=f"hello <private>{ASKED}</private>") == ""


def test_the_budget_is_a_setting(talk: Talk) -> None:
    assert talk("UserPromptSubmit", prompt=ASKED, env={"ONEIRO_INJECT_TOKENS": "0"}) == ""
    assert talk("UserPromptSubmit", prompt=ASKED, env={"ONEIRO_INJECT_TOKENS": "20"}) == ""
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED)


def test_what_it_did_is_visible_afterwards(talk: Talk) -> None:
    before = talk.box.json("status")["prompts"]
    talk("UserPromptSubmit", prompt=ASKED)
    talk("UserPromptSubmit", prompt=ASKED)
    talk("UserPromptSubmit", prompt="/compact")
    talk("UserPromptSubmit", prompt=ASKED, env={"ONEIRO_INJECT_TOKENS": "0"})
    os.kill(talk.box.pid, signal.SIGSTOP)
    try:
        eventually(lambda: stopped(talk.box.pid), 5)
        talk("UserPromptSubmit", prompt=ASKED)
    finally:
        os.kill(talk.box.pid, signal.SIGCONT)
    after = talk.box.json("doctor")["prompts"]
    new = {name: count - before[name] for name, count in after.items()}
    assert new == {"injected": 1, "nothing": 1, "missed": 0, "unreached": 1, "off": 1}
    assert f"{after['injected']} got memories" in talk.box.ok("status")
    assert b"Prompts: today " in talk.box("doctor").stderr


def test_a_deadline_that_came_first_is_counted(talk: Talk, tmp_path: Path) -> None:
    """The owner answers nobody: the hook's own alarm ends it, and says so."""
    record = Path(locations.record_file(str(talk.box.vault)))
    known, place = record.read_text(), str(tmp_path / "s")
    before = talk.box.json("status")["prompts"]["missed"]
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(place)
        deaf.listen()
        try:
            record.write_text(json.dumps(json.loads(known) | {"socket": place}))
            assert talk("UserPromptSubmit", prompt=ASKED) == ""
        finally:
            record.write_text(known)
    assert talk.box.json("status")["prompts"]["missed"] == before + 1


@pytest.mark.slow
def test_a_conversation_that_begins_loads_the_model(
    tmp_path: Path, sealed_env: dict[str, str]
) -> None:
    box = Box(tmp_path, sealed_env).init()
    box.numbers["embed.idle"] = 1.0
    try:
        box.start("serve", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: box.record, 60)
        box.remember(BOAT)
        talk = Talk(box, tmp_path)
        talk("SessionStart", source="startup")
        eventually(lambda: not box.json("recall", "--fast", "where is the boat?")["degraded"], 60)
    finally:
        box.close()


def test_no_session_id_is_no_obstacle(talk: Talk) -> None:
    assert BOAT in talk("UserPromptSubmit", prompt=ASKED, session_id=None)


@pytest.mark.slow
def test_without_an_owner_nothing_now_and_one_for_next_time(
    tmp_path: Path, sealed_env: dict[str, str]
) -> None:
    box = Box(tmp_path, sealed_env).init()
    try:
        assert box("--no-daemon", "remember", BOAT).returncode == 0
        talk = Talk(box, tmp_path, warm=True)
        assert talk("UserPromptSubmit", prompt=ASKED) == ""
        eventually(lambda: box.record, 60)
        eventually(lambda: BOAT in talk("UserPromptSubmit", prompt=ASKED), 60)
    finally:
        box.close()


@pytest.mark.slow
def test_an_owner_that_was_killed_is_replaced(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    import os
    import signal

    box = Box(tmp_path, sealed_env).init()
    try:
        box.remember(BOAT)
        killed = box.pid
        os.kill(killed, signal.SIGKILL)
        talk = Talk(box, tmp_path, warm=True)
        assert talk("UserPromptSubmit", prompt=ASKED) == ""
        eventually(lambda: box.record.get("pid", killed) != killed, 60)
        eventually(lambda: BOAT in talk("UserPromptSubmit", prompt=ASKED), 60)
    finally:
        box.close()
