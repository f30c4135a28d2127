"""A full and a read-only disk under the whole product: refused with the reason, answers go on, and
it works again without a restart."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box, eventually
from tests.drills.whole import acks, kept


@pytest.fixture
def small(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A vault and its indexes on a disk of 24 MB, with an owner."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=90m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no right to mount a small disk: {done.stderr.strip()}")
    box = Box(tmp_path, sealed_env, place / "vault")
    try:
        box.init()
        remount(box, "size=24m")
        yield box
    finally:
        box.close()
        subprocess.run(["umount", "-l", str(place)], check=True)


def remount(box: Box, how: str) -> None:
    """With patience: a process that is ending holds its log open for writing to its very end."""
    command = ["mount", "-o", f"remount,{how}", str(box.vault.parent)]
    eventually(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0, 8)


def fill(box: Box) -> Path:
    """Every byte that is free."""
    filler = box.vault.parent / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while file.write(os.urandom(size)) == size:
                    pass
            except OSError:
                continue
    return filler


@pytest.mark.slow
def test_a_full_disk_loses_nothing_and_needs_no_restart(small: Box) -> None:
    acked = acks(
        small.ok("remember", "Before the disk was full: the kettle is blue.", "--ack").encode()
    )
    owner = small.pid
    for turn in range(2):
        filler = fill(small)
        for number in range(3):
            done = small("remember", f"Written in vain {turn} {number}.")
            assert done.returncode == 10, done
            assert b"full" in done.stderr
            assert b"Traceback" not in done.stderr
        started = time.monotonic()
        shown = small.json("recall", "colour of the kettle")
        assert time.monotonic() - started < 5, "it waited for vectors that cannot be stored"
        assert [row["path"] for row in shown["results"]][:1] == list(acked)[:1]
        filler.unlink()
        started = time.monotonic()
        acked |= acks(
            small.ok(
                "remember", f"After the space came back, turn {turn}.", "--again", "--ack"
            ).encode()
        )
        assert time.monotonic() - started < 5
        assert (
            f"turn {turn}"
            in small.json("recall", f"space came back turn {turn}")["results"][0]["title"]
        )
    assert small.pid == owner, "it was restarted"
    assert b"Written in vain" not in b"".join(
        path.read_bytes() for path in small.vault.glob("semantic/**/*.md")
    )
    kept(small, acked)


@pytest.mark.slow
def test_the_reserve_is_kept_free(small: Box) -> None:
    small.ok("stop")
    small.env["ONEIRO_DISK_RESERVE"] = "50000000"
    done = small("remember", "Too little room for this.")
    assert done.returncode == 10
    assert b"50 MB" in done.stderr
    assert small.json("list")["total"] == 0


@pytest.mark.slow
def test_a_full_disk_before_an_owner_starts(small: Box) -> None:
    acked = acks(small.ok("remember", "The anchor weighs nine kilos.", "--ack").encode())
    small.ok("stop")
    filler = fill(small)
    done = small("remember", "In vain.")
    assert done.returncode == 10, done
    assert b"No space left" in done.stderr
    shown = small.json("recall", "weight of the anchor")
    assert [row["path"] for row in shown["results"]] == list(acked)
    filler.unlink()
    acked |= acks(small.ok("remember", "There is room again.", "--ack").encode())
    kept(small, acked)


@pytest.mark.slow
def test_a_read_only_disk_answers_and_refuses_at_once(small: Box) -> None:
    acked = acks(small.ok("remember", "The lamp in the hall is broken.", "--ack").encode())
    small.ok("stop")
    remount(small, "ro")
    try:
        shown = small.json("recall", "which lamp is broken")
        assert [row["path"] for row in shown["results"]] == list(acked)
        took = []
        for _ in range(3):
            started = time.monotonic()
            done = small("remember", "In vain.")
            took.append(time.monotonic() - started)
            assert done.returncode == 10
            assert b"read-only" in done.stderr
            assert b"Traceback" not in done.stderr
        print("refused after", took)
        assert min(took) <= 1.0
    finally:
        remount(small, "rw")
    acked |= acks(small.ok("remember", "It can be written again.", "--ack").encode())
    kept(small, acked)
