"""`oneiro setup`: as a person types it, with the real server behind it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from oneiro_vault.cli.commands.machines import setup
from oneiro_vault.clients.known_clients import CLIENTS
from tests.box import Box
from tests.cli.commands.test_purge import at_a_terminal


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
    assert [file["change"] for file in found["files"]] == ["edited", "created"]
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
        (["setup"], 2, "Missing argument"),
        (["setup", "emacs"], 2, "'emacs' is not one of 'claude-code', 'codex'"),
        (["setup", "cursor"], 5, "is no vault"),
    ],
)
def test_what_cannot_be_done(fresh: Box, args: list[str], code: int, said: str) -> None:
    fresh.vault.mkdir()
    done = fresh(*args)
    assert (done.returncode, said in done.stderr.decode()) == (code, True), done
    assert not (home(fresh) / ".cursor").exists()


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
    assert tuple(CLIENTS) == setup.CLIENTS


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
