"""Who answers in the month: a competent judge that has read the story and knows which sentence says
what. Only what it is shown counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from zlib import crc32

from oneiro_vault.core.question import Question, Shown
from oneiro_vault.mind.blocks import BECAUSE
from tests.judges.scripted import ScriptedJudge
from tests.month.story import BY_KEY, SAID, Thread

Told = tuple[str, str]
_SENTENCES: Final = sorted(SAID, key=len, reverse=True)
_HESITATES: Final = 4
"""Of so many facts that are known already, one is filed again: a judge is biased to create, and
mends it at night."""


_BESIDE: Final = re.compile(r" \[\d{4}-[^\]]*\]")


def told(text: str) -> list[Told]:
    """Every (key, value) that a text says, in its own order, whatever days were written beside
    relative ones."""
    text = _BESIDE.sub("", text)
    found = sorted(
        (text.index(sentence), SAID[sentence]) for sentence in _SENTENCES if sentence in text
    )
    return list(dict.fromkeys(fact for _, fact in found))


def competent() -> ScriptedJudge:
    """A judge that answers every kind of question a night asks."""
    return ScriptedJudge(answer)


def answer(question: Question) -> dict[str, Any]:
    """What such a judge says."""
    said: dict[str, Any] = _ANSWERS[question.kind](question)
    return said | {"reason": _REASONS.get(question.kind, "so the notes say")}


def _age(fact: Told) -> int:
    """Which of a thread's values is it, from the oldest on?"""
    return [value for _, value in BY_KEY[fact[0]].values].index(fact[1])


def _units(question: Question) -> dict[str, Any]:
    found = []
    for line in question.shown[0].text.splitlines():
        words = line.removeprefix("User:").strip()
        for fact in told(words) if line.startswith("User:") else ():
            thread = BY_KEY[fact[0]]
            plain = words == thread.ways[1].format(v=fact[1])
            content = thread.note(fact[1]) if plain else f"Maya said: {words}"
            found.append(
                {
                    "content": content,
                    "title": _title(thread),
                    "about": ["Maya"],
                    "tags": [thread.topic],
                    "happened": "",
                }
            )
    return {"units": found, "complete": True}


def _title(thread: Thread) -> str:
    return thread.question.rstrip("?").replace("Maya's", "her").replace("Maya", "she").strip()


def _place(question: Question) -> dict[str, Any]:
    create: dict[str, Any] = {
        "action": "create",
        "existing": None,
        "text": None,
        "flavour": None,
        "also": [],
    }
    facts = told(question.given)
    if not facts:
        return create
    fact = facts[0]
    same = [one for one in question.shown if fact in told(one.text)]
    other = [one for one in question.shown if _alone(one, fact[0]) and fact not in told(one.text)]
    older = [one for one in other if _age(told(one.text)[0]) < _age(fact)]
    if older:
        return create | {
            "action": "supersede",
            "existing": older[0].id,
            "also": [one.id for one in older[1:]],
            "flavour": "progression",
        }
    if same and crc32(" ".join(question.given.split()).encode()) % _HESITATES:
        return create | {"action": "link", "existing": same[0].id}
    return create if not other else create | {"action": "skip", "existing": other[0].id}


def _alone(one: Shown, key: str) -> bool:
    facts = told(one.text)
    return len(facts) == 1 and facts[0][0] == key


def _merge(question: Question) -> dict[str, Any]:
    groups: dict[Told, list[str]] = {}
    for one in question.shown:
        facts = told(one.text)
        if len(facts) == 1:
            groups.setdefault(facts[0], []).append(one.id)
    best = max(groups.values(), key=len, default=[])
    if len(best) < 2:
        return {"action": "keep_distinct", "keep": None, "members": []}
    return {"action": "merge", "keep": best[0], "members": best[1:]}


def _insight(question: Question) -> dict[str, Any]:
    facts = list(dict.fromkeys(fact for one in question.shown for fact in told(one.text)))
    newest = [
        fact
        for fact in facts
        if all(other[0] != fact[0] or _age(other) <= _age(fact) for other in facts)
    ]
    if len(newest) < 3:
        return {"action": "skip", "title": "", "text": "", "sources": []}
    sources = [one.id for one in question.shown if set(told(one.text)) & set(newest)]
    topic = question.given.partition(";")[0].removeprefix("topic: ")
    return {
        "action": "synthesize",
        "title": f"Maya and {topic}, together",
        "text": _sentences(newest[:9]),
        "sources": sources,
    }


def _sentences(facts: Sequence[Told]) -> str:
    return " ".join(BY_KEY[key].note(value) for key, value in facts)


def _grade(question: Question) -> dict[str, Any]:
    facts = told(question.shown[0].text)
    return {"orientation_grade": len(facts) == 1 and BY_KEY[facts[0][0]].lasting}


def _distil(question: Question) -> dict[str, Any]:
    sides: dict[str, Any] = {
        "target": None,
        "sources": [],
    }
    fact = told(question.shown[0].text)[0]
    thread = BY_KEY[fact[0]]
    for one in question.shown:
        if ("this is", "an orientation block") in one.notes:
            facts = told(one.text)
            if fact in facts:
                return sides | {"action": "link", "target": one.id, "title": "", "text": ""}
            if facts and BY_KEY[facts[0][0]].topic == thread.topic:
                kept = [known for known in facts if known[0] != fact[0]]
                return sides | {
                    "action": "revise",
                    "target": one.id,
                    "title": one.title,
                    "text": _sentences([*kept, fact]),
                }
    return sides | {
        "action": "create",
        "title": f"Maya: {thread.topic}",
        "text": _sentences([fact]),
    }


def _stale(question: Question) -> dict[str, Any]:
    block, *ground = question.shown
    now = {key: value for one in ground for key, value in told(one.text)}
    facts = [(key, now.get(key, value)) for key, value in told(block.text)]
    if facts == told(block.text):
        return {"action": "keep", "title": "", "text": ""}
    return {"action": "revise", "title": block.title, "text": _sentences(facts)}


def _reworded(question: Question) -> dict[str, Any]:
    limit = int(
        (re.findall(r"at most ([\d,]+) characters", question.instruction) or ["800"])[-1].replace(
            ",", ""
        )
    )
    text = question.given.partition(BECAUSE)[0]
    while len(text) > limit:
        text = text.rstrip(".").rpartition(". ")[0] + "."
    return {"text": text}


_ANSWERS: Final[Mapping[str, Any]] = {
    "encode.units": _units,
    "encode.repeat": lambda _: {"units": [], "complete": True},
    "encode.place": _place,
    "merge": _merge,
    "split": lambda _: {"action": "keep", "pieces": []},
    "synthesize": _insight,
    "distil.grade": _grade,
    "distil": _distil,
    "distil.stale": _stale,
    "distil.reword": _reworded,
    "whittle.rank": lambda _: {
        "relational": 2,
        "durability": 2,
        "irreplaceable": 2,
        "cost_of_absence": 2,
        "meaning": 6,
    },
    "dialectic.assess": lambda _: {"verdict": "well_calibrated"},
}
_REASONS: Final = {
    "merge": "they make the same claim",
    "encode.place": "compared with what is known",
}
