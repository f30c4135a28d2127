"""`oneiro purge` needs a person: a real terminal, the plan read, the vault's name typed."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess

import pytest

from tests.box import ENTRY, Box
from tests.operations.erasure import everything
from tests.vault.support import git

PATIENCE = 120.0


def at_a_terminal(box: Box, *args: str, typed: dict[str, str]) -> tuple[int, str]:
    """Exit code and screen of a command in a pseudo-terminal; each answer is typed when its
    question has appeared."""
    ours, theirs = pty.openpty()
    env = box.env | {"TERM": "dumb", "COLUMNS": "200"}
    child = subprocess.Popen(
        box.argv(*args, entry=ENTRY),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=box.folder,
    )
    os.close(theirs)
    screen, waiting = "", dict(typed)
    try:
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            screen += data.decode("utf-8", "replace")
            for question in [asked for asked in waiting if asked in screen]:
                os.write(ours, waiting.pop(question).encode() + b"\n")
        return child.wait(PATIENCE), screen
    finally:
        child.kill()
        child.wait()
        os.close(ours)


@pytest.mark.slow
def test_a_person_purges(owned: Box) -> None:
    box = owned.init()
    ident = box.remember("Zoë's number is 555-0100, she says.")["id"]
    kept = box.remember("The boat is called Petrel.")["id"]
    owner = box.pid
    done = box("purge", ident)
    assert done.returncode == 2
    assert b"only a person at a terminal" in done.stderr
    code, screen = at_a_terminal(box, "purge", ident, typed={"to go on": "no"})
    assert code == 2
    assert "that is not the name of the vault" in screen
    assert ident[:8] in box.ok("list")
    code, screen = at_a_terminal(box, "purge", ident, typed={"to go on": box.vault.name})
    assert code == 0, screen
    assert ident in screen
    assert "There is no way back" in screen
    assert "Receipt" in screen
    assert everything(box.vault) == []
    assert box.pid != owner
    assert [row["id"] for row in box.json("list")["results"]] == [kept]
    receipt = next((box.vault / ".git/oneiro/receipts").glob("*.json"))
    assert json.loads(receipt.read_text())["memories"] == [ident]
    assert b"was purged" in box("show", ident).stderr
    assert git(box.vault, "log", "-1", "--format=%s").strip() == "forget: purged 1 memory"


@pytest.mark.slow
def test_a_text_is_asked_for_and_a_purge_resumed(fresh: Box) -> None:
    """And the program that rewrites takes nothing from the vault, which may hold files with the
    names of our modules."""
    box = fresh.init()
    for name in ("git_filter_repo.py", "json.py", "oneiro_vault.py"):
        (box.vault / name).write_text(f"open({str(box.folder / 'owned')!r}, 'w').close()\n")
    git(box.vault, "add", "-A")
    git(box.vault, "commit", "-qm", "planted")
    box.remember("Zoë's number is 555-0100, she says.")
    box.ok("stop")
    box.env["ONEIRO_FAULT"] = "purge-rewritten"
    code, _ = at_a_terminal(
        box,
        "purge",
        "--matching",
        "-",
        typed={"Text to purge": "555-0100", "to go on": box.vault.name},
    )
    assert code == 137
    del box.env["ONEIRO_FAULT"]
    assert b"oneiro purge --resume" in box("--no-daemon", "remember", "In between.").stderr
    assert b"oneiro purge --resume" in box("--no-daemon", "list").stderr
    assert at_a_terminal(box, "purge", "--resume", "x", typed={})[0] == 2
    code, screen = at_a_terminal(box, "purge", "--resume", typed={})
    assert code == 0, screen
    assert everything(box.vault) == []
    assert "[purged]" in box.ok("list")
    assert not (box.folder / "owned").exists()
