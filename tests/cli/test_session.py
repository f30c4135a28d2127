"""What a command says when the owner dies under it. The owner here has a small App whose writes
wait until they are told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from oneiro_vault.daemon.client import owner_of
from oneiro_vault.daemon.owner_lock import is_free
from tests.box import Box, eventually, patient

HANGING_OWNER = """
import sys
from pathlib import Path
from oneiro_vault.cli.run import inside
from oneiro_vault.settings.definitions import load
from oneiro_vault.daemon.owner import Owner
from tests.daemon.fakes import SmallApp
class App(SmallApp):
    def call(self, op, params, progress=None, env=None):
        (Path(sys.argv[2]) / ".oneiro" / "asked").touch()
        if op == "recall":
            self.gate.wait(60)
        return super().call(op, params, progress, env)
root = Path(sys.argv[2])
Owner(root, root / ".oneiro", load(root), App, lambda app, record: inside(root, app.call, record)).serve()
"""


@pytest.fixture
def hanging(owned: Box) -> Box:
    owned.init()
    owned.env["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[2]), owned.env["PYTHONPATH"]]
    )
    owned.start("ignored", entry=HANGING_OWNER, stderr=subprocess.DEVNULL)
    eventually(lambda: owned.record, 15)
    return owned


def kill_under(box: Box, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command, kill -9 the owner once it works on it."""
    process = box.start(
        *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    process.stdin = None
    eventually((box.vault / ".oneiro" / "asked").exists, 15)
    assert process.poll() is None
    os.kill(int(owner_of(str(box.vault))["pid"]), signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.mark.parametrize(
    ("args", "stdin"),
    [(["remember", "x y z"], b""), (["remember", "-"], b"x y z")],
    ids=["thin", "ordinary"],
)
def test_a_change_whose_outcome_is_unknown_is_said_to_be_so(
    hanging: Box, args: list[str], stdin: bytes
) -> None:
    done = kill_under(hanging, *args, stdin=stdin)
    assert done.returncode == 13
    assert b"Whether this change was made is not known" in done.stderr


def test_the_same_for_programs(hanging: Box) -> None:
    done = kill_under(hanging, "--json", "remember", "x y z")
    assert done.returncode == 13
    assert "not known" in json.loads(done.stdout)["error"]["kept"]


@pytest.mark.slow
def test_a_question_is_simply_asked_again(hanging: Box) -> None:
    done = kill_under(hanging, "--json", "recall", "anything")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"] == []
    assert hanging.record


@pytest.mark.slow
def test_a_lone_command_waits_its_turn_and_says_for_whom(owned: Box) -> None:
    owned.init()
    owned.numbers["git.wait"] = 1.0
    holder = """
import sys, time
from pathlib import Path
from oneiro_vault.daemon.owner_lock import OwnerLock
lock = OwnerLock(Path(sys.argv[2], ".git", "oneiro"))
lock.acquire(1, "a long command")
print("held", flush=True)
time.sleep(60)
"""
    process = owned.start("ignored", entry=holder, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    for options in (["--no-daemon"], []):
        done = owned(*options, "list")
        assert done.returncode == 9, done.stderr
        assert f"process {process.pid} (a long command)".encode() in done.stderr


def test_a_vault_that_cannot_be_opened_is_let_go_of(owned: Box) -> None:
    owned.init()
    (owned.folder / "file").touch()
    done = owned("--no-daemon", "list", env={"ONEIRO_INDEX_DIR": str(owned.folder / "file")})
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert is_free(owned.vault / ".git" / "oneiro")


@pytest.mark.slow
def test_ctrl_c_is_calm(owned: Box) -> None:
    owned.init()
    process = owned.start("watch", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: owned.record, 15)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.7)
    for _ in range(
        5
    ):  # Python drops an interrupt that falls into a finalizer; a person presses again
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
            break
    _, err = process.communicate(timeout=patient(10))
    assert process.returncode == 130
    assert err.strip().endswith(b"Stopped.")
    assert b"KeyboardInterrupt" not in err
