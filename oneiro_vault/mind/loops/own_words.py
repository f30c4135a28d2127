"""Blocks of what the person said of themselves, a topic each, in their own words with the day: they
follow the facts, and nobody is asked. One that was put into other words is theirs from then on, and
what a person took out does not come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from oneiro_vault.classify import first_things
from oneiro_vault.classify.classifier import TOPICS
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal, turns
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.mind.base import NOW, Decision, New, Note, Set, Snapshot
from oneiro_vault.mind.blocks import alike, blocks, ours, words

NAME: Final = "distil"
MOST: Final = 2
"""Blocks of one topic: what is older than what fits is found when it is looked for."""
FIRST: Final = 60
"""Priority of the first topic; the others follow in steps of ten."""

REPLACES: Final = 0.35
"""How near two facts of one topic are, from what any two of a person's facts have (0) to the same
text (1), from which the later one gives the present state."""
SHARED: Final = 0.25
"""How likely both facts say one of the topics, summed over these."""
APART: Final = 3600.0
"""Seconds between two versions of a fact at least: what is said in one conversation goes
together."""
LATEST: Final = 100
"""Facts of one topic that are looked at, the newest."""
UNRELATED: Final = 0.1
"""Cosine of two sentences that have nothing in common, at least, by the packaged model; what any
two of few facts have says little."""
Said = tuple[Note, str]
"""A fact, and the words of it that are quoted."""


def kept(snapshot: Snapshot) -> list[Decision]:
    """What is to be done so that these blocks say what holds now: a decision a topic at most."""
    mine = standing(snapshot)
    facts = _facts(snapshot, {ident for block in mine for ident in block.memory.derived_from})
    found = []
    for number, (topic, title) in enumerate(personal.TITLES.items()):
        there = [block for block in mine if block.memory.title.startswith(title)]
        texts = _texts(facts.get(topic, ()), int(snapshot.settings["distil.characters"]))
        if decision := _decision(title, FIRST - 10 * number, there, texts):
            found.append(decision)
    return found


def standing(snapshot: Snapshot) -> list[Note]:
    """The blocks that still are as they were made here, oldest first."""
    titles = tuple(personal.TITLES.values())
    return [
        block
        for block in blocks(snapshot)
        if ours(block)
        and block.memory.title.startswith(titles)
        and personal.is_quoted(block.memory.body)
        and not block.edited
    ]


def _facts(snapshot: Snapshot, mine: set[str]) -> Mapping[str, list[Said]]:
    elsewhere = {
        ident
        for one in snapshot.notes.values()
        if one.memory.type == "orientation"
        for ident in one.memory.derived_from
    }
    placed = {ident for row in snapshot.history if row.loop == NAME for ident in row.memories}
    own = [
        note
        for note in snapshot.of("semantic")
        if note.memory.trust in memories.OWN_WORDS
        and (note.id in mine or note.id not in elsewhere | placed)
        and _holds(note, snapshot.now)
        and _word_for_word(note, snapshot)
    ]
    told = dict(
        zip(
            (note.id for note in own),
            first_things.told([prose(note.memory.body) for note in own]),
            strict=True,
        )
    )
    found = {
        topic: [note for note in own if topic in told[note.id][0]][-LATEST:] for topic in TOPICS
    }
    over = _replaced(
        snapshot,
        {one.id: one for notes in found.values() for one in notes},
        {ident: said for ident, (_, said) in told.items()},
    )
    room = MOST * int(snapshot.settings["distil.characters"])
    return {
        topic: _newest(topic, [note for note in notes if note.id not in over], room)
        for topic, notes in found.items()
    }


def _holds(note: Note, now: float) -> bool:
    ends, since = memories.epoch(note.memory.valid_until), note.memory.valid_from
    return (
        not note.memory.flags
        and note.memory.level == 0
        and (_begun(note, now) or f"[{since[:7]}" in note.memory.body)  # it says so itself
        and (ends is None or ends > now)
    )


def _begun(note: Note, now: float) -> bool:
    return (memories.epoch(note.memory.valid_from) or now) <= now


def _word_for_word(note: Note, snapshot: Snapshot) -> bool:
    sources = (snapshot.notes.get(ident) for ident in note.memory.derived_from[:1])
    return all(
        one is None
        or turns.in_own_words(prose(note.memory.body), one.memory.body, one.memory.source)
        for one in sources
    )


def _replaced(
    snapshot: Snapshot, known: Mapping[str, Note], told: Mapping[str, first_things.Likely]
) -> set[str]:
    ids, vectors = snapshot.vectors(list(known))
    if len(ids) < 2:
        return set()
    cosines = vectors @ vectors.T
    usual = max(UNRELATED, float(np.median(cosines[np.triu_indices(len(ids), 1)])))
    near = (cosines - usual) / (1 - usual) >= REPLACES
    times = np.array([known[one].memory.when() or 0.0 for one in ids])
    said = np.array([[told[one][topic] for topic in TOPICS] for one in ids])
    same = np.minimum(said[:, None], said[None, :]).sum(axis=2) >= SHARED
    later = times[None, :] - times[:, None] >= APART
    later &= np.array([_begun(known[one], snapshot.now) for one in ids])
    return {ids[row] for row in np.flatnonzero((near & same & later).any(axis=1))}


def _newest(topic: str, facts: Sequence[Note], room: int) -> list[Said]:
    found: list[Said] = []
    for note in reversed(facts):
        if room <= 0:
            break
        texts = [
            text for about, text in first_things.said(prose(note.memory.body)) if about == topic
        ]
        for text in reversed(texts):
            if not any(_again(words(text), words(other)) for _, other in found):
                found.append((note, text))
                room -= len(text)
    return found[::-1]


def _again(older: frozenset[str], newer: frozenset[str]) -> bool:
    return alike(older, newer) and older <= newer


def _texts(facts: Sequence[Said], limit: int) -> list[tuple[str, list[Note]]]:
    found: list[tuple[str, list[Note]]] = []
    for note, said in reversed(facts):
        line = personal.quoted(said, note.memory.created[:10])
        if found and len(found[-1][0]) + 1 + len(line) <= limit:
            found[-1] = (f"{line}\n{found[-1][0]}", [note, *found[-1][1]])
        elif len(found) < MOST and len(line) <= limit:
            found.append((line, [note]))
        else:
            break
    return found[::-1]


def _decision(
    title: str, priority: int, there: Sequence[Note], texts: Sequence[tuple[str, list[Note]]]
) -> Decision | None:
    edits: list[New | Set] = []
    for place, (text, facts) in enumerate(texts):
        lineage: dict[str, object] = {
            "description": text.splitlines()[0].removeprefix("- "),
            "derived_from": [note.id for note in facts],
        }
        if place >= len(there):
            name = title if place == 0 else f"{title} ({place + 1})"
            edits.append(
                New(
                    {"type": "orientation", "title": name, "trust": "model", "priority": priority}
                    | lineage,
                    f"{text}\n",
                )
            )
        elif text != there[place].memory.body.strip():
            edits.append(Set(there[place].id, lineage | {"timestamp": NOW}, f"{text}\n"))
    edits += [Set(block.id, {"status": "dormant"}) for block in there[len(texts) :]]
    ids = (
        *(edit.id for edit in edits if isinstance(edit, Set)),
        *(note.id for _, facts in texts for note in facts),
    )
    return (
        Decision(NAME, NAME, title, "in the person's own words", tuple(edits), ids)
        if edits
        else None
    )
