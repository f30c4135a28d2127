"""Without a judge of its own a vault does what rules can do now, and lets the rest wait for whoever
is connected later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import Judge
from oneiro_vault.judges.deferred import DeferredJudge

NAME: Final = "auto"


class ChainJudge:
    """What was answered meanwhile (`later`) counts first; then `now` are asked one after the other,
    each what the one before left open; what none could answer, or answered in part (`complete`
    false), is parked with `later`."""

    name = NAME

    def __init__(self, now: Sequence[Judge], later: DeferredJudge) -> None:
        self._now, self._later = now, later

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Every question, with who answered it in `by`."""
        left = []
        for question in questions:
            answer = self._later.answered(question)
            if answer is None:
                left.append(question)
            else:
                yield question.id, Raw(answer, by=self._later.name)
        for judge in self._now:
            by_id = {question.id: question for question in left}
            for ident, raw in judge.ask(left):
                if raw.answer is None:
                    continue
                question = by_id.pop(ident)
                partial = isinstance(raw.answer, Mapping) and raw.answer.get("complete") is False
                if partial:
                    self._later.park(question)
                yield ident, replace(raw, by=judge.name, waits=partial)
            left = list(by_id.values())
        yield from self._later.ask(left)

    def close(self) -> None:
        """Close them all."""
        for judge in self._now:
            judge.close()


class Nobody:
    """Leaves every question open: loops only say what they would ask."""

    name = "none"

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Nothing is answered, and nothing has failed."""
        for question in questions:
            yield question.id, Raw(problem="there is no judge", waits=True)

    def close(self) -> None:
        """Nothing to let go of."""
