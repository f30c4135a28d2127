"""git changes the folder while an owner runs: nothing of that is a person's edit, and afterwards
everything is as git left it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.vault.support import git, half_way, slow_git

COUNT = 40
QUIET = 0.5


@pytest.fixture
def branches(box: Box, tmp_path: Path) -> Box:
    """`main` has forty notes, `old` none of them, but one that git takes its time to write."""
    box.ok("stop")
    box.env["ONEIRO_EDITS_QUIET"] = str(QUIET)
    root = box.vault
    git(root, "switch", "-qC", "main")
    slow_git(root, tmp_path)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "slow.md is slow")
    git(root, "switch", "-qc", "old")
    (root / "slow.md").write_text("written slowly")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "old")
    git(root, "switch", "-q", "main")
    (root / "semantic").mkdir(exist_ok=True)
    for number in range(COUNT):
        (root / f"semantic/n{number}.md").write_text(f"Fact number {number} of the flood.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "notes")
    assert box.pid
    eventually(lambda: box.json("status")["notes"] == COUNT, 30)
    return box


def looked(box: Box) -> None:
    """The owner has committed what rests: a note that was written now is in history."""
    (box.vault / "last.md").write_text(f"{time.time()}\n")
    eventually(lambda: git(box.vault, "status", "--porcelain") == "", 60)


@pytest.mark.slow
def test_a_slow_checkout_there_and_back_leaves_no_commit(branches: Box, tmp_path: Path) -> None:
    root = branches.vault
    before = git(root, "rev-parse", "main", "old")
    with half_way(root, tmp_path, "checkout", "-q", "old"):
        time.sleep(4 * QUIET)  # time enough for an owner that would take it for edits
        assert not list(root.glob("semantic/n*.md"))
        assert branches.json("status")["uncommitted"] == 0
    git(root, "checkout", "-q", "main")
    assert git(root, "rev-parse", "main", "old") == before
    looked(branches)
    assert git(root, "show", "--name-only", "--format=%s", "main").split() == [
        "edit:",
        "last",
        "last.md",
    ]
    assert git(root, "rev-parse", "main~1", "old") == before
    found = branches.json("recall", "flood", "-k", "50")
    flood = [
        row for row in found["results"] if row["path"] != "last.md"
    ]  # the last one may trail behind, weak
    assert (len(flood), found["degraded"]) == (COUNT, None)


@pytest.mark.slow
def test_many_deletions_are_asked_about_and_a_few_are_not(branches: Box) -> None:
    root = branches.vault
    for number in range(3):
        (root / f"semantic/n{number}.md").unlink()
    eventually(lambda: git(root, "log", "-1", "--format=%s", "main") == "edit: 3 files\n", 60)
    for number in range(3, 13):
        (root / f"semantic/n{number}.md").unlink()
    eventually(lambda: branches.json("status")["gone"], 30)
    (root / "last.md").write_text("mine\n")
    eventually(lambda: git(root, "log", "-1", "--format=%s", "main") == "edit: last\n", 60)
    assert "10 notes are gone from the disk" in branches.ok("status")
    (problem,) = [
        one for one in branches("--json", "doctor").stdout.decode().split("{") if '"brake"' in one
    ]
    assert "git restore" in problem
    git(root, "restore", ".")
    looked(branches)
    assert branches.json("status")["gone"] is None
    assert len(git(root, "ls-tree", "-r", "--name-only", "main", "semantic").split()) == COUNT - 3


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["middle", "cut", "gone"])
def test_a_damaged_index_heals_while_the_owner_runs(branches: Box, damage: str) -> None:
    index = branches.vault / ".git/index"
    raw = bytearray(index.read_bytes())
    if damage == "gone":
        index.unlink()
    else:
        raw[20:60] = b"\xff" * 40
        index.write_bytes(raw if damage == "middle" else raw[:200])
    eventually(
        lambda: (
            git(branches.vault, "status", "--porcelain", "--branch", check=False) == "## main\n"
        ),
        30,
    )
    assert git(branches.vault, "fsck", "--no-dangling") == ""
