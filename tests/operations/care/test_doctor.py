"""doctor: damaged objects are named and mended while everything else goes on, a rewritten history
is said, known faults are told by version."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import Brake
from oneiro_vault.operations.care.doctor import FAULTS, _faults, versions
from tests.operations.conftest import QUICK, Call, hits, stored


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, check=True, text=True
    ).stdout.strip()


def lose(root: Path, name: str) -> None:
    """One object is gone from the disk."""
    oid = git(root, "rev-parse", name)
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()


def codes(call: Call, *, fix: bool = False) -> dict[str, bool]:
    """What `doctor` finds that matters -> whether it was mended."""
    return {
        one["code"]: one["fixed"]
        for one in call("doctor", fix=fix)["problems"]
        if not one.get("verbose")
    }


def path_of(call: Call, ident: str) -> str:
    found: str = call("show", id=ident)["path"]
    return found


def test_a_damaged_note_is_named_served_and_mended(root: Path, call: Call) -> None:
    boat, cat = stored(call, "The boat is called Petrel."), stored(call, "Ana feeds the cat.")
    lose(root, f"HEAD:{path_of(call, boat)}")
    assert set(hits(call, "Petrel") + hits(call, "cat")) == {boat, cat}
    dog = stored(call, "Bo walks the dog.")
    call("reframe", id=cat, text="Ana feeds two cats.")
    assert hits(call, "dog")[0] == dog
    (found,) = [one for one in call("doctor")["problems"] if one["code"] == "damage"]
    assert f"{path_of(call, boat)} (as it is now; the copy on disk is intact)" in found["message"]
    assert (found["level"], found["fixable"]) == ("error", True)
    assert codes(call, fix=True) == {"damage": True}
    assert codes(call) == {}
    assert git(root, "fsck", "--no-dangling") == ""


def test_a_folder_of_the_history_that_cannot_be_read(root: Path, call: Call) -> None:
    boat = stored(call, "The boat is called Petrel.")
    lose(root, f"HEAD:{Path(path_of(call, boat)).parent}")
    with App.open(root, QUICK) as app:

        def again(op: str, **params: object) -> dict[str, object]:
            return app.call(op, params)

        assert hits(again, "Petrel") == [boat]
        (found,) = [one for one in app.call("doctor")["problems"] if not one.get("verbose")]
        assert found["code"] == "damage"
        assert "the folder semantic" in found["message"]
        assert codes(again, fix=True) == {"damage": True}, (
            "the index of git knows what the folder held"
        )
        assert codes(again) == {}
        stored(again, "Bo walks the dog.")
    assert git(root, "fsck", "--no-dangling") == ""


def test_a_rewritten_history_is_said_until_a_person_accepts_it(root: Path, call: Call) -> None:
    boat, cat = stored(call, "The boat is called Petrel."), stored(call, "Ana feeds the cat.")
    assert call("status")["rewritten"] is None
    git(root, "reset", "-q", "--hard", "HEAD~1")
    with pytest.raises(Brake, match="rewritten"):
        stored(call, "Bo walks the dog.")
    assert hits(call, "Petrel") == [boat]
    assert "1 note said then: 'semantic/" in call("status")["rewritten"]
    assert codes(call) == {"rewritten": False}
    assert codes(call, fix=True) == {"rewritten": True}
    assert call("status")["rewritten"] is None
    stored(call, "Bo walks the dog.")
    assert cat not in hits(call, "cat")
    assert codes(call) == {}


def test_known_faults_are_told_by_version() -> None:
    def told(**installed: str) -> list[str]:
        return [found["code"] for found in _faults(installed)]

    assert (
        told(sqlite="3.7.0") == told(sqlite="3.40.1") == told(sqlite="3.51.2") == ["sqlite-version"]
    )
    assert (
        told(sqlite="3.51.3")
        == told(sqlite="3.6.23")
        == told(sqlite="4.0.0")
        == told(sqlite="not installed")
        == []
    )
    assert told(chromadb="1.5.9", mcp="2.3.0") == ["chromadb-version", "mcp-version"]
    assert told(chromadb="1.5.10", mcp="2.3.1") == []
    assert {fault.name for fault in FAULTS} <= versions().keys(), (
        "what is not asked for is never found"
    )
    assert all(fault.first <= fault.last for fault in FAULTS)


def test_a_path_that_is_too_deep_is_a_finding_and_not_the_end_of_it(root: Path, call: Call) -> None:
    deep = root.joinpath("deep", *["d"] * 60)
    deep.mkdir(parents=True)
    (deep / "n.md").write_text("far down\n")
    boat = stored(call, "The boat is called Petrel.")
    assert hits(call, "Petrel") == [boat]
    assert any("it is too deep" in one["message"] for one in call("doctor")["problems"])
