"""The template's workflows: what they run works in a vault, asks for no more rights than it needs,
and takes no text into a shell."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from oneiro_vault.app import App
from oneiro_vault.vault.layout import template
from tests.operations.conftest import QUICK, stored
from tests.operations.conftest import root as root

NAMES = ("memory", "dream")


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(template()[f".github/workflows/{name}.yml"])
    return found


def steps(name: str) -> list[dict[str, Any]]:
    (job,) = workflow(name)["jobs"].values()
    return list(job["steps"])


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_gets_into_a_shell(name: str) -> None:
    assert [step["run"] for step in steps(name) if "${{" in step.get("run", "")] == []


def test_rights_and_triggers() -> None:
    check, dream = workflow("memory"), workflow("dream")
    assert (check["permissions"], list(check[True])) == (
        {"contents": "read"},
        ["pull_request"],
    )  # YAML 1.1 reads `on` as true
    assert dream["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert dream["jobs"]["dream"]["if"] == "vars.ONEIRO_DREAM == 'on'", "off unless it is turned on"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_they_run_is_one_of_ours(name: str) -> None:
    text = "\n".join(step.get("run", "") for step in steps(name))
    from oneiro_vault.cli.group import COMMANDS

    called = re.findall(r"oneiro --vault \. --no-daemon ([a-z-]+)", text)
    assert called
    assert set(called) <= set(COMMANDS)


@pytest.mark.slow
def test_the_pull_request_workflow_runs(
    root: Path, sealed_env: dict[str, str], tmp_path: Path
) -> None:
    """Its own lines, in its own order, in a clone of a vault with a branch."""
    with App.open(root, QUICK) as app:
        base = app.house.vault.head()
        stored(lambda op, **given: app.call(op, given), "The boat is called Petrel.", title="Boat")
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", str(root), str(clone)], env=sealed_env, check=True, timeout=60
    )
    subprocess.run(
        ["git", "-C", str(clone), "update-ref", "refs/remotes/origin/main", base],
        check=True,
        timeout=60,
    )
    subprocess.run(
        ["git", "-C", str(clone), "checkout", "-q", "--detach"], check=True, timeout=60
    )  # as a checkout of a pull request is
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = sealed_env | {
        "PATH": path,
        "ONEIRO_EMBED_MODEL": "hash",
        "BASE": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "page"),
    }
    for step in steps("memory"):
        if step.get("name", "Install") != "Install":
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]],
                cwd=clone,
                env=env,
                capture_output=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stdout + done.stderr
    assert "**Boat** (semantic" in (tmp_path / "page").read_text()
