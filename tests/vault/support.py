"""What the vault's tests share: a real git, small notes, and the checks every operation must
pass."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pygit2

from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.files import digest
from tests.box import eventually

REMEMBER = Operation("remember", "a note", "model")
SEALED = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # who asks for the status again and again would hold index.lock all the time
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


def git(root: Path, *arguments: str, check: bool = True, stdin: str | None = None) -> str:
    """Output of the real git in `root`, as a person with their own name would call it."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    } | SEALED
    identity = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    command = ["git", "-C", str(root), *identity, *arguments]
    done = subprocess.run(
        command, env=env, capture_output=True, input=stdin, text=True, check=False
    )
    assert not check or done.returncode == 0, f"git {arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def make(root: Path) -> Vault:
    """An open vault in a new repository with a person's identity; edits need no rest, nothing is
    reserved."""
    from tests.copies import new_repository  # not for the many processes that only reopen one

    return reopen(new_repository(root))


def reopen(
    root: Path, *, quiet: float = 0.0, wait: float = 5.0, reserve: int = 0, lazy_index: bool = False
) -> Vault:
    """The vault again, as the next process would open it."""
    return Vault.open(root, quiet=quiet, wait=wait, reserve=reserve, lazy_index=lazy_index)


def note(number: int = 0, body: str = "hello") -> bytes:
    """A small note with an id made of `number`."""
    return f"---\nid: {number:012d}\ntype: semantic\ntitle: Note {number}\n---\n{body}\n".encode()


def path_of(number: int = 0) -> str:
    """Where `note(number)` is filed."""
    return f"semantic/2026/11/note-{number:012d}.md"


def long_ago(root: Path, seconds: float = 7200) -> None:
    """Let git's last work on the folder be so long ago."""
    for name in ("HEAD", "index"):
        os.utime(root / ".git" / name, (time.time() - seconds,) * 2)


def slow_git(root: Path, folder: Path) -> None:
    """From now on git writes `slow.md` only when there is a file `go-on` in `folder`, and makes
    one, `at-work`, when it begins to."""
    (folder / "slow.sh").write_text(
        'touch "$1/at-work"\nwhile [ ! -e "$1/go-on" ]; do sleep 0.02; done\ncat\n'
    )
    git(root, "config", "filter.slow.smudge", f"sh '{folder}/slow.sh' '{folder}'")
    with (root / ".gitattributes").open("a") as file:
        file.write("slow.md filter=slow\n")


@contextmanager
def half_way(root: Path, folder: Path, *arguments: str) -> Iterator[None]:
    """git stands still in the middle of changing the folder, with files gone and files changed; see
    `slow_git`."""
    process = subprocess.Popen(
        ["git", "-C", str(root), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        eventually(lambda: (folder / "at-work").exists() or process.poll() is not None, 30)
        assert process.poll() is None, process.communicate()
        yield
    finally:
        (folder / "go-on").touch()
        process.communicate(timeout=60)


def put(vault: Vault, number: int = 0, body: str = "hello") -> bytes:
    """Write (or rewrite) a note through the door; returns its bytes."""
    path, data = path_of(number), note(number, body)
    base = digest(vault.read(path)) if (vault.root / path).exists() else None
    vault.apply(
        [Write(path, data, base)],
        Operation("revise" if base else "remember", f"Note {number}", "model", (f"{number:012d}",)),
    )
    return data


def sound(root: Path, *, clean: bool = True) -> None:
    """HEAD, index and disk agree, git finds nothing wrong, and nothing of ours is left lying
    about."""
    assert git(root, "fsck", "--strict", "--no-dangling") == ""
    if clean:
        assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
    assert not list(root.rglob("*.oneiro-tmp"))
    assert {lock.name for lock in (root / ".git").rglob("*.lock")} <= {"write.lock"}


def run(
    script: str, *arguments: object, fault: str = "", timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """A Python process with the package importable; `fault` names the step at which it dies. It is
    forked from one that has imported the vault and done nothing else: a fifth of a second."""
    env = dict(os.environ) | ({"ONEIRO_FAULT": fault} if fault else {})
    given = [*map(str, arguments)]
    with tempfile.TemporaryDirectory(prefix="oneiro-run-") as name:
        program, out, err = (Path(name, part) for part in ("program.py", "out", "err"))
        program.write_text(script, encoding="utf-8")
        process = _forks().Process(target=_program, args=(program, given, env, out, err))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(script, timeout)
        code = process.exitcode
        process.close()
        return subprocess.CompletedProcess(given, code, out.read_text(), err.read_text())


@cache
def _forks() -> ForkServerContext:
    found = get_context("forkserver")
    found.set_forkserver_preload(["tests.sync.support"])
    return found


def _program(program: Path, given: list[str], env: dict[str, str], out: Path, err: Path) -> None:
    """Be the process: its surroundings are those of whoever asked for it."""
    os.environ.clear()
    os.environ.update(env)
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = env["HOME"]
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["-c", *given]
    runpy.run_path(str(program), run_name="__main__")
