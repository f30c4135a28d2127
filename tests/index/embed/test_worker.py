from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from oneiro_vault.index.base import Kind
from oneiro_vault.index.embed import frames, worker
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.embed.onnx import Between, nothing


def test_questions_come_first() -> None:
    work = worker.Work()
    for number, urgent in enumerate([False, False, True, True]):
        work.put({"id": number, "urgent": urgent})
    assert [(work.take(0) or {})["id"] for _ in range(4)] == [2, 3, 0, 1]
    assert work.take(0) is None
    assert work.urgent() is None


def test_a_question_is_answered_between_two_batches() -> None:
    work, out = worker.Work(), io.BytesIO()

    def encode(texts: Sequence[str], kind: Kind, between: Between = nothing) -> np.ndarray:
        for _ in range(len(texts) // 50):
            between()
            work.put({"id": 2, "urgent": True, "texts": ["question"], "kind": "query"})
        return HashEmbedder().encode(texts)

    work.put({"id": 1, "texts": ["long text"] * 100, "kind": "passage"})
    worker.serve(work, out, encode, idle=0)
    out.seek(0)
    assert [frames.receive(out)["id"] for _ in range(3)] == [2, 1, 2]


def test_an_error_in_the_model_is_answered() -> None:
    work, out = worker.Work(), io.BytesIO()

    def encode(texts: Sequence[str], kind: Kind, between: Between = nothing) -> np.ndarray:
        raise RuntimeError("out of something")

    work.put({"id": 1, "texts": ["a"], "kind": "passage"})
    worker.serve(work, out, encode, idle=0)
    out.seek(0)
    assert frames.receive(out) == {"id": 1, "error": "RuntimeError: out of something"}


@pytest.mark.parametrize("cut", [0, 2, 8, 20])
def test_a_cut_message_is_the_end(cut: int) -> None:
    stream = io.BytesIO()
    frames.send(stream, {"a": np.ones(3)})
    assert frames.receive(io.BytesIO(stream.getvalue()[:cut])) is None


def test_prints_of_libraries_do_not_reach_the_wire() -> None:
    code = (
        "import sys, oneiro_vault.index.embed.worker as w; w.load = lambda *_: (print('noise'), "
        "(lambda t, k: None, 3))[1]; w.main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=frames.environment(),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    frames.send(child.stdin, {"idle": 0.1})
    assert frames.receive(child.stdout) == {"ready": 3}
    out, err = child.communicate(timeout=30)
    assert (out, err) == (b"", b"noise\n")


def test_end_of_input_ends_it_at_once() -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "oneiro_vault.index.embed.worker"],
        stdin=subprocess.PIPE,
        env=frames.environment(),
    )
    child.communicate(b"", timeout=30)
    assert child.returncode == 0
