"""Ceilings for one run: calls, tokens, and what they cost. Whoever is asked stops being asked when one is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import Judge


@dataclass
class Spent:
    """What a run has used so far. `cost` in the currency of the prices given, 0 without prices."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

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
    spent: Spent = field(default_factory=Spent)
    chunk: int = 8
    """Questions handed on at once: a ceiling can be passed by these at most."""

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.judge.name

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """In chunks, as long as there is something left."""
        todo = list(questions)
        while todo and not self._reached():
            size = min(self.chunk, self.ceilings.calls - self.spent.calls) if self.ceilings.calls else self.chunk
            part, todo = todo[:size], todo[size:]
            self.spent.calls += len(part)
            for ident, raw in self.judge.ask(part):
                self._add(raw)
                yield ident, raw
        for question in todo:
            yield question.id, Raw(problem=f"not asked: {self._reached()}", waits=True)

    def close(self) -> None:
        """Close the judge."""
        self.judge.close()

    def _add(self, raw: Raw) -> None:
        self.spent.tokens_in += raw.tokens_in
        self.spent.tokens_out += raw.tokens_out
        self.spent.cost += (raw.tokens_in * self.ceilings.price_in + raw.tokens_out * self.ceilings.price_out) / 1e6

    def _reached(self) -> str:
        limits: Mapping[str, tuple[float, float]] = {
            "calls": (self.spent.calls, self.ceilings.calls),
            "tokens": (self.spent.tokens, self.ceilings.tokens),
            "spend": (self.spent.cost, self.ceilings.cost),
        }
        return next(
            (f"the ceiling of {name} is reached ({limit:g})" for name, (used, limit) in limits.items() if limit and used >= limit), ""
        )
