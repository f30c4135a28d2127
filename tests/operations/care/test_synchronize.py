"""The operation `sync`: its plan as data, what happens without the remote, what `status` tells, and
when an owner does it by itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault
from oneiro_vault.errors import (
    GitProblem,
    InvalidInput,
    LockTimeout,
    NotFound,
    RepositoryBusy,
    SettingsError,
    Unreachable,
)
from oneiro_vault.operations.care import synchronize
from oneiro_vault.settings.definitions import Settings, load
from tests.copies import new_vault
from tests.sync.support import WAIT, bare
from tests.vault.support import git

SETTINGS = Settings(
    {"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0, "sync.wait": WAIT}
)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def app(tmp_path: Path, remote: Path) -> Iterator[App]:
    """A vault with a remote that is empty yet."""
    new_vault(tmp_path / "one")
    git(tmp_path / "one", "remote", "add", "origin", str(remote))
    with App.open(tmp_path / "one", SETTINGS) as found:
        yield found


def other(tmp_path: Path, remote: Path) -> App:
    made = clone_vault(str(remote), tmp_path / "two", SETTINGS)
    assert made["is_vault"]
    return App.open(tmp_path / "two", SETTINGS)


def remember(app: App, text: str) -> str:
    found: str = app.call("remember", {"items": [{"text": text}]})["results"][0]["id"]
    return found


def test_two_copies_of_a_vault(app: App, tmp_path: Path, remote: Path) -> None:
    ident = remember(app, "The boat is called Petrel.")
    found = app.call("sync", {"dry_run": True})
    assert {(action["action"], action["path"] is not None) for action in found["actions"]} == {
        ("send", True)
    }
    assert git(remote, "branch") == ""
    assert app.call("status")["sync"] == {
        "remote": None,
        "last": None,
        "age": None,
        "tried": None,
        "problem": None,
    }
    assert app.call("sync")["pushed"]
    assert git(app.house.root, "config", "branch.main.remote").strip() == "origin"
    with other(tmp_path, remote) as two:
        assert two.call("show", {"id": ident})["body"].strip() == "The boat is called Petrel."
        assert git(two.house.root, "config", "merge.oneiro.driver")
        note = two.house.root / two.call("show", {"id": ident})["path"]
        note.write_text(note.read_text() + "\nIt leaks.\n")
        assert two.call("sync", {"dry_run": True})["edits"] == 1
        assert two.call("sync")["edits"] == 1
    answer = app.call("sync")
    assert [
        action["id"] for action in answer["actions"] if action["action"] == "take" and action["id"]
    ] == [ident]
    assert "It leaks." in app.call("show", {"id": ident})["body"]
    assert app.call("recall", {"query": "what leaks"})["results"][0]["id"] == ident
    state = app.call("status")["sync"]
    assert (state["remote"], state["problem"]) == ("origin", None)
    assert state["age"] >= 0


def test_what_came_before_the_remote_fell_silent_is_told(
    app: App, tmp_path: Path, remote: Path
) -> None:
    app.call("sync")
    with other(tmp_path, remote) as two:
        came = remember(two, "The lighthouse was painted.")
        two.call("sync")
    remember(app, "The boat is called Petrel.")
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    answer = app.call("sync")
    assert answer["offline"]
    assert (
        answer["pushed"],
        [(action["action"], action["id"]) for action in answer["actions"]],
    ) == (False, [("take", came)])
    assert answer["commit"]
    assert app.call("recall", {"query": "lighthouse"})["results"][0]["id"] == came
    hook.unlink()
    assert app.call("sync")["pushed"]


def test_what_no_other_copy_gets_is_told(app: App) -> None:
    root = app.house.root
    root.joinpath("picture.png").write_bytes(b"\x89PNG")
    root.joinpath("key.md").write_text("The key is AKIA" + "Q3EGRV5NZJ2YTLKW.\n")
    root.joinpath("both.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    root.joinpath("mine.md").write_text("An edit of a person.\n")
    (root / ".obsidian").mkdir()
    root.joinpath(".obsidian/app.json").write_text("{}")
    answer = app.call("sync")
    assert {one["path"]: one["reason"].split(" ")[-1] for one in answer["stays"]} == {
        "picture.png": "add)", "key.md": "Key", "both.md": "markers",
    }  # fmt: skip


def test_out_of_reach_is_said_and_costs_nothing(app: App) -> None:
    git(app.house.root, "remote", "set-url", "origin", "https://ada:hunter2@127.0.0.1:9/x.git")
    (app.house.root / "mine.md").write_text("kept")
    answer = app.call("sync")
    assert "cannot be reached" in answer["offline"]
    assert (answer["edits"], answer["last"]) == (1, None)
    assert "hunter2" not in str(answer)
    assert git(app.house.root, "log", "--format=%s", "-1", "--", "mine.md").startswith("edit:")
    state = app.call("status")["sync"]
    assert state["tried"] is not None
    assert state["problem"] == answer["offline"]
    assert app.call("sync", {"dry_run": True})["offline"]


def test_a_remote_that_is_not_there_is_an_error_and_remembered(app: App, tmp_path: Path) -> None:
    git(app.house.root, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(GitProblem):
        app.call("sync")
    assert "nowhere" in app.call("status")["sync"]["problem"]


def test_one_sync_at_a_time(app: App) -> None:
    with synchronize._alone(app.house), pytest.raises(LockTimeout, match="under way"):
        app.call("sync")


def test_a_person_who_commits_for_themself_is_left_alone(
    tmp_path: Path, remote: Path, app: App
) -> None:
    app.call("sync")
    with other(tmp_path, remote) as two:
        (two.house.root / "oneiro.toml").write_text("[edits]\ncommit = false\n")
        git(two.house.root, "commit", "-qam", "by hand")
    with App.open(tmp_path / "two", SETTINGS.but(edits_commit=False)) as two:
        (two.house.root / "mine.md").write_text("not yet")
        two.call("sync")
        assert git(two.house.root, "status", "--porcelain").split() == ["??", "mine.md"]


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def automatic(app: App, **settings: float) -> tuple[synchronize.Automatic, Clock]:
    clock = Clock()
    app.house.clock = clock
    app.house.settings = app.house.settings.but(**settings)
    return synchronize.Automatic(app.house), clock


def test_by_itself_it_is_off(app: App) -> None:
    found, _ = automatic(app)
    assert not found.wanted


def test_by_itself_every_so_often(app: App) -> None:
    found, clock = automatic(app, sync_every=60.0)
    assert found.wanted
    assert found.due()
    found.run()
    assert not found.due()
    clock.now += 59
    assert not found.due()
    clock.now += 1
    assert found.due()


def test_by_itself_after_quiet(app: App) -> None:
    found, clock = automatic(app, sync_quiet=30.0)
    app.call("sync")
    assert not found.due()
    clock.now += 100
    remember(app, "Something new.")
    assert not found.due()
    clock.now += 29
    assert not found.due()
    clock.now += 1
    assert found.due()
    found.run()
    clock.now += 100
    assert not found.due()


def test_by_itself_it_backs_off(app: App) -> None:
    """Row 23: a remote that is away is asked ever more seldom, at least once an hour."""
    git(app.house.root, "remote", "set-url", "origin", "https://127.0.0.1:9/x.git")
    found, clock = automatic(app, sync_every=60.0)
    pauses = []
    for _ in range(8):
        assert found.due()
        with pytest.raises(Unreachable):
            found.run()
        start = clock.now
        while not found.due():
            clock.now += 30
        pauses.append(clock.now - start)
    assert pauses == [120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_clone_refuses_what_it_cannot_use(tmp_path: Path, remote: Path) -> None:
    with pytest.raises(InvalidInput):
        clone_vault("--upload-pack=touch x", tmp_path / "two", SETTINGS)
    with pytest.raises(NotFound, match="empty"):
        clone_vault(str(remote), tmp_path / "two", SETTINGS)
    with pytest.raises(GitProblem):
        clone_vault(f"file://{tmp_path}/nowhere", tmp_path / "two", SETTINGS)
    assert not (tmp_path / "two").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    with pytest.raises(InvalidInput, match="not an empty folder"):
        clone_vault(str(remote), tmp_path / "full", SETTINGS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound):
        clone_vault(str(remote), tmp_path / "empty", SETTINGS)
    assert list((tmp_path / "empty").iterdir()) == []


def test_clone_of_another_branch_and_of_no_vault_yet(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "plain")
    (tmp_path / "plain/note.md").write_text("plain words")
    (tmp_path / "plain/run.md").symlink_to("/etc/passwd")
    git(tmp_path / "plain", "add", "-A")
    git(tmp_path / "plain", "commit", "-qm", "notes")
    made = clone_vault(str(tmp_path / "plain"), tmp_path / "two", SETTINGS)
    assert (made["branch"], made["notes"], made["is_vault"]) == ("trunk", 1, False)
    assert (tmp_path / "two/note.md").read_text() == "plain words"
    assert not (tmp_path / "two/run.md").is_symlink()
    assert git(tmp_path / "two", "status", "--porcelain") == ""


def test_an_old_git_is_named(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 27: without the git it needs, a sync refuses by name and changes nothing."""
    app.call("sync")
    stub = tmp_path / "bin/git"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho git version 2.30.2\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(stub.parent))
    before = app.house.vault.head()
    with pytest.raises(GitProblem, match=r"2\.30\.2 is too old"):
        app.call("sync")
    assert app.house.vault.head() == before


def test_settings_that_came_wrong_do_not_keep_their_repair_out(
    app: App, tmp_path: Path, remote: Path
) -> None:
    """A newer program, or a slip, on one machine must not cut the others off."""
    app.call("sync")
    settings = app.house.root / "oneiro.toml"
    good = settings.read_text()
    with other(tmp_path, remote) as two:
        settings.write_text(good + "\n[future]\nkey = 1\n")
        app.call("sync")
        assert "degraded" not in two.call("sync")
    read = load(tmp_path / "two", strict=False).but(
        embed_model="hash", disk_reserve=0, edits_quiet=0.0, sync_wait=WAIT
    )
    with App.open(tmp_path / "two", read) as two:
        assert two.house.settings.wrong
        with pytest.raises(SettingsError):
            remember(two, "Not while it is unclear how.")
        assert "future" in str(two.call("sync")["notices"])
        settings.write_text(good)
        app.call("sync")
        answer = two.call("sync")
        assert (two.house.root / "oneiro.toml").read_text() == good
        assert not answer.get("notices")


def test_a_sync_never_carries_deletions_nobody_confirmed(
    app: App, tmp_path: Path, remote: Path
) -> None:
    app.call(
        "remember",
        {"items": [{"text": f"Fact number {number} of the flood."} for number in range(8)]},
    )
    app.call("sync")
    with other(tmp_path, remote) as two:
        gone = sorted(row["path"] for row in app.call("list", {})["results"])
        for path in gone:
            (app.house.root / path).unlink()
        answer = app.call("sync")
        assert (answer["edits"], [one["path"] for one in answer["stays"]]) == (0, gone)
        assert "you are asked" in answer["stays"][0]["reason"]
        assert two.call("sync")["actions"] == []
        (two.house.root / gone[0]).write_text("The other side goes on with it.\n")
        two.call("sync")
        with pytest.raises(RepositoryBusy, match="gone from the disk") as caught:
            app.call("sync")
        assert "git restore" in caught.value.hint
        git(app.house.root, "restore", ".")
        assert app.call("sync")["stays"] == []
        assert app.call("status")["gone"] is None


def test_a_sync_waits_for_a_git_that_is_at_work(app: App) -> None:
    app.house.vault.gate._wait = 0.4
    lock = app.house.root / ".git/index.lock"
    with lock.open("w") as file, subprocess.Popen(["sleep", "60"], stdout=file) as holder:
        with pytest.raises(LockTimeout, match="git/index"):
            app.call("sync")
        holder.kill()
    assert app.call("sync")["pushed"]
    assert not lock.exists()
