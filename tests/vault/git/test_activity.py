"""While git, or a moment ago git, changes the folder, nothing in it is anybody's edit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.errors import LockTimeout, RepositoryBusy
from oneiro_vault.vault.change import Write
from oneiro_vault.vault.git import activity
from oneiro_vault.vault.git.activity import abandoned, set_aside
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.box import eventually
from tests.vault.support import (
    REMEMBER,
    SEALED,
    git,
    half_way,
    long_ago,
    make,
    note,
    path_of,
    put,
    reopen,
    slow_git,
    sound,
)

COUNT = 40


@pytest.fixture
def branches(vault: Vault, root: Path, tmp_path: Path) -> Vault:
    """`main` has forty notes, `old` four of them with other words and one that only it has, which
    git takes its time to write."""
    slow_git(root, tmp_path)
    vault.apply([Write(path_of(i), note(i)) for i in range(4)], REMEMBER)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "the slow one")
    git(root, "switch", "-qc", "old")
    (tmp_path / "go-on").touch()
    (root / "slow.md").write_text("written slowly")
    for number in range(4):
        (root / path_of(number)).write_bytes(note(number, "as it was"))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "old")
    git(root, "switch", "-q", "main")
    (tmp_path / "go-on").unlink()
    (tmp_path / "at-work").unlink(missing_ok=True)
    vault = reopen(root)
    vault.apply([Write(path_of(i), note(i)) for i in range(4, COUNT)], REMEMBER)
    return vault


def test_a_checkout_half_way_is_nobodys_edit(branches: Vault, root: Path, tmp_path: Path) -> None:
    before, count = branches.head(), len(branches.log.entries())
    with half_way(root, tmp_path, "checkout", "-q", "old"):
        assert len(list((root / "semantic").rglob("*.md"))) < COUNT
        assert branches.edits.commit() == []
        look = branches.edits.look()
        assert (look.ready, look.asked, look.lock) == ({}, False, root / ".git/index.lock")
        assert look.waiting
        assert branches.head() == before
    assert branches.edits.commit() == []
    git(root, "checkout", "-q", "main")
    assert branches.edits.commit() == []
    assert (branches.head(), len(branches.log.entries())) == (before, count)
    sound(root)


def edits_of(root: Path) -> str:
    """Every commit that was made for the person, on whatever branch."""
    return git(root, "log", "--all", "--format=%s", "--grep=^Oneiro-Op: edit$")


@pytest.mark.parametrize(
    "command",
    [
        "reset --hard old",
        "merge -q --no-edit old",
        "rebase -q old",
        "stash apply -q",
        "cherry-pick old",
    ],
)
def test_nothing_git_does_to_the_folder_is_an_edit(
    branches: Vault, root: Path, tmp_path: Path, command: str
) -> None:
    if command.startswith("stash"):
        (root / "slow.md").write_text("put away")
        git(root, "stash", "-q", "-u")
        assert git(root, "stash", "list")
    with half_way(root, tmp_path, *command.split()):
        assert branches.edits.commit() == []
        assert branches.edits.look().ready == {}
    assert edits_of(root) == ""
    branches.edits.commit()
    assert edits_of(root) == ("edit: slow\n" if command.startswith("stash") else "")


def during(monkeypatch: pytest.MonkeyPatch, vault: Vault, happens: Callable[[], object]) -> None:
    """Something happens in the folder while git's status is taken, after it was looked at."""
    real = vault.repo.staging.status

    def status() -> dict[str, int]:
        happens()
        return real()

    monkeypatch.setattr(vault.repo.staging, "status", status)


def test_what_vanishes_while_the_status_is_taken_has_not_rested(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(make(root), 1)
    long_ago(root)
    vault = reopen(root, quiet=3600)
    os.utime((root / path_of(1)).parent, (time.time() - 7200,) * 2)
    during(monkeypatch, vault, lambda: (root / path_of(1)).unlink(missing_ok=True))
    assert vault.edits.commit() == []
    assert vault.edits.look().waiting == [path_of(1)]


@pytest.mark.parametrize(
    "command", ["switch -q old", "reset -q --hard HEAD", "commit -q --allow-empty -m x"]
)
def test_when_git_was_there_during_the_look_everything_waits(
    branches: Vault, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "go-on").touch()
    (root / "mine.md").write_text("mine")
    during(monkeypatch, branches, lambda: git(root, *command.split()))
    assert branches.edits.look(quiet=0.0).ready == {}
    monkeypatch.undo()
    assert "mine.md" in branches.edits.look(quiet=0.0).ready


def test_the_branch_may_change_between_taking_its_tip_and_the_look(
    branches: Vault, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "go-on").touch()
    main = branches.head()
    (root / "mine.md").write_text("mine")
    real, switched = branches.gate.tampering.check, list[str]()

    def check(ref: str, tip: str) -> None:
        real(ref, tip)
        switched.append(ref)
        git(root, "switch", "-q", "old")
        long_ago(root)

    monkeypatch.setattr(branches.gate.tampering, "check", check)
    branches.edits.commit(quiet=0.0)
    assert len(switched) > 1
    assert git(root, "rev-parse", "main").strip() == main
    assert git(root, "show", "--name-only", "--format=", "old").split() == ["mine.md"]


def test_edits_wait_a_while_after_git_but_not_after_us(root: Path) -> None:
    put(make(root), 1)
    (root / "mine.md").write_text("mine")
    os.utime(root / "mine.md", (time.time() - 7200,) * 2)
    git(root, "commit", "-q", "--allow-empty", "-m", "by hand")
    vault = reopen(root, quiet=3600)
    assert vault.edits.commit() == []
    assert vault.edits.look().waiting == ["mine.md"]
    long_ago(root)
    put(vault, 2)  # brings git's index up to date as well
    assert list(reopen(root, quiet=3600).edits.commit()[0].written) == ["mine.md"]


def test_our_own_index_does_not_hide_that_git_was_there(root: Path) -> None:
    vault = make(root)
    put(vault, 1)
    long_ago(root)
    (root / path_of(1)).write_bytes(note(1, "by hand"))
    git(root, "commit", "-qam", "by hand")
    there = vault.repo.activity.since()
    put(vault, 2)
    assert vault.repo.activity.since() == there
    (root / ".git/oneiro/index.json").write_text("torn")
    assert vault.repo.activity.since() > there


def test_what_git_leaves_out_of_the_folder_is_not_deleted(vault: Vault, root: Path) -> None:
    vault.apply(
        [
            Write(f"{folder}/{i}.md", note(i))
            for folder, i in (("here", 1), ("there", 2), ("there", 3))
        ],
        REMEMBER,
    )
    git(root, "sparse-checkout", "set", "here")
    assert not (root / "there").exists()
    assert (vault.edits.commit(), vault.edits.look().gone) == ([], [])
    (root / "here/1.md").unlink()
    assert vault.edits.commit()[0].removed == ("here/1.md",)


def test_a_machines_change_takes_no_half_way_file_along(
    branches: Vault, root: Path, tmp_path: Path
) -> None:
    """A model read what git had just written, and changes it: the text before is no edit of the
    person."""
    before = branches.head()
    vault = reopen(root, wait=0.3)
    with half_way(root, tmp_path, "checkout", "-q", "old"):
        other = note(0, "as it was")
        assert (root / path_of(0)).read_bytes() == other
        with pytest.raises(LockTimeout, match="git/index"):
            vault.apply([Write(path_of(0), note(0, "revised"), digest(other))], REMEMBER)
        put(vault, 99)  # what touches nothing of it is written as ever
    assert git(root, "rev-parse", "main~1").strip() == before
    assert vault.edits.commit() == []
    assert not (root / path_of(99)).exists()  # it is on the branch that it was written to
    assert edits_of(root) == ""
    git(root, "checkout", "-q", "main")
    assert (root / path_of(99)).read_bytes() == note(99)
    sound(root)


def test_a_dead_gits_lock_holds_nothing_back(vault: Vault, root: Path) -> None:
    put(vault)
    (root / "mine.md").write_text("mine")
    lock = root / ".git/index.lock"
    lock.touch()
    assert vault.edits.look().lock == lock
    os.utime(lock, (time.time() - 5,) * 2)
    assert len(vault.edits.commit()) == 1
    assert not lock.exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_checkout_that_was_killed_is_asked_about(
    branches: Vault, root: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """Of what it took away, what it put back, and what it emptied and had not yet written, nothing
    is the person's."""
    process = subprocess.Popen(
        ["git", "-C", str(root), "checkout", "-q", "old"], start_new_session=True
    )
    eventually(lambda: (tmp_path / "at-work").exists(), 30)
    os.killpg(process.pid, how)
    process.wait(30)
    (tmp_path / "go-on").touch()
    (root / path_of(1)).write_bytes(b"")
    (root / "mine.md").write_text("mine")
    left_behind(root)
    branches.edits.commit()
    look = branches.edits.look()
    assert look.asked
    assert (len(look.gone), len(look.known)) == (COUNT - 4, 4)
    assert look.question().startswith("36 notes are gone from the disk and 4 notes are now as ")
    assert edits_of(root) == "edit: mine\n"
    other = note(0, "as it was")
    with pytest.raises(RepositoryBusy, match="36 notes are gone"):
        branches.apply([Write(path_of(0), note(0, "revised"), digest(other))], REMEMBER)
    git(root, "restore", ".")
    branches.edits.commit()
    assert not branches.edits.look().asked
    assert not branches.health.problems()
    assert edits_of(root) == "edit: mine\n"


def left_behind(root: Path) -> None:
    """A lock that is there, if one is, has been there for a while."""
    if (root / ".git/index.lock").exists():
        os.utime(root / ".git/index.lock", (time.time() - 5,) * 2)


def test_where_a_git_died_one_deletion_is_asked_about_until_the_folder_is_in_order(
    vault: Vault, root: Path
) -> None:
    for number in range(3):
        put(vault, number)
    (root / ".git/index.lock").touch()
    left_behind(root)
    (root / path_of(1)).unlink()
    assert vault.edits.commit() == []
    assert (
        vault.edits.look().question()
        == "1 more note is gone from the disk, and that is not committed"
    )
    assert reopen(root).edits.commit() == []
    git(root, "restore", ".")
    assert vault.edits.commit() == []
    (root / path_of(1)).unlink()
    assert vault.edits.commit()[0].removed == (path_of(1),)


def test_our_own_death_over_the_index_says_nothing_of_the_folder(vault: Vault, root: Path) -> None:
    for number in range(3):
        put(vault, number)
    script = (
        "import os, sys; from pathlib import Path; from oneiro_vault.vault.git.activity import Activity"
        "\ngit = Path(sys.argv[1]) / '.git'"
        "\nwith Activity(git, str).ours(): (git / 'index.lock').touch(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", script, str(root)], check=True, timeout=60)
    left_behind(root)
    (root / path_of(1)).unlink()
    assert vault.edits.commit()[0].removed == (path_of(1),)
    (root / ".git/index.lock").touch()
    left_behind(root)
    (root / path_of(2)).unlink()
    assert vault.edits.commit() == [], "the next one that dies is a git again"


def test_many_notes_that_are_as_another_branch_has_them_are_asked_about(
    vault: Vault, root: Path
) -> None:
    """As of a program that changes the folder without git's lock; a stash that is popped looks the
    same, but no branch has that."""
    vault.apply([Write(path_of(i), note(i)) for i in range(7)], REMEMBER)
    git(root, "switch", "-qc", "old")
    for number in range(1, 7):
        (root / path_of(number)).write_bytes(note(number, "as it was"))
    vault.edits.commit()
    git(root, "switch", "-q", "main")
    for number in range(1, 7):
        (root / path_of(number)).write_bytes(note(number, "as it was"))
    assert vault.edits.commit() == []
    assert vault.edits.look().question() == (
        "6 notes are now as another version in git, and that is not committed"
    )
    git(root, "branch", "-m", "old", "older")
    assert vault.edits.look().asked
    git(root, "tag", "kept", "older")
    git(root, "branch", "-D", "older")
    assert vault.edits.look().asked
    git(root, "tag", "-d", "kept")
    assert not vault.edits.look().asked, "no branch has that any more"
    git(root, "restore", ".")
    for number in range(7):
        (root / path_of(number)).write_bytes(note(number, "put away for a moment"))
    git(root, "stash", "-q")
    git(root, "stash", "pop", "-q")
    assert len(vault.edits.commit()[0].written) == 7
    sound(root)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    place = tmp_path / "index.lock"
    place.write_text("")
    os.utime(place, (time.time() - 60,) * 2)
    return place


@pytest.fixture
def program() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


def start(running: list[subprocess.Popen[str]], script: str, cwd: Path, name: str = "") -> None:
    process = subprocess.Popen(
        [name or sys.executable, "-c", script],
        executable=sys.executable,
        cwd=cwd,
        stdout=subprocess.PIPE,
        text=True,
    )
    running.append(process)
    assert process.stdout is not None
    process.stdout.readline()


NAMED_GIT = (
    "import time; open('/proc/self/comm', 'w').write('git'); print('up', flush=True); "
    "time.sleep(60)"
)


def test_a_lock_nobody_holds_is_abandoned(lock: Path, tmp_path: Path) -> None:
    assert abandoned(lock, tmp_path) is True
    lock.unlink()
    assert abandoned(lock, tmp_path) is False


def test_a_lock_that_was_taken_anew_while_it_was_judged_is_somebodys(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The git that was waited for ends, and the next one begins when processes have been listed
    already."""
    listed = [*activity._processes()]

    def processes() -> Iterator[str]:
        lock.unlink()
        lock.write_text("")
        yield from listed

    monkeypatch.setattr(activity, "_processes", processes)
    assert abandoned(lock, tmp_path) is False


def test_a_young_lock_is_not_judged_and_one_from_the_future_is(lock: Path, tmp_path: Path) -> None:
    os.utime(lock)
    assert abandoned(lock, tmp_path) is False
    os.utime(lock, (time.time() + 10**6,) * 2)
    assert abandoned(lock, tmp_path) is True


def test_an_open_lock_is_held(
    lock: Path, tmp_path: Path, program: list[subprocess.Popen[str]]
) -> None:
    start(
        program,
        f"import time; f=open({str(lock)!r}); print('up', flush=True); time.sleep(60)",
        Path("/"),
    )
    assert abandoned(lock, tmp_path) is False


@pytest.mark.parametrize("where", ["inside", "named", "elsewhere"])
def test_a_git_at_work_in_the_repository_may_hold_it(
    lock: Path, tmp_path: Path, program: list[subprocess.Popen[str]], where: str
) -> None:
    (tmp_path / "deep").mkdir()
    script = NAMED_GIT + (f"  # {tmp_path}" if where == "named" else "")
    start(program, script, tmp_path / "deep" if where == "inside" else Path("/"))
    assert abandoned(lock, tmp_path) is (where == "elsewhere")


def test_a_person_in_the_commit_editor_keeps_their_lock(
    vault: Vault, root: Path, tmp_path: Path
) -> None:
    """`git commit -a` holds index.lock, closed, while the editor runs. Their commit then fails (the
    branch moved); nothing is lost."""
    put(vault, 1)
    (root / "mine.md").write_text("mine")
    git(root, "add", "mine.md")
    (root / "mine.md").write_text("mine, better")
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!/bin/sh\ntouch {tmp_path}/editing\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
        f'echo by hand > "$1"\n'
    )
    editor.chmod(0o755)
    env = dict(os.environ) | SEALED | {"GIT_EDITOR": str(editor)}
    committing = subprocess.Popen(
        ["git", "-C", str(root), "commit", "-qa"],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        while not (tmp_path / "editing").exists():
            time.sleep(0.02)
        assert (root / ".git/index.lock").exists()
        assert vault.gate.flush() is True
        put(vault, 2)
        assert (root / ".git/index.lock").exists()
        assert vault.gate.flush() is False
    finally:
        (tmp_path / "go").touch()
        committing.communicate(timeout=30)
    assert committing.returncode != 0
    assert vault.gate.flush()
    assert git(root, "status", "--porcelain").strip() == "AM mine.md"
    assert git(root, "show", ":mine.md") == "mine"
    git(root, "commit", "-qam", "again")
    assert set(vault.listing()) == {"mine.md", path_of(1), path_of(2)}
    sound(root)


def test_processes_that_cannot_be_looked_into(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert activity._holds("999999999", lock, tmp_path) is False
    assert activity._is_git("999999999") is False
    assert activity._works_in("999999999", tmp_path) is False
    real = os.scandir

    def refuse(path: str) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert activity._holds(str(os.getpid()), lock, tmp_path) is False
    monkeypatch.setattr(activity, "_is_git", lambda pid: True)
    assert activity._holds(str(os.getpid()), lock, tmp_path) is True
    monkeypatch.setattr(os, "scandir", real)


def test_setting_aside_never_destroys(tmp_path: Path) -> None:
    places = set()
    for number in range(3):
        (tmp_path / "index").write_text(str(number))
        places.add(set_aside(tmp_path / "index", tmp_path / "aside"))
    assert sorted(place.read_text() for place in places) == ["0", "1", "2"]
