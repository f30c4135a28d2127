"""What stands beside a prompt where a model chooses: it is shown what was found so far and names
the next look into the vault, or says that it has enough and which of it matters (Octybot's loop).

It selects ids of what it was shown: no word of it goes any further than the next look. Whatever it
does wrong ends the loop, and what the fixed plan found fills the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from pydantic import Field

from oneiro_vault.api import Progress
from oneiro_vault.core.markdown.quoting import without_comments
from oneiro_vault.core.memory import ENTITY, EPISODIC, LIVE, OWN_WORDS, PROCEDURE, captured
from oneiro_vault.core.question import Answer, Question, Raw, Shown, ShownId, check
from oneiro_vault.core.ranking import Weights
from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.index.base import Filters, Row, Vectors
from oneiro_vault.index.keyword.edge_rows import UNTYPED, StatedBy
from oneiro_vault.index.store import Index
from oneiro_vault.judges.base import used
from oneiro_vault.judges.budget import Budgeted, Spent
from oneiro_vault.recall.gather import Candidate, Gathered, Step, relation_line
from oneiro_vault.recall.graph_walk import Graph
from oneiro_vault.recall.request import Asked, Ledger
from oneiro_vault.recall.search import DAY, Search

STEPS: Final = 8
"""Questions to the model at most; the last can only be answered with what matters."""
SECONDS: Final = 45.0
"""For all of them: with what the vectors may take a client that waits a minute is answered."""
TOKENS: Final = 40_000
"""Read and written for one prompt; the next question is asked as long as it will likely fit."""
ROWS: Final = 40
"""Memories that a question shows: what matters, what the last look found, then the others."""
FOUND: Final = 10
"""Memories that a look finds."""
ENOUGH: Final = "enough"
TWICE: Final = "the model made one look twice"
LONG: Final = f"the model had not enough after {STEPS} questions"
POLICY: Final = 1
_WORDS: Final = 200
"""Characters of a memory that are shown, and of one that was read."""
_READ: Final = 2_000
_SPECIAL: Final = (ENTITY, PROCEDURE, "orientation", "dream")
"""Types that are no facts and no events."""
INSTRUCTION: Final = """\
Somebody is about to answer a prompt, which stands at the end under the id `given`. You choose the \
memories that will stand beside it. Those found so far are quoted here, each cut to its beginning.

In `matters` name the ids, the most useful first, that help with the prompt: who and what it is \
about, rules and procedures for the work, what is known of it, what happened. Leave out what only \
shares a word with it. What you named before counts only if you name it again.

Then choose one `tool`. `enough` ends the search: choose it as soon as nothing likely is missing.
- search_entity(query): people, organizations, projects, things by name
- get_relationships(of): with whom and what it is connected, and what says so
- search_facts(query, of?, days?): what is known
- search_events(query, of?, days?): what happened, the latest if the query is empty
- search_processes(query): how something is done
- get_instructions(query): rules and wishes that apply
- search_past(query, of?, days?): also what was replaced or has faded, for what was true before
- read_memory(of): more of one memory, what it was made of and what replaced it
`of` is the id of a memory that is shown, else null; `days`: only so many days back, 0 for any. \
Other words for what is sought find more than the same ones again; no look may be made twice."""
_LAST: Final = " This is the last question: choose `enough`."


class NextStep(Answer):
    """What the model wants to look at next, and what matters of what it has seen."""

    tool: Literal[
        "search_entity", "get_relationships", "search_facts", "search_events", "search_processes",
        "get_instructions", "search_past", "read_memory", "enough",
    ]  # fmt: skip
    query: str = Field(max_length=300)
    of: ShownId | None
    days: int = Field(ge=0, le=40_000)
    matters: list[ShownId] = Field(max_length=ROWS)

    def asked(self) -> str:
        """The look in one line, the same for the same look."""
        words = " ".join(fold(self.query).split())
        back = f"{self.days} days" if self.days else ""
        return " · ".join(filter(None, (self.tool, words, self.of or "", back)))


@dataclass
class Explored:
    """What came of it: the ids that matter, in the model's order; all that was seen, by id; what is
    told of relations; what says the same of a later day; a step for every answer. `whole`: did the
    model say that it has enough? `problem`: why else it ended, "" when it was not heard to the
    end."""

    chosen: list[str] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    newer: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    whole: bool = False
    problem: str = ""


Exploring: TypeAlias = Generator[Question, NextStep | None, Explored]
"""Yields a question, is sent the answer, None when there is none that can be used."""


class Tools:
    """The looks into one index. `speaks`: may a note stand beside the prompt, (the past is asked
    for)? `vector`: a question's, None where only words are to speak."""

    def __init__(
        self,
        index: Index,
        ledger: Ledger,
        vector: Callable[[str], Vectors | None],
        speaks: Callable[[Row, bool], bool],
        weights: Weights | None = None,
    ) -> None:
        self._index, self._ledger, self._vector, self._speaks = index, ledger, vector, speaks
        self._search = Search(index, ledger, weights)
        self._graph = Graph(index, StatedBy(LIVE, dates.iso(ledger.now)))

    def look(self, step: NextStep, seen: Explored) -> list[Row]:
        """What a step finds, best first; relations and later words of it go into `seen`."""
        of = seen.rows.get(step.of or "")
        if step.tool == "read_memory":
            rows = self._around(of)
        elif step.tool == "get_relationships":
            rows = self._related(of, step.query, seen)
        elif step.tool == "search_entity":
            meant = [one for one in self._graph.meant(step.query) if isinstance(one, int)]
            rows = [*self._index.rows(meant).values(), *self._found(step, of, seen)]
        else:
            rows = self._found(step, of, seen)
        past = step.tool in ("search_past", "read_memory")
        fitting = (row for row in rows if self._fits(row, past))
        return list({row.handle: row for row in fitting}.values())[:FOUND]

    @property
    def today(self) -> str:
        """YYYY-MM-DD."""
        return dates.iso(self._ledger.now)[:10]

    def beginning(self, row: Row, most: int) -> str:
        """The first words of a note; of a conversation how it ended."""
        words = row.outcome if captured(row) else self._index.body(row.key)
        plain = " ".join(without_comments(words).split())
        return plain if len(plain) <= most else f"{plain[:most]}…"

    def _fits(self, row: Row, past: bool) -> bool:
        """Rules are a person's own words; a conversation speaks by how it ended."""
        if not self._speaks(row, past) or row.type in ("orientation", "dream"):
            return False
        if row.kind == "instruction" and row.trust not in OWN_WORDS:
            return False
        return not (captured(row) and not row.outcome) and not self._ledger.doubted(row)

    def _filters(self, step: NextStep, of: Row | None) -> Filters:
        filters = Filters(
            entity=of.title if of is not None and of.type == ENTITY else None,
            since=self._ledger.now - step.days * DAY if step.days else None,
        )
        if step.tool == "search_facts":
            return replace(filters, without=(*_SPECIAL, EPISODIC))
        if step.tool == "search_past":
            return replace(filters, without=_SPECIAL)
        if step.tool == "get_instructions":
            return replace(filters, kind="instruction")
        kinds = {"search_entity": ENTITY, "search_events": EPISODIC}
        return replace(filters, type=kinds.get(step.tool, PROCEDURE))

    def _found(self, step: NextStep, of: Row | None, seen: Explored) -> list[Row]:
        filters, past = self._filters(step, of), step.tool == "search_past"
        asked = Asked(
            step.query, 2 * FOUND, filters, passive=not past, captures=False, history=past
        )
        found = self._search.run(asked, self._vector(step.query)) if step.query.strip() else []
        seen.newer |= {one.row.handle: one.newer for one in found if one.newer and not past}
        rules = step.tool == "get_instructions"
        rows = [one.row for one in found if (one.row.kind == "instruction") == rules or past]
        if step.tool == "search_events":
            rows += self._index.part(replace(filters, status="active"), FOUND)
        return rows

    def _related(self, of: Row | None, name: str, seen: Explored) -> list[Row]:
        meant = [of.key] if of is not None else self._graph.meant(name)
        if len(meant) != 1:  # nobody guesses which of them it is
            return [*self._index.rows([one for one in meant if isinstance(one, int)]).values()]
        walk = self._graph.walk(meant[0], 1, 2 * FOUND)
        keys = [key for key in walk.hops if isinstance(key, int)]
        rows = self._index.rows({*keys, *(tie.by for tie in walk.ties)})
        if isinstance(meant[0], int) and meant[0] in rows:
            told = [
                relation_line(tie, meant[0], rows)
                for tie in walk.ties
                if tie.relation not in UNTYPED and meant[0] in (tie.source, tie.target)
            ]
            seen.lines[rows[meant[0]].handle] = tuple(dict.fromkeys(told))[:FOUND]
        order = dict.fromkeys((*keys, *(tie.by for tie in walk.ties)))
        return [rows[key] for key in order if key in rows]

    def _around(self, of: Row | None) -> list[Row]:
        if of is None:
            return []
        ends = (*of.derived_from, of.superseded_by, *of.supersedes)
        others = [row for one in ends if one and (row := self._index.only(one)) is not None]
        made = self._index.made_of([of.handle]).get(of.handle, set())
        return [of, *others, *self._index.rows(made).values()]


def explore(prompt: str, tools: Tools, plan: Gathered) -> Exploring:
    """Ask until the model has enough, makes the same look twice, or is heard no more."""
    seen = Explored(
        rows={one.row.handle: one.row for one in plan.candidates},
        lines={one.row.handle: one.lines for one in plan.candidates if one.lines},
        newer={one.row.handle: one.needs for one in plan.candidates if one.needs},
    )
    looks: dict[str, int] = {}
    latest: Sequence[Row] = ()
    read: set[str] = set()
    for number in range(1, STEPS + 1):
        shown = _shown(seen, latest, read, tools)
        step = yield _question(prompt, shown, looks, tools.today, last=number == STEPS)
        if step is None:
            return seen
        started, asked = time.perf_counter(), step.asked()
        seen.chosen = [*dict.fromkeys(step.matters)]
        seen.whole = step.tool == ENOUGH
        if seen.whole or asked in looks or number == STEPS:
            seen.steps.append(Step(step.tool, asked, tuple(seen.chosen) * seen.whole, 0.0))
            seen.problem = "" if seen.whole else TWICE if asked in looks else LONG
            return seen
        latest = tools.look(step, seen)
        read |= {step.of} if step.tool == "read_memory" and step.of else set()
        looks[asked] = len(latest)
        seen.rows |= {row.handle: row for row in latest}
        handles = tuple(row.handle for row in latest)
        seen.steps.append(Step(step.tool, asked, handles, time.perf_counter() - started))
    return seen


def merged(seen: Explored, plan: Gathered) -> list[Candidate]:
    """What the model chose, then the plan's rules; all that the plan found where the model was not
    heard to the end."""
    chosen: dict[str, None] = {}
    for handle in seen.chosen:  # what says the same of a later day stands before it
        later = seen.newer.get(handle, "")
        chosen |= dict.fromkeys(one for one in (later, handle) if one in seen.rows)
    own = {one.row.handle: one for one in plan.candidates}
    found = [
        Candidate(
            own[handle].section if handle in own else _section(seen.rows[handle]),
            seen.rows[handle],
            1.0 - at / 1e3,
            seen.lines.get(handle, ()),
            seen.newer.get(handle, "") if seen.newer.get(handle) in chosen else "",
            named=True,
        )
        for at, handle in enumerate(chosen)
    ]
    rest = (one for one in plan.candidates if one.row.handle not in chosen)
    kept = (one for one in rest if not seen.whole or one.section == "instructions")
    return [*found, *(replace(one, score=one.score * 0.9) for one in kept)]


def _section(row: Row) -> str:
    if row.kind == "instruction":
        return "instructions"
    sections = {ENTITY: "people", PROCEDURE: "procedures", EPISODIC: "episodes"}
    return sections.get(row.type, "memories")


def _shown(
    seen: Explored, latest: Iterable[Row], read: set[str], tools: Tools
) -> tuple[Shown, ...]:
    order = dict.fromkeys((*seen.chosen, *(row.handle for row in latest), *seen.rows))
    found = []
    for row in (seen.rows[handle] for handle in [*order][:ROWS]):
        words = tools.beginning(row, _READ if row.handle in read else _WORDS)
        title = "" if words.startswith(row.title.removesuffix("…").strip()) else row.title
        facts = _facts(row, seen.lines.get(row.handle, ()))
        found.append(
            Shown(row.handle, title, words, row.created[:10], row.trust, row.source, facts)
        )
    return tuple(found)


def _facts(row: Row, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
    found = (
        ("this is", "a rule" if row.kind == "instruction" else row.kind or row.type),
        ("about", ", ".join(row.about)),
        ("replaced by", row.superseded_by),
        ("relations", "; ".join(line.removeprefix("- ") for line in lines)),
    )
    return tuple((name, value) for name, value in found if value)


def _question(
    prompt: str, shown: tuple[Shown, ...], looks: Mapping[str, int], today: str, last: bool
) -> Question:
    """The looks stand below the prompt, as data: a query may repeat what a memory said."""
    before = "".join(f"\n- {asked}: {number} found" for asked, number in looks.items())
    given = f"{prompt}\n\n(looks made so far:{before})" if looks else prompt
    instruction = f"{INSTRUCTION}\n\nToday is {today}.{_LAST * last}"
    return Question("context", instruction, NextStep, shown, given, POLICY, stage="context")


@dataclass
class Talk:
    """The judge's model, asked about one prompt. Never raises for what it does."""

    judge: Budgeted
    progress: Progress
    steps: list[Step] = field(default_factory=list)
    """One for each question."""
    _most: int = 0
    """Tokens of the dearest question so far."""

    def heard(self, loop: Exploring) -> tuple[Explored, str]:
        """What came of a loop, and why it ended before the model had enough."""
        before, why = replace(self.judge.spent), ""
        try:
            question = next(loop)
            while True:
                self.progress("asking the model", len(self.steps), STEPS)
                step, why = self._said(question, before)
                question = loop.send(step)
        except StopIteration as end:
            seen: Explored = end.value
        self.steps = [
            replace(own, tool=step.tool, asked=step.asked, found=step.found)
            for own, step in zip(self.steps, seen.steps, strict=False)
        ] + self.steps[len(seen.steps) :]
        return seen, why or seen.problem

    def _said(self, question: Question, before: Spent) -> tuple[NextStep | None, str]:
        """Its answer, or why there is none: in our words, as what it said itself may be anything
        that a memory told it to say."""
        judge, started = self.judge, time.perf_counter()
        spent = replace(judge.spent)
        likely = max(self._most, used(question.prompt(), "")["tokens_in"])
        if spent.tokens - before.tokens + likely > TOKENS:
            return None, f"the {TOKENS:,} tokens of one context are used"
        raw = Raw(problem="not answered")
        try:
            raw = dict(judge.ask([question])).get(question.id, raw)
        except Exception as error:  # somebody else's program
            raw = Raw(problem=f"{type(error).__name__}: {str(error)[:200]}")
        verdict = check(question, raw, judge.name)
        cost = judge.spent.tokens - spent.tokens
        self._most = max(self._most, cost)
        seconds = time.perf_counter() - started
        self.steps.append(
            Step("", "", (), seconds, cost, judge.spent.cost - spent.cost, verdict.problem)
        )
        if isinstance(verdict.answer, NextStep):
            return verdict.answer, ""
        return None, _why(judge, raw)


def _why(judge: Budgeted, raw: Raw) -> str:
    if judge.patience.over():
        return f"the model's {SECONDS:g} seconds are over"
    if raw.unasked:
        return raw.problem.removeprefix("not asked: ")
    if raw.waits:
        return "no client is connected whose model may be asked"
    return "the model gave no answer" if raw.problem else "the model's answer could not be used"
