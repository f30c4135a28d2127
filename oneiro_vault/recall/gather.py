"""What may stand beside a prompt, section by section: whom it names and whom those are connected
with, the rules and procedures that apply to the work, what is known, what happened.

A fixed plan: names, then graph neighbours, instructions, procedures, what is known, then a second
question with whom was found. What bears on the prompt beyond doubt always comes; what a prompt is
for says of which sections the best come, too, though none of them is sure (`PLAN`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core.markdown.taxonomy import CATEGORY, inverse
from oneiro_vault.core.memory import OWN_WORDS, captured
from oneiro_vault.core.text.query import fold
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.keyword.edge_rows import UNTYPED
from oneiro_vault.index.store import Index
from oneiro_vault.recall.graph_walk import ENTITY, Graph, Ref, Tie
from oneiro_vault.recall.passive import strict, weigh
from oneiro_vault.recall.request import LIVE, Asked, Found
from oneiro_vault.recall.search import Search

PLAN: Final[Mapping[str, Mapping[str, int]]] = {
    "action": {"instructions": 2, "memories": 1},
    "information": {"memories": 3},
    "status": {"episodes": 1, "memories": 2},
    "process": {"procedures": 2, "instructions": 1},
    "recall": {"episodes": 2, "memories": 1},
    "comparison": {"memories": 3},
    "verification": {"memories": 2, "episodes": 1},
    "instruction": {"instructions": 1},
    "correction": {"memories": 2},
    "opinion": {"memories": 2},
    "planning": {"instructions": 1, "memories": 2},
    "delegation": {"instructions": 2, "procedures": 1},
}
"""Intent -> how many of a section are shown though none of them is sure. Of 160 labelled prompts in
words far from the notes' the best memory of a section is one that helps in a fifth to a third: more
of them would bury what is right."""
RECENTLY: Final = frozenset(("action", "status", "delegation", "opinion"))
"""Intents that want to know what somebody whom the prompt names did lately."""
LATELY: Final = 30 * 86_400.0
"""Seconds that are lately."""
MAYBE: Final[Mapping[str, float]] = {
    "instructions": -1.0, "procedures": 0.0, "memories": 0.1, "episodes": 0.0,
}  # fmt: skip
"""What has to speak for such a one."""
LEAST: Final[Mapping[str, float]] = {
    "instructions": 0.10, "procedures": 0.25,
}  # fmt: skip
"""What has to speak for one (`passive.weigh`); a rule is cheap to show and dear to miss."""
NAMED: Final = 0.2
"""The same of what is about somebody whom the prompt names."""
SURE: Final[Mapping[str, float]] = {"instructions": 0.30, "procedures": 0.42}
"""The same where nobody asked for it. Of 160 prompts and 30 rules half of what is shown is right
from here on; from .1 on a third is, and half of what no memory helps with gets a rule."""
MOST: Final[Mapping[str, int]] = {
    "instructions": 5, "people": 6, "procedures": 2, "memories": 8, "episodes": 4,
}  # fmt: skip
_CANDIDATES: Final = 24
_RULES: Final = 500
"""Instructions and procedures that are looked at, the newest."""
NEAR: Final = 0.5
"""Score from which an entity is one that the prompt names; the others stand one step away."""
_TIES: Final = 6
_EVENTS: Final = 2
_LONGEST_NAME: Final = 4
_WORD: Final = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*", re.UNICODE)
_CLOSE: Final = ("organizational", "project")
"""Categories of relations by which somebody's employer or project belongs to what is asked."""


@dataclass(frozen=True)
class Candidate:
    """A memory for a section; `score` 0-1; what it says beside its own words, as lines; `needs`:
    the handle of what says the same of a later day and must stand before it."""

    section: str
    row: Row
    score: float
    lines: tuple[str, ...] = ()
    needs: str = ""


@dataclass(frozen=True)
class Step:
    """One step of the plan, as Octybot's tools are called: what was asked, what was found, seconds
    it took."""

    tool: str
    asked: str
    found: tuple[str, ...]
    seconds: float


@dataclass
class Gathered:
    """All candidates, the steps, and names that several have: name -> those."""

    candidates: list[Candidate] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    ambiguous: dict[str, list[Row]] = field(default_factory=dict)


class Gather:
    """The plan for one prompt over one index. `admits`: which notes may stand beside it."""

    def __init__(
        self,
        index: Index,
        search: Search,
        graph: Graph,
        prompt: str,
        vector: Vectors | None,
        admits: Callable[[Row], bool],
        *,
        unasked: bool = False,
    ) -> None:
        """`unasked`: only what is beyond doubt, and of people those that are named."""
        self._unasked = unasked
        self._index, self._search, self._graph = index, search, graph
        self._prompt, self._vector, self._admits = prompt, vector, admits
        self._past, self._project = False, ""
        self._least: dict[str, int] = {}
        self.found = Gathered()

    def run(
        self,
        wanted: Collection[str],
        intents: Collection[str] = (),
        *,
        past: bool = False,
        project: str = "",
    ) -> Gathered:
        """Carry the plan out for some sections. `past`: it asks how something was; what was learned
        in `project` goes first."""
        self._past, self._project = past, project
        for intent in intents:
            for section, count in PLAN[intent].items():
                self._least[section] = max(count, self._least.get(section, 0))
        people = self._people() if wanted else {}
        if "people" in wanted:
            self._connected(people)
        if "instructions" in wanted:
            self._applying("instructions", "get_instructions", kind="instruction")
        if "procedures" in wanted:
            self._applying("procedures", "search_processes", type="procedure")
        if {"memories", "episodes"} & set(wanted):
            self._known(people, wanted)
        if "episodes" in wanted and not RECENTLY.isdisjoint(intents):
            self._recent(people)
        return self.found

    # -- whom it names

    def _people(self) -> dict[int, Row]:
        started = time.perf_counter()
        named, several = self._named()
        rows = self._index.rows({*named, *(key for keys in several.values() for key in keys)})
        if several:
            near = {end for key in named for end in self._ends(key)}
            for name, keys in several.items():
                close = [key for key in keys if key in near]
                if len(close) == 1:
                    named.append(close[0])
                else:
                    self.found.ambiguous[name] = [rows[key] for key in keys]
        people = {key: rows[key] for key in named if key in rows and self._admits(rows[key])}
        self._step("search_entity", self._prompt, people.values(), started)
        return people

    def _ends(self, key: int) -> set[Ref]:
        return {end for tie in self._graph.around([key]) for end in (tie.source, tie.target)}

    def _named(self) -> tuple[list[int], dict[str, list[int]]]:
        """Entities that the prompt names, and names that several have. The longest name counts; one
        word of a name does where it is written like a name, in a prompt without capitals the first
        one."""
        words = [(found[0], found.start(), found.end()) for found in _WORD.finditer(self._prompt)]
        small = self._prompt == self._prompt.lower()
        spans = {
            (at, size): fold(_bare(self._prompt[words[at][1] : words[at + size - 1][2]]))
            for size in range(1, _LONGEST_NAME + 1)
            for at in range(len(words) - size + 1)
        }
        bearers = self._graph.bearers(set(spans.values()))
        named: list[int] = []
        several: dict[str, list[int]] = {}
        taken: set[int] = set()
        for (at, size), name in sorted(spans.items(), key=lambda one: (-one[0][1], one[0][0])):
            if taken.intersection(range(at, at + size)) or len(name) < 2:
                continue
            entities = [one for one in bearers.get(name, ()) if one.type == ENTITY]
            whole = [one.key for one in entities if one.whole]
            parts = [one.key for one in entities]
            if not whole and parts and small:
                rows = self._index.rows(parts)
                parts = [key for key in parts if fold(rows[key].title).split()[0] == name]
            written = words[at][0][:1].isupper() or small
            keys = whole or (parts if written else [])
            if keys:
                taken.update(range(at, at + size))
                if len(keys) == 1:
                    named += [] if keys[0] in named else keys
                else:
                    several[self._prompt[words[at][1] : words[at + size - 1][2]]] = keys
        return named[: MOST["people"]], several

    def _connected(self, people: Mapping[int, Row]) -> None:
        started = time.perf_counter()
        ties: dict[int, list[Tie]] = {key: [] for key in people}
        for tie in sorted(self._graph.around([*people]), key=lambda one: -(one.when or 0.0)):
            for end in {tie.source, tie.target} & people.keys():
                if tie.relation not in UNTYPED and isinstance(end, int):
                    ties[end].append(tie)
        ends = {end for some in ties.values() for tie in some for end in (tie.source, tie.target)}
        stating = {tie.by for some in ties.values() for tie in some}
        rows = self._index.rows(stating.union(end for end in ends if isinstance(end, int)))
        beside: dict[int, Row] = {}
        for at, (key, row) in enumerate(people.items()):
            others = [tie for tie in ties[key] if tie.by != key]  # its own stand in its words
            lines = tuple(_line(tie, key, rows) for tie in others[:_TIES])
            self._add("people", row, 1 - at / 10, lines)
            for tie in ties[key]:
                other = tie.target if tie.source == key else tie.source
                if isinstance(other, int) and CATEGORY.get(tie.relation) in _CLOSE:
                    beside.setdefault(other, rows[other])
        new = [row for key, row in beside.items() if key not in people and row.type == ENTITY]
        new = [] if self._unasked else new
        for at, row in enumerate(new[: MOST["people"]]):
            self._add("people", row, 0.4 - at / 100)
        self._step("get_relationships", _titles(people.values()), rows.values(), started)

    # -- what applies to the work

    def _applying(self, section: str, tool: str, *, kind: str = "", type: str = "") -> None:
        started = time.perf_counter()
        rows = [
            row
            for row in self._index.list(
                limit=_RULES, kind=kind or None, type=type or None, status=LIVE
            )
            if self._admits(row) and (row.trust in OWN_WORDS or section == "procedures")
        ]
        weights = weigh(self._index, self._prompt, self._vector, rows)
        order = sorted(zip(weights, rows, strict=True), key=lambda one: -one[0])
        kept = [
            one
            for at, one in enumerate(order[: MOST[section]])
            if one[0] >= (SURE if self._unasked else LEAST)[section]
            or (at < self._least.get(section, 0) and one[0] >= MAYBE[section])
        ]
        for weight, row in kept:
            self._add(section, row, min(1.0, weight))
        self._step(tool, self._prompt, (row for _, row in kept), started)

    # -- what is known, and what happened

    def _known(self, people: Mapping[int, Row], wanted: Collection[str]) -> None:
        started = time.perf_counter()
        found = self._asked(self._prompt)
        self._clear(found, wanted)
        self._likely(found, wanted)
        self._step("search_facts", self._prompt, (one.row for one in found), started)
        if people:
            started = time.perf_counter()
            others = [row.title for row in people.values() if row.title not in self._prompt]
            again = self._asked(f"{self._prompt} {' '.join(others)}") if others else found
            self._about(again, people, wanted)
            self._step("search_facts", _titles(people.values()), (o.row for o in again), started)

    def _asked(self, query: str) -> list[Found]:
        asked = Asked(query, _CANDIDATES, passive=True, captures=False, history=self._past)
        return [
            one
            for one in self._search.run(asked, self._vector)
            if self._admits(one.row)
            and one.row.type not in (ENTITY, "procedure")
            and one.row.kind != "instruction"
        ]

    def _clear(self, found: Sequence[Found], wanted: Collection[str]) -> None:
        """What bears on the prompt beyond doubt; nothing goes in without what says the same of a
        later day."""
        by_handle = {one.row.handle: one for one in found}
        rows = strict(self._index, self._prompt, self._vector, [one.row for one in found])
        rows.sort(key=lambda row: bool(self._project) and row.project != self._project)
        if self._past:
            kept = {row.handle for row in rows}
            rows = [one.row for one in found if one.row.handle in kept]
        order: dict[str, Row] = {}
        for row in rows:
            newer = by_handle[row.handle].newer
            if newer in by_handle and not self._past:
                order.setdefault(newer, by_handle[newer].row)
            if not newer or newer in by_handle:
                order.setdefault(row.handle, row)
        for at, row in enumerate(order.values()):
            needs = "" if self._past else by_handle[row.handle].newer
            if self._section(row) in wanted:
                self._add(self._section(row), row, 0.9 - at / 100, needs=needs)

    def _likely(self, found: Sequence[Found], wanted: Collection[str]) -> None:
        """The best of what a prompt of this kind asks for, sure or not."""
        have = {one.row.handle for one in self.found.candidates}
        rows = [one.row for one in found if one.row.handle not in have]
        weights = weigh(self._index, self._prompt, self._vector, rows)
        for at, (weight, row) in enumerate(zip(weights, rows, strict=True)):
            section = self._section(row)
            count = sum(other.section == section for other in self.found.candidates)
            short = section in wanted and count < self._least.get(section, 0)
            if short and weight >= MAYBE[section]:
                self._add(section, row, 0.5 - at / 100)

    def _about(
        self, found: Sequence[Found], people: Mapping[int, Row], wanted: Collection[str]
    ) -> None:
        """What is about somebody whom the prompt names, and fits it less clearly."""
        have = {one.row.key for one in self.found.candidates}
        rows = [one.row for one in found if one.row.key not in have]
        about = self._index.names_of([row.key for row in rows])
        names = {name for row in people.values() for name in _names(row)}
        mine = [row for row in rows if about[row.key] & names]
        weights = weigh(self._index, self._prompt, self._vector, mine)
        for weight, row in sorted(zip(weights, mine, strict=True), key=lambda one: -one[0]):
            section = self._section(row)
            if weight >= NAMED and section in wanted:
                self._add(section, row, weight)

    def _recent(self, people: Mapping[int, Row]) -> None:
        started = time.perf_counter()
        since = self._search.ledger.now - LATELY
        found: dict[int, Row] = {}
        for person in people.values():
            some = self._index.list(
                entity=person.title, type="episodic", status="active", since=since, limit=_EVENTS
            )
            found |= {row.key: row for row in some if not captured(row)}
        have = {one.row.key for one in self.found.candidates}
        for at, row in enumerate(row for key, row in found.items() if key not in have):
            self._add("episodes", row, 0.4 - at / 100)
        self._step("search_events", _titles(people.values()), found.values(), started)

    def _section(self, row: Row) -> str:
        return "episodes" if row.type == "episodic" else "memories"

    def _add(
        self, section: str, row: Row, score: float, lines: tuple[str, ...] = (), needs: str = ""
    ) -> None:
        count = sum(one.section == section for one in self.found.candidates)
        if self._admits(row) and count < MOST[section]:
            self.found.candidates.append(Candidate(section, row, score, lines, needs))

    def _step(self, tool: str, asked: str, rows: Iterable[Row], started: float) -> None:
        self.found.steps.append(
            Step(tool, asked, tuple(row.handle for row in rows), time.perf_counter() - started)
        )


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name)


def _names(row: Row) -> set[str]:
    return {fold(name) for name in (row.title, *row.aliases)}


def _titles(rows: Iterable[Row]) -> str:
    return ", ".join(row.title for row in rows)


def _line(tie: Tie, key: int, rows: Mapping[int, Row]) -> str:
    other, relation = (
        (tie.target, tie.relation) if tie.source == key else (tie.source, inverse(tie.relation))
    )
    if isinstance(other, int):
        return f"- {relation} {rows[other].title}"
    written = (name for name in rows[tie.by].about if fold(name) == other)
    return f"- {relation} {next(written, other)}"
