"""An import that is killed at any moment and run again ends as one that nobody disturbed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.vault.write.disk import POINTS
from tests.importers.exports import chat, claude_chat, claude_message, zipped
from tests.operations.conftest import QUICK
from tests.vault.support import git, sound

IMPORTER = """
import sys
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.operations.exchange import import_archive
from tests.operations.conftest import QUICK
import_archive.BATCH = int(sys.argv[3])
with App.open(Path(sys.argv[1]), QUICK) as app:
    print("importing", flush=True)
    for path in sys.argv[4:]:
        app.call("import_", {"path": path})
    print("done", flush=True)
"""
BATCH = 4


def exports(folder: Path, count: int) -> list[str]:
    """An export, a newer one of the same account, and another service's with notes."""
    talk = [("user", "My boat is called Petrel."), ("assistant", "A fine name.")]
    more = [*talk, ("user", "She lies in Falmouth."), ("assistant", "A fine harbour.")]
    old = [chat(f"c{n}", talk) for n in range(count)]
    new = [chat(f"c{n}", more if n % 2 else talk) for n in range(count + 3)]
    claude = [
        claude_chat(f"k{n}", [claude_message("a", "human", f"Note {n}.")]) for n in range(count)
    ]
    projects = [
        {"uuid": f"p{n}", "name": f"Kiln {n}", "prompt_template": "Hot.", "docs": [
            {"uuid": f"d{n}", "filename": "a.md", "content": f"Glaze {n}."}]}
        for n in range(count)
    ]  # fmt: skip
    made = {
        "old.zip": {"conversations.json": old},
        "new.zip": {"conversations.json": new},
        "claude.zip": {"conversations.json": claude, "projects.json": projects},
    }
    return [str(zipped(folder / name, files)) for name, files in made.items()]


def imported(root: Path, paths: list[str], fault: str = "", after: float | None = None) -> bool:
    """Did an import in its own process come to its end? It dies at a step of a commit (`fault`), or
    `after` seconds."""
    env = os.environ | ({"ONEIRO_FAULT": fault} if fault else {})
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORTER, str(root), "x", str(BATCH), *paths],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout as said:
        said.readline()
        if after is not None:
            time.sleep(after)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        done = b"done" in said.read()
    return process.wait() == 0 and done


def tree(root: Path) -> str:
    """What is committed, but for this machine's ledger; the disk says the same."""
    assert git(root, "status", "--porcelain", "-uall").strip() == ""
    lines = git(root, "ls-tree", "-r", "HEAD").splitlines()
    return "\n".join(line for line in lines if "\tledger/" not in line)


def undisturbed(tmp_path: Path, paths: list[str]) -> str:
    root = tmp_path / "quiet"
    init_vault(root)
    with App.open(root, QUICK) as app:
        for path in paths:
            app.call("import_", {"path": path})
    return tree(root)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["moved:4", "note:9"])
def test_killed_within_a_commit(tmp_path: Path, root: Path, fault: str) -> None:
    paths = exports(tmp_path, 6)
    assert not imported(root, paths, fault)
    assert imported(root, paths)
    assert tree(root) == undisturbed(tmp_path, paths)
    sound(root)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_killed_at_twenty_moments(tmp_path: Path, root: Path) -> None:
    """Half of them anywhere in time, half at a step of some commit."""
    rng = random.Random(20261126)
    paths = exports(tmp_path, 120)
    began = time.monotonic()
    wanted = undisturbed(tmp_path, paths)
    took = time.monotonic() - began
    killed = 0
    while killed < 20:
        fault = f"{rng.choice(POINTS)}:{rng.randint(2, 6)}" if killed % 2 else ""
        after = None if fault else rng.uniform(0.0, took / 8)
        killed += not imported(root, paths, fault, after)
        if tree_is_there(root, wanted):
            paths = exports(tmp_path, 120 + 20 * killed)  # it was through too soon
            wanted = undisturbed(tmp_path / str(killed), paths)
    assert imported(root, paths)
    assert tree(root) == wanted
    sound(root)


def tree_is_there(root: Path, wanted: str) -> bool:
    """Is all of it committed?"""
    return len(git(root, "ls-tree", "-r", "HEAD").splitlines()) >= len(wanted.splitlines())
