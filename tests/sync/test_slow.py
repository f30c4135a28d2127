"""Remotes that are slow, and remotes that hang: what comes steadily is waited for, however long it
takes; what does not come is not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from oneiro_vault.app import clone_vault
from oneiro_vault.errors import Unreachable
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.sync.clone import PATIENCE
from oneiro_vault.vault.git import commands
from oneiro_vault.vault.vault import Vault
from tests.box import command_line
from tests.sync.support import copies, learn, sync, text, where
from tests.vault.support import git

STALL = 2.0
"""Seconds without a byte that are allowed here. Every transfer below takes longer in all, and no
gap in one comes near it."""
WRAPPER = """
import os, subprocess, sys, threading, time
size, pause, stop, crawl = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
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
        size = 1
        time.sleep(crawl)
sys.exit(program.wait())
"""
"""An ssh that runs the program here and hands on `size` bytes of its answer at a time; after `stop`
bytes (0: never) it sleeps `crawl` seconds at each byte."""


def slow(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    size: int,
    pause: float,
    stop: int = 0,
    crawl: float = 600.0,
) -> None:
    script = folder / "slow.py"
    script.write_text(WRAPPER)
    monkeypatch.setenv(
        "GIT_SSH_COMMAND", f"{sys.executable} {script} {size} {pause} {stop} {crawl}"
    )


def settings(stall: float) -> Settings:
    return Settings({"embed.model": "hash", "disk.reserve": 0, "sync.wait": stall / PATIENCE})


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    assert true()


@contextmanager
def ends_anyhow(mark: Path) -> Iterator[None]:
    """However a test goes: an ssh that never ends by itself ends, when it wrote its process id to
    `mark`."""

    def end() -> None:
        for pid in mark.read_text().split() if mark.exists() else ():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    timer = threading.Timer(60, end)
    timer.start()
    try:
        yield
    except BaseException:
        end()
        raise
    finally:
        timer.cancel()


def a_long_note(vault: Vault) -> str:
    """What takes about seven seconds by `slow(..., 4096, 0.05)`."""
    said = random.Random(0).randbytes(500_000).hex()
    learn(vault, 7, said)
    sync(vault)
    return said


@pytest.mark.slow
def test_a_remote_that_answers_drop_by_drop_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_long_note(copies(tmp_path, 1)[0])
    slow(monkeypatch, tmp_path, 4096, 0.05)
    began = time.monotonic()
    made = clone_vault(f"ssh://host{tmp_path}/remote.git", tmp_path / "slow", settings(STALL))
    assert time.monotonic() - began > 2 * STALL  # else this proves nothing
    assert made["notes"] == 4


@pytest.mark.slow
def test_a_sync_that_takes_long_and_goes_on_is_no_hanging_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = copies(tmp_path)
    said = a_long_note(one)
    slow(monkeypatch, tmp_path, 4096, 0.05)
    git(two.root, "remote", "set-url", "origin", f"ssh://host{tmp_path}/remote.git")
    began = time.monotonic()
    sync(two, wait=STALL)
    assert time.monotonic() - began > 2 * STALL
    assert said in text(two, where(7))


@pytest.mark.parametrize("stop", [1, 900])
def test_a_remote_that_falls_silent_ends_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """Before its first word is done, or in the middle of it."""
    copies(tmp_path, 1)
    slow(monkeypatch, tmp_path, 10, 0.0, stop)
    with pytest.raises(Unreachable, match="does not answer") as failed:
        clone_vault(f"ssh://host{tmp_path}/remote.git", tmp_path / "slow", settings(1.0))
    assert "again when it answers" in failed.value.hint
    assert not (tmp_path / "slow").exists()


@pytest.mark.parametrize("pause", ["sleep 0.1", ":"])
def test_a_connection_that_is_only_kept_alive_is_given_up(tmp_path: Path, pause: str) -> None:
    """What ssh does is no proof that something comes."""
    one = copies(tmp_path, 1)[0]
    mark = tmp_path / "pids"
    git(
        one.root,
        "config",
        "core.sshCommand",
        f"echo $$ >> {mark}; while :; do echo ping > /dev/null; {pause}; done #",
    )
    git(one.root, "remote", "set-url", "origin", "ssh://somebody@example.invalid/x.git")
    began = time.monotonic()
    with ends_anyhow(mark), pytest.raises(Unreachable, match="does not answer"):
        sync(one, wait=STALL)
    assert time.monotonic() - began < 8 * STALL, "it was not waited for as for work without words"
    until(lambda: not any(command_line(int(pid)) for pid in mark.read_text().split()))


@pytest.mark.slow
@pytest.mark.parametrize("stop", [100, 30_000])
def test_a_remote_that_crawls_for_ever_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """In its list of refs, of which git says nothing, and in the middle of a file, where git waits
    for the end of a packet."""
    one = copies(tmp_path, 1)[0]
    learn(one, 7, random.Random(0).randbytes(50_000).hex())
    sync(one)
    slow(monkeypatch, tmp_path, 4096, 0.0, stop, crawl=0.3)
    with pytest.raises(Unreachable, match="does not answer"):
        clone_vault(f"ssh://host{tmp_path}/remote.git", tmp_path / "slow", settings(STALL))


def test_who_ends_a_sync_ends_what_it_started(tmp_path: Path) -> None:
    one = copies(tmp_path, 1)[0]
    mark = tmp_path / "pids"
    git(one.root, "config", "core.sshCommand", f"echo $$ >> {mark}; exec sleep 600 #")
    git(one.root, "remote", "set-url", "origin", "ssh://somebody@example.invalid/x.git")
    words = [
        sys.executable,
        "-c",
        f"from tests.sync.support import *; sync(reopen(Path({str(one.root)!r})))",
    ]
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")
    }  # it has a handler of its own
    with (
        ends_anyhow(mark),
        subprocess.Popen(words, cwd=Path(__file__).parents[2], env=env) as program,
    ):
        until(lambda: mark.exists() and mark.read_text().endswith("\n"))
        program.terminate()
        assert program.wait(60) == 128 + signal.SIGTERM
    until(lambda: not any(command_line(int(pid)) for pid in mark.read_text().split()))


def test_a_signal_in_the_moment_a_program_starts_leaves_none_behind() -> None:
    started = []

    def run() -> None:
        with commands.signals_deferred() as arrived:
            words = ["sleep", "600"]
            started.append(subprocess.Popen(words, stdout=-1, stderr=-1, start_new_session=True))
            signal.raise_signal(signal.SIGTERM)
            commands.attend(started[0], 60.0, 60.0, arrived)

    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # coverage has a handler of its own
    with pytest.raises(SystemExit) as ended:
        run()
    assert signal.signal(signal.SIGTERM, before) is signal.SIG_DFL
    assert ended.value.code == 128 + signal.SIGTERM
    assert started[0].returncode == -signal.SIGTERM


def test_a_remote_that_refuses_is_not_called_silent(tmp_path: Path) -> None:
    with pytest.raises(Unreachable) as failed:
        clone_vault("git://127.0.0.1:9/x.git", tmp_path / "none", settings(STALL))
    assert "does not answer" not in str(failed.value)
