"""Every operation a face can ask for, by name: the one table of them, and whether a caller's values
are what an operation says it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from oneiro_vault import answers
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.operations import review
from oneiro_vault.operations.care import adopt, check, doctor, synchronize
from oneiro_vault.operations.dream import run_log
from oneiro_vault.operations.history import (
    blame,
    diff,
    pr_summary,
    strength_curve,
    timeline,
    versions,
)
from oneiro_vault.operations.read import (
    assemble,
    browse,
    graph,
    grounds,
    orient,
    recall_show,
    resource_addresses,
    wisdom,
)
from oneiro_vault.operations.remember import images, store_captures, write
from oneiro_vault.operations.runtime import Dreams, House

_WORDS: Final[Mapping[Any, str]] = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null",
    list: "a list", Sequence: "a list",
    dict: "an object", Mapping: "an object",
}  # fmt: skip
"""How a person says it; a type that is not here is not checked."""


def check_arguments(op: str, run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for the first value that is not of its parameter's type. Lists of objects
    are not looked into: an operation refuses a bad one and goes on with the others."""
    hints = _hints(run)
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            raise InvalidInput(f"{op}: {name} must be {_said(hints[name])}, not {shown(value)}")


@cache
def _hints(run: Callable[..., Any]) -> Mapping[str, object]:
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


def dream_stop(dreams: Dreams, /) -> answers.Answer:
    """Ask the run that is under way to end, and those that wait for it; what was committed
    stays."""
    for run in (*dreams.queued, dreams.cancel):
        run.set()
    return {"schema": 1}


@dataclass(frozen=True)
class Op:
    """One operation: its `function`, or where it stands below `operations/` (`module:name`), with
    much behind it that is loaded only then. `upkeep`: it looks after what is derived, and may
    always run; `brings`: it may bring the repair of wrong settings, and runs while they are;
    `local`: it touches files outside of the vault, so nobody calls it over a network; `asks`: it
    only looks unless it is told to do something."""

    function: Callable[..., answers.Answer] | str
    reads_only: bool = False
    upkeep: bool = False
    brings: bool = False
    local: bool = False
    asks: bool = False

    def looks(self, given: Mapping[str, Any]) -> bool:
        """Does it change nothing, called with these arguments?"""
        return self.reads_only or (self.asks and not any(given.values()))

    @property
    def run(self) -> Callable[..., answers.Answer]:
        """What carries it out."""
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        found: Callable[..., answers.Answer] = getattr(
            import_module(f"oneiro_vault.operations.{module}"), name
        )
        return found

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """What a caller may pass: neither the house, or the parts of it that stand before the `/`,
        nor the progress callback."""
        found = inspect.signature(self.run).parameters
        ours = {"house", "progress", *self._parts()}
        return {name: one for name, one in found.items() if name not in ours}

    def _parts(self) -> list[str]:
        found = inspect.signature(self.run).parameters.values()
        return [one.name for one in found if one.kind is one.POSITIONAL_ONLY]

    def call(self, house: House, given: Mapping[str, Any]) -> answers.Answer:
        """Carry it out with the parts of the house it takes, or with the whole of it."""
        parts = [getattr(house, name) for name in self._parts()]
        return self.run(*(parts or [house]), **given)

    @property
    def reports(self) -> bool:
        """Does it take a progress callback?"""
        return "progress" in inspect.signature(self.run).parameters


OPS: Final[dict[str, Op]] = {
    "remember": Op(write.remember),
    "correct": Op(write.correct),
    "reframe": Op(write.reframe),
    "forget": Op(write.forget),
    "restore": Op(write.restore),
    "undo": Op(write.undo),
    "adopt": Op(adopt.adopt),
    "browse": Op(browse.browse, reads_only=True),
    "move": Op(browse.move),
    "reflect": Op(orient.reflect),
    "dream": Op("dream.run_now:dream"),
    "dream_stop": Op(dream_stop, upkeep=True),
    "dream_next": Op("dream.deferred_answers:dream_next", reads_only=True),
    "dream_answers": Op("dream.deferred_answers:dream_answers"),
    "scheduled": Op("dream.scheduler:scheduled"),
    "schedule": Op("dream.scheduler:schedule", asks=True),
    "runs": Op(run_log.runs, reads_only=True),
    "review": Op(review.review, reads_only=True),
    "review_accept": Op(review.review_accept),
    "review_reject": Op(review.review_reject),
    "capture": Op(store_captures.capture),
    "import_": Op("exchange.import_archive:import_", local=True),
    "collect": Op(store_captures.collect),
    "graph": Op(graph.graph, reads_only=True),
    "whole_graph": Op(graph.whole_graph, reads_only=True),
    "levels": Op(graph.levels, reads_only=True),
    "context": Op(assemble.context, reads_only=True),
    "inject": Op(assemble.inject, reads_only=True),
    "orient": Op(orient.orient, reads_only=True),
    "get": Op(orient.get, reads_only=True),
    "feedback": Op(orient.feedback),
    "consult": Op(wisdom.consult, reads_only=True),
    "learn": Op(wisdom.learn),
    "ponder": Op(wisdom.ponder, reads_only=True),
    "influence": Op(wisdom.influence, reads_only=True),
    "flagged": Op(orient.flagged, reads_only=True),
    "resolve": Op(review.resolve),
    "ratify": Op(review.ratify),
    "strength": Op(strength_curve.strength, reads_only=True),
    "usage": Op(strength_curve.usage, reads_only=True),
    "versions": Op(versions.versions, reads_only=True),
    "grounds": Op(grounds.grounds, reads_only=True),
    "wake": Op(grounds.wake, reads_only=True),
    "follow": Op(browse.follow, reads_only=True),
    "fading": Op(strength_curve.fading, reads_only=True),
    "timeline": Op(timeline.timeline, reads_only=True),
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
    "export": Op("exchange.export_vault:export", reads_only=True, local=True),
    "plots": Op(wisdom.plots, reads_only=True),
    "stats": Op(recall_show.stats, reads_only=True),
    "settings": Op(recall_show.settings, reads_only=True),
    "status": Op(recall_show.status, reads_only=True),
    "check": Op(check.check, reads_only=True),
    "mend": Op(check.mend),
    "pr_summary": Op(pr_summary.pr_summary, reads_only=True),
    "sync": Op(synchronize.sync, brings=True),
    "doctor": Op(doctor.doctor, upkeep=True, asks=True),
    "reindex": Op(doctor.reindex, upkeep=True),
    "watch": Op(doctor.watch, reads_only=True),
}
