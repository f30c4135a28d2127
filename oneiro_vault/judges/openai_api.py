"""Any endpoint that speaks chat completions (OpenAI, Ollama, llama.cpp, vLLM) as a judge, through
OpenAI's own SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import ANSWER_TOKENS, RETRIES, SYSTEM, TIMEOUT, closed, exchange, used
from oneiro_vault.judges.concurrency import LONGEST, Patience, in_parallel


class OpenAIJudge:
    """One completion a question. `model(stage)` names the model; a local endpoint needs no key."""

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
    ) -> None:
        self.name = f"openai:{model('')}"
        self._model, self._parallel, self._longest, self._waiting = (
            model,
            parallel,
            longest,
            waiting or Patience(),
        )
        key = api_key or ("none" if base_url else None)
        self._client = openai.OpenAI(
            api_key=key, base_url=base_url, timeout=timeout, max_retries=retries
        )

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """A few at a time."""
        yield from in_parallel(questions, self._one, self._parallel, self._waiting, self._longest)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _one(self, question: Question) -> Raw:
        sent = f"{SYSTEM}\n{question.prompt()}"
        return exchange(
            openai,
            sent,
            lambda: _said(self._client.chat.completions.create(**self._request(question)), sent),
        )

    def _request(self, question: Question) -> dict[str, Any]:
        return {
            "model": self._model(question.stage),
            "max_tokens": ANSWER_TOKENS,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": question.prompt()},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "answer",
                    "strict": True,
                    "schema": closed(question.schema),
                },
            },
        }


def _said(done: Any, sent: str) -> Raw:
    choice = done.choices[0] if done.choices else None
    text = (choice.message.content or choice.message.refusal or "") if choice else ""
    usage = getattr(done, "usage", None)
    spent = used(
        sent, text, getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    )
    if choice is None:
        return Raw(problem="the model gave no choice", **spent)
    if choice.message.refusal:
        return Raw(problem=f"refused: {choice.message.refusal[:200]}", **spent)
    if choice.finish_reason != "stop":
        return Raw(problem=f"the model stopped early: {choice.finish_reason}", **spent)
    return Raw(choice.message.content or "", **spent)
