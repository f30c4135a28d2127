"""Make the weights of `classify.names` from `tests/corpora/names`: `make train TRAIN=names`. Their
narrow layer is tuned with the layers below it (`train_layers`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from oneiro_vault.classify import classifier, names
from oneiro_vault.classify.names import BUCKETS, KINDS, LABELS, WEIGHTS, marginals
from oneiro_vault.core.text.claims import Word, words
from oneiro_vault.index.embed.onnx import WORDS
from tests.classify.marked_names import Line, labels, lines

HIDDEN: Final = 64
EPOCHS: Final = 12
RATE: Final = 3e-3
BATCH: Final = 32
DROPPED: Final = 0.3
SEED: Final = 13
STEPS: Final = 0.5
"""Weight of what follows on what, as far as it was counted."""


@dataclass(frozen=True)
class Learned:
    """A line as it is learned: states n x 64, buckets and where each word's begin, labels n."""

    line: Line
    words: list[Word]
    states: torch.Tensor
    buckets: torch.Tensor
    begins: torch.Tensor
    labels: torch.Tensor


def learned(given: Sequence[Line]) -> list[Learned]:
    """The lines with what the tuned layers make of their words."""
    known = [line for line in given if words(line.text)]
    states = classifier.model().encode([line.text for line in known], "words")
    return [_learned(line, one.reshape(WORDS, -1)) for line, one in zip(known, states, strict=True)]


def _learned(line: Line, states: Any) -> Learned:
    said = words(line.text)[:WORDS]
    buckets = list(names.features(said))
    return Learned(
        line,
        said,
        torch.tensor(states[: len(said)], dtype=torch.float32),
        torch.tensor([one for row in buckets for one in row]),
        torch.tensor(np.cumsum([0, *map(len, buckets[:-1])])),
        torch.tensor(labels(line)),
    )


class Net(nn.Module):  # type: ignore[misc]  # torch has no types here
    """What is behind the narrow layer, beside one row of weights a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(DROPPED)
        self.out = nn.Linear(HIDDEN, len(LABELS))
        self.words = nn.EmbeddingBag(BUCKETS, len(LABELS), mode="sum")
        nn.init.zeros_(self.words.weight)

    def forward(self, part: Sequence[Learned]) -> torch.Tensor:
        """What speaks for each label, words of all lines x 15."""
        states = self.drop(torch.cat([one.states for one in part]))
        sizes = np.cumsum([0, *(len(one.buckets) for one in part[:-1])])
        begins = [one.begins + size for one, size in zip(part, sizes, strict=True)]
        buckets = torch.cat([one.buckets for one in part])
        found: torch.Tensor = self.out(states) + self.words(buckets, torch.cat(begins))
        return found


def fit(given: Sequence[Learned]) -> dict[str, Any]:
    """The weights, as `names.weights` reads them."""
    torch.manual_seed(SEED)
    net, order = Net(), np.random.default_rng(SEED)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=0.01)
    for epoch in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - epoch / EPOCHS)
        mixed = order.permutation(len(given))
        for start in range(0, len(mixed), BATCH):
            part = [given[at] for at in mixed[start : start + BATCH]]
            labels = torch.cat([one.labels for one in part])
            loss = nn.functional.cross_entropy(net(part), labels, reduction="sum") / BATCH
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    table = net.words.weight.detach().numpy()
    scale = np.float32(np.abs(table).max() / 127)
    return {
        "out": net.out.weight.detach().numpy().T.astype(np.float32),
        "bias": net.out.bias.detach().numpy(),
        "words": np.round(table / scale).astype(np.int8),
        "scale": scale,
        "steps": _steps(given),
        "trained with": classifier.trained_with(),
    }


def _steps(given: Sequence[Learned]) -> Any:
    """How much more often each label follows each than by chance; never what cannot be."""
    pairs, alone = np.full((len(LABELS),) * 2, 0.05), np.full(len(LABELS), 0.05)
    for one in given:
        rows = one.labels.numpy()
        np.add.at(pairs, (rows[:-1], rows[1:]), 1)
        np.add.at(alone, rows, 1)
    found = np.log(pairs / pairs.sum(1, keepdims=True)) - np.log(alone / alone.sum())
    return (STEPS * found).astype(np.float32)


def tagged(one: Learned, weights: dict[str, Any]) -> set[tuple[int, int, str]]:
    """(start, end, kind) of the names that weights find."""
    chances = marginals(names.scores(one.words, one.states.numpy(), weights), weights["steps"])
    chosen = [LABELS[at] for at in chances.argmax(axis=1)]
    return {
        (one.words[first][1], one.words[last][2], chosen[first][2:])
        for first, last in names.runs(chosen)
    }


def measure(given: Sequence[Learned], weights: dict[str, Any]) -> str:
    """Precision and recall by kind, and of names whatever their kind."""
    hits, said, there = Counter[str](), Counter[str](), Counter[str]()
    for one in given:
        found, known = tagged(one, weights), set(one.line.found)
        for start, end, kind in found:
            said.update([kind, "any"])
            hits.update([kind] * ((start, end, kind) in known))
            hits["any"] += any((start, end) == other[:2] for other in known)
        for _, _, kind in known:
            there.update([kind, "any"])
    return "  ".join(
        f"{kind} {hits[kind] / max(1, said[kind]):.2f}/{hits[kind] / max(1, there[kind]):.2f}"
        for kind in (*KINDS, "any")
    )


def check() -> None:
    """Measure on each file left out: precision and recall."""
    given = learned(list(lines()))
    for file in sorted({one.line.file for one in given}):
        kept = fit([one for one in given if one.line.file != file])
        left = [one for one in given if one.line.file == file]
        print(f"{file}: {measure(left, kept)}", flush=True)


def train() -> None:
    """Learn of all and write."""
    np.savez_compressed(WEIGHTS, **fit(learned(list(lines()))))
    names.weights.cache_clear()
