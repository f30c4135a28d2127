"""Many writers and a person who never stops typing `git add -A`: everything acknowledged is there,
nothing of theirs is swept up."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import StaleMemory
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import SEALED, git, make, note, path_of, put, reopen, sound

WRITER = """
import sys
from pathlib import Path
from tests.vault.support import path_of, put, reopen
vault = reopen(Path(sys.argv[1]), wait=60)
for number in range(int(sys.argv[3])):
    put(vault, int(sys.argv[2]) * 1000 + number)
    print(path_of(int(sys.argv[2]) * 1000 + number), flush=True)
"""
HUMAN = """
cd "$1"
n=0
while [ ! -e ../stop ]; do
  n=$((n+1)); echo "draft $n" > draft.txt
  git add -A 2>/dev/null
  git status --short >/dev/null 2>&1
done
"""


def crowd(root: Path, writers: int, each: int) -> float:
    put(make(root), 999)
    human = subprocess.Popen(
        ["sh", "-c", HUMAN, "sh", str(root)], env=SEALED | {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    )
    started = time.monotonic()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(n), str(each)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(writers)
    ]
    said = [process.communicate(timeout=300) for process in running]
    took = time.monotonic() - started
    (root.parent / "stop").touch()
    human.wait(timeout=60)
    assert [process.returncode for process in running] == [0] * writers, [err for _, err in said]
    acked = [path for out, _ in said for path in out.split()]
    assert len(acked) == writers * each
    vault = reopen(root)
    vault.gate.flush()
    listing = vault.listing()
    assert set(acked) <= set(listing)
    assert all((root / path).exists() for path in acked)
    assert "draft.txt" not in git(root, "log", "--name-only", "--format=")
    assert not git(root, "diff", "--cached", "--name-only", "--diff-filter=D").split()
    git(root, "reset", "-q")
    (root / "draft.txt").unlink(missing_ok=True)
    sound(root)
    return took


@pytest.mark.slow
def test_eight_writers_and_a_person(tmp_path: Path) -> None:
    crowd(tmp_path / "vault", 8, 10)


@pytest.mark.drill
@pytest.mark.timeout(900)
def test_twenty_writers_and_a_person(tmp_path: Path) -> None:
    took = crowd(tmp_path / "vault", 20, 25)
    assert 500 / took >= 8  # twenty interpreters start in that time, too


EDITOR = """
import os, sys, time
from pathlib import Path
path = Path(sys.argv[1])
for number in range(int(sys.argv[2])):
    text = path.read_text()
    new = text + f"human {number}\\n"
    temp = path.with_name("4913.swp")
    temp.write_text(new)
    os.replace(temp, path)
    print(number, flush=True)
    time.sleep(0.01)
"""


@pytest.mark.slow
def test_an_editor_loop_against_a_machine_loop(tmp_path: Path) -> None:
    """Both rewrite one note. The last words of the person are never replaced without having been
    committed under their name."""
    root = tmp_path / "vault"
    vault = make(root)
    put(vault, 1)
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITOR, str(root / path_of(1)), "200"],
        stdout=subprocess.PIPE,
        text=True,
    )
    stale = 0
    rounds = 0
    while editor.poll() is None:
        rounds += 1
        data = vault.read(path_of(1))
        try:
            vault.apply(
                [Write(path_of(1), data + b"machine %d\n" % rounds, digest(data))],
                Operation("revise", "x", "model"),
            )
        except StaleMemory:
            stale += 1
    vault.edits.commit()
    human = [
        text.split(" ")
        for text in vault.read(path_of(1)).decode().splitlines()
        if text.startswith("human")
    ]
    versions = git(root, "log", "-p", "--format=", "--", path_of(1))
    lost = [number for number in range(200) if f"+human {number}\n" not in versions]
    # a save based on bytes the machine replaced a moment before drops the machine's line, never the
    # person's own
    assert lost == [], (lost, stale, rounds, len(human))
    machine = [
        line
        for line in git(root, "log", "--format=%an", "--", path_of(1)).splitlines()
        if line.startswith("oneiro")
    ]
    assert len(machine) == rounds - stale + 1
    assert note(1).splitlines()[0] in vault.read(path_of(1)).splitlines()
    sound(root)
