"""Any endpoint that speaks chat completions (OpenAI, Ollama, llama.cpp, vLLM) as a judge, through OpenAI's own SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import ANSWER_TOKENS, SYSTEM, closed, in_parallel


class OpenAIJudge:
    """One completion a question. `model(stage)` names the model; a local endpoint needs no key."""

    def __init__(
        self,
        model: Callable[[str], str],
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        retries: int = 4,
        parallel: int = 4,
    ) -> None:
        self.name = f"openai:{model('')}"
        self._model, self._parallel = model, parallel
        key = api_key or ("none" if base_url else None)
        self._client = openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=retries)

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """A few at a time."""
        yield from in_parallel(questions, self._one, self._parallel)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _one(self, question: Question) -> Raw:
        form: Any = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": closed(question.schema)}}
        try:
            done = self._client.chat.completions.create(
                model=self._model(question.stage),
                messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": question.prompt()}],
                response_format=form,
                max_tokens=ANSWER_TOKENS,
            )
            return _said(done)
        except openai.APIError as error:
            return Raw(problem=f"the model could not be asked: {type(error).__name__}: {str(error)[:200]}")
        except Exception as error:  # a vendor's SDK may raise anything about an answer it did not expect
            return Raw(problem=f"the model's answer could not be read: {type(error).__name__}: {str(error)[:200]}")


def _said(done: Any) -> Raw:
    used: dict[str, Any] = {"tokens_in": done.usage.prompt_tokens, "tokens_out": done.usage.completion_tokens} if done.usage else {}
    if not done.choices:
        return Raw(problem="the model gave no choice", **used)
    choice = done.choices[0]
    if choice.message.refusal:
        return Raw(problem=f"refused: {choice.message.refusal[:200]}", **used)
    if choice.finish_reason != "stop":
        return Raw(problem=f"the model stopped early: {choice.finish_reason}", **used)
    return Raw(choice.message.content or "", **used)
