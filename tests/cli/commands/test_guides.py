"""The guides and the settings, as the command line shows them."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import oneiro_vault
from oneiro_vault.settings.definitions import SETTINGS
from tests.box import ENTRY, Box, until_closed

HELP = Path(oneiro_vault.__file__).parent / "help"


def test_guides_are_shown_and_a_wrong_topic_names_the_right_ones(box: Box) -> None:
    topics = box.json("help")["topics"]
    assert topics.keys() == {one.stem for one in HELP.rglob("*.md")}
    assert box.ok("help", "sync").startswith("# ")
    done = box("help", "nothing")
    assert (done.returncode, b"sync" in done.stderr) == (3, True)


@pytest.mark.slow
def test_settings_that_differ_are_told_apart(box: Box) -> None:
    assert "recall.k" in box.ok("settings", "--all")
    changed = box.json("settings")["settings"]
    assert {one["name"] for one in changed} == {one.name for one in SETTINGS}
    assert "recall.k" not in box.ok("settings")


@pytest.mark.slow
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


def test_the_manual_page_is_printed_as_it_is_packaged(box: Box) -> None:
    assert box.ok("help", "--man") == (HELP / "reference" / "oneiro.1").read_text("utf-8")


SCRIPTS = {
    "bash": '''eval "$(oneiro completion bash)"
COMP_WORDS=(%s) COMP_CWORD=$((${#COMP_WORDS[@]}-1))
_oneiro_completion oneiro >/dev/null 2>&1; echo "${COMPREPLY[@]}"''',
    "zsh": """autoload -Uz compinit; compinit -u -D; source <(oneiro completion zsh)
compadd() { shift; print -r -- ${(P)${@[-1]}} "$@"; }; _describe() { print -r -- "${(P@)3}"; }
words=(%s); CURRENT=$#words; _oneiro_completion""",
    "fish": '''oneiro completion fish | source; complete -C"%s"''',
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_real_shell_completes_commands_ids_topics_and_formats(owned: Box, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed here")
    ident = owned.init().remember("The boat is called Petrel.")["id"]
    program = owned.folder / "oneiro"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m oneiro_vault "$@"\n')
    program.chmod(0o755)
    where = f"oneiro --vault {owned.vault}"
    for words, wanted in (
        (f"{where} resto", "restore"),
        (f"{where} show {ident[:3]}", ident[:8]),
        ("oneiro help sy", "sync"),
        (f"{where} graph Ana --format can", "canvas"),
        ("oneiro setup wind", "windsurf"),
    ):
        env = owned.env | {"PATH": f"{owned.folder}:{os.environ['PATH']}"}
        command = [shell, "-c", SCRIPTS[shell] % words]
        done = subprocess.run(command, env=env, cwd=owned.folder, capture_output=True, timeout=60)
        assert wanted in done.stdout.decode(), (words, done)
