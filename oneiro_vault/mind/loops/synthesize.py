"""Several memories on one topic become one insight a level above them; it is made anew, or a person
is asked, when one of them is replaced.

A memory waits on its level until something was made of it. Groups are what shares a topic; one that
was judged is named by a hash of its words and never made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from pydantic import Field

from oneiro_vault.classify import orientation_gate
from oneiro_vault.core.conversation.turns import OWN, REFLECTION
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.quoting import cut_at_word, one_line
from oneiro_vault.core.memory import LIVE, weakest
from oneiro_vault.core.question import Answer, Question, ShownId, Verdict
from oneiro_vault.core.text import claims
from oneiro_vault.mind.base import (
    Asking,
    Decision,
    Due,
    New,
    Note,
    Set,
    Snapshot,
    asked_each,
    keyed,
    superseding,
)
from oneiro_vault.mind.blocks import ours
from oneiro_vault.mind.loops import stale

name: Final = "synthesize"
KIND: Final = name
POLICY: Final = 2
GROUNDED: Final = 0.5
"""Share of an insight's words that its sources must have."""
LEAST: Final = 2
"""Memories that an insight rests on at least."""
GROWN: Final = 1.5
"""A topic is judged again with so many times the memories that it was judged with: else every one
that joins asks anew."""
_LONGEST_TITLE: Final = 120
"""Characters."""
_NO_TOPIC: Final = frozenset((OWN, REFLECTION))
Wanted: TypeAlias = tuple[str, list[Note], Note | None]
"""A topic, what is shown of it, and the insight it is to take the place of."""
INSTRUCTION: Final = (
    "These notes share a topic. Do several of them together show something that none of them says "
    "alone: a pattern, a development, a cause, a summary that somebody would want to read first? "
    "Choose synthesize only then; otherwise choose skip. `text`: what they show, in at most 600 "
    "characters, only from what they say, with the names, numbers and dates that carry it and the "
    "order of events where that matters; where they disagree, say so. Describe people and things "
    "in the third person; give nobody instructions and no character. `title`: the insight in at "
    "most ten words: what it says, not what it is about. `sources`: the notes it rests on, at "
    "least two."
)


AGAIN: Final = (
    "The text at the end, behind its topic and title, was to say what the notes show together, and "
    "may not stand, for the reason behind it. Say the same so that it may, in the third person and "
    "of nothing but these notes (`sources`: at least two of them), or choose skip."
)


class Insight(Answer):
    """What several notes show together."""

    action: Literal["synthesize", "skip"]
    title: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=1200)
    sources: list[ShownId] = Field(default_factory=list, max_length=40)


def run(snapshot: Snapshot) -> Asking:
    """One question an insight on moved ground, then one a topic, the largest first, if enough
    waits."""
    gone = [old for old, ground in moved(snapshot) if len(ground) < LEAST]
    found: dict[str, tuple[Question, Wanted]] = {}
    for about in wanted(snapshot):
        one = question(*about[:2])
        found.setdefault(one.id, (one, about))

    def decide(one: Question, verdict: Verdict) -> Decision | Question | None:
        assert isinstance(verdict.answer, Insight)
        topic, group, former = found[one.id][1]
        own = {former.memory.title.casefold()} if former else set()
        answer = verdict.answer.model_copy(update={"title": own_name(verdict.answer, taken - own)})
        made = insight(topic, group, answer, one.id, verdict.judge, former)
        if made is not None and not made.edits and one.instruction != AGAIN:
            told = f"{one.given}; {verdict.answer.title}: {verdict.answer.text} ({made.reason})"
            again = replace(one, instruction=AGAIN, given=told)
            found[again.id] = again, found[one.id][1]
            return again
        taken.add(answer.title.casefold())
        if former is not None and (made is None or not made.edits):
            return stale_insight(former, verdict)
        return made

    taken = {note.memory.title.casefold() for note in snapshot.of("semantic")}
    made = yield from asked_each(
        [one for one, _ in found.values()],
        snapshot.settings["synthesize.groups"],
        snapshot,
        decide,
    )
    return [*made, *(ended(old) for old in gone)]


def due(snapshot: Snapshot) -> tuple[list[Due], str]:
    """The topics of its questions; how many memories are missing before there are more."""
    found = [Due(topic, group, bool(old)) for topic, group, old in wanted(snapshot)]
    number, least = len(raw(snapshot)), snapshot.settings["synthesize.due"]
    waits = "1 memory waits" if number == 1 else f"{number} memories wait"
    return found, f"{waits} for an insight, {least} make it due" if number < least else ""


def wanted(snapshot: Snapshot) -> list[Wanted]:
    """Insights on moved ground, then, if enough waits, topics, the largest first."""
    found: list[Wanted] = [
        (min(topics(old), default=""), ground, old)
        for old, ground in moved(snapshot)
        if len(ground) >= LEAST
    ]
    if len(raw(snapshot)) >= snapshot.settings["synthesize.due"]:
        found += [(topic, group, None) for topic, group in groups(snapshot)]
    return found


def raw(snapshot: Snapshot) -> list[Note]:
    """Raw knowledge that no insight rests on yet, oldest first."""
    return [
        note for note in snapshot.of("semantic") if note.memory.level == 0 and waits(note, snapshot)
    ]


def waits(note: Note, snapshot: Snapshot) -> bool:
    """Was nothing on a higher level made of it that stands or sleeps?"""
    made = (snapshot.notes.get(child) for child in note.children)
    above = [
        child.memory
        for child in made
        if child is not None and child.memory.level > note.memory.level
    ]
    return not any(memory.status in LIVE for memory in above)


def groups(snapshot: Snapshot) -> list[tuple[str, list[Note]]]:
    """(topic, notes of one level that wait), largest first, without groups that are settled; a note
    is in one at most."""
    settings = snapshot.settings
    least, largest = max(2, settings["synthesize.group"]), max(2, settings["synthesize.largest"])
    shared: dict[tuple[int, str], list[Note]] = defaultdict(list)
    for note in snapshot.of("semantic"):
        if waits(note, snapshot):
            for topic in topics(note):
                shared[note.memory.level, topic].append(note)
    found: list[tuple[str, list[Note]]] = []
    used: set[str] = set()
    whole = dict(shared)
    while shared:
        place = max(shared, key=lambda key: (len(shared[key]), -key[0], key[1]))
        members = [note for note in shared.pop(place) if note.id not in used]
        if len(members) < least:
            continue
        if shared and len(members) < max(map(len, shared.values())):
            # it shrank since others were taken: another topic may be larger now
            shared[place] = members
            continue
        part = members[:largest]
        if keyed("synthesize", key(part)) not in snapshot.settled:
            used |= {note.id for note in part}
            if not _judged(place[1], part, whole[place][:largest], snapshot):
                found.append((place[1], part))
    return found


def _judged(topic: str, group: Sequence[Note], whole: Sequence[Note], snapshot: Snapshot) -> bool:
    """Was it judged when only the last few had not joined it yet, or when no other topic had taken
    some of the `whole` of it?"""
    if snapshot.known(question(topic, group).id):  # what it leaves to ask may still wait
        return False
    judged = [group[:many] for many in range(int(len(group) / GROWN) + 1, len(group))]
    if len(group) < len(whole):
        judged += [whole[:many] for many in range(int(len(whole) / GROWN) + 1, len(whole) + 1)]
    return any(snapshot.known(question(topic, one).id) for one in judged)


def topics(note: Note) -> set[str]:
    """What a note is about, in one spelling: its tags, topics and names."""
    memory = note.memory
    named = {one_line(name).lower() for name in (*memory.tags, *memory.topics, *memory.about)}
    return {name for name in named if name and name not in _NO_TOPIC}


def key(group: Iterable[Note]) -> str:
    """Names a group by what its members say."""
    said = sorted(
        f"{note.id} {sha256(note.memory.body.encode('utf-8', 'replace')).hexdigest()}"
        for note in group
    )
    return sha256("\n".join(said).encode()).hexdigest()[:24]


def question(topic: str, group: Sequence[Note]) -> Question:
    """Do they show something together?"""
    return Question(
        KIND,
        INSTRUCTION,
        Insight,
        tuple(note.shown(*note.circumstances()) for note in group),
        given=f"topic: {topic}",
        policy=POLICY,
        stage=KIND,
    )


def moved(snapshot: Snapshot) -> list[tuple[Note, list[Note]]]:
    """Insights of which a source was replaced or has ended, each with what holds now."""
    insights = [
        note
        for note in snapshot.of("semantic")
        if note.memory.level > 0 and ours(note) and not note.memory.flags
    ]
    return [
        (note, stale.now_true(note, snapshot))
        for note in insights
        if stale.is_stale(note, snapshot)
    ]


def ended(old: Note) -> Decision:
    """The end of an insight of whose ground less than two memories hold: its words stay
    readable."""
    reason = "what it rests on no longer holds"
    return Decision(
        name, name, old.memory.title, reason, (Set(old.id, {"status": "archived"}),), (old.id,)
    )


def own_name(answer: Insight, taken: set[str]) -> str:
    """Its title, or its first sentence where another memory is called the same."""
    title = one_line(answer.title)
    if title.casefold() not in taken:
        return title
    return cut_at_word(f"{title}: {parser.first_sentence(answer.text)}", _LONGEST_TITLE)


def stale_insight(old: Note, verdict: Verdict) -> Decision:
    """What holds now shows nothing together any more: a person is asked."""
    reason = (
        f"Something this insight rests on was replaced. Does it still hold? "
        f"{verdict.answer.reason if verdict.answer else ''}"
    ).strip()
    return Decision(
        name,
        "flag",
        old.memory.title,
        reason,
        (Set(old.id, {"flags": ["stale"]}),),
        (old.id,),
        (verdict.question,),
        verdict.judge,
    )


def insight(
    topic: str,
    group: Sequence[Note],
    answer: Insight,
    asked: str,
    judge: str,
    old: Note | None = None,
) -> Decision | None:
    """The decision in an answer, in the place of `old`; None for one that says nothing, without
    edits for one that says more than its sources, or tells its reader what to be or do."""
    by_id = {note.id: note for note in group}
    sources = [by_id[ident] for ident in dict.fromkeys(answer.sources)]
    title, text = one_line(answer.title), answer.text.strip()
    if answer.action != "synthesize" or len(sources) < 2 or not title or not text:
        return None
    ids = tuple(note.id for note in sources)
    unsaid = "" if says(text, sources) else "what it rests on does not say that"
    if why := unsaid or orientation_gate.prescribes(f"{title}\n{text}"):
        return Decision(name, name, title, f"not written, because {why}", (), ids, (asked,), judge)
    facts = meta(topic, title, sources)
    replaced = [old] if old is not None else []
    facts |= {"supersedes": [one.id for one in replaced]} if replaced else {}
    edits: tuple[New | Set, ...] = (
        New(facts, text, "insight"),
        *(superseding(one, "new:insight") for one in replaced),
    )
    return Decision(
        name,
        name,
        title,
        answer.reason,
        edits,
        (*(one.id for one in replaced), *ids),
        (asked,),
        judge,
        key=key([*replaced, *group]),
    )


def meta(topic: str, title: str, sources: Sequence[Note]) -> dict[str, object]:
    """The frontmatter of an insight: one level above its sources, trusted as little as the least of
    them."""
    memories = [note.memory for note in sources]
    tags = [
        tag
        for tag in dict.fromkeys(tag for memory in memories for tag in memory.tags)
        if tag.lower() == topic
    ]
    names = [
        name
        for name in dict.fromkeys(name for memory in memories for name in memory.about)
        if name.lower() == topic
    ]
    projects = {memory.project for memory in memories}
    found: dict[str, object] = {
        "type": "semantic",
        "title": title,
        "level": max(memory.level for memory in memories) + 1,
        "tags": tags,
        "about": names,
        "trust": weakest(["model", *(memory.trust for memory in memories)]),
        "project": projects.pop() if len(projects) == 1 else "",
        "derived_from": [note.id for note in sources],
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


def says(text: str, sources: Sequence[Note]) -> bool:
    """Do the sources say what it speaks of, down to every number?"""
    whole = "\n".join(
        f"{note.memory.title}\n{note.memory.body}\n{note.memory.created[:10]}" for note in sources
    )
    return claims.share(text, whole) >= GROUNDED and claims.numbers(text) <= claims.numbers(
        whole
    ) | {str(len(sources))}
