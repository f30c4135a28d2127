"""A judge without a model: it says what can be seen by rules, and leaves everything else open for
somebody who understands it.

It merges what is the same but for how it is written, keeps what the person said in a capture word
for word, files a fact unless that is there already, lets it replace what it says is over, and lets
a lasting trait of somebody named stand in the orientation in its own words. It never says
"distinct", "no" or "nothing here": not seeing is not knowing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any, Final

from oneiro_vault.classify import first_things, orientation_gate
from oneiro_vault.classify.classifier import COUNTED, PROCEDURE, dictates, worth_keeping
from oneiro_vault.classify.names import Name, Tie, find, related
from oneiro_vault.classify.pasted import joint
from oneiro_vault.classify.spans import Span, typed
from oneiro_vault.core.conversation import personal, turns
from oneiro_vault.core.memory import no_weaker
from oneiro_vault.core.question import TOGETHER, Question, Raw, Shown
from oneiro_vault.core.text import claims, corrections, equality
from oneiro_vault.core.time import relative_dates

NAME: Final = "offline"
OPEN: Final = "the offline judge cannot decide this; it waits for a model or a person"
LONGEST: Final = 400
"""Characters of a sentence that is kept."""
FEWEST: Final = 4
"""Words of one."""
WORTH: Final = 0.65
"""How likely a sentence is to be wanted later before it is kept: what is left out can still be
found in its capture."""
DETAIL: Final = 0.5
"""How likely one is that only goes on with the kept one before it, in the same note."""
SHORT: Final = 7
"""Words of a sentence that says little without the one before it."""
BESIDE: Final = 0.25
"""How likely such a one is that goes on with a kept one."""
_CLOSED: Final = re.compile(r"[.!?…:;]\W*$")
"""At the end of what says something without somebody else's words behind it."""
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_VERBS: Final = re.compile(
    r"(?:\b(?:is|isn't|are|aren't|was|were|has|have|had|does|did|will|won't|can|ist|sind|war|"
    r"waren|hat|haben|hatte|wird|werden|kann|muss|est|sont|était|ont|era|está|tiene|sono|hanno|"
    r"heeft|zijn|jest|są|är)|'s|'re|'ll|'ve)\b",
    re.I,
)
LONGEST_NAME: Final = 60
"""Characters of a name that is related to another."""
LONGEST_PROCEDURE: Final = 900
"""Characters of a paragraph that is kept as one procedure."""
LONGEST_TRIGGER: Final = 16
_TELLING: Final = 3
"""Words of what says when, and steps of what is told step by step, at least."""
FIRST_WORDS: Final = 8
"""Words of when it applies, and of what stands for it where its first clause is longer."""
_GAP: Final = re.compile(r"(?<!:)[ \t]*\n[ \t]*\n\s*(?!\s*(?:[-*•–]|\d{1,2}[.)])\s)")
"""Between paragraphs; a list belongs to what is above it."""
_CLAUSE: Final = re.compile(r"\s*[:=,;\n]\s*|\s+(?:[–—-]+|->|→)\s+|[.!]\s+")
_KEEP: Final = re.compile(
    r"(?:(?:and|so|also|ok|okay|yes|then|please|pls|(?:can|could) you|i want you to|let me|"
    r"at least|und|also|dann|ja|bitte|kannst du|lass mich)[, ]+)*(?:write|note|jot|put|save|store|"
    r"keep|remember|record|document|learn|dictate|schreib\w*|notier\w*|merk\w*|speicher\w*|"
    r"diktier\w*|halte?)\b"
    r"(?: (?:down|up|this|that|it|for me|in mind|somewhere|once|please|mal|das|es|dir|bitte|auf|"
    r"fest|ordentlich))*[ ,]*",
    re.I,
)
"""A request to keep what is told."""
_HOW: Final = re.compile(r"(?:how|what|when|before|wie|was|wenn|bevor)\b", re.I)
_ABOUT: Final = frozenset(("person", "organization", "project", "animal"))
"""What a fact is about, of what it names."""


class OfflineJudge:
    """Deterministic: the same question has the same answer, everywhere and always."""

    name = NAME

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """One after the other."""
        for question in questions:
            rule = RULES.get(question.kind)
            said = rule(question) if rule is not None else None
            yield question.id, Raw(problem=OPEN, waits=True) if said is None else Raw(said)

    def close(self) -> None:
        """Nothing to let go of."""


def same(keeper: Shown, other: Shown) -> bool:
    """May the first stand for the second: the same words, said of the same, by nobody who is
    trusted less?"""
    if other.trust and not no_weaker(keeper.trust or other.trust, other.trust):
        return False
    mine, theirs = _whole(keeper), _whole(other)
    if not equality.same(mine, theirs) or not _same_circumstances(
        keeper, other, f"{mine}\n{theirs}"
    ):
        return False
    if not equality.alone(mine):
        return _occasion(keeper) == _occasion(other)
    return keeper.created[:10] == other.created[:10] or equality.timeless(mine)


def _same_circumstances(one: Shown, other: Shown, said: str) -> bool:
    """Do they belong to the same project and time, and are they about the same, apart from what
    both name anyway?"""
    mine, theirs = dict(one.notes), dict(other.notes)
    if any(
        mine.get(name, "") != theirs.get(name, "")
        for name in ("project", "valid from", "valid until", "outcome")
    ):
        return False
    words = f" {' '.join(claims.tokens(said))} "
    subjects = [
        {
            name
            for name in notes.get("about", "").split(", ")
            if name and f" {' '.join(claims.tokens(name))} " not in words
        }
        for notes in (mine, theirs)
    ]
    return subjects[0] == subjects[1]


def _occasion(shown: Shown) -> tuple[str, ...]:
    """Who said it, and when: "she" and "this" are somebody and something else on another
    occasion."""
    return shown.source, shown.created[:10], dict(shown.notes).get("session", "")


def merge(question: Question) -> Mapping[str, Any] | None:
    """The note that covers most of the others, with those it covers; open when none covers
    another."""
    best: tuple[Shown, list[str]] | None = None
    for keeper in question.shown:
        members = [
            other.id for other in question.shown if other.id != keeper.id and same(keeper, other)
        ]
        if members and (best is None or len(members) > len(best[1])):
            best = keeper, members
    if best is None:
        return None
    return {
        "reason": "the same words, whatever way they are written",
        "action": "merge",
        "keep": best[0].id,
        "members": best[1],
    }


def units(question: Question) -> Mapping[str, Any] | None:
    """What the person said that will be wanted later, in their own words, with the days they meant,
    and how they say that something is always done. Never complete: the rest waits for a model."""
    found: list[Mapping[str, Any]] = []
    for shown in question.shown:
        stretches = own(shown.text, dict(shown.notes).get(turns.GOES_ON, ""), shown.source)
        dictated = procedures(stretches, _said_on(shown))
        left = [rest for one in stretches for rest in _without(one, dictated)]
        found += [*map(_procedure, dictated), *_kept(shown, left)]
    return (
        {"reason": "what was said, word for word", "units": found[:40], "complete": False}
        if found
        else None
    )


def _kept(shown: Shown, stretches: Sequence[str]) -> list[Mapping[str, Any]]:
    """A sentence that points at the one before it takes that along; one of little worth alone is
    kept only with the one before it, unless it says who the person is or what they always want."""
    day = _said_on(shown)
    found: list[list[str]] = []
    for sentences in map(claims.split_sentences, map(turns.without_speaker, stretches)):
        run = [
            one
            if corrections.takes_back(one)
            else first_things.before_question(personal.without_chatter(one))
            for one in sentences
        ]
        before, taken = "", False
        topics = first_things.topics(run)
        for sentence, worth, topic in zip(run, worth_keeping(run), topics, strict=True):
            short = len(claims.tokens(sentence)) <= SHORT
            told = topic is not None
            lacks = short and topic != "wishes" and _lacks(sentence)
            whole = (told or worth >= WORTH) and not lacks
            leans = claims.points(sentence) or not whole
            goes_on = taken and leans and sum(map(len, found[-1])) < LONGEST
            least = WORTH if not goes_on else BESIDE if short else DETAIL
            keeps = (told or worth >= least) and _stands(sentence, 1 if told or goes_on else FEWEST)
            keeps = keeps and (topic == "wishes" or not personal.of_reader(sentence))
            keeps = keeps and (goes_on or not (lacks and personal.chats(sentence)))
            if taken and corrections.takes_back(sentence):  # alone, what it takes back would stand
                keeps = goes_on = True
            if keeps and goes_on:
                found[-1].append(sentence)
            elif keeps:
                found.append(
                    [before, sentence]
                    if len(before) <= LONGEST and claims.points(sentence) and _tells(before)
                    else [sentence]
                )
            before, taken = sentence, keeps
    runs = [list(one) for one in dict.fromkeys(map(tuple, found))]
    read = related([" ".join(said) for said in runs])
    return [_unit(said, *one, day) for said, one in zip(runs, read, strict=True)]


def _said_on(shown: Shown) -> date | None:
    return _date(dict(shown.notes).get("captured", "") or shown.created)


def own(text: str, speaker: str = "", source: str = "") -> list[str]:
    """What a person typed themselves, or may have, in stretches. No sentence is cut: one of which
    the rest is doubted is a stretch, and of one that holds somebody else's words nothing is."""
    spans = list(typed(text, speaker, source))
    extents = [(one.start, one.end) for one in spans if one.own or one.doubted]
    for one, other in pairwise(spans):
        meet = one.end == other.start and (one.own or other.own)
        if meet and (cut := _sentence(text, one.start, other.end, one.end)):
            extents = list(_uncut(extents, text, (one, other), cut))
    return [said for start, end in extents if (said := text[start:end]).strip()]


def _uncut(
    extents: Sequence[tuple[int, int]],
    text: str,
    spans: tuple[Span, Span],
    sentence: tuple[int, int],
) -> Iterator[tuple[int, int]]:
    """The stretches without what is left of the sentence in which two spans meet; it is one of its
    own when all of it may be the person's. A clause that another is joined to ends where the "and"
    stands."""
    (one, other), (start, end), at = spans, sentence, spans[0].end
    clause = one.start + joint(text[one.start : at])
    joined = clause < at or joint(f"{text[at:end].split()[0]} ") == 0
    closed = one.own and not other.doubted and _CLOSED.search(text[start:at])
    for begins, ends in extents:
        if ends == at and one.own:
            yield begins, clause if clause < at else at if closed else start
            if other.doubted and not joined:
                yield start, end
        else:
            yield (end if begins == at and not joined else begins), ends


def _sentence(text: str, start: int, end: int, at: int) -> tuple[int, int] | None:
    """Where the sentence of `text[start:end]` begins and ends that goes over a place, if one
    does."""
    spans = (
        (start + begins, start + ends) for begins, ends in claims.sentence_spans(text[start:end])
    )
    return next((one for one in spans if one[0] < at < one[1]), None)


def procedures(stretches: Sequence[str], day: date | None) -> list[str]:
    """The paragraphs, each with the list that it heads, that say how something is always done: of
    no day in particular."""
    found = [
        paragraph
        for stretch in stretches
        for one in _GAP.split(turns.without_speaker(stretch))
        if len((paragraph := one.strip()).split()) > FEWEST
        and not paragraph.endswith(":")  # of what stood below, nothing is theirs
        and len(paragraph) <= LONGEST_PROCEDURE
        and not (day and relative_dates.find(paragraph, day))
    ]
    marked = (len(claims.steps(one)) >= _TELLING for one in found)
    least = [COUNTED if steps else PROCEDURE for steps in marked]
    likely = zip(found, dictates(found), least, strict=True)
    return [one for one, sure, enough in likely if sure >= enough]


def _without(stretch: str, paragraphs: Sequence[str]) -> list[str]:
    """A stretch in the pieces that these leave of it."""
    found = [stretch]
    for paragraph in paragraphs:
        found = [rest for piece in found for rest in piece.split(paragraph)]
    return [one for one in found if one.strip()]


def _procedure(words: str) -> Mapping[str, Any]:
    """A procedure as it was dictated, a step a line where they are marked; it applies when its
    first clause says that is more than a word or two, or a heading, and no request to keep it."""
    cuts = [(0, 0), *(one.span() for one in _CLAUSE.finditer(words)), (len(words), len(words))]
    clauses = [_told(words, one[1], other[0]) for one, other in pairwise(cuts)]
    telling = [one for one in clauses if _tells_when(words, *one)] or clauses[:1]
    asked = telling[0] not in [(one[1], other[0]) for one, other in pairwise(cuts)]
    heads = (one for one in telling if not asked and _heads(words, *one))
    start, end = next(heads, telling[0])
    head = words[start:end].split()
    when = " ".join(head if len(head) <= LONGEST_TRIGGER else head[:FIRST_WORDS])
    steps = claims.steps(words)
    return {
        "content": "\n".join(steps) if steps else " ".join(words[telling[0][0] :].split()),
        "title": f"{when[:1].upper()}{when[1:]}",
        "trigger": when,
        "about": names([words])[0][:5],
        "tags": [],
        "quote": words,
    }


def _heads(words: str, start: int, end: int) -> bool:
    """Is it all that stands between the end of a sentence and what it heads?"""
    before, behind = words[:start].rstrip(), words[end:].lstrip()
    return before.endswith((".", "!")) and behind.startswith(":")


def _tells_when(words: str, start: int, end: int) -> bool:
    told = words[start:end]
    heads = start < end and words[end:].lstrip().startswith(":")
    return not personal.chatter(told) and (heads or len(told.split()) >= _TELLING)


def _told(words: str, start: int, end: int) -> tuple[int, int]:
    """Where a clause says something: behind the request to keep it, nowhere in one that is only
    that."""
    asked = _KEEP.match(words, start, end)
    if not asked:
        return start, end
    if _HOW.match(words, asked.end(), end):
        return asked.end(), end
    return (end, end) if len(words[asked.end() : end].split()) < _TELLING else (start, end)


def _lacks(sentence: str) -> bool:
    """Is a short sentence no whole one: without a common verb, and of nobody who speaks?"""
    return not (_VERBS.search(sentence) or personal.speaks(sentence))


def _tells(before: str) -> bool:
    """Is it more than an answer or chatter, which no sentence needs beside it?"""
    few = len(claims.tokens(before)) < FEWEST
    return bool(before) and not (_lacks(before) and (few or personal.chats(before)))


def _stands(sentence: str, fewest: int) -> bool:
    fits = len(claims.tokens(sentence)) >= fewest and len(sentence) <= LONGEST
    return fits and not sentence.rstrip("\"')*_ ").endswith(("?", ":"))


def names(texts: Sequence[str]) -> list[list[str]]:
    """Whom each names, and whose work."""
    return [_about(found) for found in find(texts)]


def _about(found: Sequence[Name]) -> list[str]:
    return list(dict.fromkeys(one.text for one in found if one.kind in _ABOUT))


def _relation(one: Tie) -> Mapping[str, str]:
    ends = (end or personal.PERSON for end in (one.subject, one.other))
    return dict(zip(("subject", "other"), ends, strict=True)) | {"relation": one.relation}


def place(question: Question) -> Mapping[str, Any] | None:
    """Skip what stands there word for word and means the same on any day; replace the one note that
    the fact says is over; everything else is new. Without the fact itself nothing can be said."""
    *facts, text = question.given.strip().splitlines() or [""]
    if not text:
        return None
    given = Shown(
        "",
        "",
        text,
        notes=tuple((name, value) for name, _, value in (line.partition(": ") for line in facts)),
    )
    for shown in question.shown:
        if equality.alone(text) and equality.timeless(text) and same(shown, given):
            return _filed("skip", "it says the very same", shown.id)
        if shown.trust == "said" and equality.same(text, shown.text):
            return _filed("link", "it was said before", shown.id)
    over = [(shown.id, how) for shown in question.shown if (how := _corrects(text, shown))]
    if len(over) == 1:
        ((ident, how),) = over
        parts = (text, how.rest) if how.subject else (how.rest, text)
        flavour = "correction" if how.wrong else "progression"
        words = " ".join(parts) if how.rest else None
        return _filed("supersede", "it says itself that this is over", ident, flavour, words)
    return _filed("create", "nothing says the very same")


def _corrects(text: str, shown: Shown) -> corrections.Correction | None:
    together = TOGETHER in shown.notes
    return corrections.corrects(text, shown.text, together=together)


def _filed(
    action: str,
    reason: str,
    existing: str | None = None,
    flavour: str | None = None,
    text: str | None = None,
) -> Mapping[str, Any]:
    return {
        "reason": reason, "action": action, "existing": existing, "text": text, "flavour": flavour,
    }  # fmt: skip


def grade(question: Question) -> Mapping[str, Any] | None:
    """Yes to a lasting trait of somebody who is named; everything else is open."""
    if not orientation_gate.lasts(question.shown[0].text):
        return None
    return {"reason": "a lasting trait of somebody who is named", "orientation_grade": True}


def distil(question: Question) -> Mapping[str, Any] | None:
    """A block of its own, word for word, under a title that says no more."""
    note = question.shown[0]
    if not orientation_gate.lasts(note.text):
        return None
    text = note.text.strip()
    return {
        "reason": "its own words", "action": "create", "target": None, "sources": [], "text": text,
        "title": orientation_gate.title(note.title, text),
    }  # fmt: skip


def _unit(
    said: Sequence[str], named: Sequence[Name], ties: Sequence[Tie], day: date | None
) -> Mapping[str, Any]:
    text = " ".join(said)
    days = [found for one in _DAY.findall(text) if (found := _date(one))]
    if day:
        days += [first for _, _, (first, last) in relative_dates.find(text, day) if first == last]
    fits = (one for one in ties if max(len(one.subject), len(one.other)) <= LONGEST_NAME)
    sure = sorted(fits, key=lambda one: -one.likely)
    past = len(days) == 1 and (day is None or days[0] <= day)  # a day to come is of what is planned
    since = day and relative_dates.begins(text, day)
    happened = since or (days[0] if past else None)
    return {
        "content": relative_dates.beside(text, day) if day else text,
        "title": "",
        "about": _about(named)[:5],
        "tags": [],
        "relations": [_relation(one) for one in sure[:8]],
        "happened": happened.isoformat() if happened else "",
        "quote": " … ".join(said),
    }


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _whole(shown: Shown) -> str:
    """The text of a note, with its title when that is more than words out of the text."""
    title = shown.title.rstrip("….").strip()
    return (
        shown.text
        if title.casefold() in " ".join(shown.text.split()).casefold()
        else f"{title}.\n{shown.text}"
    )


RULES: Final[Mapping[str, Callable[[Question], Mapping[str, Any] | None]]] = {
    "merge": merge,
    "encode.units": units,
    "encode.place": place,
    "distil.grade": grade,
    "distil": distil,
}
"""Question kind -> rule. Every other kind stays open."""
