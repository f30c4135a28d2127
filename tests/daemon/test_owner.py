"""Real owner processes: there is one, it can be reached, it ends when it should, and nothing it
leaves behind stops the next."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.daemon import protocol, spawn
from oneiro_vault.daemon.owner import rotate
from oneiro_vault.errors import LockTimeout, OwnerProblem
from oneiro_vault.settings import locations
from tests.box import Box, command_line, eventually, patient

OTHER_VERSION = (
    "import sys, oneiro_vault; oneiro_vault.__version__ = '0.0.1'; from oneiro_vault.cli.main "
    "import main; sys.exit(main())"
)


def running(pid: int) -> bool:
    return bool(command_line(pid))


def stop_owner(box: Box) -> None:
    box.ok("stop")
    assert box.record == {}


@pytest.mark.slow
def test_twelve_clients_at_once_start_one_owner(box: Box) -> None:
    clients = [
        box.start("list", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(12)
    ]
    for client in clients:
        assert client.stderr is not None
        words = client.stderr.read()
        assert client.wait(60) == 0, words
    assert box.log.count(" listens, ") == 1


@pytest.mark.slow
def test_an_owner_begun_beside_another_ends_at_once(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the vault when the first is stopped, and nobody has asked for it."""
    pid = box.pid
    monkeypatch.setattr(os, "environ", box.env)
    spawn.begin(box.vault, box.vault / ".oneiro", wait=600)
    second = spawn._children.pop()
    assert second.wait(60) == LockTimeout.exit_code
    assert box.pid == pid


@pytest.mark.slow
def test_a_command_uses_the_owner_that_was_quicker_than_its_own(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", box.env)
    spawn.begin(box.vault, box.vault / ".oneiro")
    owner = spawn.ensure(box.vault, box.vault / ".oneiro")
    begun = [spawn._children.pop() for _ in range(2)]
    assert box.pid == int(owner["pid"])
    others = [process for process in begun if process.pid != box.pid]
    assert [process.wait(60) for process in others] == [LockTimeout.exit_code]


def test_only_its_user_can_reach_it(box: Box) -> None:
    assert box.pid
    path = Path(box.record["socket"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((box.vault / ".oneiro").stat().st_mode) & 0o077 == 0


@pytest.mark.slow
def test_stop_and_status(box: Box) -> None:
    pid = box.pid
    assert box.json("status")["owner"]["pid"] == pid
    assert f"process {pid}" in box.ok("stop")
    eventually(lambda: not running(pid), 5)
    assert not Path(locations.socket_paths(str(box.vault / ".oneiro"))[0]).exists()
    assert box.json("status")["owner"] is None
    assert "No owner was running" in box.ok("stop")
    assert box.record == {}


@pytest.mark.slow
def test_after_a_kill_the_next_command_works_within_three_seconds(box: Box) -> None:
    kept = box.remember("The boiler was serviced in March.")
    pid = box.pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not running(pid), 5)
    assert Path(box.record["socket"]).exists()  # stale, and in the way
    started = time.monotonic()
    found = box.json("recall", "boiler")
    assert time.monotonic() - started < patient(3)
    assert found["results"][0]["id"] == kept["id"]
    assert box.pid != pid


@pytest.mark.slow
def test_a_reused_process_number_is_left_alone(box: Box) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        state = Path(locations.state_dir(str(box.vault)))
        state.mkdir(exist_ok=True)
        (box.vault / ".oneiro").mkdir()
        record = {
            "pid": bystander.pid,
            "version": protocol.version(),
            "socket": str(box.vault / ".oneiro" / "socket"),
            "log": "x",
        }
        (state / "owner.json").write_text(json.dumps(record))
        (state / "owner.lock").write_text(json.dumps({"pid": bystander.pid}))
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(record["socket"]))
        assert "No owner was running" in box.ok("stop")
        (state / "owner.json").write_text(json.dumps(record))
        box.ok("list")
        assert box.pid != bystander.pid
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.slow
def test_a_suspended_owner_is_named_and_nothing_hangs(box: Box) -> None:
    pid = box.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        for command in (("remember", "Never stored twice."), ("--no-daemon", "list"), ("stop",)):
            started = time.monotonic()
            done = box(*command)
            assert time.monotonic() - started < patient(6)
            assert done.returncode == OwnerProblem.exit_code
            assert f"process {pid}) is suspended".encode() in done.stderr
            assert f"kill -CONT {pid}".encode() in done.stderr
    finally:
        os.kill(pid, signal.SIGCONT)
    assert box.json("list")["results"] == []  # what was refused was not done later either
    assert box.pid == pid


@pytest.mark.slow
def test_an_owner_of_another_version_is_replaced(box: Box) -> None:
    old = box.start(
        "serve", entry=OTHER_VERSION, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    eventually(lambda: box.record.get("version") == "0.0.1", 10)
    box.ok("list")
    assert old.wait(patient(10)) == 0
    assert box.record["version"] == protocol.version()


@pytest.mark.slow
def test_it_ends_when_nobody_asks(box: Box) -> None:
    box.env["ONEIRO_OWNER_IDLE"] = "1"
    pid = box.pid
    eventually(lambda: not running(pid), 10)
    assert "nobody asked for 1 seconds" in box.log
    assert not (box.vault / ".oneiro" / "socket").exists()


@pytest.mark.slow
def test_it_ends_when_its_indexes_are_deleted(box: Box) -> None:
    kept = box.remember("The spare key hangs in the shed.")
    pid = box.pid
    shutil.rmtree(box.vault / ".oneiro")
    started = time.monotonic()
    assert box.json("recall", "spare key")["results"][0]["id"] == kept["id"]
    assert time.monotonic() - started < patient(6)
    assert box.pid != pid
    assert not running(pid)


@pytest.mark.slow
@pytest.mark.parametrize("what", [".oneiro/socket", ".git/oneiro/owner.lock", "."])
def test_it_ends_when_what_it_owns_vanishes(box: Box, what: str) -> None:
    pid = box.pid
    path = box.vault / what
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    eventually(lambda: not running(pid), 7)


@pytest.mark.slow
def test_new_settings_bring_a_new_owner(box: Box) -> None:
    pid = box.pid
    (box.vault / "oneiro.toml").write_text("[recall]\nk = 3\n")
    eventually(lambda: not running(pid), 7)
    assert box.json("stats")["settings"]["recall.k"] == 3


@pytest.mark.slow
def test_settings_that_break_are_named_and_the_last_good_ones_stay(box: Box) -> None:
    (box.vault / "oneiro.toml").write_text("[recall]\nk = 3\n")
    kept = box.remember("The kettle is blue.")
    pid = box.pid
    (box.vault / "oneiro.toml").write_text("[recall]\nk = 4\n[decay]\nepisodc = 3\n")
    eventually(lambda: b"line 4" in box("list").stderr, 7)
    found = box("--json", "recall", "kettle")
    assert json.loads(found.stdout)["results"][0]["id"] == kept["id"]
    assert "there is no setting 'decay.episodc'" in json.loads(found.stdout)["degraded"]
    assert b"Did you mean 'decay.episodic'?" in found.stderr
    assert box.json("stats")["settings"]["recall.k"] == 3
    done = box("remember", "Refused.")
    assert done.returncode == 2
    assert b"oneiro.toml, line 4" in done.stderr
    assert b"Did you mean 'decay.episodic'?" in done.stderr
    assert box.pid == pid
    (box.vault / "oneiro.toml").write_text("[recall]\nk = 3\n")
    eventually(lambda: box("remember", "Welcome.").returncode == 0, 7)
    assert box.pid == pid
    assert not box("list").stderr


@pytest.mark.slow
def test_a_path_too_long_for_a_socket(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    box = Box(tmp_path, sealed_env, tmp_path / ("long" * 20) / "väult")
    try:
        box.init()
        assert box.remember("A deep folder.")["id"] in box.ok("--json", "recall", "deep folder")
        where = Path(box.record["socket"])
        assert where.parent == Path(sealed_env["XDG_RUNTIME_DIR"]) / "oneiro"
        assert stat.S_IMODE(where.parent.stat().st_mode) == 0o700
        stop_owner(box)
        assert not where.exists()
    finally:
        box.close()


@pytest.mark.slow
def test_a_second_serve_is_refused(box: Box) -> None:
    pid = box.pid
    done = box("serve")
    assert done.returncode == LockTimeout.exit_code
    assert f"process {pid} (owner)".encode() in done.stderr
    assert box.pid == pid
    assert running(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(box: Box, number: signal.Signals) -> None:
    owner = box.start("serve", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eventually(lambda: box.record, 10)
    owner.send_signal(number)
    out, _ = owner.communicate(timeout=patient(6))
    assert owner.returncode == 0
    assert f"it got {number.name}".encode() in out
    assert box.record == {}


@pytest.mark.slow
def test_a_remember_under_way_is_finished(box: Box) -> None:
    """SIGTERM while many writes are in flight: every acknowledged one is there, every other one was
    refused or retried."""
    lines = b"".join(
        json.dumps({"text": f"Fact number {n} of the flood."}).encode() + b"\n" for n in range(300)
    )
    writer = box.start(
        "remember",
        "--from-jsonl",
        "-",
        "--ack",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write(lines)
    writer.stdin.close()
    first = writer.stdout.readline()
    os.kill(box.pid, signal.SIGTERM)
    acks = [first, *writer.stdout.readlines()]
    writer.wait(30)
    paths = [ack.split()[1].decode() for ack in acks]
    assert paths
    assert all((box.vault / path).is_file() for path in paths)


def test_without_an_owner_everything_works_in_one_process(box: Box) -> None:
    done = box("--no-daemon", "--json", "remember", "Works alone.")
    assert done.returncode == 0, done.stderr
    assert box("--no-daemon", "recall", "alone").stdout.decode().count("Works alone") >= 1
    assert box("list", env={"ONEIRO_OWNER_START": "false"}).returncode == 0
    assert box.record == {}


@pytest.mark.slow
def test_no_daemon_uses_an_owner_that_is_there(box: Box) -> None:
    pid = box.pid
    assert box("--no-daemon", "list").returncode == 0
    assert box.pid == pid


@pytest.mark.slow
def test_lone_commands_wait_for_each_other(box: Box) -> None:
    writers = [
        box.start(
            "--no-daemon", "remember", f"Lone fact {n} about topic {n}.", stdout=subprocess.DEVNULL
        )
        for n in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert box.json("list")["total"] == 4


def test_what_keeps_an_owner_from_opening_is_told(box: Box) -> None:
    (box.vault / ".oneiro").write_text("a file in the way")
    done = box("list")
    assert done.returncode == 10, done.stderr
    assert b"oneiro: " in done.stderr
    assert b"Traceback" not in done.stderr


def test_not_a_repository(box: Box) -> None:
    shutil.rmtree(box.vault / ".git")
    done = box("list")
    assert done.returncode == 11
    assert b"is not a git repository" in done.stderr


def test_the_log_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "owner.log"
    script = """
import os, sys
from pathlib import Path
from oneiro_vault.daemon.owner import rotate
for n in range(9):
    print("x" * 100 + str(n), flush=True)
    rotate(Path(sys.argv[1]), 150)
"""
    with path.open("wb") as log:
        subprocess.run(
            [sys.executable, "-c", script, str(path)],
            stdout=log,
            stderr=log,
            check=True,
            timeout=30,
        )
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "owner.log",
        "owner.log.1",
        "owner.log.2",
        "owner.log.3",
    ]
    assert [
        path.with_name(f"owner.log{end}").read_text()[100] for end in ("", ".1", ".2", ".3")
    ] == ["8", "6", "4", "2"]


def test_a_log_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "owner.log"
    path.write_text("x" * 500)
    rotate(path, 100)
    rotate(tmp_path / "missing", 100)
    assert list(tmp_path.iterdir()) == [path]
