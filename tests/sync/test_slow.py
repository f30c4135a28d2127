"""Remotes that are slow, and remotes that hang: what comes steadily is waited for, however long it takes; what does not come is not."""

from __future__ import annotations

import functools
import http.server
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oneiro_vault.app import clone_vault
from oneiro_vault.config import Settings
from oneiro_vault.errors import Unreachable
from oneiro_vault.sync.cloning import PATIENCE
from tests.sync.support import copies, learn, remote_of, sync, text, where
from tests.vault.support import git

pytestmark = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="elsewhere only git's own words say that something comes")
STALL = 2.0
"""Seconds without a byte that are allowed here. Every transfer below takes longer in all, and no gap in one comes near it."""
WRAPPER = """
import os, subprocess, sys, threading, time
size, pause, stop = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
program = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def up():
    while data := os.read(0, 65536):
        program.stdin.write(data)
        program.stdin.flush()
    program.stdin.close()
threading.Thread(target=up, daemon=True).start()
sent = 0
while data := os.read(program.stdout.fileno(), size):
    os.write(1, data)
    time.sleep(pause)
    sent += len(data)
    if stop and sent >= stop:
        time.sleep(600)
sys.exit(program.wait())
"""
"""An ssh that runs the program here and hands on `size` bytes of its answer at a time; after `stop` bytes (0: never) it hangs."""


def slow(monkeypatch: pytest.MonkeyPatch, folder: Path, size: int, pause: float, stop: int = 0) -> None:
    script = folder / "slow.py"
    script.write_text(WRAPPER)
    monkeypatch.setenv("GIT_SSH_COMMAND", f"{sys.executable} {script} {size} {pause} {stop}")


def settings(stall: float) -> Settings:
    return Settings({"embed.model": "hash", "disk.reserve": 0, "sync.wait": stall / PATIENCE})


def test_a_remote_that_answers_drop_by_drop_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what git says nothing about while it comes: the list of refs."""
    copies(tmp_path, 1)
    for number in range(12):
        git(tmp_path / "remote.git", "update-ref", f"refs/heads/branch-{number}", "main")
    slow(monkeypatch, tmp_path, 16, 0.03)
    began = time.monotonic()
    made = clone_vault(f"ssh://host{tmp_path}/remote.git", tmp_path / "slow", settings(STALL))
    assert time.monotonic() - began > 2 * STALL  # else this proves nothing
    assert made["notes"] == 3


def test_a_sync_that_takes_long_and_goes_on_is_no_hanging_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = copies(tmp_path)
    learn(one, 7, "brought slowly")
    sync(one)
    slow(monkeypatch, tmp_path, 10, 0.05)
    git(two.root, "remote", "set-url", "origin", f"ssh://host{tmp_path}/remote.git")
    began = time.monotonic()
    sync(two, wait=STALL)
    assert time.monotonic() - began > 2 * STALL
    assert "brought slowly" in text(two, where(7))


@pytest.mark.parametrize("stop", [1, 900])
def test_a_remote_that_falls_silent_ends_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int) -> None:
    """Before its first word is done, or in the middle of it."""
    copies(tmp_path, 1)
    slow(monkeypatch, tmp_path, 10, 0.0, stop)
    with pytest.raises(Unreachable, match="does not answer") as failed:
        clone_vault(f"ssh://host{tmp_path}/remote.git", tmp_path / "slow", settings(1.0))
    assert "ONEIRO_SYNC_WAIT=0.5" in failed.value.hint
    assert not (tmp_path / "slow").exists()


def test_a_remote_that_refuses_is_not_called_silent(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as failed:
        clone_vault("git://127.0.0.1:9/x.git", tmp_path / "none", settings(STALL))
    assert "ONEIRO_SYNC_WAIT" not in failed.value.hint


class _Dripping(http.server.SimpleHTTPRequestHandler):
    """Files, a few bytes at a time."""

    def copyfile(self, source: object, outputfile: object) -> None:
        while data := source.read(6):  # type: ignore[attr-defined]
            outputfile.write(data)  # type: ignore[attr-defined]
            time.sleep(0.02)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a plain web server with these files."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Dripping, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_plain_web_server_is_fetched_from_file_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """git says nothing at all for as long as that takes."""
    one = copies(tmp_path, 1)[0]
    assert remote_of(one).known()
    git(tmp_path / "remote.git", "update-server-info")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with served(tmp_path) as address:
        began = time.monotonic()
        made = clone_vault(f"{address}/remote.git", tmp_path / "slow", settings(1.0))
    assert time.monotonic() - began > 2.0
    assert made["notes"] == 3
