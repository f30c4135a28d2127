"""git as a program: found, new enough, deaf to the caller's environment, never waiting for
anybody."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oneiro_vault.errors import GitProblem
from oneiro_vault.vault.git import commands
from oneiro_vault.vault.git.commands import Commands, require, version
from oneiro_vault.vault.vault import Vault
from tests.vault.support import git, put, reopen


def stub(folder: Path, script: str) -> None:
    """A program called git that does something else."""
    folder.mkdir(exist_ok=True)
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)


def test_the_git_here_is_new_enough(tmp_path: Path) -> None:
    assert version(str(tmp_path)) >= commands.NEEDED
    require(str(tmp_path))


@pytest.mark.parametrize(
    ("said", "shown"),
    [("git version 2.30.1", "2.30.1"), ("git version 2.37", "2.37.0"), ("who knows", "0")],
)
def test_an_old_git_is_refused_by_name(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, shown: str
) -> None:
    put(vault)
    stub(tmp_path / "bin", f"echo {said}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    fresh = reopen(vault.root)
    with pytest.raises(GitProblem, match=f"git {shown} is too old") as caught:
        fresh.log.entries()
    assert "Install git 2.38" in caught.value.hint
    assert [p.kind for p in fresh.health.problems()] == ["git"]


def test_without_git_the_vault_still_writes_and_says_what_is_missing(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    fresh = reopen(vault.root)
    put(fresh, 2)
    with pytest.raises(GitProblem, match="not installed"):
        fresh.log.entries()
    assert [p.kind for p in fresh.health.problems()] == ["git"]
    monkeypatch.undo()
    assert len(fresh.log.entries()) == 2


def test_a_git_that_hangs_is_stopped(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub(tmp_path / "bin", '[ "$1" = --version ] && echo git version 2.40.0 && exit; exec sleep 60')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    started = time.monotonic()
    with pytest.raises(GitProblem, match="did not finish"):
        vault.repo.commands.run("log", timeout=0.3)
    assert time.monotonic() - started < 10


def test_a_failure_carries_gits_own_words(vault: Vault) -> None:
    with pytest.raises(
        GitProblem, match=r"git rev-parse failed: fatal: .*Needed a single revision"
    ):
        vault.repo.commands.run("rev-parse", "--verify", "nothing")
    with pytest.raises(GitProblem, match="exit status 1"):
        vault.repo.commands.run("rev-parse", "--verify", "-q", "nothing")


def test_the_callers_git_variables_are_kept_from_the_child_only(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_CONFIG_COUNT",
        "GIT_TRACE",
    ):
        monkeypatch.setenv(name, "/nonsense")
    assert vault.repo.commands.text("rev-parse", "HEAD") == vault.head()
    assert os.environ["GIT_DIR"] == "/nonsense"
    assert vault.repo.commands.text("rev-parse", "--show-toplevel") == str(vault.root)


def test_no_pager_no_colour_no_translation_no_alias(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(vault)
    for name, value in {
        "core.pager": "false",
        "color.ui": "always",
        "log.decorate": "full",
        "log.showSignature": "true",
    }.items():
        git(vault.root, "config", name, value)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert vault.log.entries()[0].title == "Note 0"


def test_output_that_is_not_utf_8_is_kept(vault: Vault) -> None:
    blob = vault.repo.add(b"\xff\n")
    vault.repo.store().name()
    assert Commands(vault.root, vault.repo.git_dir).text("cat-file", "blob", blob) == "\udcff"
