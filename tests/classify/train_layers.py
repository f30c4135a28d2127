"""Tune the classifier's layers: the last two of the packaged model's first four learn what all its
heads and the tagger of names ask at once, and are written as one graph beside it.

Each head has a narrow layer of its own while they learn, which is thrown away: what stands in the
weights of the heads is learned again, of what the tuned layers make of lines. It takes a quarter of
an hour on two cores. The packaged layers were tuned on the lines of 26 November 2026; of two runs on
nearly the same lines the one was taken that tells more of the gate's lines that were held out (.77
and .74 of those that prescribe, where 6 of 100 others are refused).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel

from oneiro_vault.classify import classifier, names
from oneiro_vault.classify.classifier import SPEAKERS
from oneiro_vault.index.embed import models, onnx
from tests.classify import marked_names, train_names
from tests.classify.lines import HEADS, HELD, Examples, examples
from tests.index import graph

NAMES: Final = "names"
TUNED: Final = (2, 3)
"""Layers that learn; what is below stays as it is packaged."""
WIDTH: Final = 384
NARROW: Final = 128
EPOCHS: Final = 4
BATCH: Final = 64
FEW: Final = 16
"""Lines in a batch of the tagger's, which has the fewest and asks of every word."""
NEAR: Final = 16
"""Batches whose lines are sorted by their length."""
RATE: Final = 1e-4
FRESH: Final = 2e-3
"""The rate of what begins with nothing."""
WARM: Final = 100
"""Steps until the full rate."""
DROPPED: Final = 0.3
SPREAD: Final = 8.0
"""Length of the vectors that the narrow layers see."""
SMOOTHED: Final = 0.05
SEED: Final = 13

State = Any
"""What the layers below make of one text: a tensor of its tokens x 384, in halves."""


class Layers:
    """The packaged model: what its lower layers make of texts, and the upper ones that learn."""

    def __init__(self) -> None:
        folder = models.model_folder()
        self._model = AutoModel.from_pretrained(str(folder)).eval()
        self._tokens, _ = onnx.tokenizer(folder, tokens=classifier.TOKENS)
        self.upper = nn.ModuleList([self._model.encoder.layer[at] for at in TUNED])

    def tokens(self, texts: Sequence[str]) -> list[Any]:
        """What each text is cut into."""
        return list(self._tokens.encode_batch(texts))

    def below(self, texts: Sequence[str]) -> list[State]:
        """What the layers that stay make of texts."""
        ids = [one.ids for one in self.tokens(texts)]
        found: list[State] = [torch.empty(0)] * len(ids)
        for batch in batches(range(len(ids)), ids):
            longest = max(len(ids[at]) for at in batch)
            padded = torch.tensor([ids[at] + [0] * (longest - len(ids[at])) for at in batch])
            mask = torch.tensor([[at < len(ids[one]) for at in range(longest)] for one in batch])
            with torch.no_grad():
                states = self._model.embeddings(input_ids=padded)
                for layer in self._model.encoder.layer[: TUNED[0]]:
                    states = _first(layer(states, _ignored(mask)))
            for one, row in zip(batch, states, strict=True):
                found[one] = row[: len(ids[one])].half()
        return found

    def above(self, given: Sequence[State]) -> tuple[torch.Tensor, torch.Tensor]:
        """What the upper layers make of texts, batch x tokens x 384, and where there are tokens."""
        states = nn.utils.rnn.pad_sequence([one.float() for one in given], batch_first=True)
        sizes = torch.tensor([len(one) for one in given])
        mask = torch.arange(states.shape[1]) < sizes[:, None]
        for layer in self.upper:
            states = _first(layer(states, _ignored(mask)))
        return states, mask


def _first(found: Any) -> torch.Tensor:
    """Versions of the library differ in whether a layer gives its states alone."""
    states: torch.Tensor = found[0] if isinstance(found, tuple) else found
    return states


def _ignored(mask: torch.Tensor) -> torch.Tensor:
    return (~mask)[:, None, None, :] * -1e9


class Narrow(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The narrow layer of a head over whole texts."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.drop = nn.Dropout(DROPPED)
        self.inner, self.out = nn.Linear(WIDTH, NARROW), nn.Linear(NARROW, outputs)
        self.speakers = nn.Embedding(len(SPEAKERS), outputs)
        nn.init.zeros_(self.speakers.weight)

    def forward(self, states: torch.Tensor, mask: torch.Tensor, speakers: Any) -> torch.Tensor:
        """Scores, batch x outputs."""
        whole = functional.normalize((states * mask[..., None]).sum(1), dim=-1) * SPREAD
        inner = self.drop(torch.relu(self.inner(self.drop(whole))))
        scores: torch.Tensor = self.out(inner) + self.speakers(torch.tensor(speakers))
        return scores


class OfWords(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The narrow layer of the tagger over words; the inner one becomes part of the graph."""

    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(DROPPED)
        self.inner = nn.Linear(WIDTH, train_names.HIDDEN)
        self.out = nn.Linear(train_names.HIDDEN, len(names.LABELS))

    def forward(self, states: torch.Tensor, places: Sequence[Sequence[Sequence[int]]]) -> Any:
        """Scores, words x labels; `places`: of each text the tokens of each word."""
        rows = [states[row, at].mean(0) for row, text in enumerate(places) for at in text]
        return self.out(torch.relu(self.inner(self.drop(torch.stack(rows)))))


class Task:
    """What one head learns, and the loss of a batch of it."""

    batch = BATCH

    def __init__(self, layers: Layers, known: Examples) -> None:
        rows = np.flatnonzero(known.parts != HELD)
        self.speakers = [known.speakers[at] for at in rows]
        self.labels = torch.tensor(known.labels[rows])
        self.states = layers.below([known.texts[at] for at in rows])
        share = self.labels.mean(0)
        self.weights = torch.where(self.labels > 0, 0.5 / share, 0.5 / (1 - share))
        self.narrow = Narrow(self.labels.shape[1])
        self._layers = layers

    def loss(self, batch: Sequence[int]) -> torch.Tensor:
        """Of some of the lines; what is rare counts as much as what is not."""
        states, mask = self._layers.above([self.states[at] for at in batch])
        scores = self.narrow(states, mask, [self.speakers[at] for at in batch])
        return functional.binary_cross_entropy_with_logits(
            scores, self.labels[batch], self.weights[batch]
        )


class Tagging:
    """What the tagger of names learns, and the loss of a batch of it."""

    batch = FEW

    def __init__(self, layers: Layers, lines: Sequence[marked_names.Line]) -> None:
        tokens = layers.tokens([one.text for one in lines])
        self.places = [
            list(onnx.tokens_of_words(one.text, two.offsets))
            for one, two in zip(lines, tokens, strict=True)
        ]
        self.labels = [marked_names.labels(one) for one in lines]
        self.states = layers.below([one.text for one in lines])
        self.narrow = OfWords()
        self._layers = layers

    def loss(self, batch: Sequence[int]) -> torch.Tensor:
        """Of some of the lines; a word that is cut off says nothing."""
        states, _ = self._layers.above([self.states[at] for at in batch])
        scores = self.narrow(states, [[at for at in self.places[one] if at] for one in batch])
        labels = [
            label
            for one in batch
            for label, at in zip(self.labels[one], self.places[one], strict=True)
            if at
        ]
        return functional.cross_entropy(scores, torch.tensor(labels), label_smoothing=SMOOTHED)


def tune() -> dict[str, Any]:
    """The weights of the upper layers by their names in the model, and `in` and `shift` of the
    tagger's narrow layer."""
    torch.manual_seed(SEED)
    layers, order = Layers(), np.random.default_rng(SEED)
    tagging = Tagging(layers, list(marked_names.lines()))
    tasks: dict[str, Task | Tagging] = {
        head: Task(layers, examples(head, bare=False)) for head in HEADS
    }
    tasks[NAMES] = tagging
    fresh = nn.ModuleDict({name: one.narrow for name, one in tasks.items()})
    optimizer = torch.optim.AdamW(
        [
            {"params": fresh.parameters(), "lr": FRESH, "weight_decay": 0.05},
            {"params": layers.upper.parameters(), "lr": RATE, "weight_decay": 0.01},
        ]
    )
    steps = EPOCHS * len(_mixed(tasks, order))
    slower = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, step / WARM) * max(0.02, 1 - step / steps)
    )
    layers.upper.train()
    print(f"layers: {steps} steps", flush=True)
    for epoch in range(EPOCHS):
        total = 0.0
        for name, batch in _mixed(tasks, order):
            loss = tasks[name].loss(batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(layers.upper.parameters(), 1.0)
            optimizer.step()
            slower.step()
            total += loss.item()
        print(
            f"layers, epoch {epoch + 1} of {EPOCHS}: loss {total * EPOCHS / steps:.3f}", flush=True
        )
    found = {
        f"encoder.layer.{at}.{name}": weight.detach().numpy()
        for at, layer in zip(TUNED, layers.upper, strict=True)
        for name, weight in layer.named_parameters()
    }
    inner = tagging.narrow.inner
    return found | {"in": inner.weight.detach().numpy().T, "shift": inner.bias.detach().numpy()}


def _mixed(tasks: dict[str, Any], order: Any) -> list[tuple[str, list[int]]]:
    """Every line of every task once, in batches of one task and about one length."""
    found = []
    for name, task in tasks.items():
        mixed = order.permutation(len(task.states))
        for start in range(0, len(mixed), task.batch * NEAR):
            near = mixed[start : start + task.batch * NEAR]
            found += [(name, batch) for batch in batches(near, task.states, task.batch)]
    return [found[at] for at in order.permutation(len(found))]


def batches(rows: Sequence[int], sized: Sequence[Any], size: int = BATCH) -> Iterator[list[int]]:
    """Rows of about one length together."""
    ordered = sorted(rows, key=lambda at: len(sized[at]))
    for start in range(0, len(ordered), size):
        yield [int(at) for at in ordered[start : start + size]]


def train() -> None:
    """Learn, and write the graph."""
    learned = tune()
    narrow = {name: learned.pop(name) for name in ("in", "shift")}
    classifier.GRAPH.write_bytes(
        graph.bert(models.model_folder(), layers=graph.LAYERS, words=narrow, tuned=learned)
    )
    classifier.trained_with.cache_clear()
