"""Two machines with a copy each, and a bare repository between them: both dream the same night,
each in a process of its own.

Whatever happens (both at once, one after the other without having met, the holder killed or stopped
in the middle and woken up later), and whoever syncs first: when both have met, every pair was
merged once.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, clone_vault, init_vault
from oneiro_vault.settings.definitions import Settings
from tests.drills.test_two_runners import PAIRS, Runner
from tests.operations.dream.support import SETTINGS, git
from tests.sync.support import bare

LEASE = 12.0
"""Seconds without a sign of life after which the other machine takes over: a drill has to wait for
that."""
MACHINE = """
import json, sys, time
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.errors import Elsewhere
from tests.judges.scripted import ScriptedJudge
from tests.drills.test_two_machines import settings
from tests.drills.test_two_runners import PAIRS, same, twins
from tests.operations.dream.support import fill, judged

def said(**words):
    print(json.dumps(words), flush=True)

def progress(stage, done, total):
    if "deciding" in stage:
        said(at=done)

def dream(app, until):
    while True:
        try:
            run = app.call("dream", {"loops": ["consolidate"]}, progress)["runs"]
            return said(run=run[0]["run"] if run else "", notes=run[0]["notes"] if run else [])
        except Elsewhere as error:
            if not until:
                return said(run="", notes=[str(error)])
            time.sleep(0.3)

with App.open(Path(sys.argv[1]), Settings(settings(sys.argv[2]))) as app:
    judged(app, ScriptedJudge(same))
    said(ready=True)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "fill":
            fill(app, *(text for one in range(PAIRS) for text in twins(PAIRS * int(rest) + one)))
            said(filled=True)
        elif word == "sync":
            said(late=len(app.call("sync")["late"]))
        else:
            dream(app, word == "wait")
"""


def settings(index: str) -> dict[str, Any]:
    """Of a machine: patient with a remote that answers, whatever else is running."""
    return SETTINGS | {
        "index.dir": index,
        "dreams.brake": 1.0,
        "git.wait": 60.0,
        "sync.wait": 60.0,
        "dreams.lease": LEASE,
    }


def told(machine: Runner, words: str) -> dict[str, object]:
    machine.tell(words)
    return machine.hear()


class Drill:
    """Both machines, over many nights."""

    def __init__(self, base: Path, seed: int) -> None:
        print("seed", seed)
        self.rng = random.Random(seed)
        self.base = base
        self.happened: Counter[str] = Counter()
        remote = bare(base / "remote.git")
        init_vault(base / "one")
        git(base / "one", "remote", "add", "origin", str(remote))
        with App.open(base / "one", Settings(settings(str(base / "i")))) as app:
            app.call("sync")
        clone_vault(str(remote), base / "two", Settings(settings("")))
        self.machines = {name: self.start(name) for name in ("one", "two")}

    def start(self, name: str) -> Runner:
        return Runner(self.base / name, self.base / f"index-{name}", MACHINE)

    def end(self) -> None:
        for machine in self.machines.values():
            machine.end()

    def sync(self, *names: str) -> None:
        for name in names:
            self.happened["gave way"] += int(str(told(self.machines[name], "sync")["late"]))

    def night(self, number: int, what: str) -> None:
        """One night of five new pairs, known to both; then they meet, in any order."""
        first, second = self.rng.sample(["one", "two"], 2)
        told(self.machines[first], f"fill {number}")
        self.sync(first, second)
        getattr(self, f"night_{what}")(first, second)
        order = self.rng.sample([first, second], 2)
        self.sync(*order, order[0])
        self.check(number)

    def night_together(self, first: str, second: str) -> None:
        """Who comes second is told so; sometimes it tries again when the other is done, without
        having met."""
        for name in (first, second):
            self.machines[name].tell("dream")
        ends = {name: self.machines[name].finish() for name in (first, second)}
        for name, end in ends.items():
            if not end["run"]:
                self.happened["refused"] += 1
                if self.rng.random() < 0.5:
                    self.machines[name].tell("dream")
                    self.machines[name].finish()
                    self.happened["dreamt the same again"] += 1

    def night_kill(self, first: str, second: str) -> None:
        self.decide(first)
        self.machines[first].signal(signal.SIGKILL)
        self.machines[first].end()
        self.machines[second].tell("wait")
        assert self.machines[second].finish()["run"]
        self.machines[first] = self.start(first)
        self.happened["killed"] += 1

    def night_stop(self, first: str, second: str) -> None:
        self.decide(first)
        self.machines[first].signal(signal.SIGSTOP)
        try:
            self.machines[second].tell("wait")
            assert self.machines[second].finish()["run"]
        finally:
            self.machines[first].signal(signal.SIGCONT)
        notes = self.machines[first].finish()["notes"]
        self.happened["late holder stopped"] += any(
            "the lease is lost" in str(note) for note in notes
        )

    def decide(self, name: str) -> None:
        """Until it is in the middle of its decisions."""
        self.machines[name].tell("dream")
        until = self.rng.randint(1, PAIRS)
        while (said := self.machines[name].hear()).get("at", until) < until:
            pass
        assert "at" in said, said

    def check(self, number: int) -> None:
        """Of every pair at most one decision stands, and one memory is in force; then whoever is
        asked finds what was left."""
        trees = {git(self.base / name, "rev-parse", "HEAD^{tree}") for name in ("one", "two")}
        assert len(trees) == 1
        with App.open(self.base / "one", Settings(settings(str(self.base / "i")))) as app:
            runs = app.call("runs", {"limit": 10_000})["runs"]
            standing = Counter(
                memory
                for run in runs
                for one in run["decisions"]
                if not (one["undone"] or run["undone"])
                for memory in one["memories"]
            )
            twice = {memory: count for memory, count in standing.items() if count > 1}
            assert not twice, "merged twice"
            rows = (
                app.house.index.list(limit=100_000, type="semantic")
                if app.house.indexing.converge() == 0
                else []
            )
            statuses = Counter(row.status for row in rows)
            assert statuses["superseded"] == len(standing) // 2
            assert statuses["active"] == 2 * PAIRS * number - statuses["superseded"]


def drill(base: Path, nights: list[str], seed: int) -> Counter[str]:
    made = Drill(base, seed)
    try:
        for number, what in enumerate(nights, 1):
            made.night(number, what)
    finally:
        made.end()
        print(f"{len(nights)} nights: {dict(made.happened)}")
    return made.happened


@pytest.mark.drill
@pytest.mark.timeout(7200)
def test_a_hundred_nights_of_two_machines(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**9)
    nights = random.Random(seed).sample(["together"] * 80 + ["kill"] * 10 + ["stop"] * 10, 100)
    happened = drill(tmp_path, nights, seed)
    assert happened["refused"]
    assert happened["gave way"]
    assert happened["late holder stopped"]
