"""capture: files, transcripts and standard input; what hooks left; and doctor, which says what is
captured where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneiro_vault.capture import spool
from oneiro_vault.settings import locations
from tests.box import Box, Lone


def bodies(box: Box) -> dict[str, str]:
    """title -> body of everything that waits."""
    rows = box.json("--no-daemon", "list", "--type", "episodic")["results"]
    return {row["title"]: box.json("--no-daemon", "show", row["id"])["body"] for row in rows}


@pytest.fixture
def own(tmp_path: Path, sealed_env: dict[str, str]) -> Box:
    return Lone(tmp_path, sealed_env).init()


def cold(box: Box, *args: str, stdin: bytes = b"") -> str:
    return box.ok("--no-daemon", *args, stdin=stdin)


def test_a_text_on_standard_input(own: Box) -> None:
    said = cold(
        own,
        "capture",
        "-",
        "--project",
        "Ferry",
        "--title",
        "Plans",
        stdin=b"We meet at nine. <private>hunter2</private>",
    )
    assert said.startswith("Captured ")
    assert "waiting to become memories: 1" in said
    assert bodies(own) == {"Plans": "We meet at nine.\n"}
    assert cold(own, "capture", "--title", "Plans", stdin=b"We meet at nine.").startswith(
        "Captured already: "
    )


def test_a_file_and_a_transcript(own: Box) -> None:
    (own.folder / "notes.txt").write_text("Tide tables are wrong for Bergen.")
    lines = [
        {"type": role, "message": {"role": role, "content": text}}
        for role, text in (("user", "Hi?"), ("assistant", "Ho."))
    ]
    (own.folder / "abc-123.jsonl").write_text("\n".join(map(json.dumps, lines)))
    cold(own, "capture", "notes.txt")
    cold(own, "capture", str(own.folder / "abc-123.jsonl"))
    assert bodies(own) == {
        "Tide tables are wrong for Bergen.": "Tide tables are wrong for Bergen.\n",
        "Conversation: Hi?": "User: Hi?\n\nAssistant: Ho.\n",
    }
    rows = own.json("--no-daemon", "list", "--session", "abc-123")["results"]
    assert [row["title"] for row in rows] == ["Conversation: Hi?"]


def test_what_is_captured_by_hand_is_filed_under_its_own_time(own: Box) -> None:
    times = ("no time", "2025-03-05T23:10:00.123Z", "2025-03-06T09:00:00Z")
    lines = [
        {"type": "user", "timestamp": at, "message": {"role": "user", "content": f"Said {at}."}}
        for at in times
    ]
    (own.folder / "talk.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (own.folder / "notes.txt").write_text("Tide tables are wrong for Bergen.")
    done = own.json("--no-daemon", "capture", "talk.jsonl")
    assert done["captures"][0]["id"] == done["id"]
    cold(own, "capture", "notes.txt", "--when", "last March")
    cold(own, "capture", "-", "--when", "2024-02-29", stdin=b"A leap day.")
    rows = {
        row["title"]: row
        for row in own.json("--no-daemon", "list", "--type", "episodic")["results"]
    }
    talk, leap = rows["Conversation: Said no time."], rows["A leap day."]
    later = rows["Conversation: Said 2025-03-06T09:00:00Z."]
    assert [row["created"][:10] for row in (talk, later)] == ["2025-03-05", "2025-03-06"], (
        "a day each, though one conversation"
    )
    assert [row["path"] for row in done["captures"]] == [talk["path"], later["path"]]
    assert talk["path"][:17] == "episodic/2025/03/"
    assert len(own.json("--no-daemon", "list", "--session", "talk")["results"]) == 2
    assert cold(own, "capture", "talk.jsonl").count("Captured already: ") == 2
    assert (leap["created"][:10], leap["path"][:17]) == ("2024-02-29", "episodic/2024/02/")
    assert rows["Tide tables are wrong for Bergen."]["path"].split("/")[2] == "03"


def test_lines_of_json_that_are_no_transcript_are_a_text(own: Box) -> None:
    (own.folder / "data.jsonl").write_text('{"x": 1}\n')
    cold(own, "capture", "data.jsonl")
    assert list(bodies(own).values()) == ['{"x": 1}\n']


@pytest.mark.parametrize(
    ("args", "stdin", "code", "words"),
    [
        (["nowhere.txt"], b"", 3, b"there is no file"),
        (["."], b"", 2, b"cannot be read"),
        (["-"], b"", 2, b"there is nothing to capture"),
        (["-"], b"\xff", 2, b"not UTF-8"),
        (["-"], b"<private>x", 2, b"all of it is private"),
        (["--pending", "x.txt"], b"", 2, b"--pending goes alone"),
        (["--kind", "gossip", "-"], b"x", 2, b"gossip"),
        (["--when", "teatime", "-"], b"x", 2, b"teatime"),
    ],
)
def test_bad_input_is_said_and_changes_nothing(
    own: Box, args: list[str], stdin: bytes, code: int, words: bytes
) -> None:
    done = own("--no-daemon", "capture", *args, stdin=stdin)
    assert done.returncode == code
    assert words in done.stderr
    assert b"Traceback" not in done.stderr
    assert bodies(own) == {}


def test_what_hooks_left(own: Box) -> None:
    folder = spool.folder_of(locations.state_dir(str(own.vault)))
    spool.put(folder, {"kind": "session", "text": "User: Hi?", "session": "s"})
    own.ok("list")  # opens the vault, and picks up
    assert own.json("capture", "--pending") | {"stored": 0} == {
        "schema": 1,
        "stored": 0,
        "left": 0,
        "aside": 0,
    }
    assert list(bodies(own)) == ["Conversation: Hi?"]


def test_doctor_says_what_is_captured_where(own: Box) -> None:
    def note() -> str:
        return own("--no-daemon", "doctor").stderr.decode().strip().splitlines()[-1]

    here = own.folder
    assert note() == f"Conversations in {here} are not captured: no .oneiro-capture here or above"
    marker = here / ".oneiro-capture"
    marker.write_text('project = "Ferry"')
    assert note() == f"Conversations in {here} are captured: {marker} (project Ferry)"
    marker.write_text("project = 3")
    assert note().startswith(f"Conversations in {here} are not captured: {marker} does not count, ")
    (here / ".oneiro-nocapture").touch()
    assert (
        note()
        == f"Conversations in {here} are not captured: {here / '.oneiro-nocapture'} forbids it"
    )
    assert own.json("--no-daemon", "doctor")["capture"]["marker"] == str(here / ".oneiro-nocapture")


def test_a_transcript_is_a_persons_own_where_their_client_keeps_it(own: Box) -> None:
    line = json.dumps(
        {"type": "user", "message": {"role": "user", "content": "My sister Ella works at Orion."}}
    )
    mine = Path(own.env["HOME"]) / ".claude" / "projects" / "boats"
    mine.mkdir(parents=True)
    (mine / "one.jsonl").write_text(line)
    (own.folder / "two.jsonl").write_text(line)
    clients = {}
    for path in (mine / "one.jsonl", own.folder / "two.jsonl"):
        found = own.json("--no-daemon", "capture", str(path))
        clients[path.stem] = own.json("--no-daemon", "show", found["id"])["meta"]["client"]
    assert clients == {"one": "claude-code", "two": "file"}
