"""Two runners on one vault, each a process with an index of its own; the one at work is killed or
stopped in the middle of its decisions.

The other must take over and finish, nothing may be decided twice, and one that was stopped and goes
on later must find its commits refused.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.core.question import Question
from oneiro_vault.settings.definitions import Settings
from tests.drills.test_dream_kill import whole
from tests.operations.dream.support import SETTINGS, git

PAIRS = 5
"""Memories that say the same twice, new in every trial: so many decisions."""
RUNNER = """
import json, sys, time
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.errors import LockTimeout
from tests.judges.scripted import ScriptedJudge
from tests.drills.test_two_runners import PAIRS, same, twins
from tests.operations.dream.support import SETTINGS, fill, judged

def said(**words):
    print(json.dumps(words), flush=True)

def progress(stage, done, total):
    if "deciding" in stage:
        said(at=done)
        time.sleep(0.02)

def dream(app):
    refused = []
    while True:
        began = time.monotonic()
        try:
            run = app.call("dream", {"loops": ["consolidate"]}, progress)["runs"][0]
            return said(run=run["run"], decisions=len(run["decisions"]), notes=run["notes"], refused=refused)
        except LockTimeout as error:
            refused.append(str(error))
            if "dream is under way" in str(error):
                time.sleep(0.05)
            else:
                said(waits=str(error))

with App.open(Path(sys.argv[1]), Settings(SETTINGS | {"index.dir": sys.argv[2], "dreams.brake": 1.0, "git.wait": 6.0})) as app:
    judged(app, ScriptedJudge(same))
    said(ready=True)
    for line in sys.stdin:
        if line.startswith("fill"):
            fill(app, *(text for one in range(PAIRS) for text in twins(PAIRS * int(line.split()[1]) + one)))
            said(filled=True)
        else:
            dream(app)
"""


def twins(number: int) -> tuple[str, str]:
    """Two memories that say the same, of words that no others have."""
    rng = random.Random(number)
    words = " ".join("".join(rng.choices("abdegiklmnoprstuv", k=7)) for _ in range(8))
    return f"Crate {number}x holds {words}.", f"Crate {number}x holds {words} now."


def same(question: Question) -> dict[str, Any]:
    """Merges what is about one crate, and nothing else: how many decisions there are to make is
    known."""
    crates: dict[str, list[str]] = {}
    for one in question.shown:
        crates.setdefault(one.text.split()[1], []).append(one.id)
    first, *others = max(crates.values(), key=len)
    if not others:
        return {"action": "keep_distinct", "reason": "two crates", "keep": None, "members": []}
    return {"action": "merge", "reason": "one crate", "keep": first, "members": others}


class Runner:
    """One process; it does a line's worth of work at a time."""

    def __init__(self, root: Path, index: Path, program: str = RUNNER) -> None:
        command = [sys.executable, "-c", program, str(root), str(index)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.hear()["ready"]

    def tell(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the runner ended with {self.process.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def finish(self) -> dict[str, Any]:
        """What the run that is under way came to."""
        while "run" not in (said := self.hear()):
            pass
        return said

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> None:
        with self.process:
            self.process.kill()  # also ends what is stopped


@contextmanager
def runner(root: Path, index: Path) -> Iterator[Runner]:
    made = Runner(root, index)
    try:
        yield made
    finally:
        made.end()


def ran(root: Path) -> list[str]:
    """The run of every commit of a run, oldest first."""
    return git(
        root, "log", "--reverse", "--topo-order", "--format=%(trailers:key=Oneiro-Run,valueonly)"
    ).split()


def trial(
    root: Path, holder: Runner, other: Runner, number: int, how: int, rng: random.Random
) -> tuple[float, bool, dict[str, Any]]:
    """(seconds until the other one decided something, whether it had to wait for a lock that a
    stopped process held, what the late holder said) of one trial."""
    other.tell(f"fill {number}")
    other.hear()
    before = len(ran(root))
    holder.tell("dream")
    until = rng.randint(1, PAIRS)
    while holder.hear()["at"] < until:
        pass
    time.sleep(rng.choice([0.0, rng.uniform(0.0, 0.05)]))
    holder.signal(how)
    began = time.monotonic()
    other.tell("dream")
    locked = False
    if how == signal.SIGKILL:
        holder.process.wait()
    while (
        "waits" in (first := other.hear())
        # a process that is stopped in the middle of a commit keeps the write lock: nobody may take
        # that
    ):
        assert how == signal.SIGSTOP
        assert (
            "is stopped" in first["waits"] or "another process" in first["waits"]
        )  # stopped before it wrote down its number
        locked = True
        holder.signal(signal.SIGCONT)
    taken = time.monotonic() - began
    other_done = first if "run" in first else other.finish()
    late: dict[str, Any] = {}
    if how == signal.SIGSTOP:
        holder.signal(signal.SIGCONT)
        late = holder.finish()
    if not locked:
        order = ran(root)[before:]
        mine = other_done["run"]
        if mine not in order:  # the holder died behind its last decision: none was left
            assert len(order) == PAIRS
        else:
            assert set(order[order.index(mine) :]) == {mine}, (
                "the late holder committed behind the one that took over"
            )
    if late.get("decisions", PAIRS) < PAIRS:
        assert any("another run took over" in note for note in late["notes"]), late
    decided = git(root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)").split()
    assert len(decided) == len(set(decided)) == PAIRS * number
    return taken, locked, late


def drill(root: Path, base: Path, trials: int, seed: int) -> None:
    print("seed", seed)
    rng = random.Random(seed)
    init_vault(root)
    seconds: dict[int, list[float]] = {signal.SIGKILL: [], signal.SIGSTOP: []}
    refused = locked = 0
    with runner(root, base / "one") as other:
        holder: Runner | None = None
        try:
            for number in range(1, trials + 1):
                holder = holder or Runner(root, base / "two")
                how = signal.SIGKILL if number % 2 else signal.SIGSTOP
                taken, waited, late = trial(root, holder, other, number, how, rng)
                locked += waited
                if not waited:
                    seconds[how].append(taken)
                refused += any("another run took over" in note for note in late.get("notes", ()))
                if how == signal.SIGKILL:
                    holder.end()
                    holder = None
        finally:
            if holder is not None:
                holder.end()
    with App.open(root, Settings(SETTINGS)) as app:
        app.house.indexing.converge()
        whole(app, root)
        statuses = Counter(
            row.status for row in app.house.index.list(limit=100_000, type="semantic")
        )
        assert statuses == {"active": PAIRS * trials, "superseded": PAIRS * trials}
    for signed, found in seconds.items():
        if found:
            middle = sorted(found)[len(found) // 2]
            print(
                f"{signal.Signals(signed).name}: {len(found)} taken over, first decision after a "
                f"median of {middle:.1f} s, longest {max(found):.1f} s"
            )
    print(
        f"late holders that were refused: {refused}; stopped while they held the write lock: "
        f"{locked}"
    )
    assert refused or trials < 10


@pytest.mark.drill
@pytest.mark.timeout(3600)
def test_a_hundred_trials_of_two_runners(tmp_path: Path) -> None:
    drill(tmp_path / "vault", tmp_path, 100, random.SystemRandom().randrange(10**9))
