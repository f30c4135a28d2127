"""Most of the notes vanish from the disk: they are still served, nobody's write takes them along,
and nothing believes it unasked."""

from __future__ import annotations

import json
import shutil

import pytest

from oneiro_vault.app import open_vault
from oneiro_vault.errors import Brake
from tests.box import Box
from tests.vault.support import git

COUNT = 24


@pytest.fixture
def full(box: Box) -> Box:
    """A vault of two dozen memories, stored by one command."""
    box.ok("stop")
    box.env["ONEIRO_EDITS_QUIET"] = "0"
    lines = b"".join(
        json.dumps({"text": f"Fact number {n} of the flood."}).encode() + b"\n"
        for n in range(COUNT)
    )
    box.ok("--no-daemon", "remember", "--from-jsonl", "-", stdin=lines)
    return box


def held(box: Box) -> int:
    """Notes in the last commit."""
    return sum(
        line.startswith("semantic/")
        for line in git(box.vault, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    )


def brakes(box: Box, *options: str) -> list[dict[str, object]]:
    done = box(*options, "--json", "doctor", "--fix")
    return [p for p in json.loads(done.stdout)["problems"] if p["level"] == "error" or p["fixed"]]


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--no-daemon"], []], ids=["alone", "owner"])
def test_writing_goes_on_and_takes_nothing_along(full: Box, options: list[str]) -> None:
    shutil.rmtree(full.vault / "semantic")
    done = full(*options, "remember", "Written in the middle of it.")
    assert done.returncode == 0, done
    assert held(full) == COUNT + 1
    done = full(*options, "--json", "recall", "flood")
    assert f"{COUNT} of " in json.loads(done.stdout)["degraded"]
    assert len(json.loads(done.stdout)["results"]) == 10
    (problem,) = brakes(full, *options)
    assert (problem["code"], problem["fixed"], problem["fixable"]) == ("brake", False, False)
    assert "git restore" in str(problem["hint"])
    assert full(*options, "doctor").returncode == 1
    assert full("--no-daemon", "reindex").returncode == Brake.exit_code
    assert held(full) == COUNT + 1
    git(full.vault, "restore", ".")
    assert brakes(full, *options) == []
    assert full.json(*options, "recall", "flood")["degraded"] is None


@pytest.mark.slow
def test_what_a_person_commits_is_believed(full: Box) -> None:
    shutil.rmtree(full.vault / "semantic")
    assert len(brakes(full, "--no-daemon")) == 1
    git(full.vault, "add", "-A")
    git(full.vault, "commit", "-m", "they are meant to be gone")
    assert brakes(full, "--no-daemon") == []
    assert full.json("--no-daemon", "list")["results"] == []


def test_a_person_may_undo_whatever_one_command_stored_and_a_model_may_not(full: Box) -> None:
    with open_vault(full.vault, embed_model="hash", disk_reserve=0) as vault, pytest.raises(Brake):
        vault.call("undo", {"commit": "HEAD", "actor": "model"})
    assert held(full) == COUNT
    before = git(full.vault, "rev-parse", "HEAD^{tree}")
    full.ok("--no-daemon", "undo", "HEAD")
    assert held(full) == 0
    full.ok("--no-daemon", "undo", "HEAD")
    assert held(full) == COUNT
    assert git(full.vault, "ls-tree", "HEAD", "semantic") == git(
        full.vault, "ls-tree", before.strip(), "semantic"
    )
