"""Which sentences of a conversation will be wanted later? Small trained weights over hashed words and letters answer (`features`).

The weights are data: `make train` makes them anew from the lines in `tests/corpora`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from oneiro_vault.classify import features

WEIGHTS: Final = Path(__file__).with_name("weights.bin")
SPEAKERS: Final = ("user", "assistant", "tool")
"""Whose sentence it is; anybody else counts as a user."""
THRESHOLD: Final = 0.5
"""Probability from which a sentence is worth keeping; they are calibrated, so here both mistakes are as likely."""
_HEAD: Final = 1 + len(SPEAKERS)

Vector = npt.NDArray[np.float32]


def worth_keeping(sentences: Sequence[str], speakers: Sequence[str] = ()) -> list[float]:
    """How likely each sentence is one that will be wanted later, 0-1; from `THRESHOLD` on it is worth keeping.

    Decisions, preferences, dates, people, places, numbers, corrections, standing instructions and outcomes are; greetings, questions,
    requests of the moment, talk and what a model explains are not. `speakers`: `user`, `assistant` or `tool` for each sentence.
    """
    facts, words = weights()
    who = speakers or ["user"] * len(sentences)
    found = []
    for sentence, speaker in zip(sentences, who, strict=True):
        place = SPEAKERS.index(speaker) if speaker in SPEAKERS else 0
        score = facts[0] + facts[1 + place] + features.score(features.features(sentence), words)
        found.append(float(1 / (1 + np.exp(-np.clip(score, -30, 30)))))
    return found


@cache
def weights(path: Path = WEIGHTS) -> tuple[Vector, Vector]:
    """(bias and one number a speaker, one number a bucket), read once. The file: version of the features, scale, those, the buckets as
    bytes. Raises ValueError for weights that were trained with other features."""
    data = path.read_bytes()
    version, scale = np.frombuffer(data, "<f4", 2)
    if int(version) != features.VERSION:
        raise ValueError(f"{path} was trained with other features; `make train` makes it anew")
    facts = np.frombuffer(data, "<f4", _HEAD, 8)
    return facts, np.frombuffer(data, "i1", features.BUCKETS, 8 + 4 * _HEAD).astype(np.float32) * scale


def packed(facts: Vector, words: Vector) -> bytes:
    """Weights as `weights` reads them."""
    scale = np.float32(np.abs(words).max() / 127 or 1.0)
    head = np.concatenate([[features.VERSION, scale], facts]).astype("<f4").tobytes()
    return head + np.round(words / scale).astype("i1").tobytes()
