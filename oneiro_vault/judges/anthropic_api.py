"""Claude as a judge, through Anthropic's own SDK, which retries with back-off and honours `retry-after`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import anthropic

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import ANSWER_TOKENS, SYSTEM, closed, in_parallel

_BATCH_POLL: Final = 30.0


class AnthropicJudge:
    """One message a question, or (`batch`) all of them as one message batch, cheaper and slower. `model(stage)` names the model."""

    def __init__(
        self,
        model: Callable[[str], str],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        parallel: int = 4,
        batch: bool = False,
        poll: float = _BATCH_POLL,
        patience: float = 86_400.0,
    ) -> None:
        self.name = f"anthropic:{model('')}"
        self._model, self._parallel, self._batch, self._poll, self._patience = model, parallel, batch, poll, patience
        self._client = anthropic.Anthropic(api_key=api_key, base_url=base_url, timeout=timeout, max_retries=retries)

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """All at once in a batch, or a few at a time."""
        if self._batch and len(questions) > 1:
            yield from self._batched(questions)
        else:
            yield from in_parallel(questions, self._one, self._parallel)

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
        try:
            return said(self._client.messages.create(**self._request(question)))
        except anthropic.APIError as error:
            return Raw(problem=f"the model could not be asked: {type(error).__name__}: {str(error)[:200]}")
        except Exception as error:  # a vendor's SDK may raise anything about an answer it did not expect
            return Raw(problem=f"the model's answer could not be read: {type(error).__name__}: {str(error)[:200]}")

    def _batched(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Questions a batch leaves without an answer are reported so; a batch that is abandoned is cancelled."""
        left = {question.id for question in questions}
        batch = None
        try:
            requests: Any = [{"custom_id": question.id, "params": self._request(question)} for question in questions]
            batch = self._client.messages.batches.create(requests=requests)
            end = time.monotonic() + self._patience
            while batch.processing_status != "ended" and time.monotonic() < end:
                time.sleep(self._poll)
                batch = self._client.messages.batches.retrieve(batch.id)
            if batch.processing_status == "ended":
                for entry in self._client.messages.batches.results(batch.id):
                    if entry.custom_id in left:
                        left.discard(entry.custom_id)
                        result = entry.result
                        yield (
                            entry.custom_id,
                            said(result.message) if result.type == "succeeded" else Raw(problem=f"the batch says: {result.type}"),
                        )
            problem = "the batch gave no answer"
        except Exception as error:
            problem = f"the batch failed: {type(error).__name__}: {str(error)[:200]}"
        finally:
            if batch is not None and batch.processing_status != "ended":
                with suppress(Exception):
                    self._client.messages.batches.cancel(batch.id)
        for ident in left:
            yield ident, Raw(problem=problem)


def said(message: Any) -> Raw:
    """A message's text, or why it is none."""
    used: dict[str, Any] = {"tokens_in": int(message.usage.input_tokens), "tokens_out": int(message.usage.output_tokens)}
    if message.stop_reason not in ("end_turn", "stop_sequence"):
        return Raw(problem=f"the model stopped early: {message.stop_reason}", **used)
    return Raw("".join(block.text for block in message.content if block.type == "text"), **used)
