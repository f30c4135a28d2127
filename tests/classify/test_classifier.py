"""What is worth keeping by the packaged weights, and that training makes such weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oneiro_vault.classify.classifier import THRESHOLD, packed, weights, worth_keeping
from tests.classify import train


@pytest.mark.parametrize(
    "sentence",
    [
        "My brother-in-law Henk runs the bakery in Utrecht.",
        "We postponed the launch to 9 September.",
        "I can't eat anything with sesame.",
        "Meine Tochter kommt im August in die Schule.",
    ],
)
def test_facts_are_worth_keeping(sentence: str) -> None:
    assert worth_keeping([sentence])[0] >= THRESHOLD


@pytest.mark.parametrize(
    "sentence", ["Thanks, that helps a lot!", "Could you make it a bit shorter?", "Hm, let me think.", "Und jetzt?", ""]
)
def test_talk_is_not(sentence: str) -> None:
    assert worth_keeping([sentence])[0] < THRESHOLD


def test_what_a_tool_answers_is_worth_less() -> None:
    sentence = "The meeting takes place on 9 September."
    mine, theirs = worth_keeping([sentence, sentence], ["user", "tool"])
    assert theirs < mine
    assert worth_keeping([]) == []


def test_training_learns_and_always_makes_the_same(tmp_path: Path) -> None:
    some = train.lines()[::25]
    learned = train.fit(some, epochs=20)
    assert packed(*learned) == packed(*train.fit(some, epochs=20))
    found = train.scores(some, *learned)
    assert np.mean((found > 0) == np.array([line.label for line in some])) > 0.95
    (tmp_path / "w").write_bytes(packed(*learned))
    facts, words = weights(tmp_path / "w")
    assert np.array_equal(facts, learned[0])
    assert np.abs(words - learned[1]).max() <= np.abs(learned[1]).max() / 127


def test_weights_of_other_features_are_refused(tmp_path: Path) -> None:
    facts, words = weights()
    data = bytearray(packed(facts, words))
    data[:4] = np.float32(99).tobytes()
    (tmp_path / "w").write_bytes(bytes(data))
    with pytest.raises(ValueError, match="make train"):
        weights(tmp_path / "w")


def test_calibrated_probabilities_are_as_sure_as_they_are_right() -> None:
    rng = np.random.default_rng(1)
    labels = (rng.random(4000) < 0.5).astype(np.float32)
    found = (np.where(labels > 0, 1.0, -1.0) + rng.normal(size=4000)).astype(np.float32) * 2 + 1
    slope, shift = train.calibrated(found, labels)
    sure = 1 / (1 + np.exp(-(found * slope + shift)))
    assert abs(np.mean(labels[sure > 0.8]) - np.mean(sure[sure > 0.8])) < 0.05
