"""kill -9 at random moments: no acknowledged memory lost, no deletion invented, no stuck lock, git
content."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.vault.support import git, make, note, path_of, put, reopen, sound

WRITER = """
import random, sys
from pathlib import Path
from oneiro_vault.vault.change import Operation, Remove, Write
from oneiro_vault.vault.worktree.files import digest
from tests.vault.support import note, path_of, put, reopen
root, first, lazy = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "lazy"
vault = reopen(root, wait=30, lazy_index=lazy)
for number in range(first, first + 10000):
    vault.ledger.use(f"{number:012d}", "use")
    data = put(vault, number)
    print("ACK", path_of(number), digest(data), flush=True)
    if number % 5 == 4:
        old = vault.read(path_of(number - 1))
        vault.forget(f"{number - 1:012d}", path_of(number - 1), digest(old))
        print("GONE", path_of(number - 1), flush=True)
    if number % 7 == 6:
        data = put(vault, number, "second")
        print("ACK", path_of(number), digest(data), flush=True)
    if lazy and number % 4 == 0:
        vault.gate.flush()
"""


def round_(root: Path, number: int, rng: random.Random) -> tuple[dict[str, str], set[str]]:
    """One life of a writer, killed at a random moment; what it acknowledged, and what it may have
    been doing."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), str(number * 10000), rng.choice(["lazy", "prompt"])],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    time.sleep(rng.uniform(0.0, 0.25))
    os.killpg(process.pid, signal.SIGKILL)
    lines += process.stdout.read().splitlines()
    process.wait()
    acked: dict[str, str] = {}
    gone: set[str] = set()
    for line in lines:
        words = line.split()
        if words and words[0] == "ACK" and len(words) == 3:
            acked[words[1]] = words[2]
        elif len(words) == 2:
            acked.pop(words[1], None)
            gone.add(words[1])
    return acked, gone


def drill(root: Path, rounds: int, seed: int) -> None:
    from oneiro_vault.vault.worktree.files import digest

    print("seed", seed)
    rng = random.Random(seed)
    put(make(root), 999_999)
    kept: dict[str, str] = {}
    for number in range(rounds):
        acked, gone = round_(root, number, rng)
        kept |= acked
        started = time.monotonic()
        vault = reopen(root)
        put(vault, 9_000_000 + number)
        # as every command ends: a lock that the dead one left an instant ago is waited for until it
        # can be judged
        assert vault.close()
        assert time.monotonic() - started < 2
        sound(root)
        listing = vault.listing()
        for path, sha in kept.items():
            if path not in listing:  # being forgotten when it died: not acknowledged either way
                assert path not in gone
                assert path in acked
                assert vault.log.entries(3, path=path)[0].op == "forget"
            else:
                found = digest(vault.read(path))
                assert found == sha or found == digest(note(int(path[-15:-3]), "second"))
        for path in gone:
            assert path not in listing
        kept = {path: sha for path, sha in kept.items() if path in listing}
        assert vault.edits.commit() == []
        assert vault.health.problems() == []
    deletions = git(
        root,
        "log",
        "--diff-filter=D",
        "--format=%(trailers:key=Oneiro-Op,valueonly)",
        "--",
        "semantic",
    ).split()
    assert set(deletions) <= {"forget"}
    marks = [event["n"] for event in reopen(root).ledger.events()]
    assert len(marks) == len(set(marks))
    assert path_of(999_999) in reopen(root).listing()


@pytest.mark.slow
def test_five_kills(tmp_path: Path) -> None:
    drill(tmp_path / "vault", 5, 20261121)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_two_hundred_kills(tmp_path: Path) -> None:
    drill(tmp_path / "vault", 200, random.SystemRandom().randrange(10**9))
