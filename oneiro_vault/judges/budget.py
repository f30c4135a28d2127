"""Ceilings for one run: calls, tokens, what they cost, and time. Whoever is asked stops being asked when one is reached, and for a whole
night when nothing reaches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import Judge, Patience

AWAY: Final = 3
"""Times in a row that nobody is reached, after which nobody is asked any more."""


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
    """Limits of one run; 0 means none. `price_in`, `price_out`: cost of a million tokens."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0


@dataclass
class Budgeted:
    """A judge within ceilings. Questions that no longer fit are answered by saying so; they are asked again in another run."""

    judge: Judge
    ceilings: Ceilings
    patience: Patience = field(default_factory=Patience)
    spent: Spent = field(default_factory=Spent)
    chunk: int = 8
    """Questions handed on at once: a ceiling can be passed by these at most."""
    _away: int = 0
    _last: str = ""

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.judge.name

    def begin(self) -> None:
        """A run begins: nothing is spent. Who could not be reached by the run before is not asked again."""
        self.spent = Spent()
        self.patience.begin()

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """In chunks, as long as there is something left."""
        todo = {question.id: question for question in questions}
        while todo and not self.reached():
            size = min(self.chunk, self.ceilings.calls - self.spent.calls) if self.ceilings.calls else self.chunk
            part = list(todo.values())[:size]
            for ident, raw in self.judge.ask(part):
                todo.pop(ident, None)
                self._add(raw)
                yield ident, raw
                if self._gone():
                    break
            for question in part if not self._gone() and not self.patience.over() else ():
                if todo.pop(question.id, None) is not None:
                    self.spent.calls += 1
                    yield question.id, Raw(problem="not answered")
        why = f"not asked: {self.reached()}"
        for ident in todo:
            yield ident, Raw(problem=why, unasked=True)

    def close(self) -> None:
        """Close the judge."""
        self.judge.close()

    def _add(self, raw: Raw) -> None:
        """What waits has cost nobody anything. Nothing that a judge claims gives a run anything back."""
        self._away, self._last = (self._away + 1, raw.problem) if raw.away else (0, "")
        if raw.waits or raw.unasked:
            return
        tokens_in, tokens_out = max(0, raw.tokens_in), max(0, raw.tokens_out)
        self.spent.calls += 1
        self.spent.tokens_in += tokens_in
        self.spent.tokens_out += tokens_out
        self.spent.estimated += raw.estimated
        self.spent.cost += (tokens_in * self.ceilings.price_in + tokens_out * self.ceilings.price_out) / 1e6

    def _gone(self) -> str:
        return f"the judge failed {self._away} times in a row; {self._last}" if self._away >= AWAY else ""

    def reached(self) -> str:
        """Why nothing more is asked; "" while there is something left."""
        limits: Mapping[str, tuple[float, float]] = {
            "calls": (self.spent.calls, self.ceilings.calls),
            "tokens": (self.spent.tokens, self.ceilings.tokens),
            "spend": (self.spent.cost, self.ceilings.cost),
        }
        full = (f"the ceiling of {name} is reached ({limit:g})" for name, (used, limit) in limits.items() if limit and used >= limit)
        return self.patience.over() or self._gone() or next(full, "")
