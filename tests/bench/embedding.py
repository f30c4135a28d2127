"""The default model on both backends, each in a process of its own: loading, one question, many
passages, memory."""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from oneiro_vault.index.base import Vectors
from tests.bench.kit import Row, pick, timed

PASSAGES = 300
BACKENDS = ("onnxruntime", "sentence-transformers")


def run(scale: int) -> Iterator[Row]:
    """Ours against sentence-transformers with the same weights."""
    del scale
    command = [sys.executable, "-m", "tests.bench.embedding"]
    ours, bare = (
        json.loads(subprocess.run([*command, name], capture_output=True, check=True).stdout)
        for name in BACKENDS
    )
    for what, bar, unit in (
        ("from the start of a process to the first vector", "<= 0.5", "s"),
        ("one question", "<= 0.8", "ms"),
        ("passages per second", ">= 1.1", "1/s"),
        ("most memory of the process", "<= 0.6", "MB"),
    ):
        yield Row(
            f"default model, {what}: onnxruntime / sentence-transformers",
            ours[what],
            bare[what],
            bar,
            unit,
        )


def measure(backend: str, start: float) -> dict[str, float]:
    """What one backend takes in this process."""
    from oneiro_vault.index.embed import worker
    from oneiro_vault.index.embed.models import resolve

    model, rng = resolve("default"), random.Random(9)
    if backend == BACKENDS[0]:
        loaded = worker.load({**model.__dict__, "threads": 0})[0]
        encode: Callable[[Sequence[str]], Vectors] = lambda texts: loaded(texts, "passage")  # noqa: E731  # one line says it
    else:
        encode = worker.sentence_transformer(Path(model.folder), model.tokens)
    encode(["first"])
    ready = time.time() - start
    questions = [" ".join(pick(rng) for _ in range(9)) for _ in range(60)]
    passages = [" ".join(pick(rng) for _ in range(rng.randint(20, 110))) for _ in range(PASSAGES)]
    question = statistics.median(timed(lambda one=one: encode([one])) for one in questions)  # type: ignore[misc]  # bound at once
    taken = timed(lambda: encode(passages))
    return {
        "from the start of a process to the first vector": ready,
        "one question": 1000 * question,
        "passages per second": PASSAGES / taken,
        "most memory of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    began = (
        float(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]) / 100
    )  # clock ticks since the machine started
    print(
        json.dumps(
            measure(sys.argv[1], time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + began)
        )
    )
