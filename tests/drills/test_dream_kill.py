"""kill -9 in the middle of dreams: no half decision, no double decision, and the next run goes
on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from oneiro_vault.app import App, init_vault
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.write.disk import POINTS
from tests.operations.dream.support import SETTINGS, dream, fill, git, judged
from tests.vault.support import sound

DREAMER = """
import sys
from pathlib import Path
from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.operations.dream.support import SETTINGS, dream, fill, judged
from tests.drills.test_dream_kill import pair
with App.open(Path(sys.argv[1]), Settings(SETTINGS)) as app:
    judged(app)
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + 1000):
        fill(app, *pair(number))
        print("dreaming", flush=True)
        dream(app)
"""
COLOURS = (
    "amber beige coral denim ebony fawn gold hazel ivory jade khaki lemon mauve navy ochre pearl "
    "quartz ruby sand teal umber"
).split()


def pair(number: int) -> tuple[str, str]:
    """Two memories that say the same, unlike those of any other number."""
    rng = random.Random(number)
    words = " ".join(rng.sample(COLOURS, 6))
    return f"Crate {number}x holds {words} tiles.", f"Crate {number}x holds {words} tiles now."


def life(root: Path, number: int, rng: random.Random) -> None:
    """One dreamer, killed: at a random moment, or at a named step of one of its commits."""
    point = rng.choice(POINTS) if number % 3 == 2 else ""
    env = os.environ | ({"ONEIRO_FAULT": f"{point}:{rng.randint(2, 4)}"} if point else {})
    process = subprocess.Popen(
        [sys.executable, "-c", DREAMER, str(root), str(number * 1000)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    if point:
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
    else:
        time.sleep(rng.uniform(0.0, 0.6))
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def whole(app: App, root: Path) -> None:
    """Every decision once, and each of them entirely."""
    sound(root)
    decisions = Counter(
        git(root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)").split()
    )
    assert set(decisions.values()) <= {1}
    rows = {row.id: row for row in app.house.index.list(limit=100_000) if row.id}
    replaced = {
        ident: row.superseded_by for ident, row in rows.items() if row.status == "superseded"
    }
    for ident, keeper in replaced.items():
        assert ident in rows[keeper].supersedes
        while keeper in replaced:  # a later night may have replaced the keeper as well
            keeper = replaced[keeper]
        assert rows[keeper].status == "active"
    for row in rows.values():
        assert set(row.supersedes) <= replaced.keys()
    merges = git(
        root,
        "log",
        "--grep=^Oneiro-Decision: ",
        "--format=%H%(trailers:key=Oneiro-Memory,valueonly,separator=%x20)",
    ).splitlines()
    assert len(replaced) == sum(len(line.split(" ")) - 1 for line in merges)
    assert app.house.vault.health.problems() == []
    assert git(root, "status", "--porcelain") == ""


def drill(root: Path, kills: int, seed: int) -> None:
    print("seed", seed)
    rng = random.Random(seed)
    init_vault(root)
    with App.open(root, Settings(SETTINGS)) as app:
        fill(app, *(text for number in range(20) for text in pair(number)))
    made = 0
    for number in range(1, kills + 1):
        life(root, number, rng)
        if number % 10 == 0 or number == kills:
            with App.open(root, Settings(SETTINGS)) as app:
                app.house.indexing.converge()
                whole(app, root)
                judged(app)
                made += len(dream(app)["decisions"])
                whole(app, root)
    with App.open(root, Settings(SETTINGS)) as app:
        judged(app)
        while dream(app)["decisions"]:
            made += 1
        whole(app, root)
        notes = app.call("list", {"limit": 1000, "type": "semantic"})["results"]
        assert all(row["status"] in ("active", "superseded") for row in notes)
    assert made or git(root, "log", "--format=%(trailers:key=Oneiro-Decision,valueonly)").split()
    runs = git(root, "log", "--format=%(trailers:key=Oneiro-Run,valueonly)").split()
    assert len(set(runs)) > kills / 10


@pytest.mark.slow
def test_two_kills_of_a_dreamer(tmp_path: Path) -> None:
    drill(tmp_path / "vault", 2, 20261122)


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_a_hundred_and_twenty_kills_of_a_dreamer(tmp_path: Path) -> None:
    drill(tmp_path / "vault", 120, random.SystemRandom().randrange(10**9))
