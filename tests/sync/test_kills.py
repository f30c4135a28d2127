"""Death at any step of a sync: the next one completes it, and nothing is lost or doubled."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oneiro_vault.vault.write.disk import POINTS, SYNC_POINTS
from tests.sync.support import copies, forget, learn, meet, person, reframe, sync, text, where
from tests.vault.support import git, reopen, run

SCRIPT = """
import sys
import os
import time
from pathlib import Path
from tests.sync.support import sync
from tests.vault.support import reopen
sync(reopen(Path(sys.argv[1])))
"""


def dies_and_is_completed(tmp_path: Path, fault: str) -> None:
    one, two = copies(tmp_path, notes=4)
    reframe(one, where(0), "their wording", day=4)
    forget(one, 1)
    learn(one, 10, "learned there")
    sync(one)
    person(two, where(0), "hello", "a person's wording")
    reframe(two, where(1), "a machine's wording", day=5)
    learn(two, 11, "learned here")
    two.ledger.use("000000000002", "use")
    two.edits.commit(quiet=0.0)
    two.fold()
    assert run(SCRIPT, two.root, fault=fault).returncode == 137
    two = reopen(two.root)
    learn(one, 12, "learned meanwhile")
    meet(one, two)
    found = text(one, where(0))
    assert "a person's wording" in found
    assert "their wording" in found
    assert found.count("[!conflict]") == 1
    assert {path for path in one.listing() if path.startswith("semantic")} == {
        where(number) for number in (0, 2, 3, 10, 11, 12)
    }
    marks = [event["n"] for event in one.ledger.events()]
    assert len(marks) == len(set(marks)) == 2


@pytest.mark.parametrize("fault", [*SYNC_POINTS, "objects", "moved", "note"])
def test_dying_in_a_sync_is_made_good_by_the_next(tmp_path: Path, fault: str) -> None:
    dies_and_is_completed(tmp_path, fault)


@pytest.mark.drill
@pytest.mark.parametrize(
    "fault", [point for point in POINTS if point not in ("folded", "unfolded")]
)
def test_dying_at_any_step(tmp_path: Path, fault: str) -> None:
    dies_and_is_completed(tmp_path, fault)


def test_dying_in_a_plain_advance(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    reframe(one, where(0), "their wording", day=4)
    learn(one, 10, "learned there")
    forget(one, 1)
    sync(one)
    assert run(SCRIPT, two.root, fault="note:2").returncode == 137
    two = reopen(two.root)
    assert two.edits.commit(quiet=0.0) == []
    meet(one, two)
    assert "their wording" in text(two, where(0))


def test_dying_while_a_link_comes(tmp_path: Path) -> None:
    one, two = copies(tmp_path)
    (one.root / "semantic/link.md").symlink_to("/etc/passwd")
    git(one.root, "add", "-A")
    git(one.root, "commit", "-qm", "a link")
    learn(one, 10, "learned there")
    sync(one)
    learn(two, 11, "learned here")
    assert run(SCRIPT, two.root, fault="moved").returncode == 137
    two = reopen(two.root)
    assert not (two.root / "semantic/link.md").is_symlink()
    assert "learned there" in text(two, where(10))
    sync(two)
    assert "learned here" in text(two, where(11))
    assert not (two.root / "semantic/link.md").is_symlink()


@pytest.mark.parametrize("name", ["refs/oneiro/seen/origin/main", "refs/remotes/origin/main"])
def test_a_lock_on_what_was_seen_is_no_obstacle(tmp_path: Path, name: str) -> None:
    one, two = copies(tmp_path)
    learn(one, 10, "learned there")
    sync(one)
    lock = two.root / f".git/{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("")
    os.utime(lock, (time.time() - 5,) * 2)
    two = reopen(two.root)
    assert not lock.exists()
    learn(two, 11, "learned here")
    meet(one, two)
