"""Whose environment counts when an owner answers: the caller's where it can, and what cannot be
followed is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneiro_vault.daemon import protocol
from tests.box import Box
from tests.daemon.test_asgi import Served, served

__all__ = ["served"]


@pytest.fixture
def without_git(box: Box, tmp_path: Path) -> Box:
    """A vault whose owner was started where git was not on PATH."""
    (tmp_path / "empty").mkdir()
    path, box.env["PATH"] = box.env["PATH"], str(tmp_path / "empty")
    done = box("log")
    assert done.returncode == 11
    assert b"git is not installed" in done.stderr
    assert box.record
    box.env["PATH"] = path
    return box


@pytest.mark.slow
@pytest.mark.parametrize("command", ["log", "doctor"], ids=["thin", "ordinary"])
def test_an_owner_started_without_git_uses_a_callers(without_git: Box, command: str) -> None:
    pid = without_git.pid
    for _ in range(2):
        done = without_git(command)
        assert done.returncode == 0, done
    assert b"git is not installed" not in done.stdout
    assert without_git.pid == pid


def test_a_callers_old_git_does_not_help(without_git: Box, tmp_path: Path) -> None:
    (tmp_path / "empty" / "git").write_text("#!/bin/sh\necho git version 2.30.0\n")
    (tmp_path / "empty" / "git").chmod(0o755)
    done = without_git("log", env={"PATH": str(tmp_path / "empty")})
    assert done.returncode == 11
    assert b"git 2.30.0 is too old" in done.stderr
    assert without_git("log").returncode == 0  # the owner's own is too old as well


@pytest.mark.slow
def test_a_callers_settings_count_for_its_call(box: Box) -> None:
    box.env["ONEIRO_DECAY_EPISODIC"] = "3"
    for number in range(4):
        box.remember(f"Fact number {number} about the boiler.")
    mine = box.env | {"ONEIRO_RECALL_K": "2", "ONEIRO_DECAY_EPISODIC": ""}
    for options in ([], ["--no-daemon"]):
        done = box(*options, "--json", "recall", "boiler", env=mine)
        assert (len(json.loads(done.stdout)["results"]), done.stderr) == (2, b"")
    stats = json.loads(box("--json", "stats", env=mine).stdout)
    assert stats["settings"]["decay.episodic"] == 7.0
    assert len(box.json("recall", "boiler")["results"]) == 4
    assert box.json("stats")["settings"]["decay.episodic"] == 3.0


@pytest.mark.slow
def test_what_cannot_be_followed_is_said(box: Box) -> None:
    box.ok("list")
    for words in (
        ["recall", "boiler"],
        ["remember", "a new word"],
        ["--json", "list"],
        ["doctor"],
        ["remember", "-"],
    ):
        done = box(
            *words,
            stdin=b"from a pipe",
            env={"ONEIRO_OWNER_IDLE": "77", "ONEIRO_VAULT": "/x", "ONEIRO_OWNER_START": "true"},
        )
        assert done.returncode == 0, words
        assert (
            done.stderr.count(b"started with other settings (ONEIRO_OWNER_IDLE); `oneiro stop`")
            == 1
        ), words
        if "--json" in words:
            assert "ONEIRO_OWNER_IDLE" in json.loads(done.stdout)["notices"][0]
        assert b"other settings" not in box(*words, stdin=b"from another pipe").stderr, words


def test_the_header_survives_the_way() -> None:
    env = {"PATH": "/a:/b c\n:caf\udce9" * 3000, "ONEIRO_X": "=1="}
    assert protocol.unpack_surroundings(protocol.pack_surroundings(env)) == env
    assert protocol.unpack_surroundings(protocol.pack_surroundings({})) == {}
    taken = protocol.surroundings(env | {"SECRET": "x", "HOME": "/h", "GIT_DIR": "/g"})
    assert taken == env | {"HOME": "/h"}


def test_the_header_reaches_the_operation(served: Served) -> None:
    packed = protocol.pack_surroundings({"PATH": "/a" * 50_000})
    assert (
        served.post("/api/recall", b'{"query": "x"}', **{protocol.SURROUNDINGS_HEADER: packed})[0]
        == 200
    )
    assert served.app.env == {"PATH": "/a" * 50_000}
    assert served.post("/api/recall", b'{"query": "x"}')[0] == 200
    assert served.app.env is None
    for bad in ("x", "caf\u00e9", "Zm9v"):
        assert (
            served.post("/api/recall", b'{"query": "x"}', **{protocol.SURROUNDINGS_HEADER: bad})[0]
            == 400
        )
