"""The connected model, or a person, as a judge: questions wait in one file each and are found again
by the next run, or are asked at once through a client that allows it (MCP sampling). Without a
judge of its own a vault does what rules can do now, and lets the rest wait."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from oneiro_vault import answers
from oneiro_vault.core.question import TOGETHER, Question, Raw
from oneiro_vault.judges.base import (
    ANSWER_TOKENS,
    LONGEST,
    SYSTEM,
    Judge,
    Patience,
    in_parallel,
    in_words,
    json_in,
    used,
)


class DeferredJudge:
    """Parks questions in `folder` as `<id>.json`; `ask` takes up `<id>.answer.json` beside them."""

    name = "deferred"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Answers that are there; the others wait."""
        for question in questions:
            answer = self.answered(question)
            if answer is None:
                self.park(question)
                yield question.id, Raw(problem="waits for an answer", waits=True)
            else:
                yield question.id, Raw(answer)

    def close(self) -> None:
        """Nothing to let go of."""

    def answered(self, question: Question) -> Mapping[str, Any] | None:
        """What somebody answered meanwhile."""
        return _read(self._folder / f"{question.id}.answer.json")

    def park(self, question: Question) -> None:
        """Let it wait."""
        entry: answers.Question = {
            "id": question.id,
            "kind": question.kind,
            "stage": question.stage,
            "prompt": question.prompt(),
            "instruction": question.instruction,
            "memories": [one.brief() for one in question.shown],
            "given": question.given,
            "schema": question.schema,
            "ids": list(question.ids),
            "together": [one.id for one in question.shown if TOGETHER in one.notes],
        }
        _write(self._folder / f"{question.id}.json", entry)


def waiting(folder: Path) -> list[answers.Question]:
    """Parked questions without an answer, oldest first; another version's are parked anew by their
    loop."""
    found = [path for path in folder.glob("*.json") if not path.name.endswith(".answer.json")]
    left = [path for path in found if not path.with_suffix(".answer.json").exists()]
    left.sort(key=lambda path: (path.stat().st_mtime_ns, path.name))
    return [cast(answers.Question, one) for one in map(_read, left) if one and "memories" in one]


def answer(folder: Path, ident: str, said: Mapping[str, Any]) -> bool:
    """Put an answer beside its question; False when no such question waits."""
    if not ident.isalnum() or not (folder / f"{ident}.json").exists():
        return False
    _write(folder / f"{ident}.answer.json", dict(said))
    return True


def drop(folder: Path, idents: Sequence[str]) -> None:
    """Forget questions that are settled, or that nobody asks any more."""
    for ident in idents:
        for name in (f"{ident}.json", f"{ident}.answer.json"):
            with suppress(OSError):
                (folder / name).unlink()


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, entry: Mapping[str, object]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temp = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(entry, file, ensure_ascii=False, indent=1)
    Path(temp).replace(path)


Sample: TypeAlias = Callable[[str, str, int], str | None]
"""(system prompt, question, tokens at most) -> what the client's model said, None without one.
Raises RuntimeError with what was said instead, from a TimeoutError when nothing was."""


class SamplingJudge:
    """The model of a connected client, one question at a time: a person may have to allow each."""

    name = "sampling"

    def __init__(self, sample: Sample | None, waiting: Patience | None = None) -> None:
        self._sample, self._waiting = sample, waiting or Patience()

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """Answers, until the client is gone; what is left waits for the next run."""
        yield from in_parallel(questions, self._one, 1, self._waiting, LONGEST)

    def close(self) -> None:
        """The connection is the client's."""

    def _one(self, question: Question) -> Raw:
        prompt = in_words(question)
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


NAME: Final = "auto"


class ChainJudge:
    """Answers that came meanwhile (`later`) first; then each of `now` is asked what the one before
    left; what none could answer, or in part (`complete` false), is parked."""

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
