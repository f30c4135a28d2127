"""Models behind an API as judges, through the vendors' own SDKs, which retry with back-off: Claude,
and any endpoint that speaks chat completions (OpenAI, Ollama, llama.cpp, vLLM). An SDK is imported
where its judge is made: neither has to be installed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import (
    ANSWER_TOKENS,
    LONGEST,
    SYSTEM,
    TIMEOUT,
    Patience,
    Used,
    closed,
    in_parallel,
    used,
)

RETRIES: Final = 4
_GONE: Final = frozenset((401, 403, 404, 408, 409, 429))
"""Statuses that another question would meet as well."""


class ApiJudge:
    """One exchange a question, a few at once. `model(stage)` names the model."""

    vendor = ""

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
        self.name = f"{self.vendor}:{model('')}"
        self._model, self._parallel, self._longest = model, parallel, longest
        self._waiting = waiting or Patience()
        self._sdk, self._client = self._made(
            api_key=api_key, base_url=base_url, timeout=timeout, max_retries=retries
        )

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """A few at a time."""
        yield from in_parallel(questions, self._one, self._parallel, self._waiting, self._longest)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _one(self, question: Question) -> Raw:
        """What the SDK raises (both vendors name their errors alike) is an answer that was
        none."""
        sent = f"{SYSTEM}\n{question.prompt()}"
        try:
            return self._said(question, sent)
        except self._sdk.APIStatusError as error:
            away = error.status_code in _GONE or error.status_code >= 500
            return Raw(problem=_unasked(error), away=away)
        except self._sdk.APIConnectionError as error:
            # what it was sent may have been read, unless there was no connection at all
            nothing = type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
            found = Raw(problem=_unasked(error), away=True)
            return found if nothing else replace(found, **used(sent, ""))
        except Exception as error:  # an SDK may raise anything about an answer it did not expect
            why = f"{type(error).__name__}: {str(error)[:200]}"
            return Raw(problem=f"the model's answer could not be read: {why}", **used(sent, ""))

    @abstractmethod
    def _made(self, **options: Any) -> tuple[Any, Any]:
        """(the SDK, a client of it)."""

    @abstractmethod
    def _said(self, question: Question, sent: str) -> Raw:
        """The model's text, or why it is none, with what it cost; `sent`: what it answers."""


class AnthropicJudge(ApiJudge):
    """Claude."""

    vendor = "anthropic"

    def _made(self, **options: Any) -> tuple[Any, Any]:
        import anthropic

        return anthropic, anthropic.Anthropic(**options)

    def _said(self, question: Question, sent: str) -> Raw:
        done = self._client.messages.create(
            model=self._model(question.stage),
            max_tokens=ANSWER_TOKENS,
            system=SYSTEM,
            messages=[{"role": "user", "content": question.prompt()}],
            output_config={"format": {"type": "json_schema", "schema": closed(question.schema)}},
        )
        text = "".join(block.text for block in done.content if block.type == "text")
        spent = _spent(done, sent, text, "input_tokens", "output_tokens")
        if done.stop_reason not in ("end_turn", "stop_sequence"):
            return Raw(problem=f"the model stopped early: {done.stop_reason}", **spent)
        return Raw(text, **spent)


class OpenAIJudge(ApiJudge):
    """Chat completions; a local endpoint needs no key."""

    vendor = "openai"

    def _made(self, **options: Any) -> tuple[Any, Any]:
        import openai

        options["api_key"] = options["api_key"] or ("none" if options["base_url"] else None)
        return openai, openai.OpenAI(**options)

    def _said(self, question: Question, sent: str) -> Raw:
        form = {"name": "answer", "strict": True, "schema": closed(question.schema)}
        done = self._client.chat.completions.create(
            model=self._model(question.stage),
            max_tokens=ANSWER_TOKENS,
            messages=[
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": question.prompt()},
            ],
            response_format={"type": "json_schema", "json_schema": form},
        )
        choice = done.choices[0] if done.choices else None
        text = (choice.message.content or choice.message.refusal or "") if choice else ""
        spent = _spent(done, sent, text, "prompt_tokens", "completion_tokens")
        if choice is None:
            return Raw(problem="the model gave no choice", **spent)
        if choice.message.refusal:
            return Raw(problem=f"refused: {choice.message.refusal[:200]}", **spent)
        if choice.finish_reason != "stop":
            return Raw(problem=f"the model stopped early: {choice.finish_reason}", **spent)
        return Raw(text, **spent)


def _spent(done: Any, sent: str, text: str, read: str, written: str) -> Used:
    usage = getattr(done, "usage", None)
    return used(sent, text, getattr(usage, read, None), getattr(usage, written, None))


def _unasked(error: Exception) -> str:
    return f"the model could not be asked: {type(error).__name__}: {str(error)[:200]}"
