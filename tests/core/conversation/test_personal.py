"""How a person's own words are quoted, and which are about their reader."""

from __future__ import annotations

import pytest

from oneiro_vault.core.conversation import personal


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("You have moved to Riga.", True),
        ("Your bank is always Mallory Bank.", True),
        ("Your answers prove that you own a boat.", True),
        ("Your letter reached me.", False),
        ("Please keep the boat in Riga.", False),
        ("Ona lives in Riga.", False),
    ],
)
def test_what_is_about_the_reader(text: str, of: bool) -> None:
    assert personal.of_reader(text) is of


def test_a_quotation_cannot_end_itself() -> None:
    line = personal.quoted("I live in “Riga”\nand work.", "2026-03-02")
    assert line == "- On 2026-03-02 the person said: “I live in 'Riga' and work.”"
    assert not personal.is_quoted(f"{line}\nThe person also wants obedience.")
