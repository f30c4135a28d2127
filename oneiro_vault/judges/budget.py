"""Ceilings for one run: calls, tokens, what they cost, and time. At one nobody is asked any more,
and for a whole night when nobody can be reached."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import Judge, Patience, used

AWAY: Final = 3
"""Failures in a row after which nobody is asked; those under way at once are one."""
CHUNK: Final = 8


@dataclass
class Spent:
    """What a run has used so far. `cost` in the currency of the prices given, 0 without prices."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    estimated: int = 0
    """Answers whose tokens are a guess."""

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True)
class Ceilings:
    """Limits of one run; 0 means none. `together`: calls of all runs; prices: of a million
    tokens."""

    calls: int = 0
    together: int = 0
    tokens: int = 0
    cost: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0


@dataclass
class Budgeted:
    """A judge within ceilings. Questions that no longer fit are asked again in another run."""

    judge: Judge
    ceilings: Ceilings
    patience: Patience = field(default_factory=Patience)
    spent: Spent = field(default_factory=Spent)
    fallback: Judge | None = None
    """Answers for now what nobody was reached for: such a question stays open for the next run."""
    unreached: str = ""
    """Why `fallback` answered in this run; "" when it did not."""
    _before: int = 0
    _away: int = 0
    _since: float = float("-inf")

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.judge.name

    def begin(self) -> None:
        """A run begins: nothing is spent. Who could not be reached is not asked again."""
        self._before += self.spent.calls
        self.spent, self.unreached = Spent(), ""
        self.patience.begin()

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """In chunks, as long as there is something left."""
        lost: dict[str, Raw] = {}
        for ident, raw in self._within(questions):
            if self.fallback is not None and (raw.away or (raw.unasked and self.patience.gone)):
                lost[ident] = raw
            else:
                yield ident, raw
        if lost:
            yield from self._instead([one for one in questions if one.id in lost], lost)

    def _instead(
        self, questions: Sequence[Question], lost: dict[str, Raw]
    ) -> Iterator[tuple[str, Raw]]:
        assert self.fallback is not None
        for ident, raw in self.fallback.ask(questions):
            if raw.answer is not None:
                self.unreached = self.unreached or self.patience.gone or lost[ident].problem
                del lost[ident]
                yield ident, replace(raw, by=self.fallback.name, waits=True)
        yield from lost.items()

    def _within(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        todo = {question.id: question for question in questions}
        while todo and not self.reached():
            part = self._part(list(todo.values()))
            for ident, raw in self.judge.ask(part):
                self._add(raw)
                todo.pop(ident, None)
                yield ident, raw
                if self.patience.over() and not self.patience.open:
                    break
            for question in part if not self.patience.over() else ():
                if todo.pop(question.id, None) is not None:
                    self.spent.calls += 1
                    yield question.id, Raw(problem="not answered")
        why = f"not asked: {self.reached()}"
        for ident in todo:
            yield ident, Raw(problem=why, unasked=True)

    def _part(self, todo: Sequence[Question]) -> list[Question]:
        # questions handed on at once: their answers may pass a ceiling
        size = int(getattr(self.judge, "at_once", CHUNK))
        c, s = self.ceilings, self.spent
        if c.calls:
            size = min(size, c.calls - s.calls)
        if c.together:
            size = min(size, c.together - self._before - s.calls)
        found = list(todo[:size])
        sent, cost = s.tokens, s.cost
        for at, question in enumerate(found if c.tokens or c.cost else ()):
            tokens = used(question.prompt(), "")["tokens_in"]
            sent, cost = sent + tokens, cost + tokens * c.price_in / 1e6
            if at and ((c.tokens and sent > c.tokens) or (c.cost and cost > c.cost)):
                return found[:at]
        return found

    def close(self) -> None:
        """Close the judge."""
        self.judge.close()
        if self.fallback is not None:
            self.fallback.close()

    def _add(self, raw: Raw) -> None:
        """What waits has cost nobody anything; nothing a judge claims gives a run anything back."""
        self._met(raw)
        if raw.waits or raw.unasked:
            return
        tokens_in, tokens_out = max(0, raw.tokens_in), max(0, raw.tokens_out)
        self.spent.calls += 1
        self.spent.tokens_in += tokens_in
        self.spent.tokens_out += tokens_out
        self.spent.estimated += raw.estimated
        prices = self.ceilings.price_in, self.ceilings.price_out
        self.spent.cost += (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6

    def _met(self, raw: Raw) -> None:
        """What was asked before the last failure was known is no failure more."""
        if raw.cut:
            return
        if not raw.away:
            self._away = 0
        elif raw.began > self._since:
            self._away, self._since = self._away + 1, time.monotonic()
        if self._away >= AWAY and not self.patience.gone:
            self.patience.gone = f"the judge failed {self._away} times in a row; {raw.problem}"

    def reached(self) -> str:
        """Why nothing more is asked; "" while there is something left."""
        limits: Mapping[str, tuple[float, float]] = {
            "calls": (self.spent.calls, self.ceilings.calls),
            "calls for now": (self._before + self.spent.calls, self.ceilings.together),
            "tokens": (self.spent.tokens, self.ceilings.tokens),
            "spend": (self.spent.cost, self.ceilings.cost),
        }
        full = (
            f"the ceiling of {name} is reached ({limit:g})"
            for name, (used, limit) in limits.items()
            if limit and used >= limit
        )
        return self.patience.over() or next(full, "")
