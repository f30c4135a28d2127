"""How well can it be learned whether a later sentence gives a later state of what an earlier one
says? `python -m tests.classify.later_states` trains on the hands of `tests/corpora/states` but one
and measures on that one (about an hour on a core); nothing in the package rests on it yet.

Both sentences go through all layers of the packaged model together: compared by their vectors alone
they tell no more than chance where another sentence about the same thing is as near (area under the
curve .6; of how near they are, how many words they share and whether values differ, .7). Together
they reach .905 on a tenth of all lines, but on what stands in the answers of eight made-up months
.69, where how near two facts are and whether their values differ tell .83: nearly all the lines are
about the same thing, and nearly all pairs of answers are not.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from sklearn.metrics import roc_auc_score
from transformers import AutoModel, AutoTokenizer

from oneiro_vault.index.embed.models import model_folder

FOLDER: Final = Path(__file__).parents[1] / "corpora" / "states"
LONGEST: Final = 80
"""Tokens of two sentences."""
BATCH: Final = 32
FASTEST: Final = 1e-4
SEED: Final = 1


@dataclass(frozen=True)
class Pair:
    """Two sentences of one person, and whether the second gives a later state of the first."""

    earlier: str
    later: str
    label: bool


def pairs(path: Path) -> list[Pair]:
    """Of each line (`before`, `after` which replaces it, `beside` about the same thing, `other` of
    the same kind about another) one that is so and three that are not."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        pair
        for row in rows
        for pair in (
            Pair(row["before"], row["after"], True),
            Pair(row["before"], row["beside"], False),
            Pair(row["before"], row["other"], False),
            Pair(row["beside"], row["after"], False),
        )
    ]


class Comparer(torch.nn.Module):  # type: ignore[misc]  # torch comes without types here
    """The packaged model over both sentences, its mean, and one number of that."""

    def __init__(self) -> None:
        super().__init__()
        folder = str(model_folder())
        self.tokens = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder)
        self.model.embeddings.word_embeddings.weight.requires_grad = False
        self.last = torch.nn.Linear(self.model.config.hidden_size, 1)

    def forward(self, some: Sequence[Pair]) -> Any:
        given = self.tokens(
            [one.earlier for one in some], [one.later for one in some],
            padding=True, truncation=True, max_length=LONGEST, return_tensors="pt",
        )  # fmt: skip
        mask = given["attention_mask"].unsqueeze(-1).float()
        found = self.model(**given).last_hidden_state
        return self.last((found * mask).sum(1) / mask.sum(1)).squeeze(1)


def learn(known: Sequence[Pair], rounds: int) -> Comparer:
    """One that has learned these pairs."""
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    made = Comparer()
    learned = [one for one in made.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=FASTEST, weight_decay=0.01)
    steps = rounds * (len(known) // BATCH + 1)
    pace = torch.optim.lr_scheduler.OneCycleLR(optimizer, FASTEST, total_steps=steps, pct_start=0.1)
    for _ in range(rounds):
        near = sorted(known, key=lambda one: len(one.earlier + one.later) + rng.random() * 60)
        batches = [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
        rng.shuffle(batches)
        made.train()
        for batch in batches:
            labels = torch.tensor([float(one.label) for one in batch])
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                made(batch), labels, 1 + 2 * labels
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            pace.step()
    made.eval()
    return made


def main() -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", help="the hand that is left out", default="desk")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    known = {path.stem: pairs(path) for path in sorted(FOLDER.glob("*.jsonl"))}
    asked = known.pop(options.without)
    made = learn([one for hand in known.values() for one in hand], options.rounds)
    with torch.no_grad():
        sure = torch.cat([made(asked[at : at + BATCH]) for at in range(0, len(asked), BATCH)])
    print(options.without, roc_auc_score([one.label for one in asked], sure.numpy()))


if __name__ == "__main__":
    main()
