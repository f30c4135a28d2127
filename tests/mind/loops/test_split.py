"""A conflated note becomes several that say together what it said; it stays readable behind
them."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.mind.base import Decision, New, Note, Set, Snapshot
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import split
from oneiro_vault.mind.loops.split import faithful, nominated
from oneiro_vault.mind.recall_gate import inherited
from tests.judges.scripted import ScriptedJudge, temperament
from tests.mind import stepping
from tests.mind.support import Memo, note, snapshot

DEFAULTS = stepping.DEFAULTS | {"split.length": 40}
BOTH = (
    "Ana ships the release on Friday at 15:00, see [[Checklist]]. The boat Petrel needs a new "
    "mast before May."
)
PIECES = [
    {
        "title": "Release day",
        "content": "Ana ships the release on Friday at 15:00, see [[Checklist]].",
        "about": ["Ana"],
    },
    {
        "title": "Mast",
        "content": "The boat Petrel needs a new mast before May.",
        "about": ["Petrel"],
    },
]
GIVEN: dict[str, Any] = {
    "trust": "external",
    "source": "dream",
    "title": "Friday and the boat",
    "tags": ("misc",),
    "created": "2026-02-01T00:00:00+00:00",
}
MIXED = note("m", BOTH, project="house", importance=0.7, **GIVEN)


def snap(*notes: Note, **settings: Any) -> Snapshot:
    return snapshot(*notes, settings=DEFAULTS | settings)


def drive(answer: dict[str, Any], taken: Snapshot) -> list[Decision]:
    judge = ScriptedJudge(lambda _: {"reason": "two subjects"} | answer)
    return Driver(judge, Memo()).drive(split.run(taken))


def test_the_pieces_inherit_and_the_original_stays_behind_them() -> None:
    (found,) = drive({"action": "split", "pieces": PIECES}, snap(MIXED))
    first, second, old = found.edits
    assert (found.op, found.memories, found.reason) == ("split", (MIXED.id,), "two subjects")
    assert isinstance(first, New)
    assert isinstance(second, New)
    assert first.body == PIECES[0]["content"]
    assert first.meta == {
        "type": "semantic",
        "title": "Release day",
        "created": "2026-02-01T00:00:00+00:00",
        "project": "house",
        "importance": 0.7,
        "tags": ["misc"],
        "about": ["Ana"],
        "trust": "external",
        "derived_from": [MIXED.id],
        "supersedes": [MIXED.id],
    }
    assert old == Set(MIXED.id, {"status": "superseded", "superseded_by": f"new:{first.key}"})
    assert len(inherited(found, {})[MIXED.id]) == 2


@pytest.mark.parametrize(
    ("why", "pieces"),
    [
        ("one piece is no split", [{"title": "all", "content": BOTH}]),
        (
            "a sentence is lost",
            [PIECES[0], {"title": "Mast", "content": "The boat Petrel is old."}],
        ),
        (
            "a link is lost",
            [
                {
                    "title": "Day",
                    "content": "Ana ships the release on Friday at 15:00, see Checklist.",
                },
                PIECES[1],
            ],
        ),
        (
            "a number is lost",
            [
                {"title": "Day", "content": "Ana ships the release on Friday, see [[Checklist]]."},
                PIECES[1],
            ],
        ),
        (
            "a number is new",
            [
                PIECES[0],
                {"title": "Mast", "content": "The boat Petrel needs a new mast before May 7."},
            ],
        ),
        ("a piece is all of it", [{"title": "all", "content": BOTH}, PIECES[1]]),
        (
            "a piece is invented",
            [*PIECES, {"title": "Zoo", "content": "Zebras graze beside volcanic lakes."}],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pieces_that_lose_or_add_change_nothing(why: str, pieces: list[dict[str, Any]]) -> None:
    assert drive({"action": "split", "pieces": pieces}, snap(MIXED)) == []


def test_keeping_is_no_decision() -> None:
    assert drive({"action": "keep", "pieces": PIECES}, snap(MIXED)) == []


def test_who_is_asked_about() -> None:
    short = note("s", "Ana sails. Bo rows.", trust="external")
    kept = [
        note("u", BOTH, **(GIVEN | {"trust": "user"})),
        note("i", BOTH, **(GIVEN | {"level": 1})),
        note(
            "o",
            "One single sentence about the long voyage of the boat called Petrel",
            trust="model",
        ),
        note("p", BOTH, **(GIVEN | {"status": "superseded"})),
        note("e", BOTH, **(GIVEN | {"type": "episodic"})),
    ]
    assert nominated(snap(MIXED, short, *kept)) == [MIXED]


def test_what_orientation_was_made_of_comes_first() -> None:
    blocks = [note(letter, "text", type="orientation") for letter in "xy"]
    dormant = note("z", "text", type="orientation", status="dormant")
    short = note("s", "Ana sails. Bo rows.", trust="external")
    weighty = Note(
        short.memory, short.sha256, children=tuple(block.id for block in (*blocks, dormant))
    )
    assert nominated(snap(MIXED, weighty, *blocks, dormant)) == [weighty, MIXED]
    assert nominated(snap(MIXED, weighty, *blocks, dormant, **{"split.axes": 3})) == [MIXED]


def test_a_run_spends_its_ceiling_on_what_is_new() -> None:
    notes = [note(letter, BOTH + " More of it." * n, **GIVEN) for n, letter in enumerate("abcdef")]
    seen: set[str] = set()
    memo = Memo()
    for _ in range(3):
        judge = ScriptedJudge(lambda _: {"reason": "r", "action": "keep", "pieces": []})
        answered = {question for question, _ in memo}
        taken = snapshot(
            *notes, settings=DEFAULTS | {"split.notes": 2}, known=answered.__contains__
        )
        Driver(judge, memo).drive(split.run(taken))
        assert len(judge.asked) == 2
        seen |= {question.ids[0] for question in judge.asked}
    assert len(seen) == 6


@pytest.mark.parametrize("seed", range(20))
def test_chance_loses_no_words(seed: int) -> None:
    for decision in Driver(temperament("random", seed), Memo()).drive(split.run(snap(MIXED))):
        *pieces, old = decision.edits
        assert isinstance(old, Set)
        assert old == Set(MIXED.id, old.changes)
        assert faithful(
            BOTH, MIXED.memory.title, [piece.body for piece in pieces if isinstance(piece, New)]
        )


def test_a_store_without_long_notes_asks_nothing() -> None:
    judge = temperament("yes")
    assert (
        Driver(judge, Memo()).drive(
            split.run(snap(note("s", "Ana sails. Bo rows.", trust="external")))
        )
        == []
    )
    assert judge.asked == []
