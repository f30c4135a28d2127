"""Blocks of what the person said of themselves, a topic each, in their own words with the day: they
follow the facts, and nobody is asked. One that was put into other words is theirs from then on, and
what a person took out does not come back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from oneiro_vault.classify import first_things, orientation_gate
from oneiro_vault.classify.classifier import TOPICS, Topic
from oneiro_vault.classify.spans import in_own_words
from oneiro_vault.core import memory as memories
from oneiro_vault.core.conversation import personal
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.text.corrections import DAYS, corrects, right
from oneiro_vault.core.text.polarity import stems
from oneiro_vault.mind.base import NOW, Decision, New, Note, Set, Snapshot, Vectors
from oneiro_vault.mind.blocks import alike, blocks, ours, words

NAME: Final = "distil"
MOST: Final = 2
"""Blocks of one topic: what says least surely what the topic is goes first when they are full, and
is found when it is looked for."""
FIRST: Final = 60
"""Priority of the first topic; the others follow in steps of ten."""

REPLACES: Final = 0.35
"""How near two facts are, from what any two of a person's facts have (0) to the same
text (1), from which the later one gives the present state."""
ALIKE: Final = 2
"""Words of a sentence that one which says what changed has too, one of them no day, at least."""
SHORTEST: Final = 3
"""Letters of such a word."""
_DAYS: Final = DAYS | stems(" ".join(sorted(DAYS)), "en")
_IDLE: Final = frozenset("sinc now new hes she get still jetzt neu seit".split())
"""Stems that say nothing of what two sentences are about."""
ONE_STATE: Final = ("home", "work")
"""Topics of which a near fact may be the later state without a common word: of the others a person
has several."""
SAYS: Final = 0.5
"""How likely it says something of that topic, at least."""
WISHES: Final = "wishes"
"""The topic of standing wishes."""
ON_ONE_MATTER: Final = 0.5
"""Share of the words of both that two wishes on one matter have in common: "sign my mails with
Best", "… with Cheers"."""
APART: Final = 3600.0
"""Seconds between two versions of a fact at least: what is said in one conversation goes
together."""
LATEST: Final = 100
"""Facts of one topic that are looked at, the newest."""
UNRELATED: Final = 0.1
"""Cosine of two sentences that have nothing in common, at least, by the packaged model; what any
two of few facts have says little."""
_SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?…]) ")


class Told(NamedTuple):
    """A fact, the words of it that are quoted, and how likely they, or what they replaced, say what
    their topic is."""

    note: Note
    words: str
    likely: float

    @property
    def when(self) -> tuple[float, str]:
        """Its place among the others, oldest first."""
        return self.note.memory.when() or 0.0, self.note.id


def kept(snapshot: Snapshot) -> list[Decision]:
    """What is to be done so that these blocks say what holds now: a decision a topic at most."""
    mine, asleep = standing(snapshot), _asleep(snapshot)
    facts = _facts(snapshot, [*mine, *asleep])
    found = []
    for number, (topic, title) in enumerate(personal.TITLES.items()):
        there = [
            block
            for block in (*mine, *asleep)
            if re.fullmatch(rf"{re.escape(title)}(?: \(\d+\))?", block.memory.title)
        ]
        texts = _texts(topic, facts[topic], int(snapshot.settings["distil.characters"]))
        if decision := _decision(title, FIRST - 10 * number, there, texts):
            found.append(decision)
    return found


def standing(snapshot: Snapshot) -> list[Note]:
    """The blocks that still are as they were made here, oldest first."""
    return [block for block in blocks(snapshot) if _unchanged(block)]


def _asleep(snapshot: Snapshot) -> list[Note]:
    """Those of which nothing was left, without their words."""
    return [
        note
        for note in snapshot.notes.values()
        if note.memory.type == "orientation"
        and note.memory.status == "dormant"
        and not note.memory.body.strip()
        and _unchanged(note)
    ]


def _unchanged(block: Note) -> bool:
    return (
        ours(block)
        and block.memory.title.startswith(tuple(personal.TITLES.values()))
        and personal.is_quoted(block.memory.body)
        and not block.edited
    )


def _facts(snapshot: Snapshot, mine: Sequence[Note]) -> Mapping[str, list[Told]]:
    own = _own(snapshot, mine)
    told = dict(
        zip(
            (note.id for note in own),
            first_things.told([prose(note.memory.body) for note in own]),
            strict=True,
        )
    )
    found = {topic: [note for note in own if topic in told[note.id]][-LATEST:] for topic in TOPICS}
    older = {note.id: note for notes in found.values() for note in notes}
    latest = older | {note.id: note for note in own[-LATEST * len(TOPICS) :]}
    later = {ident: note for ident, note in latest.items() if note.active}
    near = _near(snapshot, {one: older[one] for one in older if one in later}, later)
    said = _standing_now(older.values(), _Successors(later.values(), near))
    return {topic: _once(_agreeing(topic, some)) for topic, some in said.items()}


def _standing_now(facts: Iterable[Note], successors: _Successors) -> Mapping[Topic, list[Told]]:
    """What each topic says now. What replaced a sentence takes its place where it says nothing of
    the person by itself."""
    found: dict[Topic, list[Told]] = {topic: [] for topic in TOPICS}
    placed: set[tuple[str, str]] = set()
    over: list[tuple[first_things.Saying, tuple[Note, str]]] = []
    for note in facts:
        several = first_things.sayings(prose(note.memory.body))
        for one in several:
            later = successors.of(
                note, one.sentence, one.topic, [other.sentence for other in several]
            )
            if later:
                over.append((one, later[-1]))
            elif note.active:
                found[one.topic].append(Told(note, one.words, one.likely))
                placed.add((note.id, one.sentence))
    for older, (note, sentence) in over:
        again = (note.id, sentence) in placed or successors.of(note, sentence, None, [sentence])
        told = right(sentence) if note.memory.supersedes else sentence
        words = first_things.follows(told, older.topic, partial(_shares, _stems(older.sentence)))
        if words and not again:
            found[older.topic].append(Told(note, words, older.likely))
            placed.add((note.id, sentence))
    return found


def _own(snapshot: Snapshot, mine: Sequence[Note]) -> list[Note]:
    """Facts in the person's own words that hold, and before them those that others replaced, each
    oldest first, but for those that a person took out or put into other words: what was placed
    in blocks that no longer are as they were made here. A file that names no source was told
    nobody: it may be on a boat, or the beginning of a novel."""
    quoted = {ident for block in mine for ident in block.memory.derived_from}
    known = {block.id for block in mine}
    elsewhere = {
        ident
        for one in snapshot.notes.values()
        if one.memory.type == "orientation" and one.id not in known
        for ident in one.memory.derived_from
    }
    paths = {block.id: block.memory.path for block in mine}
    for row in snapshot.history:
        there = {paths[ident] for ident in row.memories if ident in paths}
        if row.loop == NAME and not (row.paths and there.issuperset(row.paths)):
            elsewhere.update(row.memories)
    facts = snapshot.of("semantic")
    ends = {ident for note in facts for ident in note.memory.supersedes}
    over = [note for ident in sorted(ends) if (note := snapshot.notes.get(ident))]
    over = [one for one in over if one.memory.status == "superseded"]
    return [
        note
        for note in [*sorted(over, key=lambda one: one.memory.when() or 0.0), *facts]
        if note.memory.trust in memories.OWN_WORDS
        and note.memory.source
        and (note.id in quoted or note.id not in elsewhere)
        and (not note.active or _holds(note, snapshot.now))
        and _word_for_word(note, snapshot)
    ]


def _holds(note: Note, now: float) -> bool:
    ends, since = memories.epoch(note.memory.valid_until), note.memory.valid_from
    return (
        not note.memory.flags
        and not note.doubted
        and note.memory.level == 0
        and (_begun(note, now) or f"[{since[:7]}" in note.memory.body)  # it says so itself
        and (ends is None or ends > now)
    )


def _begun(note: Note, now: float) -> bool:
    return (memories.epoch(note.memory.valid_from) or now) <= now


def _word_for_word(note: Note, snapshot: Snapshot) -> bool:
    return all(_stands(text, whose, snapshot) for text, whose in _parts(note, snapshot))


def _stands(text: str, note: Note, snapshot: Snapshot) -> bool:
    source = snapshot.notes.get(next(iter(note.memory.derived_from), ""))
    return source is None or in_own_words(text, source.memory.body, source.memory.source)


def _parts(note: Note, snapshot: Snapshot) -> Iterator[tuple[str, Note]]:
    """(words, the fact in whose source they stand): of what a correction left of an older fact, and
    of a correction behind that, each stretch by itself; of any other fact all words."""
    body = prose(note.memory.body).strip()
    for old, rest, said in _corrections(note, body, snapshot) if " …" in body else ():
        found = corrects(said, prose(old.memory.body), together=True)
        if found and found.rest == rest:
            yield from ((one.removesuffix(" …"), old) for one in rest.split(" … "))
            if body != rest:
                yield said, note
            return
    yield body, note


def _corrections(note: Note, body: str, snapshot: Snapshot) -> Iterator[tuple[Note, str, str]]:
    """(fact that was replaced, what may be left of it, what may replace it)."""
    for ident in note.memory.derived_from:
        for later in snapshot.notes.values() if ident in snapshot.notes else ():
            if ident in later.memory.supersedes:
                yield snapshot.notes[ident], body, prose(later.memory.body).strip()
    for ident in note.memory.supersedes:
        if old := snapshot.notes.get(ident):
            for ends in _SENTENCE_ENDS.finditer(body):
                yield old, body[: ends.start()], body[ends.end() :]


def _near(
    snapshot: Snapshot, older: Mapping[str, Note], later: Mapping[str, Note]
) -> set[tuple[str, str]]:
    """(fact with a topic, later fact that is near it)."""
    ids, vectors = snapshot.vectors(list(later))
    topical = [at for at, one in enumerate(ids) if one in older]
    if len(topical) < 1 or len(ids) < 2:
        return set()
    cosines = vectors[topical] @ vectors.T
    usual = _usual(cosines[:, topical])
    near = (cosines - usual) / (1 - usual) >= REPLACES
    times = np.array([later[one].memory.when() or 0.0 for one in ids])
    after = times[None, :] - times[topical][:, None] >= APART
    after &= np.array([_begun(later[one], snapshot.now) for one in ids])
    rows = np.argwhere(near & after)
    return {(ids[topical[row]], ids[column]) for row, column in rows}


def _usual(cosines: Vectors) -> float:
    """What any two of them have."""
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    return max(UNRELATED, float(np.median(pairs)) if len(pairs) else 0.0)


class _Successors:
    """Which later facts say how it is now: near ones that say the same of the person, or of the
    same in so many words that it changed; and, as the packaged model knows English only, whichever
    say so in mostly the same words."""

    def __init__(self, later: Iterable[Note], near: Collection[tuple[str, str]]) -> None:
        self._near = near
        split = [(note, first_things.sentences(prose(note.memory.body))) for note in later]
        chances = iter(first_things.likely([one for _, several in split for one in several]))
        self._said = [
            (note, one, _stems(one), *first_things.surest(next(chances)), first_things.changes(one))
            for note, several in split
            for one in several
        ]

    def of(
        self, note: Note, sentence: str, topic: Topic | None, beside: Sequence[str]
    ) -> list[tuple[Note, str]]:
        """(fact, its sentence) of each, oldest first. `beside`: all sentences of the fact that say
        something of the person: those of which a near one repeats less than of others stand
        on."""
        words, others = _stems(sentence), [_stems(one) for one in beside]
        found = []
        for later, one, theirs, says, sure, changes in self._said:
            common = words & theirs
            if note.id in later.memory.supersedes and common:
                found.append((later, one))
            if (later.memory.when() or 0.0) - (
                note.memory.when() or 0.0
            ) < APART or not note.active:
                continue
            told = changes and bool(common - _DAYS)
            over = told and len(common) >= ALIKE
            if (note.id, later.id) in self._near:
                most = max((len(other & theirs) for other in others), default=0)
                alone = says == topic in ONE_STATE and sure >= SAYS and not most
                same = says == topic and len(common) >= ALIKE
                if topic == WISHES:  # a person has many, which share words
                    same &= len(common) >= ON_ONE_MATTER * max(len(words), len(theirs))
                over |= (alone or same or told) and len(common) >= most
            if over:
                found.append((later, one))
        return sorted(found, key=lambda pair: pair[0].memory.when() or 0.0)


def _shares(words: set[str], clause: str) -> bool:
    return not words.isdisjoint(_stems(clause))


def _stems(sentence: str) -> set[str]:
    found = stems(personal.bare(sentence)) - _IDLE
    return {one for one in found if len(one) >= SHORTEST}


def _agreeing(topic: Topic, facts: Iterable[Told]) -> list[Told]:
    """Oldest first; of two wishes on one matter the later stands."""
    told = sorted(facts, key=lambda one: one.when)
    if topic != WISHES:
        return told
    left = [
        one._replace(
            words=first_things.standing(one.words, [later.words for later in told[at + 1 :]])
        )
        for at, one in enumerate(told)
    ]
    return [one for one in left if one.words]


def _once(facts: Sequence[Told]) -> list[Told]:
    """Without what a later one says again."""
    found: list[tuple[Told, frozenset[str]]] = []
    for one in reversed(facts):
        said = words(one.words)
        if not any(_again(said, later) for _, later in found):
            found.append((one, said))
    return [one for one, _ in reversed(found)]


def _again(older: frozenset[str], newer: frozenset[str]) -> bool:
    return alike(older, newer) and older <= newer


def _texts(topic: str, facts: Sequence[Told], limit: int) -> list[tuple[str, list[Note]]]:
    """What blocks of `limit` characters say, and of which facts: whatever fits and may stand there,
    the likeliest first, in the order in which it was said. What is wanted in one of several
    projects may not be wanted in the others."""
    found: list[tuple[str, list[Note]]] = []
    chosen: list[Told] = []
    projects = {one.note.memory.project for one in facts} - {""}
    names = topic == WISHES and len(projects) > 1
    for one in sorted(facts, key=lambda one: (one.likely, one.when), reverse=True):
        more = sorted([*chosen, one], key=lambda told: told.when)
        texts = _packed(more, limit, names)
        if texts and not orientation_gate.prescribes(_line(one, names)):
            chosen, found = more, texts
    return found


def _packed(facts: Sequence[Told], limit: int, names: bool) -> list[tuple[str, list[Note]]]:
    """All of them in blocks, none where they do not fit."""
    found: list[tuple[str, list[Note]]] = []
    for told in facts:
        note, line = told.note, _line(told, names)
        if found and len(found[-1][0]) + 1 + len(line) <= limit:
            found[-1] = (f"{found[-1][0]}\n{line}", [*found[-1][1], note])
        elif len(found) < MOST and len(line) <= limit:
            found.append((line, [note]))
        else:
            return []
    return found


def _line(told: Told, names: bool) -> str:
    """How it is quoted there; does it name its project?"""
    memory = told.note.memory
    return personal.quoted(told.words, memory.created[:10], memory.project if names else "")


def _decision(
    title: str, priority: int, there: Sequence[Note], texts: Sequence[tuple[str, list[Note]]]
) -> Decision | None:
    edits: list[New | Set] = []
    for place, (text, facts) in enumerate(texts):
        lineage: dict[str, object] = {
            "description": text.splitlines()[0].removeprefix("- "),
            "derived_from": [note.id for note in facts],
        }
        shown = {
            "title": title if place == 0 else f"{title} ({place + 1})",
            "priority": priority - place,
        }
        if place >= len(there):
            meta = {"type": "orientation", "trust": "model"} | shown | lineage
            edits.append(New(meta, f"{text}\n"))
        else:
            edits += _said_now(there[place], text, shown, lineage)
    edits += [
        Set(block.id, {"status": "dormant", "description": "", "derived_from": []}, "")
        for block in there[len(texts) :]
        if block.active
    ]
    ids = (
        *(edit.id for edit in edits if isinstance(edit, Set)),
        *(note.id for _, facts in texts for note in facts),
    )
    return (
        Decision(NAME, NAME, title, "in the person's own words", tuple(edits), ids)
        if edits
        else None
    )


def _said_now(
    block: Note, text: str, shown: Mapping[str, object], lineage: Mapping[str, object]
) -> list[New | Set]:
    """What makes a block say this, in its place among those of its topic."""
    place = {
        key: value
        for key, value in shown.items()
        if value != getattr(block.memory, key) and not (key == "title" and block.active)
    }
    if text == block.memory.body.strip():
        return [Set(block.id, place)] if place else []
    place |= {} if block.active else {"status": "active"}
    return [Set(block.id, place | dict(lineage) | {"timestamp": NOW}, f"{text}\n")]
