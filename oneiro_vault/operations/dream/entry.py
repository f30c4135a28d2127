"""The doors to the loops. Behind them lies much that most commands never need, so it is loaded when
one of these is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oneiro_vault import answers
from oneiro_vault.operations.runtime import House, Progress, quiet


def dream(
    house: House,
    loops: Sequence[str] = (),
    judge: str | None = None,
    dry_run: bool = False,
    review: bool = False,
    progress: Progress = quiet,
) -> answers.Dreamt:
    """Run loops now, all of them or some, one after the other; a dry run asks and decides and
    changes no note; with `review` its decisions wait for a person."""
    from oneiro_vault.operations.dream import run_now

    return run_now.dream(house, loops, judge, dry_run, review, progress)


def dream_stop(house: House) -> answers.Answer:
    """Ask the run that is under way to end; what it committed stays."""
    house.cancel.set()
    return {"schema": 1}


def dream_next(house: House) -> answers.NextQuestion:
    """The question that has waited longest for the connected model or a person, and those that go
    with it."""
    from oneiro_vault.operations.dream import deferred_answers

    return deferred_answers.dream_next(house)


def dream_decide(
    house: House, id: str, answer: Mapping[str, Any] | str, progress: Progress = quiet
) -> answers.Decided:
    """Answer a question that waits; after the last one the loops that asked go on."""
    from oneiro_vault.operations.dream import deferred_answers

    return deferred_answers.dream_decide(house, id, answer, progress)


def dream_answers(
    house: House, answers: Mapping[str, Any] | str, progress: Progress = quiet
) -> answers.AnswersTaken:
    """Answer several questions that wait, {id: answer}, and see the next."""
    from oneiro_vault.operations.dream import deferred_answers

    return deferred_answers.dream_answers(house, answers, progress)


def scheduled(house: House, judge: str | None = None, progress: Progress = quiet) -> answers.Dreamt:
    """Run the loops whose time has come, if there are any."""
    from oneiro_vault.operations.schedule import scheduler

    return scheduler.scheduled(house, judge=judge, progress=progress)


def schedule(house: House, begin: bool = False) -> answers.Schedule:
    """The times of each loop, its last and its next run; `begin` counts from now on for loops that
    never ran by the schedule."""
    from oneiro_vault.operations.schedule import scheduler

    return scheduler.schedule(house, begin)
