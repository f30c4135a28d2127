"""Make the weights of relations in `classify.names` from `tests/corpora/names`: `make train
TRAIN=relations`. Each line there says in `rel` what it states of the names that are marked in it,
and of "me", who typed it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from oneiro_vault.classify import classifier, names
from oneiro_vault.classify.names import NONE, TIES, Name, Pair, Tie
from oneiro_vault.index.embed.onnx import WORDS
from tests.classify.marked_names import FOLDER, Line, marked

ME: Final = "me"
ALIKE: Final = "associated_with related_to knows".split()
"""Relations that are the same from both ends."""
SAID: Final = {
    "lives_in": "located_at", "located_in": "located_at", "married_to": "related_to",
    "parent_of": "related_to", "sibling_of": "related_to", "friend_of": "knows",
    "works_with": "associated_with", "treats": "associated_with", "teaches": "associated_with",
    "created": "works_on", "pet_of": "~owns",
}  # fmt: skip
"""What a relation of the corpus is called in the vault's closed list, the others as they are; `~`:
from its other end."""
FEWEST: Final = 5
"""Pairs that have a look which is learned."""
LEAST: Final = 5
"""Pairs that have an answer which is learned."""
STEPS: Final = 31
"""Of a weight, to each side."""
SPREAD: Final = 3.0
"""Length of what is seen, beside what the model makes of it."""
EPOCHS: Final = 14
RATE: Final = 1e-2
BATCH: Final = 128
DROPPED: Final = 0.3
SEED: Final = 13


@dataclass(frozen=True)
class Learned:
    """A pair of a line, and its answers."""

    pair: Pair
    line: Line
    answers: frozenset[str]


def lines() -> Iterator[tuple[Line, list[tuple[str, str, str]]]]:
    """Every line of which it is labelled what it states, and that."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        for given in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "rel" in given:
                yield marked(given["text"], path.stem), [tuple(one) for one in given["rel"]]


def stated(line: Line, given: Sequence[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """What a line states, in the vault's words; of what is alike from both ends in order."""
    return {_ordered(one, SAID.get(relation, relation), two) for one, relation, two in given}


def _ordered(one: str, relation: str, two: str) -> tuple[str, str, str]:
    if relation.startswith("~"):
        one, relation, two = two, relation[1:], one
    if relation in ALIKE:
        one, two = sorted((one, two))
    return one, two, relation


def learned(tagged: bool = False) -> list[Learned]:
    """The pairs of all lines: of the names that are marked, or that are found."""
    known = list(lines())
    states = classifier.model().encode([line.text for line, _ in known], "words")
    found = []
    for (line, given), seen in zip(known, states, strict=True):
        rows = seen.reshape(WORDS, -1)
        marks = [Name(line.text[a:b], kind, a, b, 1.0) for a, b, kind in line.found]
        here = list(names._names(line.text, 0, rows)) if tagged else marks
        said = stated(line, given)
        found += [
            Learned(pair, line, frozenset(_answers(pair, said)) or frozenset([NONE]))
            for pair in names.pairs(line.text, here, rows)
        ]
    return found


def learned_of(line: Line) -> list[Pair]:
    """The pairs of one line, of the names that are marked."""
    (seen,) = classifier.model().encode([line.text], "words")
    marks = [Name(line.text[a:b], kind, a, b, 1.0) for a, b, kind in line.found]
    return list(names.pairs(line.text, marks, seen.reshape(WORDS, -1)))


def _answers(pair: Pair, said: set[tuple[str, str, str]]) -> Iterator[str]:
    first, second = pair.first.text if pair.first else ME, pair.second.text
    for one, two, relation in said:
        if _same(one, first) and _same(two, second):
            yield relation
        elif _same(two, first) and _same(one, second):
            yield relation if relation in ALIKE else f"~{relation}"


def _same(one: str, other: str) -> bool:
    return one == other or (ME not in (one, other) and not names.apart(one, other))


class Net(nn.Module):  # type: ignore[misc]  # torch has no types here
    """A row of weights for each look, beside what is behind what the model makes of a pair."""

    def __init__(self, looks: int, width: int, answers: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(looks, answers, mode="sum")
        self.out = nn.Linear(width, answers)
        nn.init.zeros_(self.words.weight)
        nn.init.zeros_(self.out.weight)

    def forward(self, codes: Any, starts: Any, values: Any, states: Any) -> Any:
        """What speaks for each answer."""
        if self.training:
            values = values * (torch.rand(len(values)) > DROPPED) / (1 - DROPPED)
            states = nn.functional.dropout(states, DROPPED)
        return self.words(codes, starts, per_sample_weights=values) + self.out(states)


def fit(given: Sequence[Learned]) -> dict[str, Any]:
    """The weights, as `names.ties` reads them."""
    torch.manual_seed(SEED)
    often = Counter(look for one in given for look in one.pair.looks)
    codes = sorted(look for look, count in often.items() if count >= FEWEST)
    place = {look: at for at, look in enumerate(codes)}
    counts = Counter(answer for one in given for answer in one.answers)
    answers = [one for one, count in counts.most_common() if count >= LEAST]
    labels = torch.tensor([[float(name in one.answers) for name in answers] for one in given])
    labels[labels.sum(1) == 0, answers.index(NONE)] = 1
    labels = labels / labels.sum(1, keepdim=True)
    states = np.stack([one.pair.states for one in given])
    mean, spread = states.mean(0), (states.std(0) + 1e-6) * 4
    seen = torch.tensor((states - mean) / spread, dtype=torch.float32)
    rows = [[place[look] for look in one.pair.looks if look in place] for one in given]
    net = Net(len(codes), states.shape[1], len(answers))
    _train(net, rows, [len(one.pair.looks) for one in given], seen, labels)
    table = net.words.weight.detach().numpy() * SPREAD
    scale = np.float32(np.abs(table).max() / STEPS)
    out = net.out.weight.detach().numpy().T / spread[:, None]
    return {
        "answers": np.array(answers),
        "codes": np.array(codes, dtype=np.uint32),
        "words": np.round(table / scale).astype(np.int8),
        "scale": scale,
        "out": out.astype(np.float32),
        "bias": (net.out.bias.detach().numpy() - mean @ out).astype(np.float32),
        "trained with": classifier.trained_with(),
    }


def _train(net: Net, rows: list[list[int]], sizes: list[int], seen: Any, labels: Any) -> None:
    """`rows`: what each pair has of the looks that are learned, `sizes`: of how many it has."""
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=0.01)
    order = np.random.default_rng(SEED)
    for epoch in range(EPOCHS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - epoch / EPOCHS)
        mixed = order.permutation(len(rows))
        for start in range(0, len(mixed), BATCH):
            part = mixed[start : start + BATCH]
            starts = torch.tensor(np.cumsum([0, *(len(rows[at]) for at in part[:-1])]))
            values = torch.tensor([SPREAD / sizes[at] ** 0.5 for at in part for _ in rows[at]])
            looks = torch.tensor([look for at in part for look in rows[at]])
            scores = torch.log_softmax(net(looks, starts, values, seen[part]), 1)
            optimizer.zero_grad()
            (-(scores * labels[part]).sum(1).mean()).backward()
            optimizer.step()


def check() -> None:
    """Measure on each file left out, of names that are marked and of those that are found: of what
    is read how much is stated, of what is stated how much is read."""
    marked_, found = learned(), learned(tagged=True)
    there = Counter(line.file for line, given in lines() for _ in stated(line, given))
    for file in sorted(there):
        weights = fit([one for one in marked_ if one.line.file != file])
        for given in (marked_, found):
            said, right = read([one for one in given if one.line.file == file], weights)
            print(f"{file}: {right} of {said} read, {right} of {there[file]} stated", flush=True)


def read(given: Sequence[Learned], weights: dict[str, Any]) -> tuple[int, int]:
    """(relations read, how many of them are stated, or are somehow where no more is said)."""
    answers = [str(one) for one in weights["answers"]]
    said = right = 0
    rows = names.chances([one.pair for one in given], weights)
    for one, row in zip(given, rows, strict=True):
        if tie := names.told(one.pair, dict(zip(answers, row.tolist(), strict=True))):
            said, right = said + 1, right + _right(tie, one)
    return said, right


def _right(tie: Tie, one: Learned) -> bool:
    if tie.relation == names.LOOSE:
        return NONE not in one.answers
    first = one.pair.first.text if one.pair.first else ""
    back = tie.subject != first and tie.relation not in ALIKE
    return f"{'~' * back}{tie.relation}" in one.answers


def train() -> None:
    """Learn of all and write."""
    np.savez_compressed(TIES, **fit(learned()))
    names.ties.cache_clear()
