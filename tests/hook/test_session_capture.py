"""PostCompact, SessionEnd and every N messages: what is new goes into the spool, where a marker
allows it and never else."""

from __future__ import annotations

import json
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.capture import prompt_counts
from oneiro_vault.capture.conversation_state import key_of
from oneiro_vault.capture.markers import ALLOW, DENY
from oneiro_vault.hook import session_capture
from tests.hook.conftest import Talk

EVERY_4 = {"ONEIRO_CAPTURE_EVERY": "4"}


def converse(talk: Talk, *names: str) -> None:
    for name in names:
        talk.speak("user", f"question {name}")
        talk.speak("assistant", f"answer {name}")


def texts(talk: Talk) -> list[str]:
    return [str(entry.get("text")) for entry in talk.spooled]


def test_a_session_that_ends_is_captured(talk: Talk) -> None:
    talk.allow('project = "Ferry"')
    converse(talk, "1")
    assert talk("SessionEnd", reason="other") == ""
    (entry,) = talk.spooled
    assert entry["text"] == "User: question 1\n\nAssistant: answer 1"
    assert (entry["kind"], entry["session"], entry["client"], entry["project"]) == (
        "session",
        talk.session,
        "claude-code",
        "Ferry",
    )
    assert (entry["from"], entry["to"]) == (0, talk.transcript.stat().st_size)
    path = next((talk.state / "spool").glob("*.json"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("event", ["SessionEnd", "PostCompact", "Stop"])
def test_nothing_is_captured_by_default(talk: Talk, event: str) -> None:
    converse(talk, "1")
    for _ in range(6):
        talk(event, compact_summary="We spoke.", env=EVERY_4)
    assert talk.spooled == []
    assert not list((talk.state / "spool").glob("*")) if (talk.state / "spool").exists() else True


@pytest.mark.parametrize("where", [".", ".."])
def test_a_forbidding_marker_wins(talk: Talk, where: str) -> None:
    talk.allow()
    (talk.place / where / DENY).touch()
    converse(talk, "1")
    for event in ("SessionEnd", "PostCompact"):
        talk(event, compact_summary="We spoke.")
    assert talk.spooled == []


def test_each_capture_holds_only_what_is_new(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    talk("SessionEnd")
    talk("SessionEnd")
    converse(talk, "2")
    talk("SessionEnd")
    assert texts(talk) == [
        "User: question 1\n\nAssistant: answer 1",
        "User: question 2\n\nAssistant: answer 2",
    ]


def test_a_long_conversation_is_captured_as_it_goes_on(talk: Talk) -> None:
    talk.allow()
    for number in range(1, 5):
        talk("UserPromptSubmit", prompt="x", env=EVERY_4)
        converse(talk, str(number))
        talk("Stop", env=EVERY_4)
    assert texts(talk) == [
        "User: question 1\n\nAssistant: answer 1\n\nUser: question 2\n\nAssistant: answer 2",
        "User: question 3\n\nAssistant: answer 3\n\nUser: question 4\n\nAssistant: answer 4",
    ]
    assert {entry["kind"] for entry in talk.spooled} == {"turns"}
    converse(talk, "5")
    talk("SessionEnd")
    assert texts(talk)[2:] == ["User: question 5\n\nAssistant: answer 5"]


def test_prompts_alone_count_too(talk: Talk) -> None:
    """A turn that is interrupted has no Stop."""
    talk.allow()
    converse(talk, "1")
    for _ in range(5):
        assert talk.spooled == []
        talk("UserPromptSubmit", prompt="x", env=EVERY_4)
    assert len(talk.spooled) == 1


def test_it_can_be_turned_off(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    for _ in range(5):
        talk("Stop", env={"ONEIRO_CAPTURE_EVERY": "0"})
    assert talk.spooled == []
    talk("SessionEnd", env={"ONEIRO_CAPTURE_EVERY": "0"})
    assert len(talk.spooled) == 1


def test_a_summary_is_captured_out_of_its_tags(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    said = (
        "<analysis>hm</analysis>\n<summary>We named the boat. <private>hunter2</private></summary>"
    )
    assert talk("PostCompact", trigger="manual", compact_summary=said) == ""
    (entry,) = talk.spooled
    assert (entry["kind"], entry["text"]) == ("compaction", "We named the boat.")
    talk("SessionEnd")  # the words themselves are still to come
    assert texts(talk)[1] == "User: question 1\n\nAssistant: answer 1"


def test_a_client_without_summaries_gives_its_transcript(talk: Talk) -> None:
    talk.allow()
    talk.transcript = talk.transcript.with_name("rollout-2026-11-22T03-05-26-x.jsonl")
    line = {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Ahoy."}],
        },
    }
    talk.transcript.write_text(json.dumps(line) + "\n")
    assert talk("PostCompact", trigger="auto") == ""
    (entry,) = talk.spooled
    assert (entry["kind"], entry["client"], entry["text"]) == ("compaction", "codex", "User: Ahoy.")


def test_private_words_are_in_no_file(talk: Talk) -> None:
    talk.allow()
    talk.speak("user", "The key is <private>hunter2</private>, and <PRIVATE>hunter2 for ever")
    talk("UserPromptSubmit", prompt="<private>hunter2</private>")
    talk("PostCompact", compact_summary="<private>hunter2</private> We spoke.")
    talk("SessionEnd")
    assert texts(talk) == ["We spoke.", "User: The key is , and"]
    everything = [path for path in talk.box.vault.rglob("*") if path.is_file()]
    assert not [path for path in everything if b"hunter2" in path.read_bytes()]


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"transcript_path": None},
        {"transcript_path": "/nowhere/t.jsonl"},
        {"transcript_path": "/"},
        {"session_id": ""},
    ],
)
def test_nothing_to_capture(talk: Talk, said: dict[str, Any]) -> None:
    talk.allow()
    talk("SessionEnd", **said)
    assert talk.spooled == []


def test_a_conversation_without_words_leaves_nothing(talk: Talk) -> None:
    talk.allow()
    talk.transcript.write_text('{"type": "attachment"}\n')
    talk("SessionEnd")
    talk("PostCompact", compact_summary="<analysis>hm</analysis>")
    assert talk.spooled == []


def test_a_very_long_transcript_is_left_where_it_stands(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    with open(talk.transcript, "ab") as file:
        file.write(
            b'{"type": "attachment", "x": "' + b"x" * (session_capture.AT_ONCE + 1) + b'"}\n'
        )
    talk("SessionEnd")
    (entry,) = talk.spooled
    assert "text" not in entry
    assert (entry["from"], entry["to"]) == (0, talk.transcript.stat().st_size)
    said = talk.box("--no-daemon", "capture", "--pending").stdout
    assert (
        said == b"Captures stored: 0, waiting: 0, set aside: 0.\n"
    )  # opening the vault had stored it
    rows = talk.box.json("--no-daemon", "list", "--session", talk.session)["results"]
    assert [row["title"] for row in rows] == ["Conversation: question 1"]


def test_a_crash_between_spool_and_note_captures_nothing_twice(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    talk("SessionEnd")
    for path in (talk.state / "sessions").iterdir():
        os.unlink(path)
    converse(talk, "2")
    talk("SessionEnd")
    assert [entry["from"] > 0 for entry in talk.spooled] == [False, True]
    for path in (talk.state / "sessions").iterdir():
        os.unlink(path)
    talk.box(
        "--no-daemon", "capture", "--pending"
    )  # the pick-up notes how far it came before the entry goes
    converse(talk, "3")
    talk("SessionEnd")
    assert texts(talk) == ["User: question 3\n\nAssistant: answer 3"]


@pytest.mark.slow
def test_a_running_owner_picks_up_by_itself(talk: Talk) -> None:
    from tests.box import eventually

    talk.box.ok("list")
    talk.allow('project = "Ferry"')
    converse(talk, "1")
    talk("SessionEnd")
    eventually(lambda: talk.box.json("list", "--session", talk.session)["results"], 30)
    eventually(lambda: talk.spooled == [], 30)  # the file goes when the commit stands
    row = talk.box.json("list", "--session", talk.session)["results"][0]
    meta = talk.box.json("show", row["id"])["meta"]
    assert (meta["source"], meta["trust"], meta["project"], meta["kind"]) == (
        "capture",
        "external",
        "Ferry",
        "conversation",
    )


def test_a_marker_names_the_vault(talk: Talk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert talk.box("--no-daemon", "--vault", str(other), "init", str(other)).returncode == 0
    (talk.place / ALLOW).write_text('vault = "../other"')
    converse(talk, "1")
    talk("SessionEnd")
    assert talk.spooled == []
    assert len(list((other / ".git" / "oneiro" / "spool").glob("*.json"))) == 1


def test_times_are_written_with_their_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    import time
    from datetime import datetime

    for zone in ("UTC0", "XYZ-5:45", "XYZ+3"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert datetime.fromisoformat(session_capture._now()).tzinfo is not None
    monkeypatch.undo()
    time.tzset()


def test_a_terminal_that_was_closed_loses_nothing(talk: Talk) -> None:
    """No SessionEnd ever comes; when the conversation has been silent for hours, the next
    collection takes it."""
    talk.allow('project = "Ferry"')
    talk("UserPromptSubmit", prompt="question 1")
    converse(talk, "1")
    talk("Stop")
    assert (
        talk.box("--no-daemon", "capture", "--pending").stdout
        == b"Captures stored: 0, waiting: 0, set aside: 0.\n"
    )
    os.utime(talk.transcript, (0, 0))
    assert (
        talk.box("--no-daemon", "capture", "--pending").stdout
        == b"Captures stored: 1, waiting: 0, set aside: 0.\n"
    )
    rows = talk.box.json("--no-daemon", "list", "--session", talk.session)["results"]
    assert [row["title"] for row in rows] == ["Conversation: question 1"]


DEATH = """
import os, signal, sys

def _die(event, args):
    if event == "os.rename" and "spool" in str(args[0]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(_die)
"""


def test_what_a_killed_hook_wrote_whole_is_taken(talk: Talk) -> None:
    """It dies between the last byte of its entry and the entry's name."""
    talk.allow()
    converse(talk, "1")
    (talk.box.folder / "sitecustomize.py").write_text(DEATH)
    said = {"session_id": talk.session, "transcript_path": str(talk.transcript)}
    said |= {"cwd": str(talk.place), "hook_event_name": "SessionEnd"}
    paths = [str(talk.box.folder), talk.box.env.get("PYTHONPATH", "")]
    around = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = talk.run("SessionEnd", json.dumps(said).encode(), **around)
    assert done.returncode == -signal.SIGKILL
    (left,) = (talk.state / "spool").iterdir()
    assert (left.name[:5], talk.spooled) == (".new-", [])
    half = left.with_name(".new-half")
    half.write_bytes(left.read_bytes()[:-20])
    for path in (left, half):
        os.utime(path, (0, time.time() - 60))
    assert talk.box.json("--no-daemon", "status")["captures"] == 1
    assert texts(talk) == []
    assert half.exists()
    talk("SessionEnd")  # its words are not captured again
    assert texts(talk) == []


def test_a_capture_without_time_is_counted(talk: Talk) -> None:
    talk.allow()
    converse(talk, "1")
    record = talk.state / "sessions" / f"{key_of(talk.session)}.json"
    record.parent.mkdir(exist_ok=True)
    os.mkfifo(record)
    assert talk("SessionEnd") == ""
    record.unlink()
    assert prompt_counts.late(str(talk.state)) == {"starts": 0, "prompts": 0, "captures": 1}
