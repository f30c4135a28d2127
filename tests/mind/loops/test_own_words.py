"""Blocks in the person's own words follow what holds, without a judge, and leave alone what a
person has taken up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oneiro_vault.classify import first_things, orientation_gate
from oneiro_vault.core.conversation import personal
from oneiro_vault.mind.base import New, Note, Set, Vectors
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import distil, own_words
from tests.judges.scripted import temperament
from tests.mind.stepping import BEGINNING, DAY, World, iso, picture, remembered
from tests.mind.support import Memo

HOME = remembered("h", "I live in Riga.", days=3, trust="said")
WORK = remembered("w", "I work as a cartographer.", days=2, trust="said")
MOVED = remembered("m", "We moved to Kiel.", days=0, trust="said")
OTHERS = [
    remembered(f"{n}", text, days=9 - n, trust="said")
    for n, text in enumerate(
        ("My name is Ruta.", "I'm allergic to nuts.", "I have two sons.", "I'm 43.")
    )
]
LINES = {
    note.id: personal.quoted(note.memory.body, note.memory.created[:10])
    for note in (HOME, WORK, MOVED)
}


def night(world: World) -> None:
    world.run(distil, Driver(temperament("no", 1), Memo()))
    world.now += DAY


def bodies(world: World) -> dict[str, str]:
    return {note.memory.title: note.memory.body for note in world.orientation()}


def known(*notes: Note) -> World:
    return World({note.id: note for note in notes})


def test_what_may_not_stand_there_takes_nothing_else_along() -> None:
    order = "I would rather have a full answer with its reasons; do not abridge on my account."
    wishes = (order, "Please keep to British spelling with me.")
    facts = [remembered(f"w{n}", text, days=n, trust="said") for n, text in enumerate(wishes)]
    refused, plain = (
        orientation_gate.prescribes(personal.quoted(text, "2026-05-01")) for text in wishes
    )
    assert refused
    assert not plain
    world = known(*facts)
    night(world)
    (block,) = world.orientation()
    assert wishes[1] in block.memory.body
    assert order not in block.memory.body


def test_what_was_said_arrives_in_the_same_night_and_nothing_again() -> None:
    world = known(
        HOME,
        WORK,
        remembered("x", "I live in Oslo.", trust="model"),
        remembered("e", "I live in Bonn.", trust="external"),
    )
    night(world)
    assert bodies(world) == {
        "The person's home": f"{LINES[HOME.id]}\n",
        "The person's work": f"{LINES[WORK.id]}\n",
    }
    first, second = sorted(world.orientation(), key=lambda note: -(note.memory.priority or 0))
    assert (first.memory.title, first.memory.trust, first.memory.derived_from) == (
        "The person's work",
        "model",
        (WORK.id,),
    )
    assert second.memory.description == personal.quoted(
        "I live in Riga.", iso(BEGINNING - 3 * DAY)[:10]
    ).removeprefix("- ")
    before = len(world.log)
    night(world)
    assert len(world.log) == before


def test_what_is_over_is_gone_the_same_night() -> None:
    world = known(MOVED, WORK)
    night(world)
    world.notes[WORK.id] = replace(WORK, memory=replace(WORK.memory, status="superseded"))
    night(world)
    assert "The person's work" not in bodies(world)
    del world.notes[MOVED.id]
    night(world)
    assert bodies(world) == {}, "the last of it may go when what it rests on is gone"


def test_of_two_near_facts_the_later_stands() -> None:
    facts = (HOME, WORK, MOVED, *OTHERS)
    apart = np.eye(len(facts), dtype=np.float32)
    near = apart.copy()
    near[2, [0, 2]] = 0.6, 0.8
    for vectors, left in ((apart, (HOME, MOVED)), (near, (MOVED,))):
        world = picture(*facts, vectors=lambda ids, v=vectors: _rows(facts, ids, v))
        (home,) = (one for one in own_words.kept(world) if one.title == "The person's home")
        (edit,) = home.edits
        assert edit.body == "".join(f"{LINES[note.id]}\n" for note in left)


def test_what_hardly_says_where_somebody_lives_replaces_no_home() -> None:
    waxed = "It is beeswax, the colour of a good Riesling."
    later = remembered("p", waxed, days=0, trust="said")
    assert first_things.topics([waxed]) == ["home"]
    assert first_things.likely([waxed])[0]["home"] < own_words.SAYS
    facts = (HOME, WORK, later, *OTHERS)
    near = np.eye(len(facts), dtype=np.float32)
    near[2, [0, 2]] = 0.6, 0.8
    world = picture(*facts, vectors=lambda ids: _rows(facts, ids, near))
    told = "".join(
        str(edit.body)
        for one in own_words.kept(world)
        if one.title == "The person's home"
        for edit in one.edits
    )
    assert LINES[HOME.id] in told


def _rows(facts: Sequence[Note], ids: Sequence[str], vectors: Vectors) -> tuple[list[str], Vectors]:
    return list(ids), vectors[[[note.id for note in facts].index(one) for one in ids]]


def test_of_several_projects_a_wish_says_in_which_it_was_said() -> None:
    one, other = (
        remembered(ident, text, days=2, trust="said", project=project)
        for ident, text, project in (
            ("a", "Always run make lint before you commit.", "heron"),
            ("b", "Never use emojis in your answers.", "magpie"),
        )
    )
    for facts, where in (([one], [""]), ([one, other], ["heron", "magpie"])):
        world = known(*facts)
        night(world)
        (body,) = bodies(world).values()
        lines = [
            personal.quoted(note.memory.body, note.memory.created[:10], project)
            for note, project in zip(facts, where, strict=True)
        ]
        assert sorted(body.splitlines()) == sorted(lines)
        assert personal.is_quoted(body)
        assert ("in heron the person" in body) is (len(facts) > 1)


def test_contested_ended_and_coming_facts_stay_out() -> None:
    for facts in (
        {"flags": ("contradiction",)},
        {"valid_until": iso(BEGINNING - DAY)},
        {"valid_from": iso(BEGINNING + DAY)},
    ):
        assert own_words.kept(picture(replace(HOME, memory=replace(HOME.memory, **facts)))) == []


def test_a_block_that_a_person_took_up_or_out_is_theirs() -> None:
    world = known(HOME)
    night(world)
    (block,) = world.orientation()
    for changed in (
        replace(block, edited=BEGINNING),
        replace(block, memory=replace(block.memory, body="The person lives in Riga.\n")),
    ):
        assert own_words.standing(picture(changed)) == []
        assert not [
            d
            for d in own_words.kept(picture(HOME, MOVED, changed))
            if any(isinstance(edit, Set) for edit in d.edits)
        ]
    del world.notes[block.id]
    night(world)
    assert bodies(world) == {}, "it was taken out"


def test_what_was_taken_away_and_came_back_stands_in_its_block_again() -> None:
    world = known(HOME, WORK)
    night(world)
    del world.notes[HOME.id]
    night(world)
    (asleep,) = (note for note in world.notes.values() if note.memory.status == "dormant")
    assert asleep.memory.body == "", "no word of it stays"
    world.notes[HOME.id] = HOME
    night(world)
    assert bodies(world)["The person's home"] == f"{LINES[HOME.id]}\n"
    assert world.notes[asleep.id].active


def test_what_was_said_to_be_wrong_stays_out() -> None:
    world = known(HOME, WORK)
    night(world)
    world.notes[HOME.id] = replace(HOME, doubted=True)
    night(world)
    assert set(bodies(world)) == {"The person's work"}


def said(ident: str, text: str, days: float) -> Note:
    return remembered(ident, text, days=days, trust="said")


def lines(*facts: Note, near: Sequence[tuple[int, int]] = ()) -> dict[str, list[str]]:
    """Title -> words of each of its lines. `near`: places of facts that are alike."""
    vectors = np.eye(len(facts), dtype=np.float32)
    for older, later in near:
        vectors[later, [older, later]] = 0.6, 0.8
    world = picture(*facts, vectors=lambda ids: _rows(facts, ids, vectors))
    return {
        str(edit.meta["title"]): re.findall("“(.+)”", edit.body)
        for one in own_words.kept(world)
        for edit in one.edits
        if isinstance(edit, New)
    }


def test_a_later_state_takes_the_place_of_the_one_before() -> None:
    before = said("a", "My dad is 79. My dad is on furosemide 40mg.", 9)
    after = said("b", "dads furosemide goes up to 60 from today and he took it badly", 2)
    others = [said("c", "I'm 43.", 8), said("d", "My name is Ruta.", 8), said("e", "I am tall.", 8)]
    told = lines(before, after, *others, near=[(0, 1)])
    everything = [line for some in told.values() for line in some]
    assert any("60 from today" in line for line in everything)
    assert not any("40mg" in line for line in everything)
    assert "My dad is 79." in everything, "what the later one does not speak of stays"


def test_words_that_say_what_changed_are_enough_in_any_language() -> None:
    before = said("a", "Physio habe ich immer mittwochs bei Frau Dorn.", 9)
    after = said("b", "Frau Dorn hat aufgehört, Physio ist jetzt freitags bei Herrn Bielig.", 2)
    beside = said("c", "Meine Schwester heißt Ona Dorn.", 8)
    everything = [line for some in lines(before, after, beside).values() for line in some]
    assert sum("Bielig" in line for line in everything) == 1
    assert not any("mittwochs" in line for line in everything)
    assert beside.memory.body in everything


def test_of_two_wishes_on_one_matter_the_later_stands() -> None:
    told = lines(
        said("a", "antworte bitte immer auf deutsch und duz mich", 9),
        said("b", "from now on please answer in english", 2),
    )
    assert told == {"What the person wants": ["from now on please answer in english"]} or told == {
        "What the person wants": ["… und duz mich", "from now on please answer in english"]
    }


def test_wishes_on_different_matters_both_stand_whatever_words_they_share() -> None:
    short = said("a", "keep your answers short, code first and explanation after", 9)
    plain = said("b", "no emojis, not in code and not in your answers", 2)
    others = [said("c", "I'm 43.", 8), said("d", "My name is Ruta.", 8), said("e", "I am tall.", 8)]
    told = lines(short, plain, *others, near=[(0, 1)])
    assert told["What the person wants"] == [short.memory.body, plain.memory.body]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("always sign my mails with Best, Ines", "always sign my mails with Cheers, Ines"),
        ("commit messages in english please", "commit messages in polish please"),
    ],
)
def test_of_two_wishes_that_differ_in_a_value_the_later_stands(before: str, after: str) -> None:
    others = [said("c", "I'm 43.", 8), said("d", "My name is Ruta.", 8), said("e", "I am tall.", 8)]
    told = lines(said("a", before, 9), said("b", after, 2), *others, near=[(0, 1)])
    assert told["What the person wants"] == [after]


def test_blocks_of_a_topic_stand_in_their_order() -> None:
    many = [
        said(
            f"{n:012x}", f"My cousin Number{n} has run a bakery in Town{n} for many years.", 90 - n
        )
        for n in range(14)
    ]
    world = known(*many)
    night(world)
    first, second = (
        note.memory for note in sorted(world.orientation(), key=lambda note: note.memory.title)
    )
    assert (first.title, second.title) == ("The person's people", "The person's people (2)")
    assert (first.priority or 0) > (second.priority or 0)


@pytest.mark.slow
def test_as_many_as_fit() -> None:
    many = [
        remembered(
            f"{n:012x}",
            f"My cousin Number{n} lives in Town{n}, where she has run a bakery for years.",
            days=90 - n,
            trust="user",
        )
        for n in range(60)
    ]
    world = known(*many)
    night(world)
    texts = bodies(world)
    assert sorted(texts) == ["The person's people", "The person's people (2)"]
    assert all(len(text) <= 800 for text in texts.values())
    told = re.findall(r"Number(\d+) ", "".join(texts[title] for title in sorted(texts)))
    assert 8 < len(told) < len(many)
    assert told == sorted(told, key=int)


def test_who_is_close_is_not_pushed_out_by_whom_one_meets() -> None:
    partner = "Joss is my partner, he's a nurse and works nights."
    met = [
        f"Number{n} from the lab is leaving on 18 December, she's got a postdoc in Town{n}."
        for n in range(16)
    ]
    sure, *others = (first_things.sayings(one)[0] for one in (partner, *met))
    assert {one.topic for one in (sure, *others)} == {"people"}
    assert sure.likely > max(one.likely for one in others)
    lines = [partner, *met]
    world = known(
        *(remembered(f"{n:012x}", one, days=40 - n, trust="user") for n, one in enumerate(lines))
    )
    night(world)
    texts = "\n".join(bodies(world).values())
    assert partner in texts
    assert not all(one in texts for one in met)


def test_a_file_that_was_told_nobody_says_nothing_of_the_person() -> None:
    told = remembered("t", "I live in Riga.", trust="user", source="user")
    novel = remembered("n", "I work as a diver in Turku.", trust="user", source="", created="")
    world = known(told, novel)
    night(world)
    assert list(bodies(world)) == ["The person's home"]


OLD, LEFT = "I work as a nurse from 9:30 in Riga.", "I work as a nurse … in Riga."


def talk(ident: str, text: str) -> Note:
    return remembered(ident, f"User: {text}\n\nAssistant: Noted.", type="episodic",
                      source="capture", kind="session", days=4)  # fmt: skip


def told(ident: str, text: str, *sources: Note, **facts: Any) -> Note:
    origin = tuple(one.id for one in sources)
    return remembered(ident, text, days=4, trust="said", derived_from=origin, **facts)


def test_what_a_correction_left_is_quoted_and_what_somebody_cut_out_is_not() -> None:
    new = "I work as a nurse from 10:30, not 9:30."
    one, other = talk("c", OLD), talk("d", new)
    old = told("o", OLD, one, status="superseded")
    later = told("n", new, other, supersedes=(old.id,))
    assert LEFT in str(lines(one, other, old, later, told("r", LEFT, one, old)))
    for cut in (told("r", "I work as … in Riga.", one, old), told("r", LEFT, one)):
        assert "…" not in str(lines(one, other, old, later, cut))


def test_a_correction_behind_what_it_left_is_quoted() -> None:
    new = "Sorry, it's from 10:30, not 9:30."
    one = talk("c", f"{OLD} {new}")
    old = told("o", OLD, one, status="superseded")
    ends = {"supersedes": (old.id,)}
    assert LEFT in str(lines(one, old, told("b", f"{LEFT} {new}", one, **ends)))
    for cut in (f"I work … in Riga. {new}", f"{LEFT} It's from 11:30, not 9:30."):
        assert LEFT not in str(lines(one, old, told("b", cut, one, **ends)))
