"""A labelled month: conversations of one person, and what is to be known of them afterwards.

What a text is compared with are exact words of the person (`quote`) and strings by which one
version of a fact is told from the others (`must`), so a copy of the words and a paraphrase are
judged alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any, Final

FEW: Final = 5
"""Words in a row that make two texts overlap."""
_WORD: Final = re.compile(r"\w+")
_ADDED: Final = re.compile(r" \[\d{4}-[^\]]*\]")
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b")


@dataclass(frozen=True)
class Version:
    """What a fact said at one time: in which conversation, in which words, since when it is
    true."""

    said_in: str
    quote: str
    must: tuple[tuple[str, ...], ...]
    day: date
    since: date

    def stated_by(self, text: str) -> bool:
        """Does a text say this version, as its `must` has it?"""
        low = text.casefold()
        return all(any(one.casefold() in low for one in group) for group in self.must)


@dataclass(frozen=True)
class Fact:
    """One thread: its versions in their order, of which one is true at the end."""

    key: str
    kind: str
    subject: str
    question: str
    history_question: str
    versions: tuple[Version, ...]
    current: int

    @property
    def now(self) -> Version:
        """What is true on the last day."""
        return self.versions[self.current]


class Labelled:
    """One file, read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.person: str = self.raw["person"]
        self.conversations: Sequence[Mapping[str, Any]] = self.raw["conversations"]
        self.hostile: Sequence[Mapping[str, str]] = self.raw["hostile"]
        self.contradictions: Sequence[Mapping[str, Any]] = self.raw["contradictions"]
        today = date.fromisoformat(self.raw["today"])
        self.facts = [_fact(one, today) for one in self.raw["facts"]]

    @cached_property
    def quotes(self) -> list[tuple[str, str]]:
        """(conversation, words) of all that may be kept: facts, what contradicts, what anybody
        might keep."""
        facts = [
            (version.said_in, version.quote) for fact in self.facts for version in fact.versions
        ]
        sides = [one[side] for one in self.contradictions for side in ("a", "b")]
        also = [(one["in"], one["quote"]) for one in self.raw["also"]]
        return facts + [(side["said_in"], side["quote"]) for side in sides] + also

    def is_no_fact(self, text: str, heard: Sequence[str]) -> bool:
        """Does a note out of these conversations hold nothing of what may be kept?"""
        mine = [words for where, words in self.quotes if where in heard or not heard]
        stated = (
            v for fact in self.facts for v in fact.versions if v.said_in in heard or not heard
        )
        return not any(overlaps(text, words) for words in mine) and not any(
            v.stated_by(text) for v in stated
        )

    def threads(self, text: str, heard: Sequence[str]) -> Iterator[tuple[Fact, int]]:
        """(fact, number of its version) for all that a note out of these conversations says."""
        for fact in self.facts:
            for number, version in enumerate(fact.versions):
                if version.said_in in heard and version.stated_by(text):
                    yield fact, number


def overlaps(text: str, quote: str) -> bool:
    """Do both have a few words in a row, or the whole of the shorter one?"""
    mine, theirs = words(text), words(quote)
    size = min(FEW, len(mine), len(theirs))
    runs = {tuple(mine[at : at + size]) for at in range(len(mine) - size + 1)}
    return size > 0 and any(
        tuple(theirs[at : at + size]) in runs for at in range(len(theirs) - size + 1)
    )


def words(text: str) -> list[str]:
    """The words of a text, without days that were written beside relative ones."""
    return [word.casefold() for word in _WORD.findall(_ADDED.sub("", text))]


def days(text: str) -> list[date]:
    """Every whole day that a text names."""
    return [date.fromisoformat(found) for found in _DAY.findall(text)]


def _fact(raw: Mapping[str, Any], today: date) -> Fact:
    versions = tuple(
        Version(
            one["said_in"], one["quote"], tuple(tuple(group) for group in one["must"]),
            date.fromisoformat(one["day"]), date.fromisoformat(one["true_from"]),
        )
        for one in raw["versions"]
    )  # fmt: skip
    current = max((n for n, one in enumerate(versions) if n == 0 or one.since <= today), default=0)
    return Fact(
        raw["key"],
        raw["kind"],
        raw["subject"],
        raw["question"],
        raw.get("history_question") or "",
        versions,
        current,
    )
