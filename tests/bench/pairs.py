"""How near are claims that are the same, and claims that are not? The cosines of the labelled
pairs, as the table in tests/bench/README.md.

`python -m tests.bench.pairs` (the packaged model; `--model hash` without one).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from oneiro_vault.index.embed.embedders import HashEmbedder, WorkerEmbedder
from tests.mind.pairs import Pair, pairs

THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.88, 0.90, 0.92, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", default="default", help="`default`, `hash`, a folder or a hub name"
    )
    found, cosine = pairs(), measured(parser.parse_args().model)
    Console().print(kinds(found, cosine))
    Console().print(thresholds(found, cosine))


def measured(model: str) -> npt.NDArray[np.float32]:
    """The cosine of every pair."""
    embedder = HashEmbedder() if model == "hash" else WorkerEmbedder(model)
    found = pairs()
    try:
        one, other = (
            embedder.encode([pair.a for pair in found]),
            embedder.encode([pair.b for pair in found]),
        )
    finally:
        embedder.close()
    return np.asarray((one * other).sum(axis=1), np.float32)


def kinds(found: Sequence[Pair], cosine: npt.NDArray[np.float32]) -> Table:
    """Quartiles by kind of pair."""
    table = Table(
        "label", "kind", "pairs", "10 %", "median", "90 %", title="cosine of labelled pairs"
    )
    for label, kind in sorted({(pair.label, pair.kind) for pair in found}, reverse=True):
        chosen = cosine[[pair.label == label and pair.kind == kind for pair in found]]
        table.add_row(
            label,
            kind,
            str(len(chosen)),
            *(f"{value:.2f}" for value in np.quantile(chosen, (0.1, 0.5, 0.9))),
        )
    return table


def thresholds(found: Sequence[Pair], cosine: npt.NDArray[np.float32]) -> Table:
    """What a threshold shows a judge: share of the same claims, and how many of its questions are
    about different ones."""
    table = Table(
        "threshold",
        "same claims reached",
        "of near-duplicates",
        "different claims asked about",
        "share of questions in vain",
    )
    same = np.array([pair.label == "same" for pair in found])
    near = np.array([pair.kind == "near-duplicate" for pair in found])
    for threshold in THRESHOLDS:
        above = cosine >= threshold
        asked = int(above.sum())
        row = (
            above[same].mean(),
            above[near].mean(),
            above[~same].mean(),
            (above & ~same).sum() / asked if asked else 0.0,
        )
        table.add_row(f"{threshold:.2f}", *(f"{value:.2f}" for value in row))
    return table


if __name__ == "__main__":
    main()
