"""Bars, spinners and colours need a terminal: a pseudo-terminal stands in for the person."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from oneiro_vault.cli.progress import Bar
from oneiro_vault.cli.terminal import Waiting
from tests.box import Box


def on_a_terminal(argv: list[str], env: dict[str, str]) -> str:
    """All that a command shows on a terminal of 100 columns."""
    master, slave = pty.openpty()
    os.system(f"stty cols 100 < {os.ttyname(slave)}")
    process = subprocess.Popen(argv, env=env | {"TERM": "xterm"}, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the terminal has closed
            break
        if not part:
            break
        seen += part
    os.close(master)
    process.wait(30)
    return seen.decode()


def script(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_a_bar_for_counted_work(sealed_env: dict[str, str]) -> None:
    text = (
        "from oneiro_vault.cli.progress import Bar\nwith Bar(True, after=0) as bar:\n    bar('indexing', 1, 4)\n    bar('indexing', 4, 4)"
    )
    assert "indexing" in on_a_terminal(script(text), sealed_env)


def test_nothing_for_quick_work_or_when_nobody_looks(sealed_env: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    text = "from oneiro_vault.cli.progress import Bar\nwith Bar({}) as bar:\n    bar('indexing', 1, 4)"
    assert on_a_terminal(script(text.format("True")), sealed_env) == ""
    assert on_a_terminal(script(text.format("False, after=0")), sealed_env) == ""
    with Bar(True, after=0) as bar:
        bar("indexing", 1, 4)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("make", ["Waiting('thinking')", "Bar(True).waiting"])
def test_a_sign_after_a_second_that_goes_away_again(make: str, sealed_env: dict[str, str]) -> None:
    imports = "from oneiro_vault.cli.terminal import Waiting\nfrom oneiro_vault.cli.progress import Bar\n"
    text = f"{imports}w = {make}\nfor _ in range(12): w()\nw.close()\nw()"
    seen = on_a_terminal(script(text), sealed_env)
    assert seen.count("\r⠋") + seen.count("\r⠙") + seen.count("\r⠹") == 2
    assert seen.endswith("\r\x1b[K")


def test_one_line_elsewhere_for_a_long_wait_and_only_if_asked(capfd: pytest.CaptureFixture[str]) -> None:
    loud, quiet = Waiting("loading the model", aloud=True), Waiting("loading the model")
    for _ in range(20):
        loud()
        quiet()
    assert capfd.readouterr() == ("", "")
    for _ in range(20):
        loud()
        quiet()
    loud.close()
    assert capfd.readouterr() == ("", "oneiro: loading the model …\n")


def test_what_is_waited_for_may_change(capfd: pytest.CaptureFixture[str]) -> None:
    with Bar(True, aloud=True) as bar:
        bar.says("starting the owner")
        assert bar.waiting is not None
        for _ in range(21):
            bar.waiting()
    assert capfd.readouterr().err == "oneiro: starting the owner …\n"
    with Bar(False, aloud=True) as bar:
        bar.says("nothing")
        assert bar.waiting is None


BUSY = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(3)
"""


@contextmanager
def somebody_starting(box: Box) -> Iterator[None]:
    """Another command is starting the owner, and takes three seconds for it."""
    state = box.vault / ".git" / "oneiro"
    holder = subprocess.Popen([sys.executable, "-c", BUSY, str(state / "start.lock")], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield


def test_a_slow_start_is_told_of(fresh: Box) -> None:
    """A line on a terminal, one line elsewhere, nothing for programs."""
    fresh.init()
    with somebody_starting(fresh):
        done = fresh("recall", "x")
    assert (done.returncode, done.stdout) == (0, b"no relevant memory\n")
    assert done.stderr.decode().splitlines()[0] == "oneiro: starting the owner, loading the model …"
    fresh.ok("stop")
    with somebody_starting(fresh):
        assert fresh("--json", "recall", "x").stderr == b""
    fresh.ok("stop")
    with somebody_starting(fresh):
        seen = on_a_terminal(fresh.argv("recall", "x"), fresh.env)
    assert " starting the owner, loading the model\x1b[K" in seen
    assert seen.replace("\r\n", "\n").endswith("no relevant memory\n")


@pytest.fixture
def person(box: Box) -> Callable[..., str]:
    text = "The skis are in the attic, behind the boxes with the winter coats, next to the old radio and the tent."
    row = box.remember(text, "--title", "Skis")

    def look(*args: str, **env: str) -> str:
        return on_a_terminal(box.argv(*args), box.env | env)

    assert row["id"]
    return look


def test_a_person_sees_colours_and_whole_lines(person: Callable[..., str]) -> None:
    seen = person("recall", "skis attic")
    assert "\x1b[1mSkis" in seen
    assert "…" in seen
    assert "\x1b" not in person("recall", "skis attic", NO_COLOR="1")
