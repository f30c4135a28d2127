"""Which words of a typed line are its writer's own."""

from __future__ import annotations

import pytest

from oneiro_vault.core.conversation import tagging
from tests.classify.train_tagger import lived, measure, typed


def doubted(line: str) -> str:
    pairs = zip(tagging.words(line), tagging.doubtful(line), strict=True)
    return " ".join(word for (word, _, _), sure in pairs if sure >= tagging.SURE)


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        (
            "got this from a patient I am Wilhelmina and I live at the Larches. do I need to file "
            "it?",
            "Wilhelmina",
        ),
        ("My boss always says I am the king and I live in a palace.", "palace"),
        ("Write a mail to our landlord. We are three in the flat, me, Runa and Chidubem.", ""),
        ("other thing: the insurer finally paid, 3150 for the cellar flood", ""),
        ("befund ist da: der meniskus ist hinten gerissen.", ""),
    ],
)
def test_what_begins_without_a_mark_is_doubted(line: str, foreign: str) -> None:
    found = doubted(line)
    assert foreign in found
    assert foreign or not found


def test_any_line_has_a_probability_for_each_of_its_first_words() -> None:
    assert tagging.doubtful("") == []
    for line in ("?", "word " * 5_000, "\ud83d\ude00 \u3042\u3044 \x00"):
        found = tagging.doubtful(line)
        assert len(found) == min(len(tagging.words(line)), tagging.LONGEST)
        assert all(0 <= one <= 1 for one in found)


def test_the_weights_know_the_lines_they_were_made_from() -> None:
    own, touched, spans, part = measure([*typed(), *lived()])
    assert touched <= 0.1 * own
    assert part >= 0.8 * spans
