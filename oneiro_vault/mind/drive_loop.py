"""Driving a loop: hand its questions to a judge, check what comes back, and send verdicts in until
it has decided. Answers are remembered by the question's id, so a run that is run again asks only
what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from oneiro_vault.api import Progress
from oneiro_vault.core.question import STOPPED, Question, Raw, Verdict, check
from oneiro_vault.mind.base import Asking, Decision

MOST_ROUNDS: Final = 200
"""Rounds of questions after which a loop is taken to be out of control."""


class Answers(Protocol):
    """Earlier answers, by question and judge."""

    def get(self, question: str, judge: str) -> Mapping[str, Any] | None:
        """What this judge said to this question."""
        ...

    def put(self, question: str, judge: str, answer: Mapping[str, Any]) -> None:
        """Keep it."""
        ...


class Asked(Protocol):
    """A judge, as far as a loop's driver needs one."""

    @property
    def name(self) -> str:
        """Who answers."""
        ...

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """(question id, what was said)."""
        ...


@dataclass(kw_only=True)
class Tally:
    """What a loop asked: questions by kind that a judge dealt with, how many were answered before,
    and what became of the others."""

    asked: Counter[str] = field(default_factory=Counter)
    known: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    """(kind, problem) of every answer that was refused, and of the faults of a loop or judge."""
    unusable: list[str] = field(default_factory=list)
    """Ids of their questions, but for those that the end of the run cut off."""
    waiting: list[str] = field(default_factory=list)
    """Ids of questions that are still open."""
    unasked: list[tuple[str, str]] = field(default_factory=list)
    """(id, why) of questions that nobody was asked in this run: a ceiling, the run's time, a judge
    out of reach."""
    answered: set[str] = field(default_factory=set)
    """Ids of questions that were answered in this run."""


@dataclass
class Driver:
    """One judge, its earlier answers, and what they cost."""

    judge: Asked
    answers: Answers
    stop: Callable[[], bool] = lambda: False
    progress: Progress = lambda *_: None
    tally: Tally = field(default_factory=Tally)

    def drive(self, loop: Asking) -> list[Decision]:
        """Run a loop to its end. When `stop` says so, what is still open counts as not answered."""
        try:
            questions = next(loop)
            for _ in range(MOST_ROUNDS):
                questions = loop.send(self._verdicts(questions))
        except StopIteration as end:
            return list(end.value or [])
        loop.close()
        self.tally.failed.append(("loop", f"it still asked after {MOST_ROUNDS} rounds"))
        return []

    def _verdicts(self, questions: Sequence[Question]) -> dict[str, Verdict]:
        by_id = {question.id: question for question in questions}
        found = {
            ident: known
            for ident, question in by_id.items()
            if (known := self._known(question)) is not None
        }
        self.tally.known += len(found.keys() - self.tally.answered)
        todo = [question for ident, question in by_id.items() if ident not in found]
        for number, (ident, raw) in enumerate(self._said(todo), 1):
            if ident in by_id and ident not in found:
                found[ident] = self._taken(by_id[ident], raw)
                self.progress("judging", number, len(todo))
        stopped = self.stop()
        for ident, question in by_id.items():
            if ident not in found:
                found[ident] = self._taken(
                    question, Raw(problem=STOPPED if stopped else "not answered", unasked=stopped)
                )
        return found

    def _said(self, todo: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        if not todo or self.stop():
            return
        try:
            yield from self.judge.ask(
                todo
            )  # it ends by itself when `stop` says so: what it has heard until then is not lost
        # a judge is somebody else's program; its failure is an answer that changes nothing
        except Exception as error:
            self.tally.failed.append(("judge", f"{type(error).__name__}: {str(error)[:200]}"))

    def _known(self, question: Question) -> Verdict | None:
        answer = self.answers.get(question.id, self.judge.name)
        if answer is None:
            return None
        verdict = check(question, Raw(answer), self.judge.name)
        return verdict if verdict.ok else None

    def _taken(self, question: Question, raw: Raw) -> Verdict:
        verdict = check(question, raw, self.judge.name)
        if raw.unasked:
            self.tally.unasked.append((question.id, verdict.problem))
        elif verdict.waits:
            self.tally.waiting.append(question.id)
        else:
            self.tally.asked[question.kind] += 1
        if verdict.ok:
            self.tally.answered.add(question.id)
            if (
                not verdict.waits
            ):  # what was answered in part is asked again until it is answered whole
                self.answers.put(question.id, self.judge.name, verdict.kept)
        elif not (raw.unasked or verdict.waits):
            self.tally.failed.append((question.kind, verdict.problem))
            if not raw.cut:
                self.tally.unusable.append(question.id)
        return verdict
