"""Whether one sentence denies what another states."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.polarity import contrary


@pytest.mark.parametrize(
    ("fact", "ground"),
    [
        ("Maya does not live in Basel.", "I live in Basel."),
        ("Maya eats fish.", "I never eat fish."),
        ("The user isn't allergic to nuts.", "I am allergic to nuts."),
        ("Maya wohnt in Köln.", "Ich wohne nicht in Köln."),
        ("Ana does not own the checklist.", "Ana owns the checklist."),
        (
            "Maya does not live in Basel and does not like winters.",
            "I live in Basel, but I do not like the winters.",
        ),
    ],
)
def test_contraries(fact: str, ground: str) -> None:
    assert contrary(fact, ground)


@pytest.mark.parametrize(
    ("fact", "ground"),
    [
        ("Maya lives in Basel.", "I live in Basel."),
        ("Maya does not eat fish.", "I never eat fish."),
        ("Maya avoids fish.", "I never eat fish."),
        ("Maya no longer works at Orion.", "I quit my job at Orion."),
        ("Maya does not smoke.", "I stopped smoking."),
        ("Maya does not eat nuts.", "I am allergic to nuts."),
        ("Maya lives in Basel.", "I live in Basel, but I do not like the winters there."),
        ("Maya wants grams, not American cups.", "I cannot make head or tail of American cups."),
        ("Maya telephones on Wednesdays.", "I cannot telephone before Wednesday."),
        ("Maya will keine Tabellen.", "Die Tabellen lass in Zukunft weg."),
    ],
)
def test_what_may_be_the_same(fact: str, ground: str) -> None:
    assert not contrary(fact, ground)
