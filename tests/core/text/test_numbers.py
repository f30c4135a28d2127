"""Numbers and days are compared by what they are, not by how they are written."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.numbers import figures, in_words, unsaid

SAID = "2026-05-04"


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("6,400 a month", "6400 per month"),
        ("6.400 Euro", "6,400"),
        ("211,000 slots", "211k slots"),
        ("6400", "6.4k"),
        ("7,9", "7.9"),
        ("in 2019", "seven years ago"),
        ("19:00", "7pm"),
        ("at 8", "08:00"),
        ("at 19:00", "on thursdays at seven"),
        ("from 14:00 to 16:00", "wednesdays 2-4"),
        ("version 2", "v2"),
        ("10 mg", "10mg"),
        ("acht Meter", "8 m"),
        ("2 clients", "two clients"),
        ("five units", "5 Einheiten"),
        ("on 20 May 2026", "on the 20th"),
        ("on 2026-05-05", "tomorrow"),
        ("on 14 April", "the 14. april"),
        ("from 2027-05-03 to 2027-05-21", "orkney is 3 to 21 may 2027"),
        ("on 1 August", "vuelvo el 1 de agosto"),
        ("in 2025 and 2027", "last year and next"),
    ],
)
def test_the_same_in_another_spelling(text: str, ground: str) -> None:
    assert unsaid(text, ground, SAID) == []


@pytest.mark.parametrize(
    ("text", "ground", "missing"),
    [
        ("for 64 euros", "for 640 euros", ["64"]),
        ("at 10:45", "at 10:15", ["10:45"]),
        ("seven units", "5 units", ["seven"]),
        ("on 20 October", "on 20 August", ["20 October"]),
        ("on 14 August", "on the 15th of August", ["14 August"]),
        ("on 2025-11-20", "yesterday", ["2025-11-20"]),
        ("in 1999", "in 2004", ["1999"]),
        ("at 19:00", "at 7am", ["19:00"]),
        ("at 7:00", "at 19:00", ["7:00"]),
        ("at 19:00", "at eight", ["19:00"]),
        ("at 19:00", "at seven in the morning", ["19:00"]),
        ("at 14:00", "we need 2 eggs", ["14:00"]),
        ("took 1.30:00 in all", "took an hour", ["1.30:00"]),
    ],
)
def test_another_number_or_day(text: str, ground: str, missing: list[str]) -> None:
    assert unsaid(text, ground, SAID) == missing


def test_without_a_day_every_number_is_compared_as_it_is() -> None:
    assert unsaid("on 20 May", "on the 20th", "") == []
    assert unsaid("in 2026", "in May", "") == ["2026"]


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("14 and a half", 1),
        ("um viertel neun", 1),
        ("ninety-three", 1),
        ("the thirtieth of June", 1),
        ("at 9", 0),
        ("a city party", 0),
        ("first the news, then social media", 0),
    ],
)
def test_numbers_in_words_are_counted_where_they_cannot_be_read(text: str, least: int) -> None:
    assert in_words(text) == least


def test_a_month_beside_its_name_is_said() -> None:
    assert unsaid("she is due in August [2026-08]", "she is due in august", SAID) == []
    assert unsaid("unpaid since April [2026-04]", "unpaid since April, and I had asked", SAID) == []
    assert unsaid("she is due [2026-08]", "she is due", SAID) == ["2026", "08"]
    assert {"6400", "3"} <= figures("6,400 and three")
