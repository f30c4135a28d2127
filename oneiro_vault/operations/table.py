"""Every operation a face can ask for, by name: the one table of them, and whether a caller's values
are what an operation says it takes.

Behind the doors to the loops lies much that most commands never need, so it is loaded when one of
these is opened.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from oneiro_vault import answers
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.operations import decisions
from oneiro_vault.operations.care import adopt, check, doctor, lint, ratify, synchronize
from oneiro_vault.operations.dream import run_log
from oneiro_vault.operations.history import blame, diff, pr_summary, strength_curve
from oneiro_vault.operations.read import browse, inject, orient, recall_show, resource_addresses
from oneiro_vault.operations.remember import images, store_captures, write
from oneiro_vault.operations.runtime import House, Progress, quiet

_WORDS: Final[Mapping[Any, str]] = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null",
    list: "a list", Sequence: "a list",
    dict: "an object", Mapping: "an object",
}  # fmt: skip
"""How a person says it; a type that is not here is not checked."""


def check_arguments(op: str, run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for the first value that is not of its parameter's type. A number without
    fraction is a number too.

    Of lists only those of texts are looked into: an operation that takes objects refuses a bad one
    and goes on with the others.
    """
    hints = _hints(run)
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            raise InvalidInput(f"{op}: {name} must be {_said(hints[name])}, not {shown(value)}")


@cache
def _hints(run: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(run)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin in (int, float) and isinstance(value, bool):
        return False
    if origin is float:
        return isinstance(value, int | float)
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and (
            inner != (str,) or all(isinstance(one, str) for one in value)
        )
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    return origin not in _WORDS or isinstance(value, origin)


def _said(hint: Any) -> str:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_said(one) for one in inner if one is not NoneType))
    return "a list of texts" if inner == (str,) else _WORDS.get(origin, str(hint))


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
    from oneiro_vault.operations.dream import scheduler

    return scheduler.scheduled(house, judge=judge, progress=progress)


def schedule(house: House, begin: bool = False) -> answers.Schedule:
    """The times of each loop, its last and its next run; `begin` counts from now on for loops that
    never ran by the schedule."""
    from oneiro_vault.operations.dream import scheduler

    return scheduler.schedule(house, begin)


@dataclass(frozen=True)
class Op:
    """One operation: its function; whether it only reads; whether it looks after what is derived
    (`upkeep`) and so may always run; whether it `brings` the vault's settings from elsewhere, and
    so runs while those are wrong: it may bring their repair.
    """

    run: Callable[..., answers.Answer]
    reads_only: bool = False
    upkeep: bool = False
    brings: bool = False

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What a caller may pass (the house and the progress callback are ours)."""
        found = inspect.signature(self.run).parameters
        return {name: p for name, p in found.items() if name not in {"house", "progress"}}

    @property
    def reports(self) -> bool:
        """Does it take a progress callback?"""
        return "progress" in inspect.signature(self.run).parameters


OPS: Final[dict[str, Op]] = {
    "remember": Op(write.remember),
    "reframe": Op(write.reframe),
    "forget": Op(write.forget),
    "restore": Op(write.restore),
    "undo": Op(write.undo),
    "adopt": Op(adopt.adopt),
    "browse": Op(browse.browse, reads_only=True),
    "move": Op(browse.move),
    "reflect": Op(orient.reflect),
    "dream": Op(dream),
    "dream_stop": Op(dream_stop, upkeep=True),
    "dream_next": Op(dream_next, reads_only=True),
    "dream_decide": Op(dream_decide),
    "dream_answers": Op(dream_answers),
    "scheduled": Op(scheduled),
    "schedule": Op(schedule),
    "runs": Op(run_log.runs, reads_only=True),
    "review": Op(decisions.review, reads_only=True),
    "review_accept": Op(decisions.review_accept),
    "review_reject": Op(decisions.review_reject),
    "capture": Op(store_captures.capture),
    "captures": Op(store_captures.captures, reads_only=True),
    "collect": Op(store_captures.collect),
    "inject": Op(inject.inject, reads_only=True),
    "orient": Op(orient.orient, reads_only=True),
    "get": Op(orient.get, reads_only=True),
    "flagged": Op(orient.flagged, reads_only=True),
    "resolve": Op(ratify.resolve),
    "ratify": Op(ratify.ratify),
    "strength": Op(strength_curve.strength, reads_only=True),
    "image": Op(images.image, reads_only=True),
    "stamps": Op(resource_addresses.stamps, reads_only=True),
    "complete": Op(resource_addresses.complete, reads_only=True),
    "reports": Op(resource_addresses.reports, reads_only=True),
    "recall": Op(recall_show.recall, reads_only=True),
    "show": Op(recall_show.show, reads_only=True),
    "list": Op(recall_show.list_, reads_only=True),
    "log": Op(recall_show.log, reads_only=True),
    "why": Op(recall_show.why, reads_only=True),
    "blame": Op(blame.blame, reads_only=True),
    "diff": Op(diff.diff, reads_only=True),
    "stats": Op(recall_show.stats, reads_only=True),
    "settings": Op(recall_show.settings, reads_only=True),
    "status": Op(recall_show.status, reads_only=True),
    "check": Op(check.check, reads_only=True),
    "mend": Op(lint.mend),
    "pr_summary": Op(pr_summary.pr_summary, reads_only=True),
    "sync": Op(synchronize.sync, brings=True),
    "doctor": Op(doctor.doctor, upkeep=True),
    "reindex": Op(doctor.reindex, upkeep=True),
    "embed": Op(doctor.embed, upkeep=True),
    "watch": Op(doctor.watch, reads_only=True),
}
