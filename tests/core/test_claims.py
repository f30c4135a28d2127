"""When two texts make the same claim, and how a sentence is read for that."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core import claims


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fee is $1,000.50!", "The fee is $ 1000.50"),
        ("She can't, won't and didn't.", "She can not will not and did not"),
        ("On the 5th of March 2026 at 3 p.m.", "On 2026.03.05 at 15:00"),
        ("March 5", "0000.03.05"),
        ("12 am, 12 pm, 12:30am", "0:00 12:00 0:30"),
        ("C++ and C# are not C", "C++ and C# are not C"),
        ("a few of the two", "a few of 2"),
        ("[x] done, [ ] open", "☑ done ☐ open"),
        ("~~gone~~", "~ ~ gone ~ ~"),
        ("Is it 5%?", "Is it 5 % ?"),
        ("see docs/setup.md, v1.2.", "see docs/setup.md v1.2"),
        ("-4 degrees, 3-4 days", "-4 degrees 3 4 days"),
        ("“Nordlys” *is* `ours`", "Nordlys is ours"),
        ("", ""),
    ],
)
def test_words_in_one_spelling(text: str, words: str) -> None:
    assert " ".join(claims.tokens(text)) == words


@pytest.mark.parametrize(
    ("keeper", "other"),
    [
        ("Ana beat Bo.", "Bo beat Ana."),
        ("She sails.", "She sails."),  # who?
        ("Ana sails.", ""),
        ("", ""),
        ("Ana sails.", "Ana sails. Bo rows."),
        ("Ana sails. Bo met Cy.", "Bo met Cy. Ana sails."),  # told in another order
        ("Ana sails. That is over.", "Ana sails."),
        ("Ana sails. False. ", "Ana sails."),
        ("Ana sails. The boat of the owner sank fast.", "Ana sails."),
        ("Ana sails. People in Como row 3 boats.", "Ana sails."),
        ("The US team sails.", "The us team sails."),
        ("Mark sails.", "The mark sails."),
    ],
)
def test_in_doubt_nothing_is_covered(keeper: str, other: str) -> None:
    assert not claims.covers(keeper, other)


@pytest.mark.parametrize(
    ("keeper", "other"),
    [
        ("In Como, Ana sails.", "Ana sails in Como."),
        ("Ana sails. Bo rows.", "- Ana sails.\n- Bo rows."),
        ("Ana sails. People love quiet mornings.", "Ana sails."),
        ("FYI: Ana sails.", "Ana sails."),
    ],
)
def test_what_is_covered(keeper: str, other: str) -> None:
    assert claims.covers(keeper, other)


def test_days_and_persons() -> None:
    assert claims.dated_by_day("The shop closes this week.")
    assert not claims.dated_by_day("The shop closes on Friday.")
    assert claims.speaks("Ours is red.")
    assert claims.points("Bo saw her.")
    assert not claims.points("Bo saw Ana.")


def test_shares_and_numbers() -> None:
    assert claims.numbers("1,000 on 5 March 2026 at 3 pm") == {"1000", "2026.03.05", "15:00"}
    assert claims.share("Ana sails", "Ana sails a boat") == 1.0
    assert claims.share("Ana sails a boat", "Ana sails") == pytest.approx(2 / 3)
    assert claims.share("of the", "nothing") == 1.0


@given(st.text(max_size=300))
def test_anything_can_be_read(text: str) -> None:
    claims.covers(text, text)
    assert claims.share(text, text) == 1.0
    assert claims.numbers(text) <= claims.numbers(text)


@given(st.lists(st.sampled_from("Ana Bo sails rows not on Friday the 3 pm. never? [ ] US".split()), max_size=12))
def test_covering_is_the_same_both_ways_for_single_sentences(words: list[str]) -> None:
    one, other = " ".join(words), " ".join(reversed(words))
    if len(claims.sentences(one)) == 1 == len(claims.sentences(other)):
        assert claims.covers(one, other) == claims.covers(other, one)
