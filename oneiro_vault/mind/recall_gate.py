"""The recall gate: what could be found before a decision can be found after it, or the decision
does not happen.

Probes of a memory: its title, its description (neither where it no longer holds and they only say
what it said), and what people really asked when they found it. (Captures have none: they stand
behind everything else.) Afterwards the memory, or what took its place, must still be among the
first ten rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from oneiro_vault.core.memory import LIVE, captured
from oneiro_vault.mind.base import Decision, New, Note, Set, Snapshot
from oneiro_vault.mind.validate import Turned

TOP: Final = 10
"""Rows among which the knowledge must be."""
UNSEEN: Final = frozenset(
    """
    flags derived_from supersedes importance confidence encoded timestamp priority budget
    """.split()
)
"""Keys that no question finds a memory by."""


@dataclass(frozen=True)
class View:
    """The vault as it would be: memories that no longer answer, and the words (title, text) of new
    and changed ones."""

    gone: frozenset[str] = frozenset()
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def after(self, decision: Decision, notes: Mapping[str, Note]) -> View:
        """The same with a decision carried out. A new memory is named `new:<decision's position>`
        of its edit."""
        gone, changed = set(self.gone), dict(self.changed)
        for name, edit in named(decision):
            if isinstance(edit, New):
                if str(edit.meta.get("status", "active")) in LIVE:
                    changed[name] = str(edit.meta.get("title", "")), edit.body
                continue
            if str(edit.changes.get("status") or notes[edit.id].memory.status) not in LIVE:
                gone.add(edit.id)
                changed.pop(edit.id, None)
            elif edit.body is not None or set(edit.changes) - UNSEEN - {
                "status",
                "tags",
                "about",
                "aliases",
            }:
                memory = notes[edit.id].memory
                title, body = changed.get(edit.id, (memory.title, memory.body))
                changed[edit.id] = (
                    str(edit.changes.get("title") or title),
                    body if edit.body is None else edit.body,
                )
        return View(frozenset(gone), changed)


Find = Callable[[str, View], Sequence[str]]
"""(question, view) -> ids of the first `TOP` rows of an answer, best first."""


@dataclass
class Gate:
    """Asks probes of one run. `asked` are real questions by memory; the numbers are for the
    report."""

    snapshot: Snapshot
    find: Find
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)
    """Probes asked, those that found their memory before, and after, decisions dropped."""
    view: View = field(default_factory=View)
    heirs: dict[str, set[str]] = field(default_factory=dict)
    _before: dict[tuple[str, str], bool] = field(default_factory=dict)

    def judge(self, decisions: Sequence[Decision]) -> tuple[list[Decision], list[Turned]]:
        """(those that cost nothing, those that are dropped with the question that would find
        nothing any more)."""
        kept: list[Decision] = []
        turned: list[Turned] = []
        for wanted in decisions:
            decision: Decision | None = wanted
            while decision is not None and (lost := self._lost(decision)):
                turned.append(
                    Turned(decision, f"the recall gate: “{lost[:80]}” would no longer find it")
                )
                self.numbers["dropped"] += 1
                decision = decision.instead
            if decision is not None:
                kept.append(decision)
        return kept, turned

    def _lost(self, decision: Decision) -> str:
        """The first probe that would not find its memory any more, "" when there is none (then the
        view moves on)."""
        notes = self.snapshot.notes
        view, heirs = self.view.after(decision, notes), inherited(decision, self.heirs)
        touched = [
            edit.id
            for edit in decision.edits
            if isinstance(edit, Set) and notes[edit.id].memory.status in LIVE
        ]
        touched += [
            ident
            for ident, others in self.heirs.items()
            if ident in notes and others & set(touched)
        ]  # this run gave it an heir
        memories = [
            notes[ident] for ident in dict.fromkeys(touched) if not captured(notes[ident].memory)
        ]
        counted = [(note.id, query) for note in memories for query in self._queries(note, decision)]
        found = before = 0
        for ident, query in counted:
            if not self._found_before(ident, query):
                continue
            before += 1
            if self._neutral(decision, ident) or {ident, *heirs.get(ident, ())} & set(
                self.find(query, view)
            ):
                found += 1
            else:
                before = sum(self._found_before(*probe) for probe in counted)
                self.numbers.update(probes=len(counted), before=before, after=before)
                return query  # it does not happen, so nothing is lost
        self.numbers.update(probes=len(counted), before=before, after=found)
        self.view, self.heirs = view, heirs
        return ""

    def _queries(self, note: Note, decision: Decision) -> list[str]:
        """A memory that is no longer true is not asked for in its own words: what replaces it says
        something else."""
        memory = note.memory
        own: tuple[str, ...] = (memory.title, memory.description)
        if decision.op == "supersede":
            begins = " ".join(memory.title.rstrip("…").split())
            own = () if " ".join(memory.body.split()).startswith(begins) else (memory.title,)
        wanted = (*own, *self.asked.get(note.id, ()))
        return list(
            dict.fromkeys(text for text in (" ".join(one.split()) for one in wanted) if text)
        )

    def _found_before(self, ident: str, query: str) -> bool:
        if (ident, query) not in self._before:
            self._before[ident, query] = ident in self.find(query, View())
        return self._before[ident, query]

    def _neutral(self, decision: Decision, ident: str) -> bool:
        """Does the decision leave alone all that this memory is found by (and is nothing else of
        this run in the way)?"""
        edits = [edit for edit in decision.edits if isinstance(edit, Set) and edit.id == ident]
        return not self.view.changed and all(
            edit.body is None and not set(edit.changes) - UNSEEN for edit in edits
        )


def named(decision: Decision) -> list[tuple[str, New | Set]]:
    """Edits with the id of their memory, or a name no other decision of the run has."""
    mark = id(decision)
    return [
        (edit.id if isinstance(edit, Set) else f"new:{mark}:{position}", edit)
        for position, edit in enumerate(decision.edits)
    ]


def inherited(decision: Decision, known: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """memory -> what holds its knowledge after the decision, besides itself; `known` says so of
    earlier decisions."""
    heirs = {ident: set(names) for ident, names in known.items()}
    edits = named(decision)
    keys = {f"new:{edit.key}": name for name, edit in edits if isinstance(edit, New) and edit.key}
    for name, edit in edits:
        meta: Mapping[str, Any] = edit.meta if isinstance(edit, New) else edit.changes
        for source in (*_ids(meta.get("supersedes")), *_ids(meta.get("derived_from"))):
            heirs.setdefault(source, set()).add(name)
        if isinstance(edit, Set) and (by := str(meta.get("superseded_by") or "")):
            heirs.setdefault(edit.id, set()).add(keys.get(by, by))
    for ident, names in heirs.items():  # what an heir was replaced by inherits as well
        todo = list(names)
        while todo:
            for further in heirs.get(todo.pop(), set()) - names - {ident}:
                names.add(further)
                todo.append(further)
    return heirs


def _ids(value: Any) -> list[str]:
    return (
        [str(one) for one in value]
        if isinstance(value, list | tuple)
        else [str(value)]
        if value
        else []
    )
