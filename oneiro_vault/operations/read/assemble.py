"""What is put before a model with a person's words: whom they name, the rules and procedures that
apply, what is known and what happened, in one budget of tokens; or nothing. A fixed plan finds it,
and where somebody asks for that, the judge's model chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.markdown.orientation import LIMIT, at_most, estimate, shorten, units
from oneiro_vault.core.markdown.quoting import PREFACE, escape, quote
from oneiro_vault.core.memory import captured
from oneiro_vault.core.text.query import analyse, fts_expression
from oneiro_vault.errors import EmbedderProblem, InvalidInput, OneiroError, shown
from oneiro_vault.index.base import Row, Vectors
from oneiro_vault.operations.read import orient
from oneiro_vault.operations.read.recall_show import check_text
from oneiro_vault.operations.runtime import House
from oneiro_vault.recall import sections
from oneiro_vault.recall.gather import Gather, Gathered, Step
from oneiro_vault.recall.sections import Piece

if TYPE_CHECKING:
    from oneiro_vault.classify.classifier import Intent
    from oneiro_vault.judges.budget import Spent
    from oneiro_vault.recall.explore import Tools

_LONGEST: Final = 4_000
"""Characters of a prompt that are asked about: what comes after is a log or a file."""
_WHOLE: Final = 200
"""Tokens up to which a note is shown as a whole; of a longer one the passage that fits."""
_BESIDE: Final = 60
"""The same of an entity."""
_MARK: Final = "…"


def context(
    house: House,
    prompt: str,
    tokens: int | None = None,
    project: str | None = None,
    fast: bool = False,
    trace: bool = False,
    with_model: bool = False,
    progress: Progress = quiet,
) -> answers.Assembled:
    """All that stands beside a prompt, in at most `tokens`: orientation, rules, whom it names,
    procedures, what is known, what happened. Reinforces nothing. `fast` never waits for the
    embedding model; `with_model`: the judge's model chooses, which costs time and money; `trace`:
    the steps that led to it."""
    check_text(prompt, project)
    tokens = _budget(house.settings["context.tokens"] if tokens is None else tokens)
    behind = house.indexing.converge()
    query = prompt[:_LONGEST]
    vector, degraded = house.vectors.query(query, wait=not fast, progress=progress)
    work = _Assembly(house, query, vector, project)
    intents = _intents(query)
    found = work.gathered(lambda _: True, intents)
    room = tokens - sections.overhead(PREFACE, True, at_most)
    kept = work.fitted(found, room)
    asks = with_model and query.strip() and room > 0
    asked = _by_model(house, work, found, progress) if asks else None
    if asked is not None and asked.chosen is not None:
        kept = work.fitted(asked.chosen, room, _rules(kept))
    text = sections.text(kept, PREFACE, True)
    answer: answers.Assembled = {
        "schema": 1,
        "text": text,
        "intents": _clear(intents),
        "sections": _listed(kept),
        "ambiguous": _ambiguous(found),
        "tokens": at_most(text),
        "degraded": degraded,
        "behind": behind,
    }
    if asked is not None:
        answer["model"] = asked.use
    if trace:
        answer["trace"] = [_traced(one) for one in (*found.steps, *(asked.steps if asked else ()))]
    return answer


def _budget(tokens: int) -> int:
    if tokens < 0:
        raise InvalidInput(f"tokens must be a whole number, 0 or more, not {shown(tokens)}")
    return tokens


def _ambiguous(found: Gathered) -> dict[str, list[answers.Titled]]:
    return {
        name: [{"id": row.handle, "title": row.title} for row in rows]
        for name, rows in found.ambiguous.items()
    }


def _rules(kept: Sequence[Piece]) -> list[Piece]:
    """The rules and what must stand before them."""
    rules = {one.id for one in kept if one.section == "instructions"}
    needed = {one.needs for one in kept if one.id in rules}
    return [one for one in kept if one.id in rules | needed]


def _traced(step: Step) -> answers.TraceStep:
    found: answers.TraceStep = {
        "tool": step.tool,
        "asked": step.asked,
        "found": list(step.found),
        "ms": round(1000 * step.seconds, 1),
    }
    if step.tokens or step.problem:
        found |= {"tokens": step.tokens, "cost": round(step.cost, 6), "problem": step.problem}
    return found


class _ByModel(NamedTuple):
    """What the judge's model chose (None when there is none), what it cost and why it is no more,
    and its steps."""

    chosen: Gathered | None
    use: answers.ModelUse
    steps: Sequence[Step]


def _by_model(house: House, work: _Assembly, plan: Gathered, progress: Progress) -> _ByModel:
    """Ask it. Never raises for what it does."""
    from oneiro_vault.judges.budget import Spent
    from oneiro_vault.operations.dream import choose_judge
    from oneiro_vault.recall import explore

    day = house.now()[:10]
    try:
        judge = choose_judge.model(house.settings, house.dreams, day, explore.SECONDS)
    except OneiroError as error:
        why = f"no model is there: {error}; the fixed plan answered"
        return _ByModel(None, _use(None, Spent(), Spent(), why), ())
    before, talk = replace(judge.spent), explore.Talk(judge, progress)
    chosen: Gathered | None = None
    with closing(judge):
        try:
            seen, why = talk.heard(explore.explore(work.query, work.tools(), plan))
            chosen = replace(plan, candidates=explore.merged(seen, plan))
        except OneiroError as error:  # the index is made anew meanwhile
            why = str(error)
        finally:
            choose_judge.asked(house.dreams, day, before, judge.spent)
    left = f"{why}; the fixed plan filled the rest" if why else ""
    return _ByModel(chosen, _use(judge.name, before, judge.spent, left), talk.steps)


def _use(judge: str | None, before: Spent, spent: Spent, why: str) -> answers.ModelUse:
    return {
        "judge": judge,
        "calls": spent.calls - before.calls,
        "tokens_in": spent.tokens_in - before.tokens_in,
        "tokens_out": spent.tokens_out - before.tokens_out,
        "estimated": spent.estimated - before.estimated,
        "cost": round(spent.cost - before.cost, 6),
        "problem": why,
    }


def inject(
    house: House,
    prompt: str,
    tokens: int | None = None,
    session: str | None = None,
    known: Sequence[str] = (),
    project: str | None = None,
) -> answers.Injected:
    """The memories that a prompt very likely needs, quoted, in at most `tokens`; `text` is empty
    when it needs none. Reinforces nothing. An empty prompt only says that a conversation begins.

    What is in the conversation already stays out: memories of that `session`, and those whose ids
    are `known`. So do captures: a prompt would get its own earlier wording back.
    """
    tokens = _budget(house.settings["inject.tokens"] if tokens is None else tokens)
    house.vectors.attend()
    query = prompt[:_LONGEST]
    if not tokens or not analyse(query).words:
        return _injected([], None)
    behind = house.indexing.converge()
    vector, degraded = house.vectors.query(query, wait=False)
    work = _Assembly(house, query, vector, project)
    given = set(known)
    found = work.gathered(
        lambda row: row.handle not in given and not (session and row.session == session),
        unasked=True,
    )
    share = {**sections.shares(house.settings["context.shares"]), "orientation": 0.0}
    room = tokens - sections.overhead(PREFACE, False, at_most)
    return _injected(_within(sections.fitted(work.pieces(found), room, share)), degraded, behind)


def _intents(query: str) -> Mapping[Intent, float] | None:
    from oneiro_vault.classify.classifier import intents  # as in `drafts`

    if not query.strip():
        return None
    try:
        return intents(query)
    except EmbedderProblem:  # what is near comes all the same
        return None


def _clear(intents: Mapping[Intent, float] | None) -> list[str]:
    from oneiro_vault.classify.classifier import INTENDED  # as in `drafts`

    return [name for name, likely in (intents or {}).items() if likely >= INTENDED]


class _Assembly:
    """One prompt over the living index."""

    def __init__(
        self, house: House, query: str, vector: Vectors | None, project: str | None
    ) -> None:
        self._house, self._vector, self._project = house, vector, project
        self.query = query

    def gathered(
        self,
        admits: Callable[[Row], bool],
        intents: Mapping[Intent, float] | None = None,
        *,
        unasked: bool = False,
    ) -> Gathered:
        """The candidates of all sections but the orientation."""
        from oneiro_vault.classify.classifier import looks_back  # as in `drafts`

        if not self.query.strip():
            return Gathered()
        house, past = self._house, looks_back(self.query)
        gather = Gather(
            house.index,
            house.uses.remembered(),
            self.query,
            self._vector,
            lambda row: _speaks(row, past) and admits(row),
            weights=house.weights,
            past=past,
        )
        return gather.run(intents, unasked=unasked, project=self._project or "")

    def tools(self) -> Tools:
        """What a model may look with."""
        from oneiro_vault.recall.explore import Tools

        house = self._house
        return Tools(
            house.index,
            house.uses.remembered(),
            lambda query: house.vectors.query(query, wait=False)[0],
            _speaks,
            house.weights,
        )

    def fitted(self, found: Gathered, room: int, sure: Sequence[Piece] = ()) -> list[Piece]:
        """What of it fits into `room`, beside the orientation; `sure` stands there in any case."""
        share = sections.shares(self._house.settings["context.shares"])
        pinned = {one.id for one in sure}
        pieces = [*self.pieces(found), *_orientation(self._house)]
        others = (one for one in pieces if one.id not in pinned)
        kept = [*sure, *sections.fitted(others, room - sum(one.cost for one in sure), share)]
        order = list(share)
        return sorted(kept, key=lambda one: order.index(one.section))

    def pieces(self, found: Gathered) -> list[Piece]:
        """The candidates as they are shown, and what is to be asked about."""
        words = self._words([one.row for one in found.candidates])
        pieces = [_several(name, rows) for name, rows in found.ambiguous.items()]
        for one in found.candidates:
            body = words[one.row.handle]
            if one.section == "people":
                body = shorten(body, _WHOLE if one.named else _BESIDE) or body[:0]
            said = "\n".join(filter(None, (body, *one.lines)))
            if said.strip():
                shown_ = _quoted(one.row, said)
                cost = at_most(shown_) + 1
                pieces.append(
                    Piece(one.section, one.row.handle, shown_, one.score, cost, one.needs)
                )
        return pieces

    def _words(self, rows: Sequence[Row]) -> Mapping[str, str]:
        """Handle -> what is shown of a note: all, or the passage that fits."""
        index = self._house.index
        keys = [row.key for row in rows if not captured(row)]  # of those: how they ended
        bodies = index.bodies(keys)
        long = [key for key in keys if estimate(bodies.get(key, "")) > _WHOLE]
        spans: Mapping[int, tuple[int, int]] = {}
        if long:
            spans = index.best_passages(fts_expression(index.terms(self.query)), long)
            if self._vector is not None:
                spans = {**spans, **index.nearest_passages(self._vector, long)}
        found: dict[str, str] = {}
        for row in rows:
            whole = row.outcome if captured(row) else bodies.get(row.key, "")
            start, end = spans.get(row.key, (0, len(whole)))
            words = whole[start:end].strip()
            cut = f"{words}\n{_MARK}" if len(words) < len(whole.strip()) else words
            found[row.handle] = (shorten(cut, _WHOLE) or row.description) if cut else ""
        return found


def _speaks(row: Row, past: bool) -> bool:
    of_use = row.status == "active" or (past and row.status == "superseded")
    return of_use and row.type != "orientation"


def _quoted(row: Row, words: str) -> str:
    title = row.title.removesuffix("…").strip().casefold()
    said = " ".join(words.split()).lstrip("#>-* ").casefold()
    head = "" if said.startswith(title) else f"{row.title}\n"
    return quote(
        head + words,
        id=row.handle,
        created=row.created[:10],
        trust=row.trust,
        source=row.source,
        replaced_by=row.superseded_by,
    )


def _several(name: str, rows: Sequence[Row]) -> Piece:
    which = ", ".join(f"{row.title} ({row.handle})" for row in rows)
    words = escape(" ".join(f"{name} may be {which}: which one is meant is not known.".split()))
    return Piece("people", f"name:{name}", words, 1.0, at_most(words) + 1)


def _orientation(house: House) -> list[Piece]:
    blocks = orient.rendered(house.index, LIMIT).blocks
    return [
        Piece("orientation", one.id or one.path, text, 1 - at / 100, at_most(text) + 1)
        for at, one in enumerate(blocks)
        if (text := one.text.strip())
    ]


def _listed(kept: Sequence[Piece]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for piece in kept:
        found.setdefault(piece.section, []).append(piece.id)
    return found


def _within(kept: Sequence[Piece]) -> list[Piece]:
    room = LIMIT - len(PREFACE)
    found: list[Piece] = []
    for piece in kept:
        size = units(piece.text) + 1
        if size <= room:
            found.append(piece)
            room -= size
    return found


def _injected(kept: Sequence[Piece], degraded: str | None, behind: int = 0) -> answers.Injected:
    return {
        "schema": 1,
        "text": sections.text(kept, PREFACE, False),
        "ids": [piece.id for piece in kept if not piece.id.startswith("name:")],
        "degraded": degraded,
        "behind": behind,
    }
