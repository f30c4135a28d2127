"""What a night costs apart from its judge: finding what may be one among many memories."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from oneiro_vault.mind.base import Vectors
from oneiro_vault.mind.loops.consolidate import BLOCK, clusters
from tests.bench.kit import Row, paired

SIZE: Final = 384
THRESHOLD: Final = 0.85


def run(scale: int) -> Iterator[Row]:
    """`scale` vectors as the default model's are, in topics with near pairs in each, and of a store
    that says the same all over."""
    for what, spread in (("near pairs in every topic", 0.5), ("all much alike", 0.35)):
        vectors = scattered(scale, spread)
        ours, bare = paired(
            partial(clusters, vectors, THRESHOLD),
            partial(product, vectors),
            times=3,
            warmup=1,
        )
        yield Row(
            f"clusters of {scale:,} semantics, {what} / bare X @ X.T in blocks", ours, bare, "<= 3"
        )
    code = f"from tests.bench.nights import peak; print(peak({scale}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    yield Row(
        f"memory of a process that clusters {scale:,} semantics, all much alike",
        float(done.stdout),
        None,
        "<= 500",
        "MB",
    )


def normal(vectors: Vectors) -> Vectors:
    """Rows of length 1."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def scattered(count: int, spread: float, topics: int = 200) -> Vectors:
    """Unit vectors around `topics` centres, which lie around one direction; `spread` is their
    distance from it."""
    rng = np.random.default_rng(7)
    common = rng.standard_normal(SIZE)
    centres = normal(
        common / np.linalg.norm(common)
        + spread * normal(rng.standard_normal((topics, SIZE)).astype(np.float32))
    )
    places = centres[rng.integers(0, topics, count)]
    return normal(
        places + spread * 0.6 * normal(rng.standard_normal((count, SIZE)).astype(np.float32))
    )


def product(vectors: Vectors) -> None:
    """Every cosine, a block of rows at a time, and nothing made of it."""
    for start in range(0, len(vectors), BLOCK):
        vectors[start : start + BLOCK] @ vectors.T


def peak(count: int) -> float:
    """MB this process needed at most for the clusters of a store that says the same all over."""
    clusters(scattered(count, 0.35), THRESHOLD)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
