"""Spinners and colours need a terminal: a pseudo-terminal stands in for the person."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from oneiro_vault.cli.terminal import Waiting
from tests.box import Box


def on_a_terminal(argv: list[str], env: dict[str, str], columns: int = 100) -> str:
    """All that a command shows on a terminal."""
    master, slave = pty.openpty()
    os.system(f"stty cols {columns} < {os.ttyname(slave)}")
    process = subprocess.Popen(
        argv, env=env | {"TERM": "xterm"}, stdin=slave, stdout=slave, stderr=slave
    )
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


def test_counted_work(sealed_env: dict[str, str]) -> None:
    text = (
        "from oneiro_vault.cli.terminal import Waiting\nwith Waiting(after=0) as sign:\n    "
        "sign.count('indexing', 1, 4, '9 a second')\n    sign.count('indexing', 4, 4)"
    )
    seen = on_a_terminal(script(text), sealed_env)
    assert f"{'━' * 4}{'─' * 12} indexing 1 of 4 (25%), 9 a second" in seen


def test_a_sign_is_one_line_however_narrow_the_terminal(sealed_env: dict[str, str]) -> None:
    text = (
        "from oneiro_vault.cli.terminal import Waiting\nwith Waiting(after=0) as sign:\n    "
        "sign.count('indexing', 1, 4, 'x' * 200)"
    )
    for columns in (20, 100):
        shown = on_a_terminal(script(text), sealed_env, columns).partition("\x1b[K")[0]
        assert len(shown.strip("\r")) == columns - 1


def test_nothing_for_quick_work_or_when_nobody_looks(
    sealed_env: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    text = (
        "from oneiro_vault.cli.terminal import Waiting\nwith Waiting({}) as sign:\n    "
        "sign.count('indexing', 1, 4)"
    )
    assert on_a_terminal(script(text.format("")), sealed_env) == ""
    assert on_a_terminal(script(text.format("shows=False, after=0")), sealed_env) == ""
    with Waiting(aloud=True, after=0) as sign:
        sign.count("indexing", 1, 4)
    assert capfd.readouterr() == ("", "")


def test_a_sign_after_a_second_that_goes_away_again(sealed_env: dict[str, str]) -> None:
    imports = "from oneiro_vault.cli.terminal import Waiting\n"
    tenths = "n = 0\ndef clock():\n    global n\n    n += 1\n    return n / 10\n"
    text = f"{imports}{tenths}w = Waiting('thinking', clock=clock)\nfor _ in range(12): w()\nw.close()\nw()"
    seen = on_a_terminal(script(text), sealed_env)
    assert sum(seen.count(f"\r{frame}") for frame in Waiting.frames) == 2
    assert seen.endswith("\r\x1b[K")


def test_a_line_now_and_then_elsewhere_and_only_if_asked(capfd: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    loud, quiet = (Waiting("loading the model", aloud, lambda: now[0]) for aloud in (True, False))

    def after(seconds: float, doing: str | None = None) -> str:
        now[0] += seconds
        loud(doing)
        quiet(doing)
        return capfd.readouterr().err

    assert after(1.9) == ""
    assert after(0.2) == "oneiro: loading the model …\n"
    assert after(29, "indexing 1 of 4 (25%)") == ""
    assert after(2) == "oneiro: indexing 1 of 4 (25%) …\n"
    assert after(31, "") == "oneiro: loading the model …\n"  # nothing keeps it back any more
    loud.close()
    assert after(31) == ""


def test_what_is_waited_for_may_change(capfd: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    with Waiting(aloud=True, clock=lambda: now[0]) as sign:
        sign.says("starting the owner")
        now[0] = 3
        sign()
        assert capfd.readouterr().err == "oneiro: starting the owner …\n"
        now[0] = 40
        sign.count("indexing", 1_000, 4_000)
    assert capfd.readouterr().err == "oneiro: indexing 1,000 of 4,000 (25%) …\n"


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
    holder = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(state / "start.lock")], stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield


@pytest.mark.slow
def test_a_slow_start_is_told_of(owned: Box) -> None:
    """A line on a terminal, one line elsewhere, nothing for programs."""
    owned.init()
    with somebody_starting(owned):
        done = owned("recall", "x")
    assert (done.returncode, done.stdout) == (0, b"no relevant memory\n")
    assert done.stderr.decode().splitlines()[0] == "oneiro: the owner is being started …"
    owned.ok("stop")
    with somebody_starting(owned):
        assert owned("--json", "recall", "x").stderr == b""
    owned.ok("stop")
    with somebody_starting(owned):
        seen = on_a_terminal(owned.argv("recall", "x"), owned.env)
    assert " the owner is being started\x1b[K" in seen
    assert seen.replace("\r\n", "\n").endswith("no relevant memory\n")


@pytest.fixture
def person(box: Box) -> Callable[..., str]:
    text = (
        "The skis are in the attic, behind the boxes with the winter coats, next to the old radio "
        "and the tent."
    )
    row = box.remember(text, "--title", "Skis")

    def look(*args: str, **env: str) -> str:
        return on_a_terminal(box.argv(*args), box.env | env)

    assert row["id"]
    return look


@pytest.mark.slow
def test_a_person_sees_colours_and_whole_lines(person: Callable[..., str]) -> None:
    seen = person("recall", "skis attic")
    assert "\x1b[1mSkis" in seen
    assert "…" in seen
    assert "\x1b" not in person("recall", "skis attic", NO_COLOR="1")
