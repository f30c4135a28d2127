"""Whose lock is it? Only a lock that nobody can hold is moved aside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.vault.git import git_locks
from oneiro_vault.vault.git.git_locks import abandoned, set_aside
from oneiro_vault.vault.vault import Vault
from tests.vault.support import SEALED, git, path_of, put, sound


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
    listed = [*git_locks._processes()]

    def processes() -> Iterator[str]:
        lock.unlink()
        lock.write_text("")
        yield from listed

    monkeypatch.setattr(git_locks, "_processes", processes)
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
        assert vault.flush_index() is True
        put(vault, 2)
        assert (root / ".git/index.lock").exists()
        assert vault.flush_index() is False
    finally:
        (tmp_path / "go").touch()
        committing.communicate(timeout=30)
    assert committing.returncode != 0
    assert vault.flush_index()
    assert git(root, "status", "--porcelain").strip() == "AM mine.md"
    assert git(root, "show", ":mine.md") == "mine"
    git(root, "commit", "-qam", "again")
    assert set(vault.listing()) == {"mine.md", path_of(1), path_of(2)}
    sound(root)


def test_processes_that_cannot_be_looked_into(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert git_locks._holds("999999999", lock, tmp_path) is False
    assert git_locks._is_git("999999999") is False
    assert git_locks._works_in("999999999", tmp_path) is False
    real = os.scandir

    def refuse(path: str) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert git_locks._holds(str(os.getpid()), lock, tmp_path) is False
    monkeypatch.setattr(git_locks, "_is_git", lambda pid: True)
    assert git_locks._holds(str(os.getpid()), lock, tmp_path) is True
    monkeypatch.setattr(os, "scandir", real)


def test_setting_aside_never_destroys(tmp_path: Path) -> None:
    places = set()
    for number in range(3):
        (tmp_path / "index").write_text(str(number))
        places.add(set_aside(tmp_path / "index", tmp_path / "aside"))
    assert sorted(place.read_text() for place in places) == ["0", "1", "2"]
