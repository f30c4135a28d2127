"""A judge that has read a labelled month: who answers what a competent model would, from the
prompt's text alone.

`python -m tests.bench.oracle FILE` is a program for `dreams.command`: the prompt on standard input,
the answer as JSON on standard output.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from oneiro_vault.core.question import Question
from oneiro_vault.mind.loops import (
    consolidate,
    distil,
    encode,
    resolve,
    split,
    stale,
    synthesize,
    whittle,
)
from tests.judges.scripted import ScriptedJudge

_BESIDE: Final = re.compile(r" \[\d{4}-[^\]]*\]")
_FIRST: Final = frozenset("who home work people health wish".split())
_OPENING: Final = 60
"""Characters of an instruction by which a question is known."""
_SIDES: Final[dict[str, Any]] = {
    "sources": [], "target": None, "title": "", "text": "",
}  # fmt: skip


@dataclass(frozen=True)
class Quoted:
    """One quotation of a prompt: whose id, and its words."""

    id: str
    text: str


@dataclass(frozen=True)
class Label:
    """One version of a thread, or one side of a contradiction."""

    key: str
    number: int
    kind: str
    subject: str
    said_in: str
    quote: str
    text: str
    must: tuple[tuple[str, ...], ...]
    since: str

    def stated_by(self, text: str) -> bool:
        """Does a text say this version?"""
        low = text.casefold()
        return self.text.casefold() in low or all(
            any(one.casefold() in low for one in group) for group in self.must
        )


class Oracle:
    """Who knows the labels of one month."""

    def __init__(self, path: Path) -> None:
        raw: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.labels = [*_facts(raw), *_contradictions(raw)]
        self.person: str = raw["person"]

    def judge(self) -> ScriptedJudge:
        """The same without a process for each question."""
        return ScriptedJudge(lambda question: self.answer(_prompt(question)))

    def answer(self, prompt: str) -> dict[str, Any]:
        """What a competent model would say."""
        given = list(quotations(prompt))
        for instruction, reply in self._replies().items():
            if instruction[:_OPENING] in prompt:
                return reply(given, prompt) | {"reason": "as the notes say"}
        return {"verdict": "well_calibrated", "reason": "as the notes say"}

    def _replies(self) -> dict[str, Callable[[list[Quoted], str], dict[str, Any]]]:
        return {
            encode.INSTRUCTION: self._units,
            resolve.INSTRUCTION: self._place,
            consolidate.INSTRUCTION: self._merge,
            split.INSTRUCTION: lambda *_: {"action": "keep", "pieces": []},
            synthesize.INSTRUCTION: lambda *_: {"action": "skip", "title": "", "text": "", "sources": []},
            distil.GRADE: self._grade,
            whittle.INSTRUCTION: lambda *_: dict.fromkeys(
                ("relational", "durability", "irreplaceable", "cost_of_absence"), 2
            ) | {"meaning": 6},
            _own(stale.INSTRUCTION): self._stale,
            _own(distil.PLACE): self._distil,
        }  # fmt: skip

    def said(self, text: str) -> list[Label]:
        """The versions that a note says, as the words that were filed for them."""
        plain = _plain(text)
        exact = [one for one in self.labels if _plain(one.text) in plain]
        return exact or [one for one in self.labels if one.stated_by(plain)]

    def _units(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        body = _plain(given[0].text)
        found = [one for one in self.labels if _plain(one.quote) in body]
        units = [
            {
                "content": one.text, "title": "", "quote": one.quote, "tags": [one.kind],
                "about": list(dict.fromkeys((self.person, one.subject))), "happened": one.since,
            }
            for one in found
        ]  # fmt: skip
        return {"units": units, "complete": True}

    def _place(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        *shown, new = given
        create: dict[str, Any] = {
            "action": "create",
            "existing": None,
            "text": None,
            "flavour": None,
            "also": [],
        }
        fact = next(iter(self.said(new.text)), None)
        if fact is None:
            return create
        same = [one for one in shown for two in self.said(one.text) if two.key == fact.key]
        equal = [one for one in same if fact in self.said(one.text)]
        if equal:
            return create | {"action": "link", "existing": equal[0].id}
        if not same:
            return create
        if fact.kind == "contradiction":
            return create | {"action": "contradict", "existing": same[0].id}
        others = [one.id for one in same[1:]]
        return create | {
            "action": "supersede",
            "existing": same[0].id,
            "flavour": "progression",
            "also": others,
        }

    def _merge(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        groups: dict[tuple[Label, ...], list[str]] = {}
        for one in given:
            groups.setdefault(tuple(self.said(one.text)), []).append(one.id)
        groups.pop((), None)
        best: list[str] = max(groups.values(), key=len, default=[])
        merge = len(best) > 1
        return {
            "action": "merge" if merge else "keep_distinct",
            "keep": best[0] if merge else None,
            "members": best[1:],
        }

    def _grade(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        return {"orientation_grade": any(one.kind in _FIRST for one in self.said(given[0].text))}

    def _distil(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        facts = [one for one in self.said(given[0].text) if one.kind in _FIRST]
        if not facts:
            return _SIDES | {"action": "skip"}
        fact = facts[0]
        for block in (one for one in given[1:] if "this is: an orientation block\n" in one.text):
            there = self.said(block.text)
            if fact in there:
                return _SIDES | {"action": "link", "target": block.id}
            if any(one.kind == fact.kind for one in there):
                kept = [one.text for one in there if one.key != fact.key]
                text = " ".join((*kept, fact.text))
                return _SIDES | {
                    "action": "revise",
                    "target": block.id,
                    "title": self._title(fact),
                    "text": text,
                }
        return _SIDES | {"action": "create", "title": self._title(fact), "text": fact.text}

    def _title(self, fact: Label) -> str:
        return f"{self.person}: {fact.kind}"

    def _stale(self, given: list[Quoted], _prompt: str) -> dict[str, Any]:
        block, *ground = given
        now = {fact.key: fact for one in ground for fact in self.said(one.text)}
        old = self.said(block.text)
        new = [now.get(one.key, one) for one in old]
        if new == old or not old:
            return {"action": "keep", "title": "", "text": ""}
        return {
            "action": "revise",
            "title": self._title(old[0]),
            "text": " ".join(one.text for one in new),
        }


def quotations(prompt: str) -> Iterator[Quoted]:
    """What a prompt quotes, in its order."""
    for found in _QUOTED.finditer(prompt):
        yield Quoted(found["id"], found["text"])


def _prompt(question: Question) -> str:
    return question.prompt()


def _plain(text: str) -> str:
    return " ".join(_BESIDE.sub("", text).split()).casefold()


def _own(instruction: str) -> str:
    """The part of an instruction after what it shares with others."""
    return instruction.partition("\n\n")[2]


def _facts(raw: Mapping[str, Any]) -> Iterator[Label]:
    for fact in raw["facts"]:
        for number, one in enumerate(fact["versions"]):
            must = tuple(map(tuple, one["must"]))
            yield Label(fact["key"], number, fact["kind"], fact["subject"], one["said_in"], one["quote"],
                        one["text"], must, one["true_from"])  # fmt: skip


def _contradictions(raw: Mapping[str, Any]) -> Iterator[Label]:
    for number, both in enumerate(raw["contradictions"]):
        for place, side in enumerate("ab"):
            one = both[side]
            text = f"{raw['person']}: {one['quote']}"
            must = ((one["quote"],),)
            yield Label(f"contradiction {number}", place, "contradiction", raw["person"], one["said_in"],
                        one["quote"], text, must, "")  # fmt: skip


_QUOTED: Final = re.compile(
    r'^<(?P<tag>[\w-]+) [^\n>]*?id="(?P<id>[^"]+)"[^\n>]*>\n(?P<text>.*?)\n?</(?P=tag)>',
    re.MULTILINE | re.DOTALL,
)

if __name__ == "__main__":
    print(json.dumps(Oracle(Path(sys.argv[1])).answer(sys.stdin.read()), ensure_ascii=False))
