"""Where a single fact belongs: a new memory, one more source of a known one, better words for it,
its successor, or nowhere. In doubt a memory is created: two can be merged later, while words put
over others cannot be told apart again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from oneiro_vault.classify.classifier import intents
from oneiro_vault.core.conversation.personal import PERSON, is_person
from oneiro_vault.core.conversation.turns import KEY as SPANS
from oneiro_vault.core.conversation.turns import OWN, REFLECTION
from oneiro_vault.core.markdown.taxonomy import CATEGORY, KINDS, prose, relations, stated
from oneiro_vault.core.memory import (
    ENTITY,
    OWN_WORDS,
    PROCEDURE,
    epoch,
    moment,
    no_weaker,
    weakest,
)
from oneiro_vault.core.question import TOGETHER, Answer, Question, ShownId
from oneiro_vault.core.text import claims, corrections, polarity
from oneiro_vault.core.text.language import CAPITALISING, detect
from oneiro_vault.core.text.numbers import unsaid
from oneiro_vault.core.text.query import fold
from oneiro_vault.errors import EmbedderProblem
from oneiro_vault.judges.offline import NAME as RULES
from oneiro_vault.mind.base import Decision, New, Note, Set, Snapshot, keyed, superseding
from oneiro_vault.mind.support import capitalised, strange_names

LOOP: Final = "encode"
KIND: Final = "encode.place"
POLICY: Final = 3
LONGEST: Final = 1000
"""Characters of one fact."""
KEPT: Final = 0.8
"""Share of a memory's words that a revision must keep."""
SAID: Final = 0.7
"""Share of the words of a sentence that a fact and what it replaces must have, for the sentence to
say no more than the two."""
_AS_OF: Final = frozenset(
    "now instead longer anymore since currently jetzt nun statt mehr seit neuerdings".split()
)
"""Words by which a fact says that it is new: beside what still holds they may be left out."""
STRANGERS: Final = 4
"""Memories shown beside, that have nothing to do with a fact, where an answer is asked for once
more."""
_TITLE: Final = 100
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_KINDS: Final = frozenset(one for what in ("fact", "event", "opinion") for one in KINDS[what])
_TEXT: Final = "text"
"""Category of the relations that no fact states: they follow from links and lineage."""
STANDING: Final = "instruction"
"""The kind of a fact that is a standing rule or wish."""
RULE: Final = 0.7
"""How likely one is, at least: of the labelled facts of eight months and two lives 51 of 67 are
found and 30 of 468 others taken for one, most of them what somebody cannot eat or bear."""
_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d$")
_TAG: Final = re.compile(r"[^\W_][\w/-]{0,39}")
_NOBODY: Final = frozenset("user assistant human system model".split())
LINKS: Final = re.compile(r"!?\[\[[^\[\]]+\]\]|!?\[[^\[\]]*\]\([^()\s]+\)|https?://\S+")
"""What leads elsewhere."""
INSTRUCTION: Final = (
    "A fact (the last quotation) is to be filed among what is known (the quotations before it). "
    "Choose one:\ncreate: it says something that none of them says. This is the usual answer, and "
    "the right one whenever you hesitate.\nskip: one of them (`existing`) says all of it "
    "already.\nlink: one of them (`existing`) makes the same claim in other words, and the "
    "capture is one more source for it.\nrevise: the fact adds a detail to one of them "
    "(`existing`); `text` is then the whole new wording, which keeps everything the existing one "
    "says.\nsupersede: one of them (`existing`) is no longer true, or never was, because of this "
    "fact: another value of the same thing (a date that was moved, a price, a place, an amount, a "
    "wish, who does something), also from a later day on, which is then given. `flavour` is "
    "`progression` when it was true until now and `correction` when it was wrong; `also` names "
    "others that say what the existing one says and so end with it; where the existing one says "
    "more than what has changed, `text` is the fact together with all of it that still holds, "
    "without the old value; of steps, all of them as they are done now, each on a line.\n"
    "contradict: the fact and one of them (`existing`) cannot both be true, the thing is none "
    "that changes with time (where somebody was born, what happened, how long it lasted) or both "
    "speak of the same time, and nothing says which of them is right: both stay, and a person is "
    "asked.\nLink, revise, contradict and supersede need both: you can state in one sentence what "
    "the two have in common, and the existing one is not more general than the fact. A rule and "
    "one case of it, a cause and its effect, two appointments, two people: create. Name in "
    "`reason` what they have in common."
)


class Relation(BaseModel):
    """How two that a fact names are related: `subject` works_for `other`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    subject: str = Field(max_length=60)
    relation: str = Field(max_length=40)
    other: str = Field(max_length=60)


class Unit(BaseModel):
    """One fact out of a capture, or a procedure, understood without it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    content: str = Field(min_length=1, max_length=LONGEST)
    title: str = Field(default="", max_length=300)
    about: list[str] = Field(default_factory=list, max_length=12)
    tags: list[str] = Field(default_factory=list, max_length=8)
    happened: str = Field(default="", max_length=40)
    quote: str = Field(default="", max_length=LONGEST)
    """The words of the capture it rests on, copied."""
    kind: str = Field(default="", max_length=40)
    importance: float | None = None
    """0-1, None where nobody said."""
    relations: list[Relation] = Field(default_factory=list, max_length=8)
    trigger: str = Field(default="", max_length=200)
    """When a procedure applies, "" for what is none."""


class Place(Answer):
    """What becomes of a fact."""

    action: Literal["supersede", "revise", "link", "skip", "create", "contradict"]
    existing: ShownId | None = None
    text: str | None = Field(default=None, max_length=3 * LONGEST)
    flavour: Literal["progression", "correction"] | None = None
    also: list[ShownId] = Field(default_factory=list, max_length=16)


def question(capture: Note, unit: Unit, near: Sequence[Note]) -> Question:
    """Where does this fact belong?"""
    shown = [
        note.shown(*note.circumstances(), *([TOGETHER] if _together(capture, note) else []))
        for note in near
    ]
    given = meta(capture, unit)
    facts = (
        ("learned", capture.memory.created[:10]),
        ("project", given.get("project", "")),
        ("valid from", given.get("valid_from", "")),
    )
    head = "".join(f"{name}: {value}\n" for name, value in facts if value)
    return Question(
        KIND,
        INSTRUCTION,
        Place,
        tuple(shown),
        given=f"{head}{line(unit.content)}",
        policy=POLICY,
        stage=LOOP,
    )


def decide(
    snapshot: Snapshot,
    capture: Note,
    unit: Unit,
    key: str,
    place: Place,
    asked: tuple[str, ...],
    judge: str,
    confirmed: Collection[str] = (),
) -> Decision | None:
    """The decision in an answer; None when nothing is to be done. `confirmed`: ids that a second
    answer names as replaced, too."""
    create = creating(capture, unit, key, asked, place.reason, judge)
    existing = snapshot.notes.get(place.existing) if place.existing else None
    if place.action == "create" or existing is None:
        return create
    if place.action == "skip":
        return None
    beyond = stronger(existing, capture)
    if place.action == "contradict":  # both stay, so a wrong answer costs a look
        return (
            _doubting(create, existing)
            if existing.memory.core or beyond
            else _contradicting(create, existing)
        )
    if not (
        existing.id in confirmed
        or shared(snapshot, unit.content, existing)
        or _says_so(capture, unit, existing)
    ):
        return replace(
            create,
            reason=f"kept by itself, for {existing.id} is about something else: {place.reason}",
        )
    if place.action == "link":
        return None if beyond else _linking(capture, existing, create)
    if existing.memory.core or beyond:
        return _doubting(create, existing)
    if place.action == "revise":
        return _revising(capture, unit, existing, place.text or "", create)
    if existing.memory.type == PROCEDURE and not is_procedure(capture, unit):
        unit = _as_steps(unit, existing, place.text or "")
        if not is_procedure(capture, unit):
            return replace(create, reason=f"kept by itself, for {existing.id} says more steps")
        create = creating(capture, unit, key, asked, place.reason, judge)
        place = place.model_copy(update={"text": None})
    return _superseding(snapshot, capture, unit, existing, place, create, confirmed)


def once_more(
    snapshot: Snapshot, capture: Note, unit: Unit, place: Place, near: Sequence[Note]
) -> Question | None:
    """The same question in another order and among memories that are not `near`, where an answer
    replaces a memory that shares no telling word with the fact; else None.

    Two states of one thing may have no word in common. Who understands both finds it again; who
    takes the first, the last or all of what is shown does not.
    """
    existing = snapshot.notes.get(place.existing or "")
    if place.action != "supersede" or existing is None or shared(snapshot, unit.content, existing):
        return None
    if existing.memory.core or stronger(existing, capture) or _is_older(capture, existing):
        return None
    if _says_so(capture, unit, existing):
        return None
    known = {one.id for one in near}
    others = [
        one for one in snapshot.of("semantic") if one.memory.level == 0 and one.id not in known
    ]
    mixed = sorted(others, key=lambda one: keyed(unit.content, one.id))  # in no order of theirs
    others = mixed[:STRANGERS]
    if len(others) < STRANGERS:
        return None
    middle = STRANGERS // 2
    rest = [one for one in reversed(near) if one.id != existing.id]
    return question(capture, unit, [*others[:middle], existing, *rest, *others[middle:]])


def _together(capture: Note, existing: Note) -> bool:
    return capture.id in existing.memory.derived_from


def _says_so(capture: Note, unit: Unit, existing: Note) -> bool:
    """Does a fact say itself that it corrects a memory?"""
    return _correction(capture, unit, existing) is not None


def _correction(capture: Note, unit: Unit, existing: Note) -> corrections.Correction | None:
    known, together = prose(existing.memory.body), _together(capture, existing)
    return corrections.corrects(unit.content, known, together=together)


def trust(capture: Note) -> str:
    """As far as the spans the facts rest on, and never as what a person wrote into the vault."""
    return weakest(["said" if capture.memory.extra.get(SPANS) else "model", capture.memory.trust])


def repeats(capture: Note, unit: Unit, existing: Note) -> bool:
    """Does a fact say in the same words what is known, of the same time?"""
    since = began(unit, capture)[:10]
    known = line(_CALLOUT.sub("", prose(existing.memory.body)))
    return line(unit.content).casefold() == known.casefold() and since in (
        "",
        existing.memory.valid_from[:10],
    )


def creating(
    capture: Note, unit: Unit, key: str, asked: tuple[str, ...], reason: str, judge: str = ""
) -> Decision:
    """File the fact as a memory of its own."""
    new = New(meta(capture, unit), body(unit, trust(capture), judge), "fact")
    return Decision(
        LOOP, "remember", new.meta["title"], reason, (new,), (capture.id,), asked, judge, key=key
    )


def meta(capture: Note, unit: Unit) -> Mapping[str, Any]:
    """The frontmatter of a fact: its capture gives date, project, trust; the judge only words."""
    memory = capture.memory
    found: dict[str, Any] = {
        "type": type_of(capture, unit),
        "title": title(unit),
        "trigger": line(unit.trigger) if is_procedure(capture, unit) else "",
        "created": memory.created,
        "trust": trust(capture),
        "project": memory.project,
        "derived_from": [capture.id],
        SPANS: capture.memory.extra.get(SPANS, []),
        "about": names(unit.about),
        "tags": tags(unit),
        "kind": _kind(capture, unit),
        "importance": importance(unit, memory.importance),
        "confidence": memory.confidence,
        "valid_from": began(unit, capture),
    }
    return {key: value for key, value in found.items() if value not in ("", [], None)}


def is_procedure(capture: Note, unit: Unit) -> bool:
    """Does somebody who is trusted say how something is done?"""
    return bool(unit.trigger.strip()) and trust(capture) in OWN_WORDS


def type_of(capture: Note, unit: Unit) -> str:
    """What a fact becomes."""
    return PROCEDURE if is_procedure(capture, unit) else "semantic"


def steps(unit: Unit) -> list[str]:
    """The steps of a procedure, without their numbers and what introduces them ("How a draft goes
    out:"); none of what is a fact or one sentence."""
    given = [one.strip() for one in unit.content.splitlines() if one.strip()]
    headed = bool(given) and given[0].endswith(":") and not claims.LIST_MARK.match(given[0])
    # no step ends as a heading: they are read again when they are filed
    lines = [line(claims.LIST_MARK.sub("", one)).rstrip(":") for one in given[headed:]]
    return lines if unit.trigger.strip() and len(lines) > 1 else []


def body(unit: Unit, trust: str, judge: str = "") -> str:
    """The words of a fact, the steps of a procedure each on its line, and the relations it
    states; rules read them of a person's own words only."""
    said = steps(unit)
    words = "\n".join(f"{n}. {one}" for n, one in enumerate(said, 1)) if said else ""
    words = words or line(unit.content)
    read = trust in OWN_WORDS or judge != RULES
    items = "\n".join(dict.fromkeys(_items(unit, trust) if read else ()))
    return f"{words}\n\n{items}\n" if items else words


def _items(unit: Unit, trust: str) -> Iterator[str]:
    """Relations of the closed list, between two that the fact or what it cites names, or one and
    the person whose own words it has."""
    said = fold(f"{unit.content} {unit.quote}")
    for one in unit.relations:
        given = [PERSON if is_person(name) else name for name in (one.subject, one.other)]
        ends = [
            name
            for name in names(given)
            if (trust in OWN_WORDS if name == PERSON else fold(name) in said)
        ]
        relation = line(one.relation).lower().replace(" ", "_")
        if len(ends) == 2 and CATEGORY.get(relation, _TEXT) != _TEXT:
            yield stated(ends[0], relation, ends[1])


def of_person(unit: Unit, own: Collection[str]) -> Unit:
    """A fact whose relations are the person's where they give one of their `own` names (folded),
    though its words call them the user."""
    said = fold(f"{unit.content} {unit.quote}")

    def end(name: str) -> str:
        return PERSON if fold(name) in own and fold(name) not in said else name

    given = [
        one.model_copy(update={"subject": end(one.subject), "other": end(one.other)})
        for one in unit.relations
    ]
    return unit.model_copy(update={"relations": given})


def own_names(snapshot: Snapshot) -> frozenset[str]:
    """What the person is called (folded), by the entity that is the person."""
    return frozenset(
        fold(name)
        for note in snapshot.of(ENTITY)
        for name in (note.memory.title, *note.memory.aliases)
        if PERSON in note.memory.aliases
    )


def _kind(capture: Note, unit: Unit) -> str:
    """What kind of fact it is, "" where nobody says. A rule is one that somebody who is trusted
    gives."""
    given = line(unit.kind).lower() if unit.kind else ""
    if is_procedure(capture, unit):
        return ""
    if is_rule(unit.content) or (given == STANDING and trust(capture) in OWN_WORDS):
        return STANDING
    return given if given in _KINDS and given != STANDING else ""


def importance(unit: Unit, known: float | None) -> float | None:
    """How much it will matter, 0-1, at least what is `known` of its capture."""
    given = unit.importance
    if given is None or not 0 <= given <= 1:
        return known
    return max(round(given, 2), known or 0.0)


@lru_cache(maxsize=256)
def is_rule(text: str) -> bool:
    """Does a person say what they always want, or never?"""
    try:
        return intents(text)["instruction"] >= RULE
    except EmbedderProblem:  # without the packaged model it is a fact like any other
        return False


def began(unit: Unit, capture: Note) -> str:
    """When a fact began to hold, "" if nobody said: a day of those who spoke, by the capture's
    clock."""
    day, offset = (
        moment(unit.happened) if unit.happened.strip() else "",
        _OFFSET.search(capture.memory.created),
    )
    return f"{day[:19]}{offset[0]}" if offset and _DAY.fullmatch(unit.happened.strip()) else day


def names(given: Sequence[str]) -> list[str]:
    """Names as a judge gave them, without those that name nobody or would be read as links."""
    found = dict.fromkeys(line(name) for name in given)
    return [
        name
        for name in found
        if len(name) <= 60 and name.lower() not in _NOBODY and not set("[]|#…") & set(name)
    ]


def tags(unit: Unit) -> list[str]:
    """The tags of a fact: three at most that somebody may look for."""
    found = (line(tag).lower().lstrip("#") for tag in unit.tags)
    return [tag for tag in dict.fromkeys(found) if usable(tag)][:3]


def usable(tag: str) -> bool:
    """Can it be a tag that somebody looks for? What steers the tool cannot."""
    return bool(_TAG.fullmatch(tag)) and not tag.isdigit() and tag not in (OWN, REFLECTION)


def line(text: str) -> str:
    """One line of plain text that no tool takes for the beginning of something else."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split()).lstrip("<=>|# ").strip() or "…"


def title(unit: Unit) -> str:
    """The title that was given, else the beginning of the fact."""
    text = line(unit.title) if unit.title.strip() else line(unit.content)
    return (
        text if len(text) <= _TITLE else text[: _TITLE - 1].rsplit(" ", 1)[0].rstrip(",;:- ") + "…"
    )


def _linking(capture: Note, existing: Note, create: Decision) -> Decision | None:
    if capture.id in existing.memory.derived_from:
        return None
    return _instead_of(create, "link", [existing], (Set(existing.id, _sources(capture, existing)),))


def _revising(capture: Note, unit: Unit, existing: Note, text: str, create: Decision) -> Decision:
    """New words, if they keep what the old ones say and take in the fact."""
    old, new = prose(existing.memory.body), text.strip()
    whole = (
        claims.share(old, new) >= KEPT
        and claims.share(unit.content, new) >= KEPT
        and claims.numbers(old) | claims.numbers(unit.content) <= claims.numbers(new)
        and set(LINKS.findall(old)) <= set(LINKS.findall(new))
        and len(new) <= len(old) + 2 * LONGEST
    )
    if not whole:
        return create
    items = "\n".join(
        dict.fromkeys([*relations(existing.memory.body), *_items(unit, trust(capture))])
    )
    new = f"{new}\n\n{items}\n" if items else new
    return _instead_of(
        create, "revise", [existing], (Set(existing.id, _sources(capture, existing), new),)
    )


def _sources(capture: Note, existing: Note) -> Mapping[str, Any]:
    found: dict[str, Any] = {
        "derived_from": list(dict.fromkeys((*existing.memory.derived_from, capture.id)))
    }
    if spans := capture.memory.extra.get(SPANS):
        known = existing.memory.extra.get(SPANS)
        found[SPANS] = list(dict.fromkeys((*(known if isinstance(known, list) else ()), *spans)))
    return found


def _superseding(
    snapshot: Snapshot,
    capture: Note,
    unit: Unit,
    existing: Note,
    place: Place,
    create: Decision,
    confirmed: Collection[str],
) -> Decision:
    if _is_older(capture, existing):
        return create
    others = (snapshot.notes[ident] for ident in dict.fromkeys(place.also) if ident != existing.id)
    alike = [
        one
        for one in others
        if one.memory.type == existing.memory.type  # no sentence ends all the steps of something
        and (one.id in confirmed or shared(snapshot, unit.content, one))
    ]
    gone = [
        existing,
        *(
            one
            for one in alike
            if not (one.memory.core or stronger(one, capture) or _is_older(capture, one))
        ),
    ]
    (new,) = create.edits
    assert isinstance(new, New)
    given, told = {**new.meta, "supersedes": [one.id for one in gone]}, new.body
    equal = no_weaker(existing.memory.trust, new.meta["trust"])  # else the fact would lose its own
    beside: tuple[New, ...] = ()
    if equal and _holds_on(unit, existing, place.text or ""):
        rest = (place.text or "").removeprefix(f"{line(unit.content)} ")
        if rest != place.text:  # behind the fact's own words
            said = _correction(capture, unit, existing)
            beside = (_resting(existing, rest, said is not None and said.rest == rest),)
        else:
            whole = unit.model_copy(update={"content": place.text})
            told = body(whole, new.meta["trust"], create.judge)
    known = [one.memory.importance for one in gone if one.memory.importance is not None]
    if known:
        given["importance"] = max(*known, given.get("importance", 0.0))
    reason = f"{place.flavour}: {place.reason}" if place.flavour else place.reason
    if equal and place.text and not beside and told == new.body:
        reason = f"{reason}; `text` was left out: it says more than the two, or less than the fact"
    # what was wrong ends at once, whenever the other begins
    begins = "" if place.flavour == "correction" else began(unit, capture)
    edits: tuple[New | Set, ...] = (
        New(given, told, new.key),
        *beside,
        *(_ending(one, capture, begins, snapshot.now) for one in gone),
    )
    return _instead_of(create, "supersede", gone, edits, reason)


def _resting(existing: Note, text: str, own: bool) -> New:
    """What still holds of a memory that was replaced, as one of its own: with its date and what it
    is about, and where the words are its `own`, with what they rest on."""
    memory, unit = existing.memory, Unit(content=text)
    keys = ("type", "created", "project", "kind", "tags", "importance", "confidence", "valid_from")
    meta: dict[str, Any] = {key: getattr(memory, key) for key in keys}
    meta |= {
        "title": title(unit),
        "trust": memory.trust,
        "derived_from": [*(memory.derived_from if own else ()), existing.id],
        SPANS: memory.extra.get(SPANS, []) if own else [],
        "about": [name for name in memory.about if fold(name) in fold(text)],
    }
    return New({key: one for key, one in meta.items() if one not in ("", [], (), None)}, text)


def _as_steps(unit: Unit, existing: Note, text: str) -> Unit:
    """A fact that changes how something is done, as all the steps there are now where a `text` is
    that: with little else than what the steps and the fact say, and little of the steps left out;
    else as it was."""
    memory, old = existing.memory, prose(existing.memory.body)
    whole = unit.model_copy(
        update={"content": text, "title": memory.title, "trigger": memory.trigger}
    )
    told = "\n".join(steps(whole))
    said = claims.content(unit.content) - claims.content(old)
    holds = claims.share(old, told) >= KEPT and bool(said & claims.content(told))
    return whole if holds and _grounded(told, f"{unit.content}\n{old}") else unit


def _grounded(text: str, ground: str) -> bool:
    """Does a text say nothing but what stands in another?"""
    return (
        claims.numbers(text) <= claims.numbers(ground)
        and all(claims.share(one, ground) >= SAID for one in claims.split_sentences(text))
        and not strange_names(text, ground)
        and not LINKS.search(text)
    )


def _holds_on(unit: Unit, existing: Note, text: str) -> bool:
    """Is a text the fact together with what still holds of what it replaces, and nothing else?"""
    old = f"{existing.memory.title}\n{prose(existing.memory.body)}"
    ground = f"{unit.content}\n{old}"
    new, stated = claims.content(unit.content) - claims.content(old) - _AS_OF, unit.content
    for start, end in reversed(corrections.denied(stated)):  # "46, not 48"
        stated = f"{stated[:start]}{stated[end:]}"
    return (
        bool(text.strip() and (new or claims.numbers(stated) - claims.numbers(old)))
        and len(new & claims.content(text)) >= KEPT * len(new)
        and claims.numbers(stated) <= claims.numbers(text)
        and _grounded(text, ground)
        and not polarity.contrary(text, unit.content)
        and len(text) <= len(old) + LONGEST
    )


def stronger(existing: Note, capture: Note) -> bool:
    """Is a memory trusted more than what a capture says?"""
    return not no_weaker(trust(capture), existing.memory.trust)


def _is_older(capture: Note, existing: Note) -> bool:
    learned, known = capture.memory.when(), existing.memory.when()
    return learned is not None and known is not None and learned < known


def _ending(existing: Note, capture: Note, happened: str, now: float) -> Set:
    if (
        (epoch(happened) or 0.0) > now
    ):  # announced: until then what is known holds; `consolidate.begun` retires it on that day
        return Set(existing.id, {"valid_until": existing.memory.valid_until or happened})
    ended = existing.memory.valid_until or happened or capture.memory.created
    if (epoch(ended) or 0.0) < (epoch(existing.memory.valid_from) or 0.0):
        ended = capture.memory.created
    old = superseding(existing, "new:fact")
    return Set(existing.id, {**old.changes, "valid_until": ended or old.changes["valid_until"]})


def _contradicting(create: Decision, existing: Note) -> Decision:
    doubtful = _doubting(
        create,
        existing,
        f"It cannot hold together with {existing.id}, and nothing says which of them does.",
    )
    flags = list(dict.fromkeys([*existing.memory.flags, "contradiction"]))
    edits = (*doubtful.edits, Set(existing.id, {"flags": flags}))
    return replace(
        doubtful,
        op="flag",
        edits=edits,
        reason=f"may not agree with {existing.id}: {create.reason}",
        instead=create,
    )


def _doubting(create: Decision, existing: Note, why: str = "") -> Decision:
    """Words that are trusted less stand beside the others, with the question for a person."""
    (new,) = create.edits
    assert isinstance(new, New)
    why = (
        why or f"It may not agree with {existing.id}, which is trusted more and was left as it is."
    )
    callout = f"> [!contradiction] {why}"
    words = f"{new.body.rstrip()}\n\n{callout}\n"
    doubtful = New({**new.meta, "flags": ["contradiction"]}, words, new.key)
    memories, reason = (
        (*create.memories, existing.id),
        f"kept beside {existing.id}: {create.reason}",
    )
    return replace(create, edits=(doubtful,), memories=memories, reason=reason)


def _instead_of(
    create: Decision, op: str, known: Sequence[Note], edits: tuple[New | Set, ...], reason: str = ""
) -> Decision:
    memories = (*create.memories, *(one.id for one in known))
    reason = reason or create.reason
    return replace(
        create,
        op=op,
        title=known[0].memory.title,
        edits=edits,
        memories=memories,
        reason=reason,
        instead=create,
    )


PERVASIVE: Final = 0.1
"""Share of what is known of which a word may be part and still tell one subject from another."""
FEW: Final = 1
"""Memories of which any word may be part."""
SAMPLE: Final = 2_000
"""The newest memories, of which the words are counted."""
MOST: Final = 0.5
"""Share of the shorter text's words that the other has, where all of them are everywhere."""
_CALLOUT: Final = re.compile(r"^>.*$", re.MULTILINE)
_PART: Final = 4
"""Letters of a word that is part of a compound."""
_ENDING: Final = 2
_STATES: Final = {
    word: state
    for state, words in {
        "home": "live rent move resid home hous apart flat address wohn leb zieh zog gezog umzog "
        "miet hous vive viv mud habit",
        "work": "work job employ hire posit arbeit stell beruf trabaj travaill",
        "wedding": "wed marri marriag hochzeit heirat boda mariag",
        "cost": "pay paid cost price rate fee salari earn zahl kost preis gehalt",
    }.items()
    for word in words.split()
}
"""Stems that speak of one state in different words."""


def shared(snapshot: Snapshot, fact: str, existing: Note) -> bool:
    """Does a fact share a word with a memory that tells its subject from others, or most of its
    words? A name that both have is none of them: much is known of one person."""
    other = f"{existing.memory.title}\n{_CALLOUT.sub('', prose(existing.memory.body))}"
    language = detect(f"{fact}\n{other}") or "en"
    mine, theirs = stems(fact, language), stems(other, language)
    named = _names(f"{fact}\n{other}", language)
    known = _counted(snapshot)
    if mine - named and theirs - named:
        mine, theirs = mine - named, theirs - named
    common = [one for one in mine if any(_alike(one, two) for two in theirs)]
    return any(known.tells(one) for one in common) or (
        bool(common) and len(common) >= MOST * min(len(mine), len(theirs))
    )


def covers(keeper: Note, other: Note) -> bool:
    """Can one stand for the other: has it all its numbers, days and names, and does not deny it?"""
    mine = f"{keeper.memory.title}\n{keeper.memory.body}"
    theirs = prose(other.memory.body)
    missing = unsaid(theirs, mine, keeper.memory.created) or strange_names(theirs, mine)
    return not missing and not polarity.contrary(theirs, keeper.memory.body)


@dataclass(frozen=True)
class _Known:
    words: Counter[str]
    notes: int

    def tells(self, word: str) -> bool:
        """Does it tell one subject from others?"""
        return self.words[word] <= max(FEW, PERVASIVE * self.notes)


def _counted(snapshot: Snapshot) -> _Known:
    found = snapshot.memo.get(__name__)
    if not isinstance(found, _Known):
        bodies = [
            prose(note.memory.body) for note in snapshot.of("semantic") if note.memory.level == 0
        ][-SAMPLE:]
        found = _Known(
            Counter(one for body in bodies for one in stems(body, detect(body) or "en")),
            len(bodies),
        )
        snapshot.memo[__name__] = found
    return found


@lru_cache(maxsize=4096)
def stems(text: str, language: str = "") -> frozenset[str]:
    """Of its content words, and for those that speak of one state in other words the state's."""
    found = polarity.stems(text, language)
    return frozenset(found | {_STATES[one] for one in found if one in _STATES})


def _names(text: str, language: str) -> frozenset[str]:
    return frozenset() if language in CAPITALISING else stems(" ".join(capitalised(text)), language)


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    part = short[:-_ENDING] if len(short) >= _PART + _ENDING + 1 else short
    return one == other or (len(short) >= _PART and part in long)
