"""Tune the last layers of `classify.pasted` to tell which words of a line are not of whoever typed
it, from the corpora: `make train TRAIN=typed`, half an hour on two cores; with `--check` it measures
the packaged ones on lines that they never learn.

A trained chain of words (a conditional random field over their letters and neighbours) was there
before: of lines by others that were pasted it found .64 where it doubted .033 of one's own, and five
rules with eleven tables of words took back some of what it doubted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from oneiro_vault.classify import pasted
from oneiro_vault.index.embed import models
from tests.classify.train_layers import TUNED, WARM, WIDTH, Layers, batches
from tests.classify.typed_lines import (
    CORPORA,
    UNSEEN,
    Line,
    asked,
    dictated,
    framed,
    lived,
    measure,
    told,
    typed,
)
from tests.index import graph

EPOCHS: Final = 4
BATCH: Final = 32
NEAR: Final = 16
"""Batches whose lines are sorted by their length."""
RATE: Final = 2e-4
FRESH: Final = 2e-3
"""The rate of what begins with nothing."""
DROPPED: Final = 0.2
SEED: Final = 1
WEIGHT, SHIFT = "weight", "shift"


def train() -> None:
    """Learn, and write the graph: the mean of what is learned without the frames, which doubts
    fewer own words, and with them, which finds more of others'; it is better than both."""
    plain = [*typed(), *lived(), *dictated(), *asked(), *told()]
    runs = [_learned(lines) for lines in (plain, [*plain, *framed()])]
    mean = {name: np.mean([run[name] for run in runs], axis=0) for name in runs[0]}
    weight, shift = mean.pop(WEIGHT), mean.pop(SHIFT)
    both = {"in": np.stack([weight, -weight], axis=1), "shift": np.concatenate([shift, -shift])}
    pasted.GRAPH.write_bytes(
        graph.bert(models.model_folder(), layers=graph.LAYERS, words=both, tuned=mean)
    )


def _learned(lines: Sequence[Line]) -> dict[str, Any]:
    """The tuned layers by the names of their weights, and `WEIGHT` and `SHIFT` of what reads each
    token."""
    torch.manual_seed(SEED)
    layers, order = Layers(), np.random.default_rng(SEED)
    states = layers.below([line.text for line in lines])
    labels = [
        [float(any(start <= at < end for start, end in line.foreign)) for at, _ in one.offsets]
        for line, one in zip(lines, layers.tokens([line.text for line in lines]), strict=True)
    ]
    head, drop = nn.Linear(WIDTH, 1), nn.Dropout(DROPPED)
    optimizer = torch.optim.AdamW(
        [
            {"params": head.parameters(), "lr": FRESH},
            {"params": layers.upper.parameters(), "lr": RATE},
        ],
        weight_decay=0.01,
    )
    print(f"typed: {len(lines)} lines", flush=True)
    steps = EPOCHS * len(lines) // BATCH
    slower = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM) * max(0.02, 1 - step / steps)
    )
    layers.upper.train()
    for epoch in range(EPOCHS):
        total = 0.0
        for rows in _mixed(states, order):
            made, _ = layers.above([states[at] for at in rows])
            said = torch.cat([made[row, 1 : len(labels[at]) - 1] for row, at in enumerate(rows)])
            wanted = torch.tensor([one for at in rows for one in labels[at][1:-1]])
            scores = head(drop(said)).squeeze(-1)
            loss = functional.binary_cross_entropy_with_logits(scores, wanted)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(layers.upper.parameters(), 1.0)
            optimizer.step()
            slower.step()
            total += loss.item() * len(rows)
        print(f"typed, epoch {epoch + 1} of {EPOCHS}: loss {total / len(lines):.3f}", flush=True)
    tuned = {
        f"encoder.layer.{at}.{name}": one.detach().numpy()
        for at, layer in zip(TUNED, layers.upper, strict=True)
        for name, one in layer.named_parameters()
    }
    return tuned | {WEIGHT: head.weight[0].detach().numpy(), SHIFT: head.bias.detach().numpy()}


def _mixed(states: Sequence[torch.Tensor], order: np.random.Generator) -> list[list[int]]:
    """Every line once, in batches of about one length."""
    mixed = [int(at) for at in order.permutation(len(states))]
    found = [
        batch
        for start in range(0, len(mixed), BATCH * NEAR)
        for batch in batches(mixed[start : start + BATCH * NEAR], states, BATCH)
    ]
    return [found[at] for at in order.permutation(len(found))]


def check() -> None:
    """Print what `measure` finds on every file of lines never learned."""
    for path in sorted(CORPORA.glob(UNSEEN)):
        own, touched, spans, part = measure([*typed(f"unseen/{path.name}")])
        print(
            f"{path.stem}: own lines doubted {touched} of {own}, of others' words found {part} of "
            f"{spans}",
            flush=True,
        )
