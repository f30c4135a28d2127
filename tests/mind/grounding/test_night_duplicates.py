"""Which notes are doubles is found without comparing each with each, and without asking for the
history of any that is none."""

from __future__ import annotations

import random

import pytest

from oneiro_vault.mind.base import Note
from oneiro_vault.mind.grounding import night_duplicates
from tests.mind.support import note

BODIES = (
    "The boat is blue.",
    "The boat  is\nblue.",
    "The release is on Fridays because support is quiet then.",
    "Nobody knows.",
)


def crowd(seed: int) -> list[Note]:
    """Notes of few words and few origins, in any order."""
    dice = random.Random(seed)
    found = []
    for number in range(80):
        facts = {
            "type": dice.choice(("semantic", "orientation", "principle")),
            "level": dice.choice((0, 0, 1, 2)),
            "derived_from": tuple(dice.sample(("a", "b", "c"), dice.randint(0, 2))),
            "source": dice.choice(("dream", "dream", "dream", "user")),
            "status": dice.choice(("active", "active", "active", "superseded")),
            "core": dice.random() < 0.1,
            "created": f"2026-11-{dice.randint(1, 20):02d}T12:00:00+00:00",
        }
        found.append(note(f"{number:012d}", dice.choice(BODIES), **facts))
    return found


def one_by_one(notes: list[Note], touched: set[str]) -> list[list[str]]:
    """The same rule, each with each: who ranks first keeps, what is left of its doubles goes behind
    it."""
    mine = [
        n
        for n in notes
        if n.active and n.memory.source == "dream" and n.memory.derived_from and not n.memory.core
    ]
    left = sorted(mine, key=lambda n: (n.id not in touched, n.memory.created, n.id))
    found = []
    while left:
        keeper = left.pop(0)
        same = [
            n
            for n in left
            if night_duplicates.doubles(keeper.memory, n.memory)
            and n.id not in touched
            and apart(keeper.id, n.id)
        ]
        left = [n for n in left if n not in same]
        found += [[n.id for n in (keeper, *same)]] if same else []
    return found


def apart(one: str, other: str) -> bool:
    """Three machines took turns."""
    return int(one) % 3 != int(other) % 3


@pytest.mark.parametrize("seed", range(30))
def test_the_same_as_each_with_each(seed: int) -> None:
    notes = crowd(seed)
    touched = {n.id for n in notes if random.Random(n.id).random() < 0.2}
    found = [
        [n.id for n in group]
        for group in night_duplicates.groups(notes, apart, touched.__contains__)
    ]
    assert found == one_by_one(notes, touched)
    assert found, "else this proves nothing"


def test_nothing_is_asked_of_facts_that_only_share_what_they_are_of() -> None:
    facts = [
        note(
            f"{number:012d}",
            f"Fact {number} is so.",
            source="dream",
            derived_from=(f"c{number // 30}",),
        )
        for number in range(300)
    ]
    asked: list[str] = []

    def told(*idents: str) -> bool:
        asked.extend(idents)
        return True

    assert night_duplicates.groups(facts, told, told) == []
    assert asked == []
    double = note(f"{900:012d}", "Fact 7\nis so.", source="dream", derived_from=("c0",))
    assert night_duplicates.groups([*facts, double], lambda *idents: not told(*idents), told) == []
    assert sorted(asked) == [f"{7:012d}", f"{900:012d}"], (
        "one question whether they are apart, and none about a person"
    )


def test_less_of_the_words_gives_more_in_the_lists() -> None:
    """What the index knows before it reads a body: lists of it hold every double."""
    for seed in range(10):
        memories = [n.memory for n in crowd(seed) if n.memory.derived_from]
        exact = {
            frozenset((a.id, b.id))
            for a in memories
            for b in memories
            if a is not b and night_duplicates.doubles(a, b)
        }
        for said in (lambda _: "", lambda memory: " ".join(memory.body.split())):
            together = {
                frozenset((a.id, b.id))
                for group in night_duplicates.sharing(memories, said)
                for a in group
                for b in group
                if a is not b
            }
            assert exact <= together
