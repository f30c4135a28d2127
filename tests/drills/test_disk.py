"""A full and a read-only disk: refused with the reason, nothing half-written, working again without
a restart."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from oneiro_vault.errors import DiskProblem, OneiroError
from oneiro_vault.vault.change import Write
from oneiro_vault.vault.vault import Vault
from tests.sync.support import copies, learn, meet, sync, where
from tests.vault.support import REMEMBER, git, make, note, path_of, put, reopen, sound


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no right to mount a small disk: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, leave: int) -> Path:
    """A file that leaves only `leave` bytes free."""
    stat = os.statvfs(place)
    filler = place / "filler"
    size = max(stat.f_bavail * stat.f_frsize - leave, 0)
    with filler.open("wb") as file:
        file.write(bytes(size))
    return filler


def write_until_full(vault: Vault, first: int) -> list[int]:
    """Numbers of the notes that were acknowledged before the disk said no."""
    done: list[int] = []

    def write() -> None:
        for number in range(first, first + 200):
            vault.apply([Write(path_of(number), note(number, os.urandom(3000).hex()))], REMEMBER)
            done.append(number)

    with pytest.raises(DiskProblem, match="full"):
        write()
    return done


@pytest.mark.parametrize("leave", [4096, 20_000, 60_000, 150_000])
def test_a_full_disk(small: Path, leave: int) -> None:
    vault = make(small / "vault")
    put(vault, 0)
    for turn in range(3):
        filler = fill(small, leave + turn * 4096)
        done = write_until_full(vault, 1000 * (turn + 1))
        with pytest.raises(DiskProblem):
            put(vault, 5)
        assert vault.read(path_of(0)) == note(0)
        reopen(small / "vault")
        filler.unlink()
        put(vault, 100 + turn)
        listing = vault.listing()
        assert all(path_of(number) in listing for number in done)
        sound(small / "vault")
        assert reopen(small / "vault").health.problems() == []


@pytest.mark.slow
@pytest.mark.parametrize("leave", [0, 40_000, 200_000, 420_000])
def test_a_full_disk_in_a_sync(small: Path, tmp_path: Path, leave: int) -> None:
    """What the other copy brings does not fit, at whatever step that shows: nothing of either is
    lost, and with space the next one completes."""
    one, two = copies(tmp_path, notes=2)
    shutil.move(two.root, small / "two")
    two = reopen(small / "two")
    for number in range(40, 100):
        learn(one, number, os.urandom(2000).hex())
    sync(one)
    learn(two, 20)
    filler = fill(small, leave)
    with suppress(OneiroError):
        sync(two)
    assert where(20) in two.listing()
    filler.unlink()
    meet(reopen(small / "two"), one)
    assert {where(number) for number in (20, *range(40, 100))} <= one.listing().keys()


def test_below_the_reserve_nothing_starts(small: Path) -> None:
    make(small / "vault")
    vault = reopen(small / "vault", reserve=50_000_000)
    with pytest.raises(DiskProblem, match="50 MB"):
        put(vault)
    assert vault.head() == ""


def test_a_read_only_disk(small: Path) -> None:
    vault = make(small / "vault")
    put(vault, 0)
    vault.ledger.use("a" * 12, "use")
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    for door in (vault, reopen(small / "vault")):
        started = time.monotonic()
        with pytest.raises(DiskProblem, match="read-only"):
            put(door, 1)
        with pytest.raises(DiskProblem, match="read-only"):
            door.ledger.use("b" * 12, "use")
        assert time.monotonic() - started < 1
        assert door.read(path_of(0)) == note(0)
        assert door.log.entries()[0].title == "Note 0"
        assert [event["id"] for event in door.ledger.events()] == ["a" * 12]
        assert door.edits.commit() == []
        assert door.gate.flush() is True
    subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    put(vault, 1)
    sound(small / "vault")
    assert git(small / "vault", "rev-list", "--count", "HEAD") == "2\n"
