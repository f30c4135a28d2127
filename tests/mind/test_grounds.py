"""What a judge wants written must be said by the notes it names; saying it in other words is fine."""

from __future__ import annotations

import pytest

from oneiro_vault.mind.grounds import unfounded
from tests.mind.support import note

BOAT = note("b", "The boat is called Petrel and lies in the north harbour since May.", title="Boat", created="2026-05-02T10:00:00+00:00")
CREW = note("c", "Four people build it in a shed by the river; Ana leads them.", title="Crew", about=("Leo",))
DEUTSCH = note("d", "Das Boot heißt Petrel und liegt seit Mai im Nordhafen.", title="Boot")


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("The boat", "The boat is called Petrel and lies in the north harbour."),
        ("Petrel", "Since May 2026 Petrel, the boat, has lain in the harbour to the north."),
        ("The crew", "Ana leads the four people who build the boat; Leo is one of them."),
        ("Boat and crew", "Two things belong together: the boat Petrel, and the people in the shed by the river."),
    ],
)
def test_other_words_are_fine(title: str, text: str) -> None:
    assert unfounded(title, text, (BOAT, CREW)) == ""


def test_nouns_of_another_language_are_no_names() -> None:
    assert unfounded("Das Boot", "Seit Mai liegt das Boot Petrel im Nordhafen, am Kai.", (DEUTSCH,)) == ""


@pytest.mark.parametrize(
    ("title", "text", "why"),
    [
        ("Boat", "The boat Petrel cost 900 euros.", "has no 900"),
        ("Boat of 1987", "The boat is called Petrel.", "has no 1987"),
        ("Boat", "The boat Petrel belongs to Vega.", "names no Vega"),
        ("The boat of Vega", "The boat is called Petrel.", "names no Vega"),
        ("Boat", "The boat Petrel belongs to Bo.", "names no Bo"),
        ("Boat", "Secrets stay hidden for ever.", "does not say that"),
        ("Boat", "The boat Petrel lies in the north harbour. Secrets stay hidden for ever.", "does not say 'Secrets"),
    ],
)
def test_what_nobody_said_is_named(title: str, text: str, why: str) -> None:
    assert why in unfounded(title, text, (BOAT,))


def test_without_ground_nothing_is_grounded() -> None:
    assert unfounded("Boat", "The boat is called Petrel.", ())
