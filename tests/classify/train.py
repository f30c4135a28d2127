"""Make the weights of the classifier from the corpora: `make train`; `make train TRAIN=--check` measures on lines left out instead."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from oneiro_vault.classify import features
from oneiro_vault.classify.classifier import SPEAKERS, WEIGHTS, Vector, packed

FOLDER: Final = Path(__file__).parents[1] / "corpora" / "keep"
LABELS: Final = ("drop", "keep")
EPOCHS: Final = 12
FOLDS: Final = 5
SEED: Final = 13
RATE: Final = 0.05
DECAY: Final = 2e-4
BATCH: Final = 32


@dataclass(frozen=True)
class Line:
    """A sentence, whether it is worth keeping, and whose it is (a place in `SPEAKERS`)."""

    text: str
    label: bool
    speaker: int


def lines() -> list[Line]:
    """Every line of the corpora: one JSON object a line, with `text`, `label`, `speaker`."""
    rows = (json.loads(row) for path in sorted(FOLDER.glob("*.jsonl")) for row in path.read_text(encoding="utf-8").splitlines() if row)
    return [Line(row["text"], bool(LABELS.index(row["label"])), SPEAKERS.index(row["speaker"])) for row in rows]


def fit(known: list[Line], epochs: int = EPOCHS) -> tuple[Vector, Vector]:
    """Logistic regression by Adam, both labels weighing the same: (bias and one number a speaker, one a bucket)."""
    hashed = [features.features(line.text) for line in known]
    size = 1 + len(SPEAKERS) + features.BUCKETS
    theta, first, second = (np.zeros(size, dtype=np.float64) for _ in range(3))
    labels = np.array([line.label for line in known], dtype=np.float64)
    share = labels.mean()
    importance = np.where(labels > 0, 0.5 / share, 0.5 / (1 - share))
    step = 0
    for epoch in range(epochs):
        order = np.random.default_rng(SEED + epoch).permutation(len(known))
        for start in range(0, len(known), BATCH):
            step += 1
            gradient = DECAY * theta
            gradient[: 1 + len(SPEAKERS)] = 0
            for row in order[start : start + BATCH]:
                codes, values = hashed[row]
                places = codes + 1 + len(SPEAKERS)
                score = theta[0] + theta[1 + known[row].speaker] + theta[places] @ values
                wrong = (1 / (1 + np.exp(-score)) - labels[row]) * importance[row] / BATCH
                gradient[[0, 1 + known[row].speaker]] += wrong
                np.add.at(gradient, places, wrong * values)
            first += 0.1 * (gradient - first)
            second += 0.001 * (gradient**2 - second)
            theta -= RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    head = 1 + len(SPEAKERS)
    return theta[:head].astype(np.float32), theta[head:].astype(np.float32)


def scores(known: list[Line], facts: Vector, words: Vector) -> Vector:
    """What weights say of lines."""
    said = [facts[0] + facts[1 + line.speaker] + features.score(features.features(line.text), words) for line in known]
    return np.array(said, dtype=np.float32)


def left_out(known: list[Line], folds: int = FOLDS) -> Vector:
    """The score of every line by weights that have not seen it."""
    part = np.random.default_rng(SEED).integers(0, folds, len(known))
    found = np.zeros(len(known), dtype=np.float32)
    for fold in range(folds):
        learned = fit([line for line, one in zip(known, part, strict=True) if one != fold])
        inside = [line for line, one in zip(known, part, strict=True) if one == fold]
        found[part == fold] = scores(inside, *learned)
    return found


def calibrated(found: Vector, labels: Vector) -> tuple[float, float]:
    """(slope, shift) that make probabilities of scores (Platt), by Newton's method."""
    beta = np.array([1.0, 0.0])
    x = np.stack([found, np.ones_like(found)], axis=1).astype(np.float64)
    for _ in range(50):
        sure = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        hessian = (x * (sure * (1 - sure))[:, None]).T @ x + 1e-6 * np.eye(2)
        beta -= np.linalg.solve(hessian, x.T @ (sure - labels))
    return float(beta[0]), float(beta[1])


def figures(found: Vector, labels: Vector) -> str:
    """Recall and false alarms at 0."""
    return f"recall {np.mean(found[labels > 0] > 0):.3f}, false {np.mean(found[labels == 0] > 0):.3f} of {len(found)} lines"


def main() -> None:
    """Write the weights, or measure."""
    known = lines()
    labels = np.array([line.label for line in known], dtype=np.float32)
    found = left_out(known)
    print(figures(found, labels))
    if "--check" in sys.argv:
        return
    slope, shift = calibrated(found, labels)
    facts, words = fit(known)
    facts = facts * slope
    facts[0] += shift
    WEIGHTS.write_bytes(packed(facts, words * slope))


if __name__ == "__main__":
    main()
