"""The model of a connected client, asked through that client (MCP sampling). While there is none
that lets us ask, questions wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import ANSWER_FORM, ANSWER_TOKENS, SYSTEM, closed, json_in, used
from oneiro_vault.judges.concurrency import LONGEST, Patience, in_parallel

Sample: TypeAlias = Callable[[str, str, int], str | None]
"""(system prompt, question, tokens at most) -> what the client's model said; None when there is
nobody to ask. Raises RuntimeError with what the client said instead, from a TimeoutError when it
said nothing."""


class SamplingJudge:
    """One question at a time: a person may be asked to allow each."""

    name = "sampling"

    def __init__(self, sample: Sample | None, waiting: Patience | None = None) -> None:
        self._sample, self._waiting = sample, waiting or Patience()

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Answers, until the client is gone; what is left waits for the next run."""
        yield from in_parallel(questions, self._one, 1, self._waiting, LONGEST)

    def close(self) -> None:
        """The connection is the client's."""

    def _one(self, question: Question) -> Raw:
        prompt = (
            f"{question.prompt()}\n\n{ANSWER_FORM}\n"
            f"{json.dumps(closed(question.schema), ensure_ascii=False)}"
        )
        try:
            said = self._sample(SYSTEM, prompt, ANSWER_TOKENS) if self._sample else None
        except RuntimeError as error:
            silent = isinstance(error.__cause__, TimeoutError)
            return Raw(
                problem=f"the client's model could not be asked: {str(error)[:200]}", away=silent
            )
        if said is None:
            return Raw(problem="no client is connected whose model may be asked", waits=True)
        return Raw(json_in(said), **used(prompt, said))
