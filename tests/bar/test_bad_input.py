"""Bad input and bad surroundings through the command line: a clear error with its exit code,
nothing lost, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.box import ENTRY, Box, eventually, patient
from tests.conftest import sealed
from tests.copies import new_vault
from tests.drills.whole import acks, committed, kept
from tests.vault.support import git

TWINS = ("0123456789ab", "0123456789cd")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A vault with one memory (`box.row`) and two notes whose ids begin alike, for requests that
    must change nothing."""
    folder = tmp_path_factory.mktemp("bad")
    box = Box(folder, sealed(folder))
    try:
        box.init().remember("The kettle is blue.")
        for name, ident in zip(("one", "two"), TWINS, strict=True):
            (box.vault / f"{name}.md").write_text(f"---\nid: {ident}\n---\n{name}\n")
        box.env["ONEIRO_EDITS_COMMIT"] = "false"
        box.ok("stop")
        assert box.json("list")["total"] == 3
        yield box
    finally:
        box.close()


def state(box: Box) -> tuple[str, list[tuple[str, bytes]]]:
    """HEAD and every note's bytes."""
    return git(box.vault, "rev-parse", "HEAD"), sorted(
        (str(path), path.read_bytes()) for path in box.vault.glob("**/*.md")
    )


def refused(
    box: Box, args: list[str], code: int, says: str, stdin: bytes = b"", **more: Any
) -> None:
    """The command ends with this code and these words on standard error, as JSON too, and changes
    nothing."""
    before = state(box)
    done = box(*args, stdin=stdin, **more)
    text = (done.stderr + done.stdout).decode(errors="replace")
    assert (done.returncode, says in text) == (code, True), text
    assert "Traceback" not in text
    assert "fault of ours" not in text
    if args[0] not in IDS[1:]:  # one of the four that answer alike is enough
        as_json = box("--json", *args, stdin=stdin, **more)
        assert as_json.returncode == code
        assert json.loads(as_json.stdout.splitlines()[-1])
        assert b"Traceback" not in as_json.stderr
    assert state(box) == before


IDS = ["show", "why", "forget", "reframe"]


@pytest.mark.slow
@pytest.mark.parametrize("command", IDS)
@pytest.mark.parametrize(
    ("ident", "code", "says"),
    [
        (TWINS[0][:10], 4, "fits 2 memories"),
        (TWINS[0][:4], 4, "fits 2 memories"),
        ("zzzzzzzzzzzz", 3, "no memory has the id"),
        ("abc", 2, "too short"),
        ("one.md", 2, "is a path, not an id"),
        ("../../etc/passwd", 2, "not an id"),
        ("/etc/passwd", 2, "not an id"),
        ("caf\udce9", 2, "not valid text"),
        ("", 2, "no id was given"),
    ],
    ids=[
        "ambiguous",
        "ambiguous prefix",
        "unknown",
        "too short",
        "a path",
        "a path outside",
        "absolute",
        "not UTF-8",
        "empty",
    ],
)
def test_ids(ready: Box, command: str, ident: str, code: int, says: str) -> None:
    refused(ready, [command, ident, *(["new words"] if command == "reframe" else [])], code, says)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "stdin", "says"),
    [
        (["remember", "-"], b"x" * 10_000_000, "10,000,000 bytes"),
        (["reframe", "KETTLE", "-"], b"x" * 10_000_000, "10,000,000 bytes"),
        (["remember", "-"], b"a\0b", "NUL"),
        (["reframe", "KETTLE", "-"], b"a\0b", "NUL"),
        (["remember", "-"], b"\xed\xa0\x80", "not UTF-8"),
        (["remember", "lone \udcff byte"], b"", "not valid text"),
        (["recall", "lone \udcff byte"], b"", "not valid text"),
        (["remember", "--from-jsonl", "-"], b'{"text": "x \\ud800"}\n', "not valid Unicode"),
        (["remember", "--from-jsonl", "-", "--ack"], b'{"text": "x \\u0000"}\n', "NUL"),
        (
            ["remember", "--from-jsonl", "-"],
            b'{"text": "' + b"y" * 10_000_000 + b'"}\n',
            "10,000,000 bytes",
        ),
        (["remember", "--from-jsonl", "-"], b"[" * 200_000, "not JSON"),
        (["remember", "x", "--path", "../../out.md"], b"", "out.md"),
        (["remember", "x", "--path", ".git/hooks/x.md"], b"", ".git"),
        (["remember", "x", "--path", f"{'y' * 200}/" * 25 + "x.md"], b"", "5029 bytes"),
        (["list", "--vault", f"/{'y' * 300}"], b"", "longer than a path can be"),
        (["clone", "url", f"/{'y' * 300}"], b"", "longer than a path can be"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_texts(ready: Box, args: list[str], stdin: bytes, says: str) -> None:
    kettle = next(row["id"] for row in ready.json("list")["results"] if "kettle" in row["title"])
    refused(ready, [kettle if arg == "KETTLE" else arg for arg in args], 2, says, stdin)


def tool(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def without_git(box: Box) -> dict[str, str]:
    (box.folder / "nogit").mkdir(exist_ok=True)
    return {"PATH": str(box.folder / "nogit")}


def old_git(box: Box) -> dict[str, str]:
    tool(box.folder / "oldgit", "git", "echo git version 2.30.2")
    return {"PATH": str(box.folder / "oldgit")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "says"),
    [
        (without_git, "git is not installed"),
        (old_git, "git 2.30.2 is too old: 2.38 or newer is needed"),
    ],
)
def test_git_missing_or_too_old(box: Box, how: Callable[[Box], dict[str, str]], says: str) -> None:
    """What needs git's own program says so; what does not goes on working, and what it acknowledges
    is there."""
    box.ok("stop")
    env = how(box)
    done = box("log", env=env)
    assert (done.returncode, says in done.stderr.decode()) == (11, True), done
    assert b"Traceback" not in done.stderr
    made = box("remember", "Written without git's program.", "--ack", env=env)
    assert made.returncode in (0, 11), made
    assert b"Traceback" not in made.stderr
    box.ok("stop")
    if made.returncode == 0:
        _, path, sha = made.stdout.decode().split()
        kept(box, {path: sha})
    fresh = subprocess.run(
        [sys.executable, "-c", ENTRY, "init", str(box.folder / "other")],
        env=box.env | env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert fresh.returncode in (0, 11)
    assert b"Traceback" not in fresh.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "text", "says", "owner"),
    [
        ("oneiro.toml", "[recall]\nk = 'many'\n", "recall.k", True),
        ("oneiro.toml", "[recall]\nkk = 3\n", "recall.kk", False),
        ("oneiro.toml", "[recall\n", "not valid TOML", False),
        ("oneiro.toml", "[embed]\nmodel = 'evil/model'\n", "embed.model", False),
        ("home/.config/oneiro/config.toml", "[owner]\nidle = 'soon'\n", "owner.idle", True),
        ("home/.config/oneiro/config.toml", "[owner]\nidel = 3\n", "owner.idel", False),
    ],
)
def test_settings(ready: Box, where: str, text: str, says: str, owner: bool) -> None:
    ready.ok("stop")
    file = (ready.vault if where == "oneiro.toml" else Path(ready.env["HOME"]).parent) / where
    before = file.read_bytes() if file.exists() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    try:
        refused(ready, ["--no-daemon", "remember", "x"], 2, says)
        read(
            ready,
            says,
            ["--no-daemon"],
            ["recall kettle", "list", "status", "stats"],
            ["doctor", "check"],
        )
        if owner:
            refused(ready, ["remember", "x"], 2, says)
            read(ready, says, [], ["recall kettle", "list", "status", "stats"], ["doctor", "check"])
    finally:
        file.write_bytes(before) if before is not None else file.unlink()


def read(box: Box, says: str, options: list[str], reading: list[str], looking: list[str]) -> None:
    """What only reads goes on and says it; what looks for faults finds it."""
    for command in reading:
        done = box(*options, *command.split())
        assert (done.returncode, says in done.stderr.decode()) == (0, True), done
    for command in looking:
        done = box(*options, command)
        assert (done.returncode, says in done.stdout.decode()) == (1, True), done


@pytest.mark.slow
def test_a_variable_of_the_wrong_type(ready: Box) -> None:
    ready.ok("stop")
    for _ in range(2):  # without an owner, and with one that was started with better ones
        refused(ready, ["recall", "x"], 2, "ONEIRO_RECALL_K", env={"ONEIRO_RECALL_K": "many"})
        ready.ok("list")


@pytest.mark.slow
def test_a_vault_that_is_no_repository(box: Box) -> None:
    box.ok("stop")
    shutil.move(box.vault / ".git", box.folder / "elsewhere")
    for args in (["remember", "x"], ["recall", "x"], ["status"]):
        done = box(*args)
        assert done.returncode in (5, 11), done
        assert b"init --here" in done.stderr
        assert b"Traceback" not in done.stderr
    assert not (box.vault / ".git").exists()


@pytest.mark.slow
def test_a_lock_of_a_living_git_is_untouched_and_of_a_dead_one_moved_aside(box: Box) -> None:
    """`git commit -a` waiting in its editor holds index.lock: memories are acknowledged all the
    same, or refused within ten seconds."""
    box.ok("stop")
    box.env["ONEIRO_EDITS_QUIET"] = "0.5"
    tool(
        box.folder / "tools",
        "slow-editor",
        f'touch "{box.folder}/open"; while [ ! -e "{box.folder}/done" ]; do sleep 0.1; done; echo '
        f'mine > "$1"',
    )
    (box.vault / "draft.txt").write_text("draft\n")
    git(box.vault, "add", "draft.txt")
    env = box.env | {"GIT_EDITOR": str(box.folder / "tools/slow-editor")}
    person = subprocess.Popen(
        ["git", "-C", str(box.vault), "commit", "-a"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    lock = box.vault / ".git/index.lock"
    try:
        end = time.monotonic() + patient(10)
        while not (box.folder / "open").exists() and time.monotonic() < end:
            time.sleep(0.02)
        held = lock.read_bytes()
        started = time.monotonic()
        done = box("remember", "Said while a commit waits for its message.", "--ack")
        assert time.monotonic() - started < patient(10)
        assert done.returncode in (0, 9), done
        assert b"Traceback" not in done.stderr
        assert lock.read_bytes() == held
        assert git(box.vault, "diff", "--cached", "--name-only", "--diff-filter=A") == "draft.txt\n"
    finally:
        (box.folder / "done").touch()
        person.wait(20)
    eventually(lambda: set(acks(done.stdout)) <= set(git(box.vault, "ls-files").splitlines()), 8)
    git(
        box.vault, "commit", "-qm", "again"
    )  # the first was refused by git, because the branch had moved on
    lock.write_bytes(b"left by a dead program")
    old = time.time() - 3600
    os.utime(lock, (old, old))
    started = time.monotonic()
    said = box.ok("remember", "Said after a program died.", "--ack").split()
    took = time.monotonic() - started
    assert took <= patient(2)
    end = time.monotonic() + patient(8)
    while lock.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not lock.exists()
    aside = [path for path in (box.vault / ".git").rglob("*index.lock*") if path.is_file()]
    assert [path.read_bytes() for path in aside] == [b"left by a dead program"]
    both = acks(done.stdout) | {said[1]: said[2]}
    eventually(lambda: committed(box.vault, list(both)) == both, 8)
    assert all((box.vault / path).exists() for path in both)
    assert git(box.vault, "fsck", "--strict", "--no-dangling") == ""
    eventually(lambda: git(box.vault, "status", "--porcelain") == "", 5)


CLOCKS = {
    "1970": 0.0,
    "before 1970": -1e9,
    "a day ago": -86400.0,
    "in a day": 86400.0,
    "9999": 253402300000.0,
}


@pytest.mark.parametrize("name", CLOCKS)
def test_a_clock_in_the_past_or_the_future(tmp_path: Path, name: str) -> None:
    """Two memories at the right time, then one under a wrong clock, then one after: the order is
    history's, nothing fades at once."""
    new_vault(tmp_path / "vault")
    settings = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})
    wrong = CLOCKS[name] if "19" in name or "99" in name else time.time() + CLOCKS[name]
    for number, clock in enumerate([time.time, lambda: wrong, time.time]):
        with App.open(tmp_path / "vault", settings, clock=clock) as app:
            row = app.call(
                "remember",
                {
                    "items": [{"text": f"Clock note {number} tells the boat story."}],
                    "dedupe": False,
                },
            )["results"][0]
            assert app.call("show", {"id": row["id"]})["strength"] >= 0
            for shown in app.call("list", {})["results"]:
                assert 0 <= shown["strength"] <= 1
            found = app.call("recall", {"query": "clock boat story"})["results"]
            assert len(found) == number + 1
            assert all(0 <= one["score"] <= 1 for one in found)
            assert app.call("why", {"id": row["id"]})["story"]
            datetime.fromisoformat(
                row.get("created") or app.call("show", {"id": row["id"]})["meta"]["created"]
            )
    with App.open(tmp_path / "vault", settings) as app:
        titles = [entry["title"] for entry in app.call("log", {})["entries"]][:3]
        assert titles == [f"Clock note {number} tells the boat story." for number in (2, 1, 0)]
        assert (
            app.call("stats", {})["faded"] <= 1
        )  # only the one that claims to be ancient may have faded
        assert (
            len(app.call("recall", {"query": "clock boat story", "passive": True})["results"]) >= 2
        )
        assert [
            problem for problem in app.call("doctor", {})["problems"] if problem["level"] == "error"
        ] == []
    assert git(tmp_path / "vault", "fsck", "--strict", "--no-dangling") == ""
    assert git(tmp_path / "vault", "status", "--porcelain") == ""
