"""Where sentences end: not after a title, never behind the end of a line."""

from __future__ import annotations

import pytest

from oneiro_vault.core.text.sentences import spans, split


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
        ("Das macht ca. fünf Euro. Mehr nicht.", ["Das macht ca. fünf Euro.", "Mehr nicht."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert split(text) == parts


def test_places_are_those_of_the_text() -> None:
    text = "* Ähnlich wie 😀 gestern. Und dann?\n\nNo."
    assert [text[start:end] for start, end in spans(text)] == [
        "Ähnlich wie 😀 gestern.",
        "Und dann?",
        "No.",
    ]
