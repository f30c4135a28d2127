"""One run at a time; who died or hung is taken over, and finds out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App, clone_vault
from oneiro_vault.core.question import Question
from oneiro_vault.errors import Elsewhere, LockTimeout
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.dream import run_lease, scheduler
from oneiro_vault.operations.dream import run_lease as leases
from oneiro_vault.operations.dream.run_lease import Lease
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.sync.remote_lease import REF, HeldLease, LeaseRef, Record
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import SETTINGS, dream, git, judged, merge
from tests.sync.support import WAIT, bare, remote_of
from tests.vault.support import reopen

HOLDER = """
import sys, time
from pathlib import Path
from oneiro_vault.operations.dream.run_lease import Lease
from tests.vault.support import reopen
lease = Lease(reopen(Path(sys.argv[1])), "a test")
print("held", flush=True)
time.sleep(0.1)
sys.stdin.read()
print("mine" if lease.held() else "lost", flush=True)
"""


def holder(root: Path) -> subprocess.Popen[str]:
    made = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "held\n"
    return made


def test_a_living_holder_is_named(app: App, root: Path) -> None:
    process = holder(root)
    try:
        with pytest.raises(LockTimeout, match=rf"a test.*{process.pid}"):
            Lease(reopen(root), "another")
        assert leases.current(app.house.vault) is not None
    finally:
        process.communicate("")


def test_a_person_s_run_waits_for_one_that_is_under_way(app: App) -> None:
    held, stages = Lease(app.house.vault, "a night"), []

    def progress(stage: str, _done: int, _total: int) -> None:
        stages.append(stage)
        if "waiting" in stage:
            held.release()

    done = app.call("dream", {"loops": ["decay"]}, progress)
    assert "waiting for a run that is under way (a night)" in stages
    assert [run["loop"] for run in done["runs"]] == ["decay"]


def test_a_stop_ends_the_run_and_those_that_wait_for_it(app: App) -> None:
    def progress(stage: str, _done: int, _total: int) -> None:
        if "waiting" in stage:
            app.call("dream_stop", {})

    with Lease(app.house.vault, "a night") as held:
        with pytest.raises(LockTimeout, match="a night"):
            app.call("dream", {"loops": ["decay"]}, progress)
        assert held.held()
        assert app.house.dreams.cancel.is_set()
        assert not app.house.dreams.queued


def test_a_dead_holder_is_taken_over_at_once(app: App, root: Path) -> None:
    process = holder(root)
    process.kill()
    process.wait()
    assert leases.current(app.house.vault) is None
    with Lease(app.house.vault, "another") as found:
        assert found.held()
    assert not list((root / ".git/oneiro").glob("dream*"))


@pytest.mark.slow
def test_a_holder_that_hangs_is_taken_over_and_knows(app: App, root: Path) -> None:
    process = holder(root)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        with Lease(app.house.vault, "another") as found:
            assert time.monotonic() - started >= leases.STALE
            os.kill(process.pid, signal.SIGCONT)
            said, _ = process.communicate("", timeout=30)
            assert said == "lost\n"
            assert found.held()
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()


@pytest.mark.parametrize("left", ["", "[]", "{", '{"token": "x", "pid": "y", "about": 1}', "\0"])
def test_a_record_that_makes_no_sense_is_nobodys(app: App, root: Path, left: str) -> None:
    (root / ".git/oneiro/dream.json").write_text(left)
    with Lease(app.house.vault, "test") as found:
        assert found.held()
        assert json.loads((root / ".git/oneiro/dream.json").read_text())["about"] == "test"
    assert found.holder() is None


def test_a_run_that_was_taken_over_commits_nothing(app: App) -> None:
    from tests.judges.scripted import ScriptedJudge
    from tests.operations.dream.support import git, judged, merge

    root = app.house.root
    head = git(root, "rev-parse", "HEAD")

    def script(question: object) -> object:
        (root / ".git/oneiro/dream.json").write_text(
            json.dumps({"token": "other", "pid": os.getpid(), "about": "other"})
        )
        return merge(question)  # type: ignore[arg-type]  # a script may return less

    judged(app, ScriptedJudge(script))  # type: ignore[arg-type]  # a script may return less
    run = app.call("dream", {"loops": ["consolidate"]})["runs"][0]
    assert run["decisions"] == []
    assert any("another run took over" in note for note in run["notes"])
    assert git(root, "rev-parse", "HEAD") == head


PATIENT = SETTINGS | {"sync.wait": WAIT}
NOWHERE = "https://ada:hunter2@127.0.0.1:9/x.git"


@pytest.fixture
def remote(tmp_path: Path, app: App) -> Path:
    """A bare repository that the vault has been synced with."""
    place = bare(tmp_path / "remote.git")
    git(app.house.root, "remote", "add", "origin", str(place))
    app.house.settings = Settings(PATIENT)
    app.call("sync")
    return place


@pytest.fixture
def held(tmp_path: Path, remote: Path) -> Iterator[HeldLease]:
    """Another machine dreams."""
    clone_vault(str(remote), tmp_path / "two", Settings(PATIENT))
    vault = reopen(tmp_path / "two")
    with HeldLease(LeaseRef(vault, remote_of(vault)), ["consolidate"], 600.0) as held:
        yield held


def trailers(app: App) -> set[str]:
    return set(
        git(
            app.house.root,
            "log",
            "--grep=^Oneiro-Run: ",
            "--format=%(trailers:key=Oneiro-Fence,valueonly)",
        ).split()
    )


def test_alone_there_is_no_lease(app: App) -> None:
    assert dream(app)["decisions"]
    assert trailers(app) == set()
    found = app.call("schedule")["sharing"]
    assert (found["device"], found["runner"], found["lease"]) == (
        app.house.vault.ledger.device,
        "",
        None,
    )
    assert not (app.house.vault.folder / "lease.json").exists()


def test_every_commit_of_a_run_has_its_number(app: App, remote: Path) -> None:
    assert dream(app)["decisions"]
    assert trailers(app) == {"1"}
    lease = app.call("schedule")["sharing"]["lease"]
    assert (lease["here"], lease["held"], lease["fence"]) == (True, False, 1)
    assert git(remote, "log", "--format=%s", REF).startswith("lease: given back by")


def test_it_is_another_machines(app: App, held: HeldLease) -> None:
    before = app.house.vault.head()
    with pytest.raises(Elsewhere, match="dreams: consolidate"):
        app.call("dream", {"loops": ["consolidate"]})
    assert app.call("dream", {"loops": ["consolidate"], "dry_run": True})["runs"]
    found = app.call("schedule")["sharing"]["lease"]
    assert (found["held"], found["here"], found["loops"]) == (True, False, ["consolidate"])
    assert app.call("status")["dreaming"]["lease"] == found
    assert app.house.vault.head() == before
    app.house.clock = due(app)
    answer = scheduler.scheduled(app.house)
    assert "dreams: consolidate" in str(answer["elsewhere"])
    assert not answer["later"]
    assert not scheduler.due(app.house), "this night is theirs"


def due(app: App) -> Callable[[], float]:
    """A clock that has come to a night after the first look at the schedule."""
    now = app.house.clock()
    scheduler.due(app.house)
    return lambda: now + 86_400


@pytest.mark.slow
def test_the_lease_is_lost_in_the_middle(app: App, remote: Path, tmp_path: Path) -> None:
    """A run that another machine has taken over commits no more, not even its report."""
    clone_vault(str(remote), tmp_path / "two", Settings(PATIENT))
    vault = reopen(tmp_path / "two")
    other = LeaseRef(vault, remote_of(vault))
    head = app.house.vault.head()

    def script(question: Question) -> dict[str, Any]:
        theirs = Record(other.device, "r", ("consolidate",), 2, "2026", "2026", "2026")
        while not other.put(other.look().commit, theirs):
            pass
        for thread in threading.enumerate():
            if thread.name == "oneiro-remote-lease":
                thread.join()  # it ends when it has found out
        return merge(question)

    judged(app, ScriptedJudge(script))
    app.house.settings = Settings(PATIENT | {"dreams.lease": 20.0})
    run = dream(app)
    assert run["decisions"] == []
    assert any("the lease is lost" in note for note in run["notes"])
    assert app.house.vault.head() == head


def test_a_named_machine_alone_dreams(app: App, remote: Path) -> None:
    device = app.house.vault.ledger.device
    app.house.settings = Settings(PATIENT | {"dreams.runner": "another-1234"})
    with pytest.raises(Elsewhere, match=f"only 'another-1234' dreams.*{device}"):
        dream(app)
    app.house.settings = Settings(PATIENT | {"dreams.runner": device})
    git(app.house.root, "remote", "set-url", "origin", NOWHERE)
    app.house.clock = due(app)
    assert scheduler.scheduled(app.house)["runs"], "it needs no lease where none is to be had"
    assert trailers(app) == set()


def test_nobody_can_say(app: App, remote: Path) -> None:
    """By the schedule nothing happens, and it stays due; who asks for a run has one, and is
    told."""
    git(app.house.root, "remote", "set-url", "origin", NOWHERE)
    app.house.clock = due(app)
    background = Background(app.house)
    background.dream()
    answer = scheduler.scheduled(app.house)
    assert answer["later"]
    assert "nobody can say" in str(answer["elsewhere"])
    assert "hunter2" not in str(answer)
    assert scheduler.due(app.house)
    git(app.house.root, "remote", "remove", "origin")
    background.dream()
    assert scheduler.due(app.house), "the remote is not asked at every look"
    git(app.house.root, "remote", "add", "origin", NOWHERE)
    found = app.call("schedule")["sharing"]
    assert "cannot be reached" in found["problem"]
    assert "hunter2" not in str(found)
    answer = app.dream(loops=["consolidate"])
    assert answer["runs"][0]["decisions"]
    assert "gives way to one at the next sync" in str(answer["note"])
    assert trailers(app) == set()


def test_a_remote_it_never_met_is_in_nobodys_way(app: App) -> None:
    git(app.house.root, "remote", "add", "origin", NOWHERE)
    answer = app.call("dream", {"loops": ["consolidate"]})
    assert answer["runs"][0]["decisions"]
    assert answer["note"] is None


def test_several_remotes_of_which_none_is_named(app: App, tmp_path: Path) -> None:
    for name in ("left", "right"):
        git(app.house.root, "remote", "add", name, str(tmp_path / name))
    assert dream(app)["decisions"]
    assert run_lease.lease_ref(app.house.vault, app.house.settings) is None
    git(app.house.root, "remote", "remove", "right")
    git(app.house.root, "checkout", "-q", "--detach")
    assert run_lease.holder(app.house.vault, app.house.settings)["problem"] is None
    assert "detached" in str(
        run_lease.holder(app.house.vault, app.house.settings, ask=True)["problem"]
    )


def test_where_syncing_by_itself_is_wanted_a_run_begins_and_ends_with_it(
    app: App, remote: Path, tmp_path: Path
) -> None:
    clone_vault(str(remote), tmp_path / "two", Settings(PATIENT))
    both = PATIENT | {"sync.every": 3600.0}
    with App.open(tmp_path / "two", Settings(both)) as two:
        judged(two)
        assert dream(two)["decisions"]
        assert git(remote, "rev-parse", "main").strip() == two.house.vault.head()
        theirs = two.house.vault.head()
    app.house.settings = Settings(both)
    assert dream(app)["decisions"] == []
    assert app.house.vault.repo.contains(theirs, app.house.vault.head())


def test_what_gave_way_may_be_decided_again(app: App, remote: Path, tmp_path: Path) -> None:
    """Taken back by a sync is not taken back by a person."""
    run = dream(app)
    clone_vault(str(remote), tmp_path / "two", Settings(PATIENT))
    vault = reopen(tmp_path / "two")
    with HeldLease(LeaseRef(vault, remote_of(vault)), ["consolidate"], 600.0):
        pass
    looked = app.call("sync", {"dry_run": True})["late"]
    done = app.call("sync")["late"]
    assert [one["run"] for one in looked] == [one["run"] for one in done] == [run["run"]]
    assert app.call("runs")["runs"][-1]["undone"]
    again = dream(app)
    assert len(again["decisions"]) == len(run["decisions"])
