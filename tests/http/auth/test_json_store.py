"""Files of the machine's own: whole or old, private, and one writer at a time, over processes and
threads."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oneiro_vault.errors import DiskProblem
from oneiro_vault.http.auth.json_store import Store, private_folder

COUNT = """
import sys
from pathlib import Path
from oneiro_vault.http.auth.json_store import Store
store = Store(Path(sys.argv[1]))
for _ in range(40):
    with store.change() as data:
        data["n"] = data.get("n", 0) + 1
"""


def test_what_was_written_is_read_by_everybody(store: Store) -> None:
    assert store.read() == {}
    with store.change() as data:
        data["a"] = {"name": "Zoë ☕"}
    assert store.read() == Store(store.path).read() == {"a": {"name": "Zoë ☕"}}


def test_another_process_is_seen_at_once(store: Store) -> None:
    other = Store(store.path)
    for number in range(20):
        with other.change() as data:
            data["n"] = number
        assert store.read() == {"n": number}


def test_nobody_else_can_read_it(store: Store) -> None:
    before = os.umask(0)
    try:
        with store.change() as data:
            data["a"] = 1
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_a_folder_that_others_can_see_is_closed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    private_folder(tmp_path / "open")
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700


def test_a_failed_change_changes_nothing_and_leaves_nothing(store: Store) -> None:
    with store.change() as data:
        data["a"] = 1

    def fail() -> None:
        with store.change() as data:
            data["a"] = 2
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert store.read() == {"a": 1}
    assert {p.name for p in store.path.parent.iterdir()} == {"things.json", "things.lock"}


def test_processes_and_threads_wait_for_each_other(store: Store) -> None:
    children = [subprocess.Popen([sys.executable, "-c", COUNT, str(store.path)]) for _ in range(2)]

    def count(_number: int) -> None:
        with store.change() as data:
            data["n"] = data.get("n", 0) + 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(40)))
    assert [child.wait(60) for child in children] == [0, 0]
    assert store.read() == {"n": 120}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"[" * 50_000])
def test_a_damaged_file_lets_nobody_in(store: Store, data: bytes) -> None:
    private_folder(store.path.parent)
    store.path.write_bytes(data)
    for _ in range(2):
        with pytest.raises(DiskProblem, match="is damaged"):
            store.read()
    with pytest.raises(DiskProblem), store.change() as found:
        found["a"] = 1
    assert store.path.read_bytes() == data


def test_a_folder_in_place_of_the_file(store: Store) -> None:
    store.path.mkdir(parents=True)
    with pytest.raises(DiskProblem, match="cannot be read"):
        store.read()


def test_a_file_in_place_of_the_folder(store: Store) -> None:
    store.path.parent.write_text("")
    with pytest.raises(DiskProblem), store.change() as data:
        data["a"] = 1


def test_a_disk_that_takes_nothing(store: Store) -> None:
    """A folder where the draft should become the file: the rename fails like a full disk."""
    with store.change() as data:
        data["a"] = 1
    held = store.path.with_name("kept")
    store.path.rename(held)

    def write() -> None:
        with store.change() as data:
            store.path.mkdir()
            (store.path / "x").write_text("")
            data["a"] = 2

    with pytest.raises(DiskProblem, match="cannot be written"):
        write()
    assert json.loads(held.read_bytes()) == {"a": 1}
    assert {p.name for p in store.path.parent.iterdir()} == {"things.json", "things.lock", "kept"}


def test_a_change_that_changes_nothing_writes_nothing(store: Store) -> None:
    with store.change() as data:
        data["a"] = 1
    stamp = store.path.stat().st_mtime_ns, store.path.stat().st_ino
    with store.change() as data:
        data["a"] = 1
    assert (store.path.stat().st_mtime_ns, store.path.stat().st_ino) == stamp
