"""Of two facts about different things none replaces the other, and a note stands for another one
only if it says all of it."""

from __future__ import annotations

import pytest

from oneiro_vault.mind.loops.resolve import Unit, covers, repeats, shared
from tests.mind.support import note, snapshot

OTHERS = [
    note(letter, f"Ana {what} in {where}, number {number}.")
    for number, (letter, what, where) in enumerate(
        [("b", "keeps the tickets", "Kiel"), ("d", "moved the backup", "Bern"), ("e", "paints the boat", "Kiel"), ("f", "reads the paper", "Lyon"),
         ("g", "wants the meeting", "Bern"), ("h", "feeds the cat", "Kiel"),
         ("j", "tunes the piano", "Graz"), ("k", "sells the car", "Kiel")]
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("fact", "known"),
    [
        ("Sunil Rao is Ana's accountant.", "Deb Lansing is Ana's accountant."),
        ("Chidi's wedding is on 19 September.", "Chidi marries on 12 September in Winnipeg."),
        ("From July Ana lives in Hamilton.", "Ana rents a place on Logan Avenue."),
        ("Jens ist nach Oldenburg gezogen.", "Giselas Sohn Jens lebt in Bremen."),
        (
            "Die Chronik heißt „Fassholz“.",
            "Gisela schreibt eine Familienchronik mit dem Arbeitstitel „Die vom Mühlbach“.",
        ),
        ("Deploys go out on Thursdays.", "Deploys go out on Tuesdays."),
    ],
)
def test_two_states_of_one_thing(fact: str, known: str) -> None:
    old = note("c", known)
    assert shared(snapshot(old, *OTHERS), fact, old)


@pytest.mark.parametrize(
    ("fact", "known"),
    [
        ("Ana keeps the tickets in Kiel, number 9.", "Ana paints the boat in Kiel, number 3."),
        ("The push has a timeout of ten seconds.", "Ana is allergic to penicillin."),
        ("Leo reads the paper in Kiel.", "Ana moved the backup to Kiel."),
        (
            "Leo is 38.",
            "Ana sells the car in Kiel.\n\n> [!contradiction] It may not agree with Leo, who is "
            "38.",
        ),
    ],
)
def test_two_things_of_one_person_or_place(fact: str, known: str) -> None:
    old = note("c", known)
    assert not shared(snapshot(old, *OTHERS), fact, old)


def test_a_fact_is_the_same_beside_the_question_about_it() -> None:
    """Else an export that is imported again would be remembered twice."""
    unit = Unit(content="Ana sells the car.", quote="Ana sells the car.")
    asked = "Ana sells the car.\n\n> [!contradiction] It may not agree with Leo.\n"
    assert repeats(note("c", "I sell it."), unit, note("k", asked))
    assert not repeats(note("c", "I sell it."), unit, note("k", asked.replace("car", "boat")))


@pytest.mark.parametrize(
    ("keeper", "other", "whole"),
    [
        ("Ana lives in Graz since 2019, with Tom.", "Ana lives in Graz.", True),
        ("The meeting is at 10:15 on Friday.", "The meeting is on Friday, 10:15.", True),
        ("The meeting is at 10:15.", "The meeting is at 10:45.", False),
        ("Ana lives in Graz.", "Ana lives in Graz with Tom.", False),
        ("Ana eats fish.", "Ana does not eat fish.", False),
    ],
)
def test_what_stands_for_another_has_its_numbers_names_and_denials(
    keeper: str, other: str, whole: bool
) -> None:
    assert covers(note("b", keeper), note("c", other)) is whole
