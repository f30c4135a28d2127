"""Whether one sentence denies what another states."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.polarity import added, contrary


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
        ("They print figures as PDF.", "Figures as PDF please, otherwise they can't print them."),
        ("Ana kann kurze Mails lesen.", "Schreib Ana kurz, sonst kann sie die Mails nicht lesen."),
        ("Mails are short, or else Ana can't read them.", "Keep mails short so Ana reads them."),
        ("They cannot deliver without the code.", "They need it, otherwise they can't deliver."),
    ],
)
def test_what_may_be_the_same(fact: str, ground: str) -> None:
    assert not contrary(fact, ground)


@pytest.mark.parametrize(
    ("otherwise", "new"), [(", otherwise she cannot", False), (", she cannot", True)]
)
def test_what_would_be_otherwise_is_no_new_denial(otherwise: str, new: bool) -> None:
    assert (
        added(f"Mails are short{otherwise} read them.", "Keep mails short, she reads them.") == new
    )


def test_sonst_amid_a_clause_means_usually() -> None:
    assert contrary("Ich esse Fleisch.", "Ich esse sonst kein Fleisch.")
