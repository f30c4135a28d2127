"""What a judge wants written must be said by the notes it names; saying it in other words is
fine."""

from __future__ import annotations

import pytest

from oneiro_vault.mind.support import unfounded
from tests.mind.support import note

BOAT = note(
    "b",
    "The boat is called Petrel and lies in the north harbour since May.",
    title="Boat",
    created="2026-05-02T10:00:00+00:00",
)
CREW = note(
    "c",
    "Four people build it in a shed by the river; Ana leads them.",
    title="Crew",
    about=("Leo",),
)
DEUTSCH = note("d", "Das Boot heißt Petrel und liegt seit Mai im Nordhafen.", title="Boot")


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The boat", "The boat is called Petrel and lies in the north harbour."),
        ("Petrel", "Since May 2026 Petrel, the boat, has lain in the harbour to the north."),
        ("The crew", "Ana leads the four people who build the boat; Leo is one of them."),
        (
            "Boat and crew",
            "Two things belong together: the boat Petrel, and the people in the shed by the river.",
        ),
    ],
)
def test_other_words_are_fine(title: str, text: str) -> None:
    assert unfounded(title, text, (BOAT, CREW)) == ""


def test_nouns_of_another_language_are_no_names() -> None:
    assert (
        unfounded("Das Boot", "Seit Mai liegt das Boot Petrel im Nordhafen, am Kai.", (DEUTSCH,))
        == ""
    )


def test_the_language_and_not_its_capitals_decides() -> None:
    assert (
        unfounded("Ana", "Ana wohnt in Zürich.", (note("b", "Ana wohnt in Berlin.", title="Ana"),))
        != ""
    )


@pytest.mark.parametrize(
    ("title", "text", "why"),
    [
        ("Boat", "The boat Petrel cost 900 euros.", "has no 900"),
        ("Boat of 1987", "The boat is called Petrel.", "has no 1987"),
        ("Boat", "The boat Petrel belongs to Vega.", "names no Vega"),
        ("The boat of Vega", "The boat is called Petrel.", "names no Vega"),
        ("Boat", "The boat Petrel belongs to Bo.", "names no Bo"),
        ("Boat", "Secrets stay hidden for ever.", "does not say 'Secrets"),
        ("Boat", "The boat Petrel sails, drifts and sinks.", "does not say that"),
        (
            "Boat",
            "The boat Petrel lies in the north harbour. Secrets stay hidden for ever.",
            "does not say 'Secrets",
        ),
    ],
)
def test_what_nobody_said_is_named(title: str, text: str, why: str) -> None:
    assert why in unfounded(title, text, (BOAT,))


def test_without_ground_nothing_is_grounded() -> None:
    assert unfounded("Boat", "The boat is called Petrel.", ())


@pytest.mark.parametrize(
    ("ground", "said"),
    [
        ("Ana lives in Berlin.", "Zurich is where Ana lives."),
        ("Ana lives in Berlin.", "Emily lives with Ana in Berlin."),
        ("Ana lives in Berlin.", "Ana lives in Berlin with Will."),
        ("Ana lives in Berlin.", "Ana, who lives in the US, lives in Berlin."),
        ("Ana lives in Berlin.", "Ana lives in Łódź."),
        ("Ana lives in Berlin.", "Anna mieszka w Łodzi."),
        ("Anna mieszka w Berlinie.", "Anna mieszka w Łodzi."),
        ("Ana lives in Berlin.", "Ana lives in Berlin/Zurich."),
        ("Ana lives in Berlin and likes tea.", "Ana lives in Berlin and likes tea. Zurich."),
        ("Ana lives in Berlin with Carl and Dora.", "Ana lives in Zurich with Carl and Dora."),
        ("Maya prefers short answers.", "Maya prefers short answers. Vega."),
        ("アナは日本語を話す。", "アナは英語を話す。"),
        ("アナは日本語を話す。毎日お茶を飲む。", "アナは日本語を話す。毎日お茶と珈琲を飲む。"),
        ("安娜住在柏林。", "安娜住在苏黎世。"),
        (
            "安娜住在柏林，喜欢喝茶，也喜欢唱歌和画画。",
            "安娜住在苏黎世，喜欢喝茶，也喜欢唱歌和画画。",
        ),
        ("อานาอยู่เบอร์ลิน", "อานาอยู่ซูริก"),
        ("Ana has children.", "Ana has 3 children."),
        ("Ana has children.", "Ana has three children."),
        ("Ana has children.", "Ana has one child, and has children."),
    ],
)
def test_names_and_numbers_hide_nowhere(ground: str, said: str) -> None:
    notes = (note("b", ground, title=""), note("c", "", title=""), note("d", "", title=""))
    assert unfounded("", ground, notes) == ""
    assert "what it rests on" in unfounded("", said, notes)


@pytest.mark.parametrize(
    ("ground", "title", "said"),
    [
        ("Ana lives in Berlin.", "Home", "Berlin is where Ana lives."),
        ("Ana lives in Berlin.", "Where Ana Lives", "Currently, Ana lives in Berlin."),
        ("Ana lives in Łódź.", "Ana", "Łódź is Ana's home; she lives in Lodz."),
        (
            "Maya prefers short answers.",
            "Communication preferences",
            "Prefers answers that are short.\n- Maya: short answers.",
        ),
        (
            "Maya prefers short answers.",
            "Maya",
            "Brief answers are what Maya prefers. Answers to Maya are short.",
        ),
        ("Maya likes short answers.", "Maya", "Liking short answers is what Maya does."),
        (
            "Ana likes tea and has children. Nobody likes it more.",
            "Ana",
            "Ana likes tea and has children, in three conversations; no one likes more.",
        ),
        (
            "Ana has a son, Leo, and a boat.",
            "Ana",
            "Ana has one son, Leo. The boat is one of the things she has.",
        ),
        ("アナは日本語を話す。", "アナ", "アナは日本語を話します。"),
        ("安娜住在柏林，喜欢喝茶。", "安娜", "安娜喜欢喝茶，住在柏林。"),
    ],
)
def test_an_honest_rewording_passes(ground: str, title: str, said: str) -> None:
    assert (
        unfounded(
            title,
            said,
            (note("b", ground, title=""), note("c", "", title=""), note("d", "", title="")),
        )
        == ""
    )


@pytest.mark.parametrize(
    ("ground", "said"),
    [
        ("Ana lives in Berlin.", "Ana does not live in Berlin."),
        ("Ana is allergic to penicillin.", "Ana is not allergic to penicillin."),
        ("Ana never eats fish.", "Ana eats fish."),
        ("Ana wohnt in Köln und arbeitet bei der Bahn.", "Ana wohnt nicht in Köln."),
        ("Ana lives in Berlin. Ana does not drink coffee.", "Ana does not live in Berlin."),
        (
            "Ana lives in Berlin. Ana does not drink coffee.",
            "Ana lives in Berlin. Ana drinks coffee.",
        ),
    ],
)
def test_the_contrary_of_its_ground_is_not_written(ground: str, said: str) -> None:
    assert "contrary" in unfounded("Ana", said, (note("b", ground, title=""),))
