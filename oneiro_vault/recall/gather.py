"""What may stand beside a prompt, section by section: whom it names and whom those are connected
with, the rules and procedures that apply to the work, what is known, what happened.

A fixed plan gathers: names, then graph neighbours, instructions, procedures, what is known, then a
second question with whom was found, then what happened lately. Which of all this the prompt needs
is learned (`classifier.needed`): from how near and how rare its words are, its place among the
others, who is named, and what the prompt is for.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from oneiro_vault.core.markdown.taxonomy import CATEGORY, inverse
from oneiro_vault.core.memory import CAPTURE, ENTITY, LIVE, OWN_WORDS, captured
from oneiro_vault.core.ranking import Weights
from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.index.keyword.edge_rows import UNTYPED, StatedBy
from oneiro_vault.index.store import Index
from oneiro_vault.recall.graph_walk import Graph, Ref, Tie
from oneiro_vault.recall.relevance import ENOUGH, Sign, signs
from oneiro_vault.recall.request import Asked, Found, Ledger
from oneiro_vault.recall.search import Search

if TYPE_CHECKING:
    from oneiro_vault.classify.classifier import Intent

SECTIONS: Final = ("people", "instructions", "procedures", "memories", "episodes")
LIKELY: Final = 0.08
"""Probability from which a memory stands beside a prompt whose context was asked for. Of 960
prompts of lives left out, and as many strangers', half of what is shown helps and .55 of what is
needed is there."""
SURE: Final = 0.35
"""The same where nobody asked for it: four fifths help."""
WORK: Final[tuple[Intent, ...]] = ("action", "delegation")
"""Intents by which something is to be done: the `RULES` that fit best come, however little speaks
for them, as a rule seldom has the words of the work that it is for. Of 960 labelled prompts that
costs a hundredth of the precision."""
RULES: Final = 2
LATELY: Final = 30 * 86_400.0
"""Seconds that are lately."""
MOST: Final[Mapping[str, int]] = {
    "people": 6, "instructions": 5, "procedures": 3, "memories": 8, "episodes": 4,
}  # fmt: skip
_CANDIDATES: Final = 50
_RULES: Final = 500
"""Instructions and procedures that are looked at, the newest."""
_TIES: Final = 6
_EVENTS: Final = 2
_TALKS: Final = 50
"""Conversations that are looked at for how they ended, the newest."""
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
    named: bool = False


@dataclass
class Considered:
    """A memory that may be needed, and what speaks for it beside its words: its `rank` in the
    search; is it `named`, `near` whom is (an end of a relation), as `close` as their employer or
    project, `about` them, does it `state` their relations? `newer`: the handle of what says the
    same of a later day; `replaced`: what it replaced, which speaks for it."""

    section: str
    row: Row
    rank: int = _CANDIDATES
    named: bool = False
    near: bool = False
    close: bool = False
    about: bool = False
    states: bool = False
    newer: str = ""
    replaced: Row | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step of the plan, as Octybot's tools are called: what was asked, what it found of that
    which the prompt needs (handles), seconds it took. Where a model chose it: all that it found,
    what asking cost, and what was wrong with the answer."""

    tool: str
    asked: str
    found: tuple[str, ...]
    seconds: float
    tokens: int = 0
    cost: float = 0.0
    problem: str = ""


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
        ledger: Ledger,
        prompt: str,
        vector: Vectors | None,
        admits: Callable[[Row], bool],
        *,
        weights: Weights | None = None,
        past: bool = False,
    ) -> None:
        """`vector`: the prompt's, None where only words are to speak; `past`: it asks how something
        was."""
        self._index, self._ledger = index, ledger
        self._search = Search(index, ledger, weights)
        self._graph = Graph(index, StatedBy(LIVE, dates.iso(ledger.now)))
        self._prompt, self._vector, self._admits, self._past = prompt, vector, admits, past
        self._known: dict[int, Considered] = {}
        self._near: Collection[Ref] = ()
        self._stating: Collection[int] = ()
        self.found = Gathered()

    def consider(self, talks: bool = True) -> list[Considered]:
        """Carry the plan out: everything that the prompt may need; `talks`: and how conversations
        ended."""
        people = self._people()
        self._connected(people)
        self._applying("instructions", "get_instructions", kind="instruction")
        self._applying("procedures", "search_processes", type="procedure")
        self._said(people)
        self._recent(people, talks)
        names = {name for row in people.values() for name in _names(row)}
        about = self._index.names_of(list(self._known))
        for key, one in self._known.items():
            one.about = bool(about[key] & names)
            one.near, one.states = key in self._near, key in self._stating
        return list(self._known.values())

    def run(
        self,
        intents: Mapping[Intent, float] | None = None,
        *,
        unasked: bool = False,
        project: str = "",
    ) -> Gathered:
        """What the prompt likely needs and whom it names, with their employers and projects and
        rules for the work; `unasked` only what is very likely needed, and whom it names. What was
        learned in `project` goes first. `intents`: what the prompt is for, if that is known."""
        from oneiro_vault.classify.classifier import INTENDED  # as in `drafts`

        considered = self.consider(talks=not unasked)
        handles = [one.row.handle for one in considered]
        chances = dict(zip(handles, self._likely(considered, intents), strict=True))
        for one in sorted(considered, key=lambda one: one.row.when or 0.0):
            if one.newer in chances:  # what says the same of a later day stands before it
                chances[one.newer] = max(chances[one.newer], chances[one.row.handle] + 1e-3)
        rules = sorted(
            (one.row.handle for one in considered if one.section == "instructions"),
            key=lambda handle: -chances[handle],
        )
        work = any((intents or {}).get(name, 0.0) >= INTENDED for name in WORK)
        always = {one.row.handle for one in considered if one.named}
        if not unasked:
            always |= {one.row.handle for one in considered if one.close}
            always |= {*rules[:RULES]} if work else set()
        for one in sorted(considered, key=lambda one: self._order(one, chances, project)):
            least = SURE if unasked else LIKELY
            wanted = one.row.handle in always or chances[one.row.handle] >= least
            if wanted and (not one.newer or one.newer in chances):
                self._add(one, chances[one.row.handle])
        shown = {one.row.handle for one in self.found.candidates}
        self.found.steps = [
            replace(step, found=tuple(handle for handle in step.found if handle in shown))
            for step in self.found.steps
        ]
        return self.found

    def _order(
        self, one: Considered, chances: Mapping[str, float], project: str
    ) -> tuple[bool, float]:
        here = not project or one.row.project == project
        return not here, one.rank if self._past else -chances[one.row.handle]

    def _likely(
        self, considered: Sequence[Considered], intents: Mapping[Intent, float] | None
    ) -> list[float]:
        """How likely the prompt needs each. Without vectors only words speak."""
        from oneiro_vault.classify.classifier import needed  # as in `drafts`

        found = self.signs(considered)
        if self._vector is None:
            return [float(sign.weight >= ENOUGH) for sign in found]
        places = [SECTIONS.index(one.section) for one in considered]
        return needed(table(considered, found), places, intents)

    def signs(self, considered: Sequence[Considered]) -> list[Sign]:
        """What the words of each and of what it replaced say of the prompt, whichever says more."""
        own = [one.row for one in considered]
        old = [one.replaced for one in considered if one.replaced is not None]
        found = signs(self._index, self._prompt, self._vector, [*own, *old])
        before = dict(zip((row.handle for row in old), found[len(own) :], strict=True))
        return [
            max(sign, before[one.replaced.handle], key=lambda sign: sign.weight)
            if one.replaced is not None
            else sign
            for one, sign in zip(considered, found, strict=False)
        ]

    def _consider(self, section: str, row: Row) -> Considered:
        return self._known.setdefault(row.key, Considered(section, row))

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
        for row in people.values():
            self._consider("people", row).named = True
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
        every = sorted(
            self._graph.around([*people]) if people else (), key=lambda one: -(one.when or 0.0)
        )
        typed = [tie for tie in every if tie.relation not in UNTYPED]
        for tie in typed:
            for end in {tie.source, tie.target} & people.keys():
                if isinstance(end, int):
                    ties[end].append(tie)
        self._near = {end for tie in every for end in (tie.source, tie.target)}
        self._stating = {tie.by for tie in every}
        newest = [*dict.fromkeys(tie.by for tie in every)][:_CANDIDATES]
        ends = {end for tie in typed for end in (tie.source, tie.target) if isinstance(end, int)}
        rows = self._index.rows(ends.union(newest, (tie.by for tie in typed)))
        for key in people:
            others = [tie for tie in ties[key] if tie.by != key]  # its own stand in its words
            self._known[key].lines = tuple(relation_line(tie, key, rows) for tie in others[:_TIES])
            for tie in ties[key]:
                other = tie.target if tie.source == key else tie.source
                if isinstance(other, int) and CATEGORY.get(tie.relation) in _CLOSE:
                    row = rows[other]
                    if row.type == ENTITY and self._admits(row):
                        self._consider("people", row).close = True
        for row in (rows[key] for key in newest):
            if self._fits(row) and not captured(row) and self._admits(row):
                self._of(row)
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
        for row in rows:
            self._consider(section, row)
        self._step(tool, self._prompt, rows, started)

    # -- what is known, and what happened

    def _said(self, people: Mapping[int, Row]) -> None:
        started = time.perf_counter()
        found = self._asked(self._prompt)
        for rank, one in enumerate(found):
            if one.row.key in self._known:
                self._known[one.row.key].rank = rank
            elif self._fits(one.row):
                self._of(one.row).rank = rank
            if one.row.key in self._known:
                self._known[one.row.key].replaced = one.replaced
        self._held_back(found)
        self._step("search_facts", self._prompt, (one.row for one in found), started)
        others = [row.title for row in people.values() if row.title not in self._prompt]
        if others:
            started = time.perf_counter()
            again = self._asked(f"{self._prompt} {' '.join(others)}")
            for one in again:
                if self._fits(one.row):
                    self._of(one.row)
            self._held_back(again)
            self._step("search_facts", _titles(people.values()), (o.row for o in again), started)

    def _held_back(self, found: Sequence[Found]) -> None:
        """Nothing stands there without what says the same of a later day."""
        for one in found:
            if one.newer and not self._past and one.row.key in self._known:
                self._known[one.row.key].newer = one.newer

    def _asked(self, query: str) -> list[Found]:
        asked = Asked(query, _CANDIDATES, passive=True, captures=False, history=self._past)
        return [one for one in self._search.run(asked, self._vector) if self._admits(one.row)]

    def _fits(self, row: Row) -> bool:
        """Is it a fact or an event? The others come by ways of their own."""
        return row.type not in (ENTITY, "procedure") and row.kind != "instruction"

    def _of(self, row: Row) -> Considered:
        return self._consider("episodes" if row.type == "episodic" else "memories", row)

    def _recent(self, people: Mapping[int, Row], talks: bool) -> None:
        started = time.perf_counter()
        since = self._ledger.now - LATELY
        found: dict[int, Row] = {}
        for person in people.values():
            some = self._index.list(
                entity=person.title, type="episodic", status="active", since=since, limit=_EVENTS
            )
            found |= {row.key: row for row in some if not captured(row) and self._admits(row)}
        if talks:
            some = self._index.list(
                source=CAPTURE, type="episodic", status="active", since=since, limit=_TALKS
            )
            found |= {row.key: row for row in some if row.outcome and self._admits(row)}
        for row in found.values():
            self._of(row)
        self._step("search_events", _titles(people.values()), found.values(), started)

    def _add(self, one: Considered, chance: float) -> None:
        before = [other.score for other in self.found.candidates if other.section == one.section]
        if len(before) < MOST[one.section]:
            score = min([chance, *(other - 1e-6 for other in before)])  # the order stays
            self.found.candidates.append(
                Candidate(one.section, one.row, score, one.lines, one.newer, one.named)
            )

    def _step(self, tool: str, asked: str, rows: Iterable[Row], started: float) -> None:
        self.found.steps.append(
            Step(tool, asked, tuple(row.handle for row in rows), time.perf_counter() - started)
        )


def table(considered: Sequence[Considered], found: Sequence[Sign]) -> Vectors:
    """What speaks for each of n memories, n x 11, as `classifier.needed` takes it: the share of the
    prompt's words it has and how many (to 4); how near its meaning is, how far behind the nearest
    of its section and its place there; its place in the search; is it named, near or about whom is,
    does it state their relations; is anybody named."""
    reach = np.array([sign.reach for sign in found], dtype=np.float32)
    reach = np.nan_to_num(reach)
    best, place = np.zeros_like(reach), np.zeros_like(reach)
    sections = np.array([one.section for one in considered])
    for section in SECTIONS:
        inside = np.flatnonzero(sections == section)
        if inside.size:
            best[inside] = reach[inside].max()
            place[inside[np.argsort(-reach[inside], kind="stable")]] = np.arange(inside.size)
    named = any(one.named for one in considered)
    rows = [
        (
            sign.share, min(sign.many, 4), reach[at], reach[at] - best[at], math.log1p(place[at]),
            math.log1p(one.rank), one.named, one.near, one.about, one.states, named,
        )
        for at, (one, sign) in enumerate(zip(considered, found, strict=True))
    ]  # fmt: skip
    return np.array(rows, dtype=np.float32).reshape(len(rows), 11)


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name)


def _names(row: Row) -> set[str]:
    return {fold(name) for name in (row.title, *row.aliases)}


def _titles(rows: Iterable[Row]) -> str:
    return ", ".join(row.title for row in rows)


def relation_line(tie: Tie, key: int, rows: Mapping[int, Row]) -> str:
    """A relation as the note `key` would state it, as a line of Markdown."""
    other, relation = (
        (tie.target, tie.relation) if tie.source == key else (tie.source, inverse(tie.relation))
    )
    if isinstance(other, int):
        return f"- {relation} {rows[other].title}"
    written = (name for name in rows[tie.by].about if fold(name) == other)
    return f"- {relation} {next(written, other)}"
