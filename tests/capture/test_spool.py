"""Entries are whole or not there, private, bounded, and kept until somebody says that they are
done."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneiro_vault.capture import spool


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return spool.folder_of(str(tmp_path / "oneiro"))


def test_there_and_back(folder: str) -> None:
    entry = {"kind": "turns", "text": "ä \u2028 <b>", "to": 7}
    path = spool.put(folder, entry)
    assert spool.entries(folder) == [path]
    assert spool.load(path) == entry
    spool.done(path)
    spool.done(path)  # twice is no error: two may have picked it up
    assert spool.entries(folder) == []
    assert spool.load(path) is None


def test_only_the_user_can_read_it(folder: str) -> None:
    path = spool.put(folder, {})
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_entries_come_in_the_order_they_were_put(folder: str) -> None:
    paths = [spool.put(folder, {"n": number}, key=f"k{number % 2}") for number in range(20)]
    assert spool.entries(folder) == paths
    assert spool.entries(folder, "k1") == paths[1::2]


def test_nothing_is_there_without_a_folder(folder: str) -> None:
    assert spool.entries(folder) == spool.aside(folder) == []
    spool.sweep(folder, time.time())


def test_there_is_a_limit(folder: str, tmp_path: Path) -> None:
    os.makedirs(folder)
    for number in range(spool.MOST_ENTRIES):
        Path(folder, f"{number:020}--x.json").write_text("{}")
    with pytest.raises(spool.FullError):
        spool.put(folder, {})
    for path in spool.entries(folder)[1:]:
        os.unlink(path)
    with open(spool.entries(folder)[0], "wb") as file:
        file.truncate(spool.MOST_BYTES)  # sparse
    with pytest.raises(spool.FullError):
        spool.put(folder, {})
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_what_is_no_entry_is_set_aside_and_kept(folder: str) -> None:
    path = spool.put(folder, {})
    Path(path).write_text("[]")
    with pytest.raises(ValueError, match="not an object"):
        spool.load(path)
    kept = spool.set_aside(path)
    assert spool.entries(folder) == []
    assert spool.aside(folder) == [kept]
    assert Path(kept).read_text() == "[]"


def test_half_written_files_go_when_their_writer_is_long_dead(folder: str) -> None:
    path = spool.put(folder, {})
    half = Path(folder, ".new-abcd")
    half.write_text('{"text": "hal')
    spool.sweep(folder, time.time())
    assert half.exists()
    spool.sweep(folder, time.time() + spool.STALE + 1)
    assert not half.exists()
    assert spool.entries(folder) == [path]


WRITER = """
import sys
from oneiro_vault.capture import spool
number = 0
while True:
    spool.put(sys.argv[1], {"text": "x" * 5000, "n": number})
    number += 1
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_leaves_whole_entries(folder: str) -> None:
    """What was acknowledged (printed) is there, and everything there is whole."""
    for pause in (0.0, 0.004, 0.013, 0.03):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        acknowledged = [1, *(int(line) for line in child.stdout.read().split())]
        child.wait()
        child.stdout.close()
        found = [spool.load(path) for path in spool.entries(folder)]
        assert all(one is not None and len(one["text"]) == 5000 for one in found)
        assert len(found) >= acknowledged[-1]
        for path in spool.entries(folder):
            spool.done(path)


def test_many_writers_at_once_lose_nothing(folder: str) -> None:
    code = (
        "import sys\nfrom oneiro_vault.capture import spool\nfor n in range(20): "
        "spool.put(sys.argv[1], {'who': sys.argv[2], 'n': n})"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, folder, str(who)]) for who in range(4)
    ]
    assert [child.wait(60) for child in children] == [0] * 4
    found = [json.loads(Path(path).read_text()) for path in spool.entries(folder)]
    assert sorted((one["who"], one["n"]) for one in found) == [
        (str(who), n) for who in range(4) for n in range(20)
    ]


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    with pytest.raises(OSError, match="spool"):
        spool.put(str(tmp_path / "spool"), {})


def test_a_whole_file_without_its_name_becomes_an_entry(folder: str) -> None:
    path = spool.put(folder, {"n": 1}, key="abc")
    named, old, half = (Path(folder, f".new-{one}") for one in (Path(path).name, "6adf2024", "x"))
    os.replace(path, named)
    old.write_text('{"n": 2}')
    half.write_text('{"text": "a brace }')
    Path(folder, ".new-y").write_text('{"text": {"a": 1}')
    spool.rescue(folder, time.time())  # who writes them may be alive
    assert spool.entries(folder) == []
    spool.rescue(folder, time.time() + spool.DEAD + 1)
    assert spool.entries(folder, "abc") == [path]
    assert [spool.load(one) for one in spool.entries(folder)] == [{"n": 1}, {"n": 2}]
    assert half.exists()
