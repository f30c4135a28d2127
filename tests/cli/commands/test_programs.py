"""capture: files, transcripts and standard input; what hooks left; doctor, which says what is
captured where; and `oneiro setup` as a person types it, with the real server behind it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from oneiro_vault.capture import spool
from oneiro_vault.cli.commands import programs
from oneiro_vault.clients.known_clients import CLIENTS
from oneiro_vault.settings import locations
from tests.box import Box, Lone
from tests.cli.commands.test_maintenance import at_a_terminal


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


def home(box: Box) -> Path:
    return Path(box.env["HOME"])


def test_a_client_is_set_up_checked_by_a_real_round_trip_and_given_back(fresh: Box) -> None:
    fresh.init()
    path = home(fresh) / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "mcpServers": {},\n}\n')
    before = path.read_bytes()
    found = fresh.json("setup", "cursor")
    assert found["schema"] == 1
    assert [file["change"] for file in found["files"]] == ["edited", "created", "created"]
    settings = (home(fresh) / ".config/oneiro/config.toml").read_text()
    assert '"mcp.tools" = "dreams"' in settings, "questions wait for the connected model"
    assert found["files"][0]["diff"] == "", (
        "what stands around our lines is nobody's business but the person's"
    )
    check = found["checks"][0]
    assert check["ok"], check
    assert check["server"] == "oneiro-vault"
    assert {"recall_orient", "recall_check", "remember", "reflect"} <= set(check["tools"])
    assert str(fresh.vault) in path.read_text()
    assert "// mine" in path.read_text()
    again = fresh.ok("setup", "cursor")
    assert again.startswith("unchanged")
    assert "the configured server answered: oneiro-vault" in again
    assert "hooks     on: orientation at the start\n" in again
    assert "capture   off: no hook of this client tells what was said\n" in again
    assert "undo      oneiro setup cursor --remove" in again
    assert "edited" in fresh.ok("setup", "cursor", "--remove")
    assert path.read_bytes() == before


def test_dry_run_prints_a_diff_and_writes_nothing(fresh: Box) -> None:
    fresh.init()
    shown = fresh.ok("setup", "codex", "--dry-run")
    assert "+[mcp_servers.oneiro]" in shown
    assert "hook SessionStart --vault" in shown
    assert not (home(fresh) / ".codex").exists()
    assert fresh.ok("setup", "codex", "--remove", "--dry-run") == "Nothing would change.\n"


def test_a_broken_file_is_refused_with_its_place(fresh: Box) -> None:
    fresh.init()
    path = home(fresh) / ".claude.json"
    path.write_text('{\n  "a": 1,\n}\n')
    done = fresh("setup", "claude-code")
    assert done.returncode == 2
    said = done.stderr.decode()
    assert f"{path}: line 3, column 1: Expecting property name" in said
    assert "safe: No file was changed." in said
    assert path.read_text() == '{\n  "a": 1,\n}\n'
    assert not (home(fresh) / ".claude").exists()
    error = json.loads(fresh("--json", "setup", "claude-code").stdout)["error"]
    assert error["error"] == "ForeignFile"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["setup", "emacs"], 2, "'emacs' is not one of 'claude-code', 'codex'"),
        (["setup", "cursor"], 5, "is no vault"),
    ],
)
def test_what_cannot_be_done(fresh: Box, args: list[str], code: int, said: str) -> None:
    fresh.vault.mkdir()
    done = fresh(*args)
    assert (done.returncode, said in done.stderr.decode()) == (code, True), done
    assert not (home(fresh) / ".cursor").exists()


@pytest.mark.slow
def test_a_path_that_no_settings_file_can_hold_is_refused(fresh: Box) -> None:
    odd = fresh.folder / os.fsdecode(b"v\xff")
    odd.mkdir()
    (odd / "oneiro.toml").touch()
    argv = [
        os.fsencode(odd) if word == str(fresh.vault) else word
        for word in fresh.argv("setup", "cursor")
    ]
    done = subprocess.run(argv, env=fresh.env, cwd=fresh.folder, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"not valid UTF-8" in done.stderr
    assert not (home(fresh) / ".cursor").exists()


def test_every_client_of_the_table_can_be_named() -> None:
    assert tuple(CLIENTS) == programs.CLIENTS


def clients_here(box: Box) -> None:
    """Cursor and Goose are on this machine, the one by its folder, the other by its program."""
    (home(box) / ".cursor").mkdir()
    folder = box.folder / "programs"
    folder.mkdir()
    (folder / "goose").write_text("#!/bin/sh\n")
    (folder / "goose").chmod(0o755)
    box.env["PATH"] = f"{folder}:/usr/bin:/bin"


def test_without_a_client_those_of_this_machine_are_listed_with_their_commands(fresh: Box) -> None:
    fresh.env["PATH"] = "/usr/bin:/bin"
    assert fresh.ok("setup") == f"{programs.NONE_FOUND}\n"
    clients_here(fresh)
    listed = fresh.ok("setup").splitlines()
    assert [row.split()[0] for row in listed] == ["Cursor", "Goose"]
    assert all("not set up  oneiro setup" in row for row in listed)
    fresh.init()
    fresh.ok("setup", "goose")
    assert "set up      oneiro setup goose " in fresh.ok("setup")
    assert "oneiro setup goose --remove " in fresh.ok("setup", "--remove")
    rows = fresh.json("setup")["clients"]
    assert [(row["client"], row["set_up"]) for row in rows] == [("cursor", False), ("goose", True)]
    assert not list((home(fresh) / ".cursor").iterdir()), "a list changes nothing"


@pytest.mark.slow
def test_without_a_client_a_person_is_asked_about_each(fresh: Box) -> None:
    fresh.init()
    clients_here(fresh)
    (home(fresh) / ".cursor" / "mcp.json").write_text("{ broken")
    box = Box(fresh.folder, fresh.env, fresh.vault)
    code, screen = at_a_terminal(box, "setup", typed={"Set up Cursor?": "y", "Set up Goose?": ""})
    assert code == 2, screen
    assert "mcp.json: line 1, column 3" in screen, "what is wrong with one is said"
    assert "the configured server answered: oneiro-vault" in screen, "and the others are set up"
    assert str(fresh.vault) in (home(fresh) / ".config/goose/config.yaml").read_text()
    code, screen = at_a_terminal(box, "setup", "--remove", typed={"entries out of Goose?": "y"})
    assert (code, "Cursor?" in screen) == (0, False), screen
    assert not (home(fresh) / ".config/goose").exists()


def test_removing_needs_no_vault(fresh: Box) -> None:
    assert fresh.ok("setup", "gemini", "--remove").split() == [
        "unchanged",
        str(home(fresh) / ".gemini" / "settings.json"),
    ]


def test_one_command_sets_up_judge_and_capture_and_says_what_is_on_in_five_lines(
    fresh: Box,
) -> None:
    fresh.init()
    judge = fresh.folder / "claude"
    judge.write_text("#!/bin/sh\n")
    judge.chmod(0o755)
    plain = fresh.ok("setup", "claude-code")
    assert (
        "judge     rules; what they leave open waits for the connected model: oneiro setup "
        "claude-code --judge" in plain
    )
    assert "capture   off in this folder: oneiro setup claude-code --capture here" in plain
    told = fresh.ok("setup", "claude-code", "--judge", str(judge), "--capture", "here")
    assert f"judge     Claude Code ({judge})\n" in told
    assert f"capture   on below {fresh.folder}\n" in told
    assert (fresh.folder / ".oneiro-capture").is_file()
    assert fresh.json("status")["dreams"]["judge"]["name"] == "command"
    assert f"capture   on below {fresh.folder}\n" in fresh.ok("setup", "claude-code")
    assert fresh.json("status")["dreams"]["judge"]["name"] == "command", (
        "a second run leaves the judge as it is"
    )
    assert fresh("setup", "claude-code", "--judge", "nonsuch").returncode == 2
    typo = fresh("setup", "claude-code", "--capture", "nowhere")
    assert (
        typo.returncode,
        b"there is no folder" in typo.stderr,
        (fresh.folder / "nowhere").exists(),
    ) == (2, True, False)
    fresh.ok("setup", "claude-code", "--remove")
    assert not (fresh.folder / ".oneiro-capture").exists()
    assert not (home(fresh) / ".claude").exists()
    assert not list(home(fresh).rglob("config.toml"))


@pytest.mark.slow
def test_at_a_terminal_it_asks_who_judges_and_what_is_captured(fresh: Box) -> None:
    fresh.init()
    program = fresh.folder / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    box = Box(
        fresh.folder, fresh.env | {"PATH": f"{fresh.folder}:{fresh.env['PATH']}"}, fresh.vault
    )
    code, screen = at_a_terminal(
        box, "setup", "codex", typed={"May Codex": "y", "Capture the": "n"}
    )
    assert code == 0, screen
    assert f"judge     Codex ({program})" in screen
    assert not (fresh.folder / ".oneiro-capture").exists()
    code, screen = at_a_terminal(box, "setup", "codex", typed={"Capture the": "y"})
    assert (code, "May Codex" in screen) == (0, False), screen
    assert (fresh.folder / ".oneiro-capture").is_file()
