"""What an owner owns is deleted, moved or replaced under it: it leaves by itself, nobody else
serves meanwhile, nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.daemon.owner_lock import OwnerLock, is_free
from oneiro_vault.errors import LockTimeout
from tests.box import Box, command_line, eventually

FACTS = 400


@pytest.fixture
def moved(box: Box) -> Iterator[Box]:
    """The same machine with its vault under another name."""
    other = Box(box.folder, box.env, box.folder / "moved")
    try:
        yield other
    finally:
        other.close()


def delete(box: Box, what: str) -> None:
    path = box.vault / what
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("what", [".git/oneiro", ".git/oneiro/owner.lock"])
def test_no_second_owner_while_the_first_one_lives(box: Box, what: str) -> None:
    """Suspended, it cannot notice that its lock is gone; somebody who asks meanwhile is told to
    wait."""
    kept = box.remember("The spare key hangs in the shed.")
    first = box.pid
    os.kill(first, signal.SIGSTOP)
    delete(box, what)
    (box.vault / ".git/oneiro/owner.json").unlink(missing_ok=True)
    box.numbers["git.wait"] = 1.0
    done = box("remember", "Not now.")
    assert done.returncode == LockTimeout.exit_code, done
    assert not is_free(box.vault / ".git/oneiro")
    os.kill(first, signal.SIGCONT)
    assert box.json("recall", "spare key")["results"][0]["id"] == kept["id"]
    assert box.pid != first
    eventually(lambda: not command_line(first), 7)
    assert [row["title"] for row in box.json("list")["results"]] == [kept["title"]]


def test_the_lock_outlives_its_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    lock = OwnerLock(tmp_path / ".git/oneiro")
    lock.acquire(0.1, "test")
    shutil.rmtree(tmp_path / ".git/oneiro")
    assert not is_free(tmp_path / ".git/oneiro")
    with pytest.raises(LockTimeout):
        OwnerLock(tmp_path / ".git/oneiro").acquire(0.1, "test")
    lock.release()
    other = OwnerLock(tmp_path / ".git/oneiro")
    other.acquire(0.1, "test")
    other.release()


@pytest.mark.slow
def test_a_vault_that_is_moved_under_writers_loses_nothing(box: Box, moved: Box) -> None:
    """Every acknowledged memory is in the moved vault, the old owner is gone, and the old place
    stays empty."""
    box.ok("recall", "that the vectors are open")
    first = box.pid
    lines = b"".join(
        json.dumps({"text": f"Fact number {n} of the move."}).encode() + b"\n" for n in range(FACTS)
    )
    writer = box.start(
        "remember",
        "--from-jsonl",
        "-",
        "--ack",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(lines)
    writer.stdin.close()
    acks = [writer.stdout.readline() for _ in range(3)]
    box.vault.rename(moved.vault)
    acks += writer.stdout.readlines()
    writer.wait(30)
    assert 0 < len(acks) < FACTS
    total = moved.json("list", "-n", "1")["total"]
    assert moved.pid != first
    eventually(lambda: not command_line(first), 7)
    assert not box.vault.exists()
    git = ["git", "-C", str(moved.vault)]
    held = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, check=True, timeout=30
    ).stdout.decode()
    assert {ack.split()[1].decode() for ack in acks} <= set(held.split("\n"))
    assert total == sum(line.startswith("semantic/") for line in held.split("\n"))
    assert (
        subprocess.run([*git, "fsck", "--strict"], capture_output=True, timeout=60).returncode == 0
    )
    assert (
        subprocess.run(
            [*git, "status", "--porcelain"], capture_output=True, check=True, timeout=30
        ).stdout
        == b""
    )


@pytest.mark.slow
def test_a_copy_that_takes_the_place_of_a_moved_vault_has_an_owner_of_its_own(
    box: Box, moved: Box
) -> None:
    kept = box.remember("The spare key hangs in the shed.")
    first = box.pid
    box.vault.rename(moved.vault)
    shutil.copytree(
        moved.vault, box.vault, symlinks=True, ignore=lambda folder, names: {"socket"} & set(names)
    )
    box.remember("Only in the copy.")
    moved.remember("Only in the moved one.")
    assert len({first, box.pid, moved.pid}) == 3
    for one, other in ((box, "copy"), (moved, "moved")):
        titles = {row["title"] for row in one.json("list")["results"]}
        assert len(titles) == 2
        assert kept["title"] in titles
        assert any(other in title for title in titles)


@pytest.mark.slow
def test_a_repository_that_vanishes_ends_the_owner(box: Box) -> None:
    first = box.pid
    shutil.rmtree(box.vault / ".git")
    eventually(lambda: not command_line(first), 9)
    assert box("list").returncode == 11
    assert not (box.vault / ".git").exists()
