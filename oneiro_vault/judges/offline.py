"""A judge without a model: it says what can be seen by rules, and leaves everything else open for somebody who understands it.

It merges what is the same but for how it is written, takes plain sentences out of a capture word for word, files a fact unless that is
there already, and lets a lasting trait of somebody named stand in the orientation in its own words. It never says "distinct", "no" or
"nothing here": not seeing is not knowing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from oneiro_vault.core import claims, lasting, prescribing, sameness
from oneiro_vault.core.memory import no_weaker
from oneiro_vault.core.question import Question, Raw, Shown

NAME: Final = "offline"
OPEN: Final = "the offline judge cannot decide this; it waits for a model or a person"
LONGEST: Final = 400
_SPEAKER: Final = re.compile(r"(User|Assistant): ")
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_CAPITAL: Final = re.compile(r"[A-ZÀ-Þ][\w'’.-]*[\w]|[A-Z]")
_STARTERS: Final = frozenset(
    """
    a an the in on at by for from with without after before during since all every each some many most no one two three
    and or but
    """.split()
)
_STATING: Final = frozenset(
    """
    is are was were has have had lives lived works worked uses used moved likes prefers owns leads manages runs ran costs cost starts
    ends ended begins began opens opened closes closed meets met joined left ships shipped decided chose bought sold married studies
    studied teaches taught speaks plays played wrote reads keeps kept needs supports replaces replaced contains holds stores stored
    means became
    """.split()
)
"""Words with which a sentence states something."""
_HEDGES: Final = frozenset(
    """
    maybe perhaps might could would should probably possibly may if unless whether guess suppose think seems seem apparently hopefully
    today yesterday tomorrow tonight now currently recently soon lately next last this ago just already still yet
    """.split()
)
"""Words of what nobody vouches for, or that mean another day on another day."""
_NOT_SAID: Final = re.compile(r"^(?:```|~~~|\||>|\[\w)|^#{1,6}\s")


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
    """May the first stand for the second: the same words, said of the same, by nobody who is trusted less?"""
    if other.trust and not no_weaker(keeper.trust or other.trust, other.trust):
        return False
    mine, theirs = _whole(keeper), _whole(other)
    if not sameness.same(mine, theirs) or not _same_circumstances(keeper, other, f"{mine}\n{theirs}"):
        return False
    if not sameness.alone(mine):
        return _occasion(keeper) == _occasion(other)
    return keeper.created[:10] == other.created[:10] or sameness.timeless(mine)


def _same_circumstances(one: Shown, other: Shown, said: str) -> bool:
    """Do they belong to the same project and time, and are they about the same, apart from what both name anyway?"""
    mine, theirs = dict(one.notes), dict(other.notes)
    if any(mine.get(name, "") != theirs.get(name, "") for name in ("project", "valid from", "valid until", "outcome")):
        return False
    words = f" {' '.join(claims.tokens(said))} "
    subjects = [
        {name for name in notes.get("about", "").split(", ") if name and f" {' '.join(claims.tokens(name))} " not in words}
        for notes in (mine, theirs)
    ]
    return subjects[0] == subjects[1]


def _occasion(shown: Shown) -> tuple[str, ...]:
    """Who said it, and when: "she" and "this" are somebody and something else on another occasion."""
    return shown.source, shown.created[:10], dict(shown.notes).get("session", "")


def merge(question: Question) -> Mapping[str, Any] | None:
    """The note that covers most of the others, with those it covers; open when none covers another."""
    best: tuple[Shown, list[str]] | None = None
    for keeper in question.shown:
        members = [other.id for other in question.shown if other.id != keeper.id and same(keeper, other)]
        if members and (best is None or len(members) > len(best[1])):
            best = keeper, members
    if best is None:
        return None
    return {"reason": "the same words, whatever way they are written", "action": "merge", "keep": best[0].id, "members": best[1]}


def units(question: Question) -> Mapping[str, Any] | None:
    """Sentences that state something about somebody who is named, word for word. Never complete: the rest waits for a model."""
    found = [_unit(sentence) for shown in question.shown for sentence in facts(shown.text)]
    return {"reason": "sentences that stand for themselves, word for word", "units": found[:40], "complete": False} if found else None


def facts(text: str) -> list[str]:
    """Sentences of a capture that are facts without the conversation around them."""
    speaker, found, fenced = "", [], False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if said := _SPEAKER.match(line):
            speaker = said[1]
        if fenced or speaker == "Assistant" or _NOT_SAID.match(line.lstrip()):
            continue  # what a model said of the world is not the person's, and code says nothing
        found += [one for one in claims.split_sentences(_SPEAKER.sub("", line, count=1)) if states(one)]
    return list(dict.fromkeys(found))


def states(sentence: str) -> bool:
    """Does it state something, by itself, on any day, about somebody or something with a name?"""
    words = claims.tokens(sentence)
    low = [word.lower() for word in words]
    if not 4 <= len(words) <= 40 or len(sentence) > LONGEST or not sentence.endswith(".") or "http" in sentence:
        return False
    if claims.points(sentence) or claims.speaks(sentence) or not _HEDGES.isdisjoint(low):
        return False
    named = bool(names(sentence)) or (words[0][0].isupper() and low[0] not in _STARTERS and len(low) > 1 and low[1] in _STATING)
    return named and not _STATING.isdisjoint(low[1:])


def names(sentence: str) -> list[str]:
    """What is capitalised inside the sentence."""
    rest = sentence.partition(" ")[2]
    return list(dict.fromkeys(_CAPITAL.findall(rest)))[:8]


def place(question: Question) -> Mapping[str, Any] | None:
    """Skip what stands there word for word and means the same on any day; everything else is new. Without the fact itself nothing can be
    said."""
    *facts, text = question.given.strip().splitlines() or [""]
    if not text:
        return None
    given = Shown("", "", text, notes=tuple((name, value) for name, _, value in (line.partition(": ") for line in facts)))
    for shown in question.shown:
        if sameness.alone(text) and sameness.timeless(text) and same(shown, given):
            return {"reason": "it says the very same", "action": "skip", "existing": shown.id, "text": None, "flavour": None}
    return {"reason": "nothing says the very same", "action": "create", "existing": None, "text": None, "flavour": None}


def grade(question: Question) -> Mapping[str, Any] | None:
    """Yes to a lasting trait of somebody who is named; everything else is open."""
    if not _fit(question.shown[0]):
        return None
    return {"reason": "a lasting trait of somebody who is named", "orientation_grade": True}


def distil(question: Question) -> Mapping[str, Any] | None:
    """A block of its own, word for word, under a title that says no more."""
    note = question.shown[0]
    if not _fit(note):
        return None
    text = note.text.strip()
    return {
        "reason": "its own words", "action": "create", "target": None, "sources": [], "text": text,
        "title": lasting.title(note.title, text), "unregenerable": True, "describes_not_prescribes": True,
    }  # fmt: skip


def _fit(note: Shown) -> bool:
    return lasting.lasts(note.text) and not prescribing.prescribes(note.text)


def _unit(sentence: str) -> dict[str, Any]:
    days = _DAY.findall(sentence)
    return {
        "content": sentence,
        "title": "",
        "about": names(sentence)[:5],
        "tags": [],
        "happened": days[0] if len(days) == 1 else "",
    }


def _whole(shown: Shown) -> str:
    """The text of a note, with its title when that is more than words out of the text."""
    title = shown.title.rstrip("….").strip()
    return shown.text if title.casefold() in " ".join(shown.text.split()).casefold() else f"{title}.\n{shown.text}"


RULES: Final[Mapping[str, Callable[[Question], Mapping[str, Any] | None]]] = {
    "merge": merge,
    "encode.units": units,
    "encode.place": place,
    "distil.grade": grade,
    "distil": distil,
}
"""Question kind -> rule. Every other kind stays open."""
