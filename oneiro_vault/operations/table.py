"""Every operation a face can ask for, by name: the one table of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from oneiro_vault import answers
from oneiro_vault.operations.care import (
    adopt,
    broken_frontmatter,
    check,
    doctor,
    ratify,
    synchronize,
)
from oneiro_vault.operations.dream import entry, run_log
from oneiro_vault.operations.history import blame, diff, pr_summary, strength_curve
from oneiro_vault.operations.read import browse, inject, orient, recall_show, resource_addresses
from oneiro_vault.operations.remember import images, store_captures, write
from oneiro_vault.operations.review import decisions


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
    "dream": Op(entry.dream),
    "dream_stop": Op(entry.dream_stop, upkeep=True),
    "dream_next": Op(entry.dream_next, reads_only=True),
    "dream_decide": Op(entry.dream_decide),
    "dream_answers": Op(entry.dream_answers),
    "scheduled": Op(entry.scheduled),
    "schedule": Op(entry.schedule),
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
    "mend": Op(broken_frontmatter.mend),
    "pr_summary": Op(pr_summary.pr_summary, reads_only=True),
    "sync": Op(synchronize.sync, brings=True),
    "doctor": Op(doctor.doctor, upkeep=True),
    "reindex": Op(doctor.reindex, upkeep=True),
    "embed": Op(doctor.embed, upkeep=True),
    "watch": Op(doctor.watch, reads_only=True),
}
