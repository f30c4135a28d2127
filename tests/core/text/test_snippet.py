"""Which line answers, and where the question's words stand in it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from oneiro_vault.core.text.query import analyse
from oneiro_vault.core.text.snippet import LONGEST, Finder, around


def words_in(question: str, text: str) -> list[str]:
    return [text[start:end] for (start, end), _ in Finder(analyse(question).words).spots(text)]


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        (
            "when was it restored?",
            "We restore it nightly; restores take an hour. A restaurant.",
            ["restore", "restores"],
        ),
        ("studies", "A study. Studying. Studio.", ["study", "Studying"]),
        ("running shipping boxes", "She runs, ships a box.", ["runs", "ships", "box"]),
        ("notes", "Not a note, cannot denote.", ["note"]),
        ("bees", "A bee, two bees, a bet.", ["bee", "bees"]),
        ("Straße", "STRASSE, Straße; strasse! Gasse", ["STRASSE", "Straße", "strasse"]),
        ("émigré", "An emigre and an ÉMIGRÉ.", ["emigre", "ÉMIGRÉ"]),
        ("北京大学", "我在北京工作", ["北京"]),
        ("Ana's port 5433", "ana uses port 5433, not 54330", ["ana", "port", "5433"]),
        ("what is it", "It is what it is.", ["It", "is", "what", "it", "is"]),
        ("", "anything", []),
        ("(((", "((( x", []),
    ],
)
def test_words_are_found_as_people_vary_them(question: str, text: str, found: list[str]) -> None:
    assert words_in(question, text) == found


def test_places_are_those_of_the_text_even_where_a_letter_becomes_two() -> None:
    text = "ßßß Größe ẞ İx œuvre"
    assert words_in("größe oeuvre", text) == ["Größe", "œuvre"]


def best(words: Iterable[str], body: str) -> str:
    finder = Finder(words)
    return finder.best(body, finder.spots(body))


def test_the_line_with_most_words_answers() -> None:
    body = (
        "# The house\n\nThe garden is large.\n\n- the hose is in the shed\n- the pump for the "
        "well is broken; Jan brings an impeller\n"
    )
    assert (
        best(analyse("who repairs the pump of the well?").words, body)
        == "the pump for the well is broken; Jan brings an impeller"
    )
    assert best(["garden"], body) == "The garden is large."
    assert best(["yacht"], body) == ""


def test_a_line_of_many_sentences_is_cut_between_them() -> None:
    body = (
        "The ferry leaves at nine from the northern pier every day. The captain is called Olga, "
        "and she has two dogs aboard all day. It is blue."
    )
    assert (
        best(["captain"], body)
        == "The captain is called Olga, and she has two dogs aboard all day."
    )


def test_a_rare_word_outweighs_a_common_one() -> None:
    body = "Well, the well.\nA well here.\nThe well again.\nThe impeller broke.\n"
    assert best(["well", "impeller"], body).startswith("The impeller broke.")


def test_a_short_sentence_takes_the_next_one_along() -> None:
    assert (
        best(["boiler"], "Boiler. Serviced in March by Ruth. Next in May.")
        == "Boiler. Serviced in March by Ruth. Next in May."
    )
    assert best(["boiler"], "Boiler.\nAnother matter.") == "Boiler."


def test_a_long_line_is_cut_around_the_word() -> None:
    body = "lorem ipsum " * 200 + "impeller " + "dolor sit " * 200
    line = best(["impeller"], body)
    assert len(line) <= LONGEST
    assert " impeller " in line
    assert (line[0], line[-1]) == ("…", "…")


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (0, "one two three four five"),
        (23, "one two three four five"),
        (12, "one two thr…"),
        (3, "on…"),
    ],
)
def test_a_window_without_a_word_shows_the_beginning(width: int, shown: str) -> None:
    assert around("one two three four five", [], width) == shown


def test_a_window_moves_to_the_word() -> None:
    text = "one two three four five six seven eight"
    assert (
        around(text, [(text.index("five"), text.index("five") + 4)], 20) == "…four five six seve…"
    )
    assert around(text, [(text.index("eight"), text.index("eight") + 5)], 20) == "…six seven eight"


def test_how_many_of_the_words_stand_anywhere() -> None:
    finder = Finder(["boiler", "ruth", "may"])
    assert finder.share(finder.spots("The boiler"), "by Ruth", "of boilers") == pytest.approx(2 / 3)
    assert Finder([]).share([], "x") == 0.0


def test_of_a_heading_what_stands_under_it_is_shown() -> None:
    body = (
        "# Boat\n\n## Mooring\n\n### Summer\n\nPontoon C, berth 14.\n\n## Sold\n\n## Sails\n\nTwo."
    )
    assert best(["moor"], body) == "Pontoon C, berth 14."
    assert best(["sold"], body) == "Sold", "what follows is of another"
    assert best(["winter"], "#winter in Hamnavoe\n\nMay.") == "winter in Hamnavoe", "a tag"
