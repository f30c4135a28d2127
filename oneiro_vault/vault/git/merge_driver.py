"""The merge driver's place in a repository's own settings, which do not travel with it: who makes
or copies a vault registers it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git import repository
from oneiro_vault.vault.git.repository import Repo

NAME: Final = "merge.oneiro.name"
COMMAND: Final = "merge.oneiro.driver"
ATTRIBUTES: Final = (
    "*.md merge=oneiro -text",
    "ledger/** -diff merge=oneiro",
    "oneiro.toml merge=oneiro",
)
"""Lines of a vault's `.gitattributes`, or else of `.git/info/attributes`."""
_PATHS: Final = ("a.md", "ledger/a/2026-01.jsonl", "oneiro.toml")


def own_program(argv0: str, python: str) -> tuple[str, ...]:
    """How this program is started: the command as it was called (`argv0`), else the one beside the
    interpreter `python`, else that. Links are not followed: the link on the PATH outlives an
    upgrade."""
    called = Path(argv0)
    beside = Path(python).parent / ("oneiro.exe" if os.name == "nt" else "oneiro")
    if called.name.removesuffix(".exe") == "oneiro" and called.is_file():
        return (os.path.abspath(called),)  # noqa: PTH100  # without following links
    return (str(beside),) if beside.is_file() else (python, "-m", "oneiro_vault")


def command(program: Sequence[str]) -> str:
    """The line git gives to a shell; git reads `%` itself, and quotes what it puts in the place of
    `%P`."""
    return f"{shlex.join(program).replace('%', '%%')} merge-driver %O %A %B %P"


def register_driver(repo: Repo, program: Sequence[str] = ()) -> None:
    """Have git merge notes and ledgers by this program (given as words, or as it was started)."""
    repo.configure(
        {
            NAME: "memories, by oneiro-vault",
            COMMAND: command(program or own_program(sys.argv[0], sys.executable)),
        }
    )
    for number in _unasked(repo):
        repository.exclude(repo.common_dir, ATTRIBUTES[number], "attributes")


def problem(repo: Repo) -> str:
    """What is wrong with the driver of a repository, "" when it is in order."""
    words = _words(repo.config(COMMAND))
    if not words:
        return "the merge driver is not registered here: a plain `git pull` merges notes as text"
    if not shutil.which(words[0].replace("%%", "%")):
        return (
            f"the merge driver is registered as {words[0]}, which is not there any more: a plain "
            f"`git pull` would stop half-way"
        )
    return (
        "git does not ask the merge driver for every note and ledger (.gitattributes)"
        if _unasked(repo)
        else ""
    )


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _unasked(repo: Repo) -> list[int]:
    try:
        out = repo.commands.text("check-attr", "-z", "merge", "--", *_PATHS).split("\0")
    except GitProblem:
        return []  # without git nothing is merged; doctor says so in its own words
    return [number for number, value in enumerate(out[2::3]) if value != "oneiro"]
