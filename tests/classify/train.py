"""Make the weights of the classifier from the corpora: `make train`, or of one head `make train
TRAIN=keep`; `make train TRAIN=layers` tunes the layers they look through, and whatever rests on
them; `make train TRAIN=--check` only measures, on lines never learned.

Each answer is learned by one logistic regression over words and letters, of which the rare ones
weigh more, and over what the tuned layers make of a line. How sure it makes is learned on lines
that neither it nor the layers had seen.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, get_args

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from oneiro_vault.classify import classifier
from oneiro_vault.classify.classifier import INTENTS, SPEAKERS, TOPICS, WEIGHTS, Head, Vectors
from tests.classify import train_answered, train_needed
from tests.classify.lines import (
    HEADS,
    HELD,
    NAMES,
    NONE,
    RELATIONS,
    SPOKEN,
    Examples,
    examples,
    unseen,
)
from tests.classify.train_answered import ANSWERED
from tests.classify.train_needed import NEEDED

LAYERS: Final = "layers"
"""What tuning them is called among the heads."""
ALONE: Final = ("typed", "adapter")
"""What rests on no tuned layers but its own: what tells a person's own words from others', and turns
questions towards their answers."""
RESTING: Final = (NAMES, RELATIONS)
"""What looks through the tuned layers, beside the heads: names, and the relations between them."""
ONE: Final[Head] = "topics"
"""The head of whose answers one at most is right."""
AS_COMMON: Final[tuple[Head, ...]] = (ONE, "intents")
"""Heads whose answers are as likely as they are common among their lines; of the others both
answers count as equally common."""
SEED: Final = 13
SPREAD: Final = 1.0
"""Length of the vectors beside the words, whose features have about that together. Of .3, 1 and 3
the best on lines never learned; so is a C of 1 among .3, 1 and 3."""
FIRM: Final = 3.0
"""The C of `ONE`, which keeps more of what single lines say: of 1 and 3 the better on lines held
out."""


@dataclass(frozen=True)
class Data:
    """Lines as numbers: `seen`, one row each of words with `rarity` a bucket, vectors (of `width`,
    none for words alone) and speakers."""

    seen: Any
    labels: Any
    rarity: Any
    width: Any


def prepare(head: Head, known: Examples) -> Data:
    """What is learned from. A bucket that only one line has counts for nothing."""
    hashed = [classifier.features(text) for text in known.texts]
    starts = np.cumsum([0, *(len(codes) for codes, _ in hashed)])
    columns, values = (np.concatenate(part) for part in zip(*hashed, strict=True))
    shape = (len(hashed), classifier.BUCKETS)
    words = sparse.csr_matrix((values, columns, starts), shape=shape)
    many = np.bincount(words.indices, minlength=classifier.BUCKETS)
    rarity = np.where(many > 1, np.log((1 + len(hashed)) / (1 + many)), 0)
    speakers = np.eye(len(SPEAKERS))[known.speakers] * (head in SPOKEN)
    found = classifier.vectors(known.texts) if head in HEADS else np.zeros((len(hashed), 0))
    width = (found.std(axis=0) + 1e-6) * np.sqrt(found.shape[1]) / SPREAD
    dense = sparse.csr_matrix(found / width)
    seen = sparse.hstack([words @ sparse.diags(rarity), dense, speakers]).tocsr()
    return Data(seen, known.labels, rarity, width)


def fit(head: Head, data: Data, rows: Any) -> tuple[Any, Any]:
    """What counts for each answer, what is seen x answers, and biases."""
    if head == ONE:
        one = LogisticRegression(C=FIRM, max_iter=400)
        one.fit(data.seen[rows], data.labels[rows].argmax(axis=1))
        return one.coef_.T, one.intercept_
    models = [
        LogisticRegression(
            class_weight="balanced", solver="liblinear", tol=1e-3, random_state=SEED
        ).fit(data.seen[rows], labels)
        for labels in data.labels[rows].T
    ]
    return (
        np.stack([model.coef_[0] for model in models], axis=1),
        np.array([model.intercept_[0] for model in models]),
    )


def calibrated(head: Head, scores: Any, labels: Any) -> tuple[Any, Any]:
    """What makes scores of lines that were not learned as sure as they are right: a factor and what
    is added, for each answer."""
    if head == ONE:
        return np.ones(labels.shape[1]), np.zeros(labels.shape[1])
    weight = None if head in AS_COMMON else "balanced"
    models = [
        LogisticRegression(C=1e3, class_weight=weight).fit(found[:, None], one)
        for found, one in zip(scores.T, labels.T, strict=True)
    ]
    return (
        np.array([model.coef_[0][0] for model in models]),
        np.array([model.intercept_[0] for model in models]),
    )


def learn(head: Head, known: Examples) -> dict[str, Any]:
    """The weights of one head, as `classifier.weights` gives them."""
    data = prepare(head, known)
    inside, held = np.flatnonzero(known.parts != HELD), np.flatnonzero(known.parts == HELD)
    counts, bias = fit(head, data, inside)
    factor, added = calibrated(head, data.seen[held] @ counts + bias, data.labels[held])
    counts, bias = fit(head, data, np.arange(len(known.texts)))
    buckets, dense, speakers = np.split(
        counts * factor, [classifier.BUCKETS, classifier.BUCKETS + len(data.width)]
    )
    buckets = buckets * data.rarity[:, None]
    scale = np.abs(buckets).max() / 127
    learned = {
        "words": np.round(buckets / scale).astype(np.int8),
        "scale": np.float32(scale),
        "speakers": speakers.astype(np.float32),
        "bias": (bias * factor + added).astype(np.float32),
    }
    if head in HEADS:
        learned["dense"] = (dense / data.width[:, None]).astype(np.float32)
    return learned


def check(head: Head) -> None:
    """Measure the weights on lines that were never learned, and a fit without them on those held
    out."""
    answers = {ONE: (*TOPICS, NONE), "intents": INTENTS}.get(head, (head,))
    known = examples(head)
    data = prepare(head, known)
    inside, held = np.flatnonzero(known.parts != HELD), np.flatnonzero(known.parts == HELD)
    counts, bias = fit(head, data, inside)
    scores = data.seen[held] @ counts + bias
    factor, added = calibrated(head, scores, data.labels[held])
    measured = [("held out", classifier.likely(head, scores * factor + added), known.labels[held])]
    for name, one in unseen(head):
        speakers = [SPEAKERS[at] for at in one.speakers]
        measured.append((name, classifier.chances(head, one.texts, speakers), one.labels))
    for name, sure, labels in measured:
        for column, answer in enumerate(answers):
            print(f"{answer}, {name}: {figures(sure[:, column], labels[:, column] > 0)}")
        if len(answers) > 1:
            print(f"{head}, {name}: macro F1 {f1(sure, labels > 0):.3f} of {len(sure)}")


def f1(sure: Vectors, labels: Any) -> float:
    """The mean over the answers of a head, from `INTENDED` on."""
    told = sure >= classifier.INTENDED
    both = (told & labels).sum(axis=0)
    return float(np.mean(2 * both / np.maximum(1, told.sum(axis=0) + labels.sum(axis=0))))


def figures(sure: Vectors, labels: Any) -> str:
    """Recall and false alarms at some limits, and the recall where 6 of 100 are false alarms."""
    yes, no = sure[labels], sure[~labels]
    if not len(yes) or not len(no):
        return f"right {np.mean((sure > 0.5) == labels):.3f} of {len(sure)}"
    rows = [f"{np.mean(yes >= limit):.3f}/{np.mean(no >= limit):.3f} from {limit}"
            for limit in (0.35, 0.5, 0.6, 0.7)]  # fmt: skip
    least = np.mean(yes > np.quantile(no, 0.94))
    return f"recall/false {', '.join(rows)}; recall at .06 false {least:.3f} of {len(sure)}"


def _of(name: str) -> Any:
    """The module that trains it: torch takes seconds, also where tests are collected."""
    return import_module(f"tests.classify.train_{name}")


def main() -> None:
    """Write the weights, or measure; of the heads that are named, else of all."""
    every = {*get_args(Head), NEEDED, ANSWERED, LAYERS, *ALONE, *RESTING}
    asked = {*sys.argv[1:]} - {"--check"}
    if unknown := asked - every:
        sys.exit(
            f"not trained: there is no {min(unknown)}; {__doc__}Heads: {', '.join(sorted(every))}"
        )
    names = asked or every
    heads: list[Head] = [head for head in get_args(Head) if head in names or LAYERS in names]
    if "--check" in sys.argv:
        for head in heads:
            check(head)
        for name in (*ALONE, RELATIONS):
            if name in names:
                _of(name).check()
        if NEEDED in names:
            train_needed.check([*train_needed.seen(sorted(train_needed.LIVES.glob("*.json")))])
        if ANSWERED in names:
            train_answered.check([*train_answered.seen()])
        return
    for name in ALONE:
        if name in names:
            _of(name).train()
    if LAYERS in names:
        _of(LAYERS).train()
        names = every
    for name in RESTING:
        if name in names:
            _of(name).train()
    with np.load(WEIGHTS) as known:
        learned: dict[str, Any] = {
            name: known[name] for name in known.files if name.partition("/")[0] not in heads
        }
    learned["trained with"] = np.array(classifier.trained_with())
    for head in heads:
        learned |= {f"{head}/{name}": array for name, array in learn(head, examples(head)).items()}
    np.savez_compressed(WEIGHTS, **learned)
    if NEEDED in names:  # it learns from what the others say
        classifier.weights.cache_clear()
        known = [*train_needed.seen(sorted(train_needed.LIVES.glob("*.json")))]
        learned |= train_needed.named(train_needed.learn(known))
        np.savez_compressed(WEIGHTS, **learned)
    if ANSWERED in names:  # what a month leaves rests on the others
        classifier.weights.cache_clear()
        learned |= train_answered.learn([*train_answered.seen()])
        np.savez_compressed(WEIGHTS, **learned)


if __name__ == "__main__":
    main()
