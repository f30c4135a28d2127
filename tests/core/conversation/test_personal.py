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
    assert personal.without_chatter(said) == left


def test_who_is_back_or_answers_says_little() -> None:
    assert personal.chats("back from the physio.")
    assert personal.chats("nope just sundays.")
    assert not personal.chats("back pain since june")
    assert not personal.chats("we were home by six")


PROFILE = (
    "- 2026-05-01: “Ona lives in Riga.” ([[ona-lives-in-riga-aaaaaaaaaaaa|aaaaaaaaaaaa]])\n"
    "- 2026-05-02: “well, Ona sold her boat in May, at last” ([[talk-bbbbbbbbbbbb|bbbbbbbbbbbb]])"
)


def test_lines_that_quote_a_memory_or_name_it_are_left_out() -> None:
    first, second = PROFILE.splitlines()
    assert personal.is_profile(PROFILE)
    assert not personal.is_profile(f"{PROFILE}\nMine.")
    assert personal.without(PROFILE, "ona lives in Riga") == second
    assert personal.without(PROFILE, "", "aaaaaaaaaaaa") == second
    assert personal.without(PROFILE, "Ona sold her boat in May [2026-05].") == first
    assert personal.without(PROFILE, "Ona.") == PROFILE, "one word is no quotation"
    assert personal.without(PROFILE, "Ona lives in Kiel.") == PROFILE
    cut = personal.quoted("… I'm on the night shift …", "2026-05-01")
    assert personal.without(cut, "Well, I'm on the night shift, so what?") == ""


def test_which_line_stands_for_a_text() -> None:
    assert personal.described_by(PROFILE, last=False) == "2026-05-01: “Ona lives in Riga.”"
    assert personal.described_by(PROFILE, last=True).endswith("at last”")
    assert personal.described_by("", last=True) == ""


def test_chatter_without_end_takes_no_time() -> None:
    """ "good morning" was one word or two: every further one doubled what was tried."""
    endless = "good morning " * 3_000 + "x"
    assert not personal.chatter(endless)
    assert personal.without_chatter(endless)
    assert personal.chatter("nee, ok danke")
