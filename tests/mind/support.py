"""Snapshots and loops small enough to read."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from oneiro_vault.core.memory import Memory
from oneiro_vault.core.question import Answer, Question
from oneiro_vault.mind.base import Asking, Decision, Note, Set, Snapshot
from oneiro_vault.vault.history.commit_log import Entry


def note(ident: str, body: str = "text", **facts: Any) -> Note:
    """A note with a twelve-character id made of `ident`."""
    whole = (ident * 12)[:12]
    memory = Memory(
        f"{ident}.md", id=whole, **({"type": "semantic", "title": ident, "body": body} | facts)
    )
    return Note(memory, sha256(f"{memory}".encode()).hexdigest())


def snapshot(*notes: Note, **facts: Any) -> Snapshot:
    """These notes, at noon."""
    return Snapshot(1_790_000_000.0, {one.id: one for one in notes}, **facts)


def decided(loop: str, op: str, *memories: str, when: float = 0.0, **facts: Any) -> Entry:
    """The commit of an earlier decision on these memories."""
    return Entry("c" * 40, op, "title", when, "a person", memories=memories, loop=loop, **facts)


class Yes(Answer):
    """Yes or no."""

    yes: bool


def about(one: Note) -> Question:
    """A question about one note."""
    return Question("toy", "Yes?", Yes, (one.shown(),))


class Toy:
    """Asks twice about every piece of knowledge and archives what was affirmed twice."""

    name = "toy"

    def run(self, snapshot: Snapshot) -> Asking:
        notes = snapshot.of("semantic")
        for _ in range(2):
            verdicts = yield [about(one) for one in notes]
            notes = [
                one
                for one in notes
                if (v := verdicts[about(one).id]).ok and isinstance(v.answer, Yes) and v.answer.yes
            ]
        return [archive(one) for one in notes]


def archive(one: Note, loop: str = "toy") -> Decision:
    """Put one note into the archive."""
    return Decision(
        loop, "revise", one.memory.title, "so", (Set(one.id, {"status": "archived"}),), (one.id,)
    )


class Memo(dict[tuple[str, str], Mapping[str, Any]]):
    """Answers kept in a dict."""

    def get(self, question: str, judge: str) -> Mapping[str, Any] | None:  # type: ignore[override]  # a plain dict is enough here
        return super().get((question, judge))

    def put(self, question: str, judge: str, answer: Mapping[str, Any]) -> None:
        self[question, judge] = answer
