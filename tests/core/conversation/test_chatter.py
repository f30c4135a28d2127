"""What stands before what somebody says, and what is said."""

from __future__ import annotations

import pytest

from oneiro_vault.core.conversation import chatter


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("over 9. hang on, its the blue one now", "its the blue one now"),
        ("yes. and mum takes no aspirin", "and mum takes no aspirin"),
        ("ok deal, freitag ist spieleabend", "freitag ist spieleabend"),
        ("no wait, sie bleibt bis mai", "sie bleibt bis mai"),
        ("no, it's Reyd, not Reid", "no, it's Reyd, not Reid"),
        ("band 9. im on nights", "band 9. im on nights"),
        ("good friends, all of them nurses", "good friends, all of them nurses"),
        ("ja kuchen bleibt", "ja kuchen bleibt"),
        ("thanks.", "thanks."),
        ("", ""),
    ],
)
def test_an_answer_or_a_greeting_is_no_part_of_what_is_said(said: str, left: str) -> None:
    assert chatter.without(said) == left


def test_who_is_back_or_answers_says_little() -> None:
    assert chatter.only("back from the physio.")
    assert chatter.only("nope just sundays.")
    assert not chatter.only("back pain since june")
    assert not chatter.only("we were home by six")
