"""The very same words, and all of the same words."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.duplicates import fingerprint, says_all
from oneiro_vault.core.text.query import analyse


def test_the_file_around_the_words_makes_no_difference() -> None:
    mark = fingerprint("semantic", "The kiln", "Fired on Mondays.\n")
    assert mark == fingerprint(" Semantic", "The  kiln ", "\r\nFired on Mondays.")
    assert len(mark) == 32
    others = [
        ("episodic", "The kiln", "Fired on Mondays.\n"),
        ("semantic", "A kiln", "Fired on Mondays.\n"),
        ("semantic", "The kiln", "Fired on mondays.\n"),
        ("semantic", "The kiln", "Fired  on Mondays.\n"),
        ("semantic", "The", "kiln\0Fired on Mondays.\n"),
    ]
    assert mark not in {fingerprint(*other) for other in others}


@pytest.mark.parametrize(
    ("new", "old", "said"),
    [
        ("Ana ships on Fridays", "On Fridays Ana ships.", True),
        ("Ana ships on Fridays", "Ana ships on Fridays at 3", False),
        (
            "Ana ships boats, crates and barrels on Fridays",
            "Ana never ships boats, crates and barrels on Fridays",
            False,
        ),
        ("Ana ships boats on Fridays", "Ana ships on Fridays", False),
        (
            "Ana ships on Fridays",
            "Ana ships crates, boxes, barrels and sacks of coffee on Fridays",
            False,
        ),
    ],
)
def test_old_words_say_the_new_ones_only_if_nothing_is_lost(new: str, old: str, said: bool) -> None:
    assert says_all(new, old, analyse(new).words, 0.85) is said
