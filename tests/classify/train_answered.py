"""Make the weights of `classifier.answered`: whether the rows of a question answer it. `make train
TRAIN=answered` (a quarter of an hour); `--check` measures each vault left out.

Learned are eight made-up months as they are known by rules (`tests/bench/months`), and the vaults
of notes of `tests/bench/abstention`: their own questions as far as an answer is among the first
five, and unrelated ones.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.linear_model import LogisticRegression

from oneiro_vault.app import App
from oneiro_vault.recall import result_lines
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search
from tests.bench import abstention, months
from tests.bench.labelled import Labelled
from tests.recall import domains

ANSWERED: Final = "answered"
"""What it is called among the heads."""
ROWS: Final = 5
STRANGE: Final = 60
"""Unrelated questions to a month."""
FIRMNESS: Final = 0.3
"""The C of the logistic regression, over features of one width."""


@dataclass(frozen=True)
class Seen:
    """The signs of one question's rows, and whether they answer it: 1 that they do, 0 that nothing
    could, -1 that something could and these do not."""

    signs: Sequence[float]
    label: int
    vault: str


def seen() -> Iterator[Seen]:
    """All questions that get a row."""
    rng = random.Random(7)
    strange = [question for kind in domains.pairs() for _, question in kind] + domains.general()
    for path in sorted(months.FILES.glob("*.json")):
        month = Labelled(path)
        place = tempfile.TemporaryDirectory()
        with place as folder, months.lived(month, Path(folder) / "vault") as (app, retired):
            known = months.notes(app, retired)
            for fact in month.facts:
                best = months.ranks(app, fact, known, fact.question)
                label = 1 if min(best.values(), default=ROWS) < ROWS else -1
                yield from _asked(app, fact.question, label, path.stem)
            for question in rng.sample(strange, STRANGE):
                yield from _asked(app, question, 0, path.stem)
    for at, (pairs, others) in enumerate(abstention.vaults()):
        with abstention.filed([note for note, _ in pairs]) as app:
            for _, question in pairs[: abstention.ASKED]:
                yield from _asked(app, question, 1, f"notes {at}")
            some = rng.sample(others, STRANGE // 4) + rng.sample(domains.general(), STRANGE // 4)
            for question in some:
                yield from _asked(app, question, 0, f"notes {at}")


def _asked(app: App, question: str, label: int, vault: str) -> Iterator[Seen]:
    house = app.house
    house.indexing.converge()
    vector, _ = house.vectors.query(question, wait=True)
    search = Search(house.index, house.uses.remembered(), house.weights)
    rows = [one.row for one in search.run(Asked(question, ROWS), vector)] if question else []
    if rows:
        found = result_lines.fit(house.index, question, vector, rows)
        yield Seen(result_lines.signs(house.index, found), label, vault)


def learn(known: Sequence[Seen]) -> dict[str, Any]:
    """The weights; questions that these rows do not answer though something could teach nothing."""
    told = [one for one in known if one.label >= 0]
    signs, labels = np.array([one.signs for one in told]), [one.label for one in told]
    centre, width = signs.mean(axis=0), signs.std(axis=0) + 1e-6
    model = LogisticRegression(C=FIRMNESS, class_weight="balanced", max_iter=2000)
    model.fit((signs - centre) / width, labels)
    counts = model.coef_[0] / width
    return {
        f"{ANSWERED}/signs": counts.astype(np.float32),
        f"{ANSWERED}/bias": np.float32(model.intercept_[0] - centre @ counts),
    }


def check(known: Sequence[Seen]) -> None:
    """How many questions are taken as answered, of each vault by what the others teach."""
    sure = {1: [], 0: [], -1: []}  # type: dict[int, list[bool]]
    for vault in sorted({one.vault for one in known}):
        learned = learn([one for one in known if one.vault != vault])
        for one in known:
            if one.vault == vault:
                score = float(
                    learned[f"{ANSWERED}/signs"] @ one.signs + learned[f"{ANSWERED}/bias"]
                )
                sure[one.label].append(1 / (1 + np.exp(-score)) >= result_lines.SURE)
    for label, what in ((1, "answered"), (-1, "missed"), (0, "unrelated, with a row")):
        print(f"{ANSWERED}: {what}: {np.mean(sure[label]):.3f} of {len(sure[label])} unmarked")
