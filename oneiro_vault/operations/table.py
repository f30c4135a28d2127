"""Every operation a face can ask for, by name: the one table of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.operations import (
    adopting,
    blaming,
    broken,
    browsing,
    capturing,
    checking,
    differing,
    dreams,
    fading,
    imaging,
    injecting,
    orienting,
    pull_request,
    ratifying,
    reading,
    resources,
    reviewing,
    syncing,
    upkeep,
    writing,
)
from oneiro_vault.operations.dreaming import past


@dataclass(frozen=True)
class Op:
    """One operation: its function; whether it only reads; whether it looks after what is derived (`upkeep`) and so may always run; whether
    it `brings` the vault's settings from elsewhere, and so runs while those are wrong: it may bring their repair.
    """

    run: Callable[..., dict[str, Any]]
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
    "remember": Op(writing.remember),
    "reframe": Op(writing.reframe),
    "forget": Op(writing.forget),
    "restore": Op(writing.restore),
    "undo": Op(writing.undo),
    "adopt": Op(adopting.adopt),
    "browse": Op(browsing.browse, reads_only=True),
    "move": Op(browsing.move),
    "reflect": Op(orienting.reflect),
    "dream": Op(dreams.dream),
    "dream_stop": Op(dreams.dream_stop, upkeep=True),
    "dream_next": Op(dreams.dream_next, reads_only=True),
    "dream_decide": Op(dreams.dream_decide),
    "dream_answers": Op(dreams.dream_answers),
    "scheduled": Op(dreams.scheduled),
    "schedule": Op(dreams.schedule),
    "runs": Op(past.runs, reads_only=True),
    "review": Op(reviewing.review, reads_only=True),
    "review_accept": Op(reviewing.review_accept),
    "review_reject": Op(reviewing.review_reject),
    "capture": Op(capturing.capture),
    "captures": Op(capturing.captures, reads_only=True),
    "collect": Op(capturing.collect),
    "inject": Op(injecting.inject, reads_only=True),
    "orient": Op(orienting.orient, reads_only=True),
    "get": Op(orienting.get, reads_only=True),
    "flagged": Op(orienting.flagged, reads_only=True),
    "resolve": Op(ratifying.resolve),
    "ratify": Op(ratifying.ratify),
    "strength": Op(fading.strength, reads_only=True),
    "image": Op(imaging.image, reads_only=True),
    "stamps": Op(resources.stamps, reads_only=True),
    "complete": Op(resources.complete, reads_only=True),
    "reports": Op(resources.reports, reads_only=True),
    "recall": Op(reading.recall, reads_only=True),
    "show": Op(reading.show, reads_only=True),
    "list": Op(reading.list_, reads_only=True),
    "log": Op(reading.log, reads_only=True),
    "why": Op(reading.why, reads_only=True),
    "blame": Op(blaming.blame, reads_only=True),
    "diff": Op(differing.diff, reads_only=True),
    "stats": Op(reading.stats, reads_only=True),
    "settings": Op(reading.settings, reads_only=True),
    "status": Op(reading.status, reads_only=True),
    "check": Op(checking.check, reads_only=True),
    "mend": Op(broken.mend),
    "pr_summary": Op(pull_request.pr_summary, reads_only=True),
    "sync": Op(syncing.sync, brings=True),
    "doctor": Op(upkeep.doctor, upkeep=True),
    "reindex": Op(upkeep.reindex, upkeep=True),
    "embed": Op(upkeep.embed, upkeep=True),
    "watch": Op(upkeep.watch, reads_only=True),
}
