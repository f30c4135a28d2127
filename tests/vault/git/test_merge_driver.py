"""Under plain git: merge, pull, rebase, cherry-pick and stash pop go through, and no words are lost
on the way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.vault.git import merge_driver
from oneiro_vault.vault.git.merge_driver import own_program, register_driver
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.layout import create
from tests.vault.support import git, make, reopen

HEAD = "---\nid: 7k2m9x4q8w3n\ntype: semantic\ntags:\n  - boat\n---\n"
BODY = "The boat is red.\n\n- one\n\nThe end.\n"
NAME = "semantic/a boat's $HOME 100%.md"
"""A name that a shell would take apart."""
LEDGER = "ledger/laptop/2026-11.jsonl"


def test_own_program(tmp_path: Path) -> None:
    called = tmp_path / "link" / "oneiro"
    called.parent.mkdir()
    beside = tmp_path / "bin" / "oneiro"
    beside.parent.mkdir()
    python = str(tmp_path / "bin" / "python")
    assert own_program(str(called), python) == (python, "-m", "oneiro_vault")
    beside.touch()
    called.symlink_to(beside)
    assert own_program(str(called), python) == (str(called),), "a link stays a link"
    assert own_program("-c", python) == (str(beside),)
    assert own_program(str(tmp_path / "oneiro"), python) == (str(beside),)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two clones of one vault, each with a driver; every test starts at the commit they share."""
    folder = tmp_path_factory.mktemp("machines")
    here = create(folder / "here").root
    commit(here, {NAME: HEAD + BODY, LEDGER: '{"n":"1","e":"use"}\n'})
    git(here, "branch", "start")
    git(folder, "clone", "-q", str(here), str(folder / "there"))
    register_driver(Repo(folder / "there"))
    return here, folder / "there"


@pytest.fixture
def sides(machines: tuple[Path, Path]) -> tuple[Path, Path]:
    for root in machines:
        git(root, "reset", "-q", "--hard")
        git(root, "switch", "-q", "-C", "main", "start" if root is machines[0] else "origin/start")
    here, there = machines
    mine = HEAD.replace("  - boat\n", "  - boat\n  - ours\n") + BODY.replace("red", "blue").replace(
        "- one", "- one\n- two"
    )
    other = HEAD.replace("  - boat\n", "  - boat\n  - theirs\n") + BODY.replace(
        "red", "green"
    ).replace("The end.", "At last.")
    commit(here, {NAME: mine, LEDGER: '{"n":"1","e":"use"}\n{"n":"2","e":"use"}\n'})
    commit(there, {NAME: other, LEDGER: '{"n":"1","e":"use"}\n{"n":"3","e":"use"}\n'})
    git(there, "fetch", "-q")
    return here, there


def commit(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "by hand")


def stash_pop(root: Path) -> None:
    git(root, "reset", "-q", "--soft", "HEAD~1")
    git(root, "stash")
    git(root, "merge", "-q", "origin/main")
    git(root, "stash", "pop")


@pytest.mark.parametrize(
    "bring",
    [
        lambda root: git(root, "merge", "-q", "-m", "merged", "origin/main"),
        lambda root: git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main"),
        lambda root: git(root, "pull", "-q", "--rebase", "origin", "main"),
        lambda root: git(root, "cherry-pick", "origin/main"),
        stash_pop,
    ],
    ids=["merge", "pull", "pull --rebase", "cherry-pick", "stash pop"],
)
def test_plain_git_goes_through(sides: tuple[Path, Path], bring: Callable[[Path], object]) -> None:
    _, there = sides
    bring(there)
    text = (there / NAME).read_text()
    meta, body = yaml_block.read(text)
    assert set(meta["tags"]) == {"boat", "ours", "theirs"}  # type: ignore[call-overload]  # YAML may hold anything
    assert meta["flags"] == ["conflict"]
    assert body == (
        "The boat is green.\n\n> [!conflict] Changed on both sides; this is the other version\n> "
        "The boat is blue.\n\n- one\n- two\n\nAt last.\n"
    )
    assert (
        there / LEDGER
    ).read_text() == '{"n":"1","e":"use"}\n{"n":"2","e":"use"}\n{"n":"3","e":"use"}\n'
    assert git(there, "diff", "--name-only", "--diff-filter=U") == ""


def test_both_machines_get_the_same_bytes(sides: tuple[Path, Path]) -> None:
    here, there = sides
    git(here, "fetch", "-q", str(there), "main")
    git(here, "merge", "-q", "-m", "merged", "FETCH_HEAD")
    git(there, "merge", "-q", "-m", "merged", "origin/main")
    assert git(here, "rev-parse", "HEAD^{tree}") == git(there, "rev-parse", "HEAD^{tree}")


def test_a_new_vault_is_in_order_and_a_clone_is_told(
    tmp_path: Path, machines: tuple[Path, Path]
) -> None:
    assert merge_driver.problem(Repo(machines[0])) == ""
    there = tmp_path / "there"
    git(tmp_path, "clone", "-q", str(machines[0]), str(there))
    vault = reopen(there)
    [found] = [problem for problem in vault.health.problems() if problem.kind == "driver"]
    assert (found.fixable, "not registered" in found.message) == (True, True)
    assert vault.health.fix(found)
    assert not [problem for problem in vault.health.problems() if problem.kind == "driver"]
    vault.repo.configure({merge_driver.COMMAND: f"{tmp_path}/gone/oneiro merge-driver %O %A %B %P"})
    assert "not there any more" in merge_driver.problem(vault.repo)
    vault.repo.configure({merge_driver.COMMAND: "'odd"})
    assert "not there any more" in merge_driver.problem(vault.repo)


def test_where_the_attributes_are_somebody_elses_git_is_told_apart_from_them(
    tmp_path: Path,
) -> None:
    vault = make(tmp_path)
    (tmp_path / ".gitattributes").write_text("*.md merge=oneiro\nledger/** merge=union\n")
    vault.repo.configure({merge_driver.COMMAND: merge_driver.command([sys.executable])})
    assert ".gitattributes" in merge_driver.problem(vault.repo)
    assert "driver" not in {problem.kind for problem in vault.health.problems()}, (
        "without oneiro.toml it is no vault yet"
    )
    register_driver(vault.repo)
    register_driver(vault.repo, ["/odd folder/100%/oneiro"])
    assert (tmp_path / ".git/info/attributes").read_text().splitlines() == list(
        merge_driver.ATTRIBUTES[1:]
    )
    line = git(tmp_path, "config", "--local", merge_driver.COMMAND).strip()
    assert shlex.split(line.replace("%%", "%"))[:2] == ["/odd folder/100%/oneiro", "merge-driver"]
