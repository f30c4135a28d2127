from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from oneiro_vault.daemon.owner_lock import OwnerLock, holder_of, is_free
from oneiro_vault.errors import GitProblem, LockTimeout

HOLD = """
import sys, time
from pathlib import Path
from oneiro_vault.daemon.owner_lock import OwnerLock
lock = OwnerLock(Path(sys.argv[1]))
lock.acquire(1, "a test")
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path / ".git" / "oneiro"


def test_the_second_is_refused_and_told_who_holds_it(state: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(state)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    try:
        holder.stdout.readline()
        assert not is_free(state)
        with pytest.raises(LockTimeout, match=rf"process {holder.pid} \(a test\)"):
            OwnerLock(state).acquire(0.1, "test")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        ours = OwnerLock(state)
        ours.acquire(1, "after a kill")
        assert holder_of(ours.path)["pid"] == os.getpid()
        ours.release()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_foreign_process_number_in_the_file_means_nothing(state: Path) -> None:
    state.mkdir()
    (state / "owner.lock").write_text(json.dumps({"pid": 1, "version": "0"}))
    lock = OwnerLock(state)
    lock.acquire(0.1, "test")
    lock.release()
    assert is_free(state)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00"])
def test_an_unreadable_holder_is_still_a_holder(state: Path, text: str) -> None:
    lock = OwnerLock(state)
    lock.acquire(0.1, "test")
    lock.path.write_text(text)
    with pytest.raises(LockTimeout, match="another process"):
        OwnerLock(state).acquire(0.05, "test")
    lock.release()


def test_a_deleted_lock_file_is_noticed(state: Path) -> None:
    lock = OwnerLock(state)
    lock.acquire(0.1, "test")
    assert lock.intact
    lock.path.unlink()
    assert not lock.intact
    lock.release()


def test_a_replaced_lock_file_keeps_its_record(state: Path) -> None:
    """The record then belongs to whoever made the new lock."""
    lock = OwnerLock(state)
    lock.acquire(0.1, "test")
    lock.publish({"pid": 1})
    lock.path.unlink()
    lock.path.touch()
    lock.release()
    assert lock.record.exists()


def test_release_withdraws_the_record(state: Path) -> None:
    lock = OwnerLock(state)
    lock.acquire(0.1, "test")
    lock.publish({"pid": 5, "vault": "/v\udce9"})
    assert json.loads(lock.record.read_bytes().decode("utf-8", "surrogateescape"))["pid"] == 5
    lock.release()
    assert not lock.record.exists()


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(GitProblem, match="not a git directory"):
        OwnerLock(tmp_path / "nowhere" / ".git" / "oneiro").acquire(0.1, "test")


def test_free_before_anybody_held_it(state: Path) -> None:
    assert is_free(state)
