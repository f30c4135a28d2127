"""How a judge is waited for: several questions at once, nobody held by an endpoint that hangs, and
no answer lost that came in time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Any, Final

from oneiro_vault.core.question import STOPPED, Question, Raw
from oneiro_vault.judges.base import used

LONGEST: Final = 300.0
"""Seconds after which a question is given up, however often it was tried and however slowly an
answer drips."""
LATE: Final = 3
"""Questions of a run that have no answer after that time, after which it asks nothing more."""
_TICK: Final = 0.1


@dataclass
class Patience:
    """How long a run waits for its judge: until its time is over (`dreams.minutes`; 0: no end),
    until `stop` says that it ends, or until the judge is `gone`."""

    stop: Callable[[], bool] = lambda: False
    minutes: float = 0.0
    gone: str = ""
    """Why the judge is asked nothing more, also by the next run."""
    open: set[str] = field(default_factory=set)
    """Ids of the questions that are with the judge just now."""
    late: int = 0
    """Questions of this run that had no answer in time."""
    _end: float = float("inf")
    _left: dict[threading.Thread, float] = field(default_factory=dict)

    def begin(self) -> None:
        """A run begins."""
        self.late = 0
        self._end = time.monotonic() + 60 * self.minutes if self.minutes else float("inf")

    def over(self) -> str:
        """Why nobody is waited for any more; "" while somebody is."""
        if self.stop():
            return STOPPED
        if self.gone or self.late >= LATE:
            return (
                self.gone
                or f"the judge left {self.late} questions of this run without an answer for too "
                f"long"
            )
        return (
            f"the run's time is over ({self.minutes:g} minutes)"
            if time.monotonic() >= self._end
            else ""
        )

    def leave(self, thread: threading.Thread, began: float) -> None:
        """Nobody listens to what this thread asked any more; it cannot be ended, and takes a
        worker's place while it lives."""
        self._left[thread] = began

    def left(self) -> list[float]:
        """When those began that are left to themselves and still ask."""
        self._left = {thread: began for thread, began in self._left.items() if thread.is_alive()}
        return list(self._left.values())


@dataclass(frozen=True)
class _Running:
    question: Question
    thread: threading.Thread
    began: float

    def unanswered(self, problem: str, **facts: Any) -> Raw:
        return Raw(problem=problem, began=self.began, **facts, **used(self.question.prompt(), ""))


def in_parallel(
    questions: Sequence[Question],
    one: Callable[[Question], Raw],
    workers: int,
    patience: Patience,
    longest: float,
) -> Iterator[tuple[str, Raw]]:
    """Ask several at once. An endpoint that hangs holds nobody: after `longest` seconds a question
    counts as not answered, when patience is over all of them do, and when the caller stops
    listening they are left to themselves (the threads keep no process alive). Such a thread still
    counts as one of the `workers`. What was not begun is left out."""
    todo, said = deque(questions), SimpleQueue[tuple[str, Raw]]()
    running: dict[str, _Running] = {}
    try:
        while todo or running:
            why = patience.over()
            while todo and not why and len(running) + len(patience.left()) < max(1, workers):
                question = todo.popleft()
                running[question.id] = _begun(question, one, said, patience)
            if why and not running:
                return
            hang = patience.left() if todo and not running else []
            if hang and min(time.monotonic() - began for began in hang) > longest:
                patience.gone = "as many questions hang as the judge may be asked at once"
            for ident, raw in _ended(running, said, why, patience, longest):
                patience.open.discard(ident)
                yield ident, raw
    finally:
        for each in running.values():
            patience.open.discard(each.question.id)
            patience.leave(each.thread, each.began)


def _begun(
    question: Question,
    one: Callable[[Question], Raw],
    said: SimpleQueue[tuple[str, Raw]],
    patience: Patience,
) -> _Running:
    thread = threading.Thread(
        target=_asked, args=(question, one, said), daemon=True, name="oneiro-judge"
    )
    patience.open.add(question.id)
    found = _Running(question, thread, time.monotonic())
    thread.start()
    return found


def _ended(
    running: dict[str, _Running],
    said: SimpleQueue[tuple[str, Raw]],
    why: str,
    patience: Patience,
    longest: float,
) -> list[tuple[str, Raw]]:
    """Those that are answered, and then those that are not waited for any more: an answer that lies
    there already is late for nothing."""
    found = []
    with suppress(Empty):
        wait = 0.0 if why else _TICK
        while True:
            ident, raw = said.get(timeout=wait) if wait else said.get_nowait()
            wait = 0.0
            if (one := running.pop(ident, None)) is not None:
                found.append((ident, replace(raw, began=one.began)))
    for ident, one in list(running.items()):
        if not why and time.monotonic() - one.began <= longest:
            continue
        patience.leave(one.thread, one.began)
        patience.late += not why
        del running[ident]
        problem = f"no answer: {why}" if why else f"no answer in {longest:g} seconds"
        found.append((ident, one.unanswered(problem, away=not why, cut=bool(why))))
    return found


def _asked(
    question: Question, one: Callable[[Question], Raw], said: SimpleQueue[tuple[str, Raw]]
) -> None:
    try:
        said.put((question.id, one(question)))
    except Exception as error:
        said.put(
            (
                question.id,
                Raw(
                    problem=f"the question could not be asked: {type(error).__name__}: "
                    f"{str(error)[:200]}"
                ),
            )
        )
