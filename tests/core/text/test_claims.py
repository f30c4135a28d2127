"""What a text speaks of, in one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.text import claims
from oneiro_vault.core.text.claims import sentence_spans, split_sentences


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The fee is $1,000.50!", "The fee is $ 1000.50"),
        ("She can't, won't and didn't.", "She can not will not and did not"),
        ("On the 5th of March 2026 at 3 p.m.", "On the 2026.03.05 at 15:00"),
        ("March 5", "0000.03.05"),
        ("12 am, 12 pm, 12:30am", "0:00 12:00 0:30"),
        ("C++ and C# are not C", "C++ and C# are not C"),
        ("a few of the two", "a few of the 2"),
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


def test_persons_and_what_is_pointed_at() -> None:
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
    assert claims.share(text, text) == 1.0
    assert claims.numbers(text) <= claims.numbers(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Dr. Huber and Mrs. Lind met. They agreed.",
            ["Dr. Huber and Mrs. Lind met.", "They agreed."],
        ),
        ("- We ship on Friday.\n- Ana owns it", ["We ship on Friday.", "Ana owns it"]),
        ("# Plans\n1. First. Then more.", ["Plans", "First.", "Then more."]),
        ("Das kostet z. B. 3,50 Euro. Mehr nicht.", ["Das kostet z. B. 3,50 Euro.", "Mehr nicht."]),
        (
            "Es ist am 28. Juni, um 19.30 Uhr. Ich wohne im 1. Stock.",
            ["Es ist am 28. Juni, um 19.30 Uhr.", "Ich wohne im 1. Stock."],
        ),
        (
            "Rosina, geb. Kaltenbach. Es waren 12. Dann kam er.",
            ["Rosina, geb. Kaltenbach.", "Es waren 12.", "Dann kam er."],
        ),
        (
            "wir fahren vom 18. bis 25. juli weg. mein bub kommt mit, ca. zehn tage. kennst du "
            "das?",
            [
                "wir fahren vom 18. bis 25. juli weg.",
                "mein bub kommt mit, ca. zehn tage.",
                "kennst du das?",
            ],
        ),
        (
            "it goes like this: 1. tag vX.Y.Z, 2. wait, 3. post it. then we rest",
            ["it goes like this: 1. tag vX.Y.Z, 2. wait, 3. post it.", "then we rest"],
        ),
        ("1. First step. 2. Second step. 3. Third.", ["First step.", "Second step.", "Third."]),
        ("I went home.Then I slept.", ["I went home.", "Then I slept."]),
        (
            "Wir kommen am 1. Mai, die anderen am 2. Juni. Das passt.",
            [
                "Wir kommen am 1. Mai, die anderen am 2. Juni.",
                "Das passt.",
            ],
        ),
        (
            "Ich wohne in Nr. 1. Mein Bruder wohnt in Nr. 2. Er ist nett.",
            ["Ich wohne in Nr. 1.", "Mein Bruder wohnt in Nr. 2.", "Er ist nett."],
        ),
        (
            "I'm no. 1. My brother is no. 2. We won.",
            ["I'm no. 1.", "My brother is no. 2.", "We won."],
        ),
        (
            "mein knie spinnt, hab am 3.12. um 10 mrt bei uns. danach reha",
            ["mein knie spinnt, hab am 3.12. um 10 mrt bei uns.", "danach reha"],
        ),
        ("Das macht ca. fünf Euro. Mehr nicht.", ["Das macht ca. fünf Euro.", "Mehr nicht."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert split_sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("so: 1. tag it, 2) push it; 3. rest.", ["tag it", "push it", "rest."]),
        ("so:\n- tag it\n  and wait\n- push it", ["tag it and wait", "push it"]),
        ("we meet on 3. May, at 1. and 2.", []),
        ("so: 1. tag it", []),
    ],
)
def test_steps(text: str, steps: list[str]) -> None:
    assert claims.steps(text) == steps


def test_places_are_those_of_the_text() -> None:
    text = "* Ähnlich wie 😀 gestern. Und dann?\n\nNo."
    assert [text[start:end] for start, end in sentence_spans(text)] == [
        "Ähnlich wie 😀 gestern.",
        "Und dann?",
        "No.",
    ]


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("deadline for that is 4 December and i haven't written a word", True),
        ("so we're going for the Gazette instead, helen's idea", True),
        ("I walk instead of driving.", False),
        ("die liegt bei all-inkl", True),
        ("sie hat pflegegrad 2", True),
        ("Die Praxis zieht im April um.", False),
        ("min søster er lege i Bergen", False),
        ("mi hermana es médica", False),
    ],
)
def test_what_is_named_elsewhere_in_other_words(text: str, points: bool) -> None:
    assert claims.points(text) is points
