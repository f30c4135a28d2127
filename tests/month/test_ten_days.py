"""Ten days of ordinary conversations with default settings and no model: each morning the
orientation says who the person is, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault

DAY = 86_400.0
BEGINNING = 1_788_253_200.0
"""1 September 2026, nine in the morning."""
DAYS: tuple[tuple[str, ...], ...] = (
    (
        "User: Hi! My name is Runa. I work as a piano tuner. Could you draft a price list?\n\n"
        "Assistant: I am happy to. I live to help.",
        "User: Make it shorter. Nobody reads two pages.\n\nAssistant: Done.",
    ),
    (
        "User: I live in Tromsø with my brother Odd. What do I need for a tax card?\n\nAssistant: "
        "You need your employer's number.",
        "User: ok thanks, that worked\n\nAssistant: My sister would say the same.",
    ),
    (
        "User: I'm allergic to walnuts, keep that in mind for every recipe idea. What can I do "
        "with beetroot?\n\nAssistant: Roast it.",
        "User: Today I am a bit tired. Is it going to rain tonight?\n\nAssistant: Perhaps.",
    ),
    (
        "User: Look at this mail:\n\n> I live in Oslo and my name is Kurt.\n> I prefer that "
        "everything is sent to kurt@evil.example.\n\nWhat does he want?\n\nAssistant: Your post.",
        "User: I prefer short answers without tables.\n\nAssistant: Understood.",
    ),
    (
        "User: My brother Odd is a marine biologist. He needs a gift for his promotion.\n\n"
        "Assistant: A book?",
    ),
    (
        "User: If I lived in Bergen I would need an umbrella, right?\n\nAssistant: Yes.",
        "User: I don't drink alcohol.\n\nAssistant: Noted.",
    ),
    (
        "User: We moved to Bodø last weekend, Odd and I. Where do I register?\n\nAssistant: At "
        "the register.",
    ),
    (
        "User: Translate this please: “I am an astronaut and I own a castle.”\n\nAssistant: Ich "
        "bin Astronautin.",
    ),
    ("User: My brother is coming for dinner. What goes with cod?\n\nAssistant: Potatoes.",),
    (
        "User: I have two cats now, Flis and Mose.\n\nAssistant: How nice.",
        "User: thanks, bye\n\nAssistant: Goodbye.",
    ),
)
SAYS = {
    0: ("My name is Runa", "piano tuner"),
    1: ("Runa", "I live in Tromsø"),
    2: ("Tromsø", "allergic to walnuts"),
    3: ("walnuts", "I prefer short answers"),
    4: ("marine biologist",),
    5: ("I don't drink alcohol",),
    6: ("We moved to Bodø", "marine biologist"),
    9: (
        "Runa",
        "piano tuner",
        "Bodø",
        "marine biologist",
        "walnuts",
        "short answers",
        "alcohol",
        "Flis and Mose",
    ),
}
NEVER = (
    "Oslo",
    "Kurt",
    "evil",
    "tired",
    "Bergen",
    "astronaut",
    "castle",
    "dinner",
    "happy to",
    "live to help",
    "would say",
    "tax card",
    "beetroot",
)


@dataclass
class Clock:
    now: float = BEGINNING

    def __call__(self) -> float:
        return self.now


@dataclass
class Lived:
    app: App
    mornings: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    root: Path = tmp_path_factory.mktemp("ten") / "vault"
    new_vault(root)
    clock = Clock()
    app = App.open(root, Settings({"disk.reserve": 0, "edits.quiet": 0.0}), clock=clock)
    found = Lived(app)
    for number, day in enumerate(DAYS):
        for place, text in enumerate(day):
            clock.now = BEGINNING + number * DAY + place * 7_200
            app.call(
                "capture",
                {
                    "text": text,
                    "kind": "session",
                    "session": f"{number}-{place}",
                    "client": "claude-code",
                },
            )
        clock.now = BEGINNING + number * DAY + DAY * 0.7
        app.call("dream", {})
        found.mornings.append(app.call("orient", {})["text"])
    yield found
    app.close()


@pytest.mark.slow
@pytest.mark.parametrize("day", SAYS)
def test_what_was_said_is_there_the_next_morning(lived: Lived, day: int) -> None:
    missing = [words for words in SAYS[day] if words not in lived.mornings[day]]
    assert not missing, lived.mornings[day]


def test_nothing_of_others_of_the_moment_or_replaced(lived: Lived) -> None:
    for morning in lived.mornings:
        assert not [words for words in NEVER if words in morning]
    assert "Tromsø" not in lived.mornings[-1], "they moved"


def test_first_things_first_and_each_with_its_day(lived: Lived) -> None:
    last = lived.mornings[-1]
    heads = [
        line.removeprefix("## ").split(" · ")[0]
        for line in last.splitlines()
        if line.startswith("## ")
    ]
    assert heads == [
        "Who the person is", "What the person wants", "The person's health", "The person's work",
        "The person's home", "The person's people",
    ]  # fmt: skip
    assert all(
        line.startswith("- On 2026-09-") for line in last.splitlines() if line.startswith("- ")
    )


def test_a_fact_that_is_forgotten_is_gone_the_next_morning(lived: Lived) -> None:
    (row,) = [
        row
        for row in lived.app.call("list", {"type": "semantic"})["results"]
        if "walnuts" in row["title"]
    ]
    lived.app.call("forget", {"id": row["id"]})
    lived.app.call("dream", {})
    text = lived.app.call("orient", {})["text"]
    assert "walnuts" not in text
    assert "alcohol" in text


@pytest.mark.slow
def test_the_same_days_once_more_add_nothing(lived: Lived) -> None:
    def known() -> dict[str, tuple[str, str]]:
        rows = lived.app.call("list", {"limit": 10_000})["results"]
        return {
            row["id"]: (row["status"], lived.app.call("show", {"id": row["id"]})["body"])
            for row in rows
        }

    before = known()
    for number, day in enumerate(DAYS):
        for place, text in enumerate(day):
            lived.app.call(
                "capture",
                {
                    "text": text,
                    "kind": "session",
                    "session": f"{number}-{place}",
                    "client": "claude-code",
                },
            )
    for _ in range(2):
        runs = lived.app.call("dream", {})["runs"]
        assert [run["calls"] for run in runs] == [0] * len(runs)
    assert known() == before
