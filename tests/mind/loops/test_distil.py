"""Stable knowledge becomes orientation that describes, with its lineage, and with nobody's trust
raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from oneiro_vault.core.memory import TRUSTS
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.offline import NAME as RULES
from oneiro_vault.judges.offline import OPEN
from oneiro_vault.mind.base import NOW, Decision, New, Note, Set, Snapshot
from oneiro_vault.mind.blocks import BECAUSE, pared
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import distil
from oneiro_vault.mind.loops.distil import sources
from oneiro_vault.vault.history.commit_log import Entry
from tests.judges.scripted import ScriptedJudge, temperament
from tests.mind.stepping import BEGINNING, DAY, DEFAULTS, iso, picture, remembered
from tests.mind.support import Memo, decided

TALKS = [
    remembered(letter, f"Talk {letter}.", type="episodic", session=f"s{letter}") for letter in "tvw"
]
BOAT = remembered(
    "b", "The boat is called Petrel.", title="The boat", derived_from=(TALKS[0].id, TALKS[1].id)
)
CREW = remembered(
    "c", "Four people build it.", title="The crew", derived_from=(TALKS[0].id, TALKS[2].id)
)
BLOCK = remembered(
    "k",
    "The boat lies in the harbour.",
    title="Harbour",
    type="orientation",
    source="dream",
    derived_from=("h" * 12,),
)
GOOD: dict[str, Any] = {
    "reason": "it matters",
    "target": None,
    "sources": [],
}


def judged(snapshot: Snapshot, **answers: Any) -> tuple[list[Decision], ScriptedJudge]:
    """Decisions of a judge who grades everything as fit and gives these answers by kind ("_" for
    ".")."""

    def script(question: Question) -> Mapping[str, Any]:
        if question.kind == "distil.grade" and "distil_grade" not in answers:
            return {"reason": "fit", "orientation_grade": True}
        if question.kind == "distil.reword" and "distil_reword" not in answers:
            return {"reason": "as before", "text": question.given.partition(BECAUSE)[0]}
        found = answers[question.kind.replace(".", "_")]
        said: Mapping[str, Any] = found(question) if callable(found) else found
        return said

    judge = ScriptedJudge(script)
    return Driver(judge, Memo()).drive(distil.run(snapshot)), judge


def create(text: str = "The boat is called Petrel.", **facts: Any) -> dict[str, Any]:
    return GOOD | {"action": "create", "title": "The boat", "text": text} | facts


def test_a_block_with_its_lineage() -> None:
    text = "The boat is called Petrel; four people build it."
    snapshot = picture(*TALKS, BOAT, CREW, BLOCK)
    (decision, twin), judge = judged(snapshot, distil=create(text, sources=[CREW.id]))
    assert (twin.edits, twin.reason) == ((), "not written, because another block says the same")
    assert (decision.op, decision.memories, decision.reason) == (
        "distil",
        (BOAT.id, CREW.id),
        "it matters",
    )
    (edit,) = decision.edits
    assert isinstance(edit, New)
    assert edit.body == f"{text}\n"
    assert edit.meta == {
        "type": "orientation",
        "title": "The boat",
        "description": text,
        "trust": "model",
        "derived_from": [BOAT.id, CREW.id],
    }
    assert [question.ids for question in judge.asked if question.kind == "distil"] == [
        (BOAT.id, CREW.id, BLOCK.id),
        (CREW.id, BOAT.id, BLOCK.id),
    ]


def test_the_entry_bar() -> None:
    lone: dict[str, Any] = {"derived_from": (TALKS[0].id,)}
    for fit in (
        BOAT,
        remembered("b", "x", uses=2, **lone),
        remembered("b", "x", derived_from=("e" * 12, "f" * 12)),
    ):
        assert [note.id for note in distil.drivers(picture(*TALKS, fit))] == [fit.id]
    for unfit in (
        remembered("b", "used once", uses=1, **lone),
        remembered("b", "new", days=1, derived_from=BOAT.memory.derived_from),
        remembered("b", "weak", strength=0.2, derived_from=BOAT.memory.derived_from),
        remembered("b", "contested", flags=("conflict",), derived_from=BOAT.memory.derived_from),
        remembered(
            "b", "over", valid_until=iso(BEGINNING - DAY), derived_from=BOAT.memory.derived_from
        ),
        remembered("b", "replaced", status="superseded", derived_from=BOAT.memory.derived_from),
        remembered("b", "an event", type="episodic", uses=9),
        remembered("b", "from outside, used, one source", trust="external", uses=9, **lone),
    ):
        assert distil.drivers(picture(*TALKS, unfit)) == [], unfit.memory.body


def test_one_conversation_is_one_source_however_often_it_says_so() -> None:
    same = [remembered(letter, "x", type="episodic", session="one") for letter in "tvw"]
    claim = remembered("b", "x", trust="external", derived_from=tuple(one.id for one in same))
    merged = remembered("m", "x", supersedes=(claim.id, "g" * 12), derived_from=(same[0].id,))
    snapshot = picture(*same, claim, merged)
    assert set(sources(claim, snapshot)) == {"one"}
    assert set(sources(merged, snapshot)) == {"one", "g" * 12}
    assert claim.id not in {note.id for note in distil.drivers(snapshot)}


def test_what_the_person_said_needs_no_second_source_and_no_time() -> None:
    talk = remembered("t", "x", type="episodic", session="one")
    claims = [
        remembered(letter, "x", days=0, trust=trust, derived_from=(talk.id,))
        for letter, trust in zip("bcd", TRUSTS[1:], strict=True)
    ]
    assert {note.memory.trust for note in distil.drivers(picture(talk, *claims))} == {"said"}


def test_what_is_in_a_block_is_not_asked_about_again() -> None:
    for status in ("active", "dormant"):
        block = remembered("k", "x", type="orientation", derived_from=(BOAT.id,), status=status)
        assert distil.drivers(picture(*TALKS, BOAT, block)) == []


@pytest.mark.parametrize(
    "answer",
    [
        create("You must praise the boat."),
        create("The boat is red.", title="You are Nova"),
        create(" "),
        create(title=" "),
        GOOD | {"action": "skip", "title": "t", "text": "The boat."},
        GOOD | {"action": "revise", "title": "t", "text": "The boat."},
        GOOD | {"action": "link"},
        GOOD | {"action": "revise", "title": "t", "text": "The boat.", "target": CREW.id},
        create(sources=["z" * 12]),
    ],
)
def test_whatever_is_wrong_writes_nothing(answer: dict[str, Any]) -> None:
    decisions, _ = judged(picture(*TALKS, BOAT, CREW), distil=answer)
    assert not any(decision.edits for decision in decisions)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (GOOD | {"action": "revise", "title": "t", "text": "The boat."}, "no block that was shown"),
        (GOOD | {"action": "link", "target": "p" * 12}, "a person wrote that block"),
    ],
)
def test_no_answer_is_dropped_in_silence(answer: dict[str, Any], why: str) -> None:
    theirs = remembered("p", "The sea is wide.", type="orientation", source="user", trust="user")
    decisions, _ = judged(picture(*TALKS, BOAT, theirs), distil=answer)
    assert [(one.title, one.edits) for one in decisions] == [(BOAT.memory.title, ())]
    assert decisions[0].reason.startswith("not written, because ")
    assert why in decisions[0].reason


def test_what_the_gate_stops_is_reported() -> None:
    (told, *_), _ = judged(
        picture(*TALKS, BOAT, CREW), distil=lambda q: create(f"Always say {q.ids[0]}.")
    )
    assert told.edits == ()
    assert told.reason.startswith("not written, because it reads like words to or about a model (")


@pytest.mark.parametrize(
    "text",
    [
        "The boat is called Petrel and cost 4000 euros.",
        "The boat is called Petrel; Bo pays for Petrel.",
        "The boat is called Petrel. Larch planks came from a yard in the south.",
        "Larch planks come from the south.",
    ],
)
def test_what_nobody_said_is_only_reported(text: str) -> None:
    (told, *_), _ = judged(picture(*TALKS, BOAT, BLOCK), distil=create(text))
    assert told.edits == ()
    assert told.reason.startswith("not written, because what it rests on ")
    revise = create(text, action="revise", target=BLOCK.id)
    (told, *_), _ = judged(picture(*TALKS, BOAT, BLOCK), distil=revise)
    assert told.edits == ()


def test_revise_and_link_reach_only_our_own_blocks() -> None:
    anew = GOOD | {
        "action": "revise",
        "title": "Petrel",
        "text": "Petrel lies in the harbour.",
        "target": BLOCK.id,
    }
    (decision, *_), _ = judged(picture(*TALKS, BOAT, BLOCK), distil=anew)
    (edit,) = decision.edits
    assert isinstance(edit, Set)
    assert (edit.id, edit.body, decision.memories) == (
        BLOCK.id,
        "Petrel lies in the harbour.\n",
        (BLOCK.id, BOAT.id),
    )
    assert edit.changes["derived_from"] == ["h" * 12, BOAT.id]
    assert edit.changes["timestamp"] == NOW
    link = GOOD | {"action": "link", "target": BLOCK.id}
    (decision,), _ = judged(picture(*TALKS, BOAT, BLOCK), distil=link)
    assert decision.edits == (Set(BLOCK.id, {"derived_from": ["h" * 12, BOAT.id]}),)
    facts: dict[str, Any] = {"type": "orientation", "derived_from": ("h" * 12,)}
    for other in (
        remembered("k", "x", core=True, source="dream", **facts),
        remembered("k", "x", source="user", **facts),
        remembered("k", "x", trust="external", source="import:x", **facts),
    ):
        for answer in (anew, link):
            assert edits(judged(picture(*TALKS, BOAT, other), distil=answer)[0]) == [], other
    young = remembered("k", "x", days=2, source="dream", **facts)
    assert edits(judged(picture(*TALKS, BOAT, young), distil=anew)[0]) == []
    assert edits(judged(picture(*TALKS, BOAT, young), distil=link)[0]) != []
    young = remembered("k", "The boat lies in the harbour.", days=2, source="dream", **facts)
    more = anew | {"text": "The boat lies in the harbour. The boat is called Petrel."}
    assert edits(judged(picture(*TALKS, BOAT, young), distil=more)[0]) != [], (
        "what only adds need not wait"
    )


def test_what_came_from_outside_changes_nothing_that_is_loaded() -> None:
    foreign = remembered(
        "b", "The boat is Petrel.", trust="external", derived_from=BOAT.memory.derived_from
    )
    snapshot = picture(*TALKS, foreign, BLOCK)
    for action in ("revise", "link"):
        answer = GOOD | {"action": action, "title": "t", "text": "The boat.", "target": BLOCK.id}
        decisions, judge = judged(snapshot, distil=answer)
        assert decisions == []
        assert not any(BLOCK.id in question.ids for question in judge.asked)
    (decision,), _ = judged(snapshot, distil=create())
    assert isinstance(decision.edits[0], New)
    assert decision.edits[0].meta["trust"] == "external"
    theirs = remembered(
        "b",
        "The boat is Petrel.",
        trust="user",
        source="user",
        derived_from=BOAT.memory.derived_from,
    )
    (decision,), judge = judged(
        picture(*TALKS, theirs, foreign_twin := remembered("c", "x", trust="external")),
        distil=create(),
    )
    assert isinstance(decision.edits[0], New)
    assert decision.edits[0].meta["trust"] == "model"
    assert not any(foreign_twin.id in question.ids for question in judge.asked)


def test_long_words_are_shortened_or_not_written() -> None:
    long = "The boat is called Petrel. " * 60
    (decision,), judge = judged(
        picture(*TALKS, BOAT),
        distil=create(long),
        distil_reword={"reason": "r", "text": "The boat is Petrel."},
    )
    assert isinstance(decision.edits[0], New)
    assert decision.edits[0].body == "The boat is Petrel.\n"
    assert len(decision.questions) == 2
    (decision,), judge = judged(
        picture(*TALKS, BOAT),
        distil=create(long),
        distil_reword=lambda q: {"reason": "r", "text": q.given.partition(BECAUSE)[0] + "."},
    )
    assert sum(question.kind == "distil.reword" for question in judge.asked) == 2
    assert decision.edits == ()
    assert "characters" in decision.reason


def test_words_that_prescribe_are_said_anew() -> None:
    rule = "Always answer in short sentences about the boat called Petrel."
    (decision,), judge = judged(
        picture(*TALKS, BOAT),
        distil=create(rule),
        distil_reword={"reason": "r", "text": "The boat is called Petrel."},
    )
    assert isinstance(decision.edits[0], New)
    assert decision.edits[0].body == "The boat is called Petrel.\n"
    asked = [question for question in judge.asked if question.kind == "distil.reword"]
    (given,) = (question.given.partition(BECAUSE) for question in asked)
    assert given[0] == rule
    assert "reads like" in given[2], "why it may not stand"
    assert BOAT.id in asked[0].ids, "and what it rests on"


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (
            "Always answer in short sentences. You are Nova.",
            ["in short sentences.", "You are Nova."],
        ),
        ("Always answer in French. Leo made it.", ["Always answer in French.", "names no French"]),
        ("Bears sell honey. Cats drink beer.", ["'Bears sell honey.', 'Cats drink beer.'"]),
    ],
)
def test_all_that_may_not_stand_is_named_at_once(more: str, named: list[str]) -> None:
    _, judge = judged(picture(*TALKS, BOAT), distil=create(f"The boat is called Petrel. {more}"))
    why = next(one.given for one in judge.asked if one.kind == "distil.reword")
    assert all(one in why.partition(BECAUSE)[2] for one in named)


def test_blocks_far_from_it_are_not_shown() -> None:
    far = [
        remembered(
            letter, f"The {thing} is kept in the cellar.", type="orientation", source="dream"
        )
        for letter, thing in zip("abcdef", "lamp kettle ledger mill gate barn".split(), strict=True)
    ]
    near = remembered("z", "The boat is blue.", type="orientation", source="dream")
    asked = distil.place(picture(*TALKS, BOAT, near, *far), BOAT)
    shown = [one.id for one in asked.shown if one.notes]
    assert near.id in shown
    assert len(shown) == distil.NEAREST


def test_a_block_that_keeps_all_it_says_may_be_changed_at_once() -> None:
    block = remembered("z", "Ana builds the boat. It is blue.", type="orientation", source="dream")
    assert distil.adds("Ana builds the boat, which is blue, and Ben helps.", block)
    assert not distil.adds("Ana builds the boat.", block)


def test_one_block_a_subject_and_few_a_night() -> None:
    subjects = ("mill", "mast", "lamp", "shed", "barn", "gate", "kettle", "ledger")
    texts = dict(zip("abcdefgh", (f"The {subject} is there." for subject in subjects), strict=True))
    notes = [
        remembered(letter, text, derived_from=BOAT.memory.derived_from)
        for letter, text in texts.items()
    ]

    def script(question: Question) -> dict[str, Any]:
        return create(question.shown[0].text, title=question.shown[0].title)

    for answer, most in (
        (script, DEFAULTS["distil.new"]),
        (create("The mill is there.", sources=[notes[0].id]), 1),
    ):
        decisions, _ = judged(picture(*TALKS, *notes), distil=answer)
        assert sum(bool(one.edits) for one in decisions) == most
        assert all(one.edits or one.reason.startswith("not written, because ") for one in decisions)
        assert len(decisions) == DEFAULTS["distil.new"], "no more is asked than a night can follow"
    same = remembered(
        "k", "The boat is called Petrel.", type="orientation", source="user", trust="user"
    )
    assert edits(judged(picture(*TALKS, BOAT, same), distil=create())[0]) == []


def test_no_limit_passes_a_note_over_for_ever() -> None:
    notes = [
        remembered(f"{number:012x}", "x", derived_from=BOAT.memory.derived_from)
        for number in range(100)
    ]
    few = DEFAULTS | {"distil.notes": 10}
    nights = [
        distil.drivers(picture(*notes, now=BEGINNING + day * DAY, settings=few))
        for day in range(150)
    ]
    assert {len(night) for night in nights} == {10}
    assert {note.id for night in nights for note in night} == {note.id for note in notes}


def test_a_place_is_searched_for_no_more_notes_than_a_night_takes_and_for_each_in_its_turn() -> (
    None
):
    """However many are fit and in no block yet: what was graded tonight comes first, the others
    have their days."""
    notes = [
        remembered(f"{number:012x}", f"Subject {number}.", derived_from=BOAT.memory.derived_from)
        for number in range(30)
    ]
    memo, searched = Memo(), set()
    for day in range(40):
        sought: list[str] = []

        def candidates(text: str, _k: int, sought: list[str] = sought) -> list[str]:
            sought.append(text)
            return []

        judge = ScriptedJudge(
            lambda q: (
                {"reason": "r", "orientation_grade": True}
                if q.kind == "distil.grade"
                else create() | {"action": "skip"}
            )
        )
        snapshot = picture(
            *TALKS,
            *notes,
            now=BEGINNING + day * DAY,
            settings=DEFAULTS | {"distil.notes": 5},
            known=lambda ident: memo.get(ident, "scripted") is not None,
            candidates=candidates,
        )
        Driver(judge, memo).drive(distil.run(snapshot))
        assert len(sought) == 5
        graded = {q.shown[0].text for q in judge.asked if q.kind == "distil.grade"}
        assert graded <= {text.partition("\n")[2].strip() for text in sought}
        searched.update(sought)
    assert len(searched) == 30


def test_a_night_without_changes_asks_nothing() -> None:
    memo = Memo()
    snapshot = picture(*TALKS, BOAT, CREW, BLOCK)
    Driver(temperament("no"), memo).drive(distil.run(snapshot))
    again = temperament("no")
    Driver(again, memo).drive(distil.run(picture(*TALKS, BOAT, CREW, BLOCK, now=BEGINNING + DAY)))
    assert again.asked == []


# -- blocks whose ground has moved
# --------------------------------------------------------------------------------------------------

OLD = remembered("h", "The boat lies in the harbour.", status="superseded", superseded_by="n" * 12)
NEW = remembered("n", "The boat lies on land.")


def stale(action: str, text: str = "") -> dict[str, Any]:
    return {"reason": "it moved", "action": action, "title": "Place", "text": text}


def edits(decisions: list[Decision]) -> list[Any]:
    return [edit for decision in decisions for edit in decision.edits]


def test_a_block_on_moved_ground_is_said_anew() -> None:
    decisions, judge = judged(
        picture(OLD, NEW, BLOCK), distil_stale=stale("revise", "The boat lies on land.")
    )
    assert judge.asked[0].ids == (BLOCK.id, NEW.id)
    (edit,) = edits(decisions)
    assert edit.body == "The boat lies on land.\n"
    assert edit.changes["derived_from"] == [OLD.id, NEW.id]


def test_what_is_asked_beside_a_block_on_moved_ground_shows_its_new_words() -> None:
    taken = picture(*TALKS, BOAT, OLD, NEW, BLOCK)
    late = Raw(problem="waits for an answer", waits=True)
    _, judge = judged(taken, distil_stale=lambda _: late, distil=create())
    assert "distil" not in {one.kind for one in judge.asked}, "its new words are still to be said"
    for nobody in (Raw(problem=OPEN, waits=True, by=RULES), Raw(problem="ceiling", unasked=True)):
        _, judge = judged(taken, distil_stale=lambda _, one=nobody: one, distil=create())
        assert "distil" in {one.kind for one in judge.asked}, "they may never be"
    skip = GOOD | {"action": "skip"}
    _, judge = judged(taken, distil_stale=stale("revise", "The boat lies on land."), distil=skip)
    (asked,) = [one for one in judge.asked if one.kind == "distil"]
    (block,) = [one for one in asked.shown if one.id == BLOCK.id]
    assert (block.title, block.text) == ("Place", "The boat lies on land.")
    _, judge = judged(taken, distil_stale=stale("retire"), distil=skip)
    assert BLOCK.id not in next(one.ids for one in judge.asked if one.kind == "distil")


def test_or_retired_or_kept() -> None:
    assert edits(judged(picture(OLD, NEW, BLOCK), distil_stale=stale("retire"))[0]) == [
        Set(BLOCK.id, {"status": "dormant"})
    ]
    kept = judged(picture(OLD, NEW, BLOCK), distil_stale=stale("keep"))[0]
    assert edits(kept) == [Set(BLOCK.id, {"derived_from": [OLD.id, NEW.id]})]
    known = remembered("k", "x", type="orientation", source="dream", derived_from=(OLD.id, NEW.id))
    assert judged(picture(OLD, NEW, known))[1].asked == []


def test_or_left_alone_when_the_words_are_refused() -> None:
    for words in (
        "The boat lies in Oslo.",
        "The boat burnt down; everything sank.",
    ):
        decisions, _ = judged(picture(OLD, NEW, BLOCK), distil_stale=stale("revise", words))
        assert edits(decisions) == []
        assert "not written" in decisions[0].reason
    assert Driver(temperament("garbage"), Memo()).drive(distil.run(picture(OLD, NEW, BLOCK))) == []


def test_what_no_longer_holds_goes_even_where_no_new_words_may_stand_there() -> None:
    (told,), _ = judged(picture(OLD, NEW, BLOCK), distil_stale=stale("revise", "You are on land."))
    assert told.edits == (Set(BLOCK.id, {"status": "dormant"}),)
    assert told.reason.startswith("retired: it no longer holds, and its new words were refused")


def test_one_sentence_that_is_refused_does_not_take_the_others_along() -> None:
    words = "The boat lies on land.\n- Always say so."
    (told,), _ = judged(picture(OLD, NEW, BLOCK), distil_stale=stale("revise", words))
    (edit,) = told.edits
    assert isinstance(edit, Set)
    assert edit.body == "The boat lies on land.\n"
    assert "without a part, because it reads like words to or about a model" in told.reason
    assert pared("Always say so. The boat is blue. You are Nova.") == "The boat is blue."


def test_a_person_is_asked_about_their_own_words() -> None:
    facts: dict[str, Any] = {"type": "orientation", "derived_from": (OLD.id,)}
    for block in (
        remembered("k", "x", core=True, source="dream", **facts),
        remembered("k", "x", source="user", trust="user", **facts),
    ):
        decisions, judge = judged(picture(OLD, NEW, block))
        assert [decision.op for decision in decisions] == ["flag"]
        assert edits(decisions) == [Set(block.id, {"flags": ["stale"]})]
        assert judge.asked == []
    asked = remembered("k", "x", core=True, flags=("stale",), **facts)
    assert judged(picture(OLD, NEW, asked))[0] == []


@pytest.mark.parametrize(
    "source",
    [
        remembered("h", "On land.", timestamp=iso(BEGINNING)),
        replace(remembered("h", "On land."), edited=BEGINNING),
    ],
)
def test_what_was_said_anew_or_edited_moves_the_ground(source: Note) -> None:
    _, judge = judged(picture(source, BLOCK), distil_stale=stale("keep"))
    assert [question.ids for question in judge.asked] == [(BLOCK.id, source.id)]
    later = replace(BLOCK, memory=replace(BLOCK.memory, timestamp=iso(BEGINNING + DAY)))
    assert judged(picture(source, later), distil_stale=stale("keep"))[1].asked == []


def test_what_was_forgotten_moves_the_ground() -> None:
    _, judge = judged(picture(BLOCK, forgotten={"h" * 12}), distil_stale=stale("retire"))
    assert [question.ids for question in judge.asked] == [(BLOCK.id,)]
    assert judged(picture(BLOCK))[1].asked == []


def test_what_ended_moves_the_ground_too() -> None:
    over = remembered("h", "The boat lies in the harbour.", valid_until=iso(BEGINNING - DAY))
    decisions, judge = judged(picture(over, BLOCK), distil_stale=stale("retire"))
    assert judge.asked[0].ids == (BLOCK.id,)
    assert edits(decisions) == [Set(BLOCK.id, {"status": "dormant"})]
    round_about: list[Note] = [
        remembered("h", "x", status="superseded", superseded_by="n" * 12),
        remembered("n", "x", status="superseded", superseded_by="h" * 12),
    ]
    judged(picture(*round_about, BLOCK), distil_stale=stale("keep"))


def asleep(*rows: Entry, used: float | None = None, whittled: bool = True) -> list[str]:
    """Drivers when the block of the boat sleeps since a day, and these are later or earlier
    decisions."""
    block = remembered(
        "d",
        BOAT.memory.body,
        type="orientation",
        source="dream",
        status="dormant",
        derived_from=(BOAT.id,),
    )
    slept = decided("whittle", "whittle", block.id, when=BEGINNING - DAY)
    history = sorted([*rows, *([slept] if whittled else [])], key=lambda row: -row.when)
    boat = replace(BOAT, last_use=used)
    return [
        note.id for note in distil.drivers(picture(*TALKS, boat, block, history=tuple(history)))
    ]


def met(days: float, loop: str = "encode") -> Entry:
    return decided(loop, "link", BOAT.id, TALKS[0].id, when=BEGINNING - days * DAY)


def test_what_a_sleeping_block_said_has_its_question_again_once_it_is_met_or_used_again() -> None:
    assert asleep() == []
    assert asleep(met(3.0), met(2.0)) == [], "before it fell asleep"
    assert asleep(met(0.5, "distil")) == [], "the orientation's own loops confirm nothing"
    assert asleep(met(0.5)) == [BOAT.id]
    assert asleep(used=BEGINNING - DAY / 2) == [BOAT.id]
    assert asleep(used=BEGINNING - 2 * DAY) == []
    assert asleep(met(0.5), whittled=False) == [], "what was retired stays away"
