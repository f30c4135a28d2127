"""One run at a time; who died or hung is taken over, and finds out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import LockTimeout
from oneiro_vault.operations.dream import run_lease as leases
from oneiro_vault.operations.dream.run_lease import Lease
from tests.vault.support import reopen

HOLDER = """
import sys, time
from pathlib import Path
from oneiro_vault.operations.dream.run_lease import Lease
from tests.vault.support import reopen
lease = Lease(reopen(Path(sys.argv[1])), "a test")
print("held", flush=True)
time.sleep(0.1)
sys.stdin.read()
print("mine" if lease.held() else "lost", flush=True)
"""


def holder(root: Path) -> subprocess.Popen[str]:
    made = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "held\n"
    return made


def test_a_living_holder_is_named(app: App, root: Path) -> None:
    process = holder(root)
    try:
        with pytest.raises(LockTimeout, match=rf"a test.*{process.pid}"):
            Lease(reopen(root), "another")
        assert leases.current(app.house.vault) is not None
    finally:
        process.communicate("")


def test_a_dead_holder_is_taken_over_at_once(app: App, root: Path) -> None:
    process = holder(root)
    process.kill()
    process.wait()
    assert leases.current(app.house.vault) is None
    with Lease(app.house.vault, "another") as found:
        assert found.held()
    assert not list((root / ".git/oneiro").glob("dream*"))


@pytest.mark.slow
def test_a_holder_that_hangs_is_taken_over_and_knows(app: App, root: Path) -> None:
    process = holder(root)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        with Lease(app.house.vault, "another") as found:
            assert time.monotonic() - started >= leases.STALE
            os.kill(process.pid, signal.SIGCONT)
            said, _ = process.communicate("", timeout=30)
            assert said == "lost\n"
            assert found.held()
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()


@pytest.mark.parametrize("left", ["", "[]", "{", '{"token": "x", "pid": "y", "about": 1}', "\0"])
def test_a_record_that_makes_no_sense_is_nobodys(app: App, root: Path, left: str) -> None:
    (root / ".git/oneiro/dream.json").write_text(left)
    with Lease(app.house.vault, "test") as found:
        assert found.held()
        assert json.loads((root / ".git/oneiro/dream.json").read_text())["about"] == "test"
    assert found.holder() is None


def test_a_run_that_was_taken_over_commits_nothing(app: App) -> None:
    from tests.judges.scripted import ScriptedJudge
    from tests.operations.dream.support import git, judged, merge

    root = app.house.root
    head = git(root, "rev-parse", "HEAD")

    def script(question: object) -> object:
        (root / ".git/oneiro/dream.json").write_text(
            json.dumps({"token": "other", "pid": os.getpid(), "about": "other"})
        )
        return merge(question)  # type: ignore[arg-type]  # a script may return less

    judged(app, ScriptedJudge(script))  # type: ignore[arg-type]  # a script may return less
    run = app.call("dream", {"loops": ["consolidate"]})["runs"][0]
    assert run["decisions"] == []
    assert any("another run took over" in note for note in run["notes"])
    assert git(root, "rev-parse", "HEAD") == head
