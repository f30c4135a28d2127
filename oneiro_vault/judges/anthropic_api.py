"""Claude as a judge, through Anthropic's own SDK, which retries with back-off and honours
`retry-after`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import anthropic

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import (
    ANSWER_TOKENS,
    RETRIES,
    SYSTEM,
    TIMEOUT,
    closed,
    exchange,
    refused,
    used,
)
from oneiro_vault.judges.concurrency import LONGEST, Patience, aside, in_parallel

_BATCH_POLL: Final = 30.0
_BATCH: Final = 1_000
"""Questions of one batch; it may hold 256 MB."""
_TICK: Final = 0.1
_QUICK: Final = 4.0
"""Seconds for letting a batch go."""


class AnthropicJudge:
    """One message a question, or (`batch`) all of them as one message batch, cheaper and slower.
    `model(stage)` names the model."""

    def __init__(
        self,
        model: Callable[[str], str],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        longest: float = LONGEST,
        parallel: int = 4,
        waiting: Patience | None = None,
        batch: bool = False,
        poll: float = _BATCH_POLL,
        patience: float = 86_400.0,
    ) -> None:
        self.name = f"anthropic:{model('')}"
        self._model, self._parallel, self._batch, self._poll, self._patience = (
            model,
            parallel,
            batch,
            poll,
            patience,
        )
        self._longest, self._waiting = longest, waiting or Patience()
        self.at_once = _BATCH if batch else 2 * parallel
        self._client = anthropic.Anthropic(
            api_key=api_key, base_url=base_url, timeout=timeout, max_retries=retries
        )

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """All at once in a batch, or a few at a time."""
        if self._batch and len(questions) > 1:
            yield from aside(
                questions, lambda given_up: self._batched(questions, given_up), self._waiting
            )
        else:
            yield from in_parallel(
                questions, self._one, self._parallel, self._waiting, self._longest
            )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, question: Question) -> dict[str, Any]:
        return {
            "model": self._model(question.stage),
            "max_tokens": ANSWER_TOKENS,
            "system": SYSTEM,
            "messages": [{"role": "user", "content": question.prompt()}],
            "output_config": {"format": {"type": "json_schema", "schema": closed(question.schema)}},
        }

    def _one(self, question: Question) -> Raw:
        sent = f"{SYSTEM}\n{question.prompt()}"
        return exchange(
            anthropic,
            sent,
            lambda: said(self._client.messages.create(**self._request(question)), sent),
        )

    def _batched(
        self, questions: Sequence[Question], given_up: Callable[[], str]
    ) -> Iterator[tuple[str, Raw]]:
        """Questions a batch leaves without an answer are reported so; a batch that is abandoned is
        cancelled. One that could not be handed in has asked nothing."""
        left = {question.id: f"{SYSTEM}\n{question.prompt()}" for question in questions}
        batch, raw, began = None, Raw(problem="the batch gave no answer"), time.monotonic()
        try:
            requests: Any = [
                {"custom_id": question.id, "params": self._request(question)}
                for question in questions
            ]
            batch = self._client.messages.batches.create(requests=requests)
            end = began + self._patience
            while batch.processing_status != "ended" and time.monotonic() < end and not given_up():
                self._rest(given_up)
                batch = self._client.messages.batches.retrieve(batch.id)
            if batch.processing_status == "ended":
                for entry in self._client.messages.batches.results(batch.id):
                    if entry.custom_id in left:
                        yield (
                            entry.custom_id,
                            replace(_result(entry.result, left.pop(entry.custom_id)), began=began),
                        )
            elif why := given_up():
                raw = Raw(problem=f"no answer: {why}", cut=True)
        except Exception as error:
            raw = _broken(error, handed_in=batch is not None)
        finally:
            if batch is not None and batch.processing_status != "ended":
                with suppress(Exception):
                    self._client.with_options(
                        timeout=_QUICK, max_retries=0
                    ).messages.batches.cancel(batch.id)
        for ident, sent in left.items():
            yield ident, replace(raw, began=began, **(used(sent, "") if batch is not None else {}))

    def _rest(self, given_up: Callable[[], str]) -> None:
        """Between two looks at a batch."""
        end = time.monotonic() + self._poll
        while (left := end - time.monotonic()) > 0 and not given_up():
            time.sleep(min(left, _TICK))


def _broken(error: Exception, handed_in: bool) -> Raw:
    """What a batch came to. Its questions are asked again if it was not taken because nobody was
    there."""
    away = isinstance(error, anthropic.APIConnectionError) or (
        isinstance(error, anthropic.APIStatusError) and refused(error).away
    )
    return Raw(
        problem=f"the batch failed: {type(error).__name__}: {str(error)[:200]}",
        away=away,
        unasked=away and not handed_in,
    )


def _result(result: Any, sent: str) -> Raw:
    return (
        said(result.message, sent)
        if result.type == "succeeded"
        else Raw(problem=f"the batch says: {result.type}")
    )


def said(message: Any, sent: str) -> Raw:
    """A message's text, or why it is none, with what it cost; `sent`: what it answers."""
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = getattr(message, "usage", None)
    spent = used(
        sent, text, getattr(usage, "input_tokens", None), getattr(usage, "output_tokens", None)
    )
    if message.stop_reason not in ("end_turn", "stop_sequence"):
        return Raw(problem=f"the model stopped early: {message.stop_reason}", **spent)
    return Raw(text, **spent)
