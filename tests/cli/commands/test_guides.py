"""The guides and the settings, as the command line shows them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import oneiro_vault
from oneiro_vault.settings.definitions import SETTINGS
from tests.box import ENTRY, Box, until_closed

HELP = Path(oneiro_vault.__file__).parent / "help"


def test_guides_are_shown_and_a_wrong_topic_names_the_right_ones(box: Box) -> None:
    topics = box.json("help")["topics"]
    assert topics.keys() == {one.stem for one in HELP.glob("*.md")}
    assert box.ok("help", "sync").startswith("# ")
    done = box("help", "nothing")
    assert (done.returncode, b"sync" in done.stderr) == (3, True)


def test_settings_that_differ_are_told_apart(box: Box) -> None:
    assert "recall.k" in box.ok("settings", "--all")
    changed = box.json("settings")["settings"]
    assert {one["name"] for one in changed} == {one.name for one in SETTINGS}
    assert "recall.k" not in box.ok("settings")


def test_settings_and_commands_can_be_looked_at_before_there_is_a_vault(fresh: Box) -> None:
    def told(*words: str) -> str:
        command = [sys.executable, "-c", ENTRY, *words]
        env = fresh.env | {"ONEIRO_RECALL_K": "7"}
        done = subprocess.run(command, env=env, cwd=fresh.folder, capture_output=True, check=True)
        return done.stdout.decode()

    assert told("settings").split()[:4] == ["recall.k", "7", "(default", "10)"]
    assert "embed.model" in told("settings", "--all")
    assert "..." not in told("--help").partition("Every day:")[2]


def test_a_guide_is_paged_at_a_terminal(fresh: Box) -> None:
    fresh.env |= {"PAGER": "cat", "TERM": "dumb"}
    ours, theirs = pty.openpty()
    child = fresh.start("help", "sync", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = until_closed(ours)
    assert child.wait(timeout=60) == 0, said
    assert b"oneiro clone" in said
