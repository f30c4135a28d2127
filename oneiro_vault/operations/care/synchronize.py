"""Meeting the vault's other copies: `sync` on demand and by itself, and what `status` says about
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import filelock

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.time.date_ranges import iso
from oneiro_vault.errors import LockTimeout, OneiroError, Unreachable
from oneiro_vault.operations.runtime import House
from oneiro_vault.settings.definitions import HINT, load
from oneiro_vault.vault.git import network
from oneiro_vault.vault.git.staging_area import NEW
from oneiro_vault.vault.worktree.edits import conflict
from oneiro_vault.vault.worktree.files import hidden, is_ours

if TYPE_CHECKING:
    from oneiro_vault.sync.engine import Done, Meeting
    from oneiro_vault.sync.plan import Action
    from oneiro_vault.sync.remote_lease import Late

LONGEST_PAUSE: Final = 3600.0
"""Seconds between two automatic attempts, however often they failed."""


def sync(
    house: House, dry_run: bool = False, yes: bool = False, progress: Progress = quiet
) -> answers.Synced:
    """Commit a person's edits, fetch, join, send; with `dry_run` only say what would happen. `yes`:
    go on where a gate stopped. A remote that does not answer is no error: `offline`.

    Raises NotFound without a remote, Brake at a gate, GitProblem when the remote refuses,
    LockTimeout while another sync is under way or git changes the folder.
    """
    with _alone(house):
        if dry_run:
            return _answer(house, _nothing(dry_run=True), yes, progress)
        return _answer(house, _nothing(edits=_keep_edits(house, 0.0)), yes, progress)


@contextmanager
def _alone(house: House) -> Iterator[None]:
    try:
        with filelock.FileLock(house.vault.folder / "syncing", timeout=0):
            yield
    except filelock.Timeout as error:
        raise LockTimeout(
            "another sync is under way",
            kept="Nothing was changed.",
            hint="It ends by itself; try again then.",
        ) from error


def _keep_edits(house: House, rest: float | None) -> int:
    """How many commits that were. Raises LockTimeout while git is at work."""
    house.vault.gate.rest()
    keeps = house.settings["edits.commit"] and not house.settings.wrong
    edits = house.vault.edits.commit(quiet=rest) if keeps else []
    house.vault.fold()
    return len(edits)


def _answer(house: House, answer: answers.Synced, yes: bool, progress: Progress) -> answers.Synced:
    from oneiro_vault.sync import engine  # not loaded by those who only ask

    before, name, meeting = network.last_sync(house.vault.folder), "", None
    dry_run = answer["dry_run"]
    try:
        remote = network.choose(
            house.vault.repo,
            house.vault.recovery,
            house.settings["sync.remote"],
            house.settings["sync.wait"],
        )
        name = remote.name
        answer["remote"], answer["url"], answer["branch"] = name, remote.url, remote.branch
        meeting = engine.Sync(house.vault, remote, confirmed=yes, progress=progress)
        if dry_run:
            _looked(answer, house, meeting.look())
        else:
            _ran(answer, meeting.run())
    except OneiroError as error:
        offline = isinstance(error, Unreachable)
        if not dry_run:
            failed = before.failed(name, house.clock(), str(error))
            network.note_sync(house.vault.folder, failed)
        if not offline:
            raise
        if meeting is not None and meeting.done.tries:
            house.indexing.converge()
            _ran(answer, meeting.done)
            answer["actions"] = [one for one in answer["actions"] if one["action"] != "send"]
        answer["offline"], answer["last"] = str(error), _when(before.at)
        return answer
    if not dry_run:
        before = before.done(name, house.clock())
        network.note_sync(house.vault.folder, before)
        house.indexing.converge()
        with suppress(OneiroError):  # a branch of proposals that somebody merged has done its work
            from oneiro_vault.operations.review import tidy

            tidy(house.indexing)
    answer["stays"], answer["loosened"] = _stays(house), loosened(house.root)
    answer["last"] = _when(before.at)
    return answer


def _stays(house: House) -> list[answers.Refused]:
    look = house.vault.edits.look(quiet=0.0)
    found = {one.path: one.reason for one in look.refused} | look.held()
    found |= {path: conflict(house.vault.files, path) for path in look.conflicted}
    found |= dict.fromkeys(look.staged, "its changes are staged, not committed")
    found |= dict.fromkeys(
        look.doubtful() if look.asked else (),
        "you are asked whether that is meant (oneiro status)",
    )
    for path, flags in house.vault.repo.staging.status().items():
        if flags == NEW and not is_ours(path) and not hidden(path):
            found[path] = "git does not follow it yet (git add)"
    return [{"path": path, "reason": reason} for path, reason in sorted(found.items())]


def _nothing(dry_run: bool = False, edits: int = 0) -> answers.Synced:
    return {
        "schema": 1, "dry_run": dry_run, "offline": None, "actions": [], "commit": None,
        "pushed": False, "tries": 0, "rescued": None, "late": [], "edits": edits, "stays": [],
        "loosened": [], "remote": "", "url": "", "branch": "", "last": None,
    }  # fmt: skip


def _ran(answer: answers.Synced, done: Done) -> None:
    answer["actions"] = [_action(one) for one in done.actions]
    answer["commit"], answer["pushed"] = done.commit or None, done.pushed
    answer["tries"], answer["rescued"] = done.tries, done.rescued or None
    answer["late"] = [_late(one) for one in done.late]


def _looked(answer: answers.Synced, house: House, met: Meeting) -> None:
    answer["actions"] = [_action(one) for one in met.plan.actions]
    answer["late"] = [_late(one) for one in met.late]
    answer["edits"] = len(house.vault.edits.look(quiet=0.0).ready)


def _action(one: Action) -> answers.SyncAction:
    return {
        "action": one.doing, "path": one.to or None, "was": one.was or None,
        "id": one.memory or None, "clashes": one.clashes,
    }  # fmt: skip


def _late(one: Late) -> answers.LateRun:
    return {
        "run": one.run, "loop": one.loop, "fence": one.fence, "why": one.why, "kept": one.kept,
        "left": one.left, "commits": one.commits,
    }  # fmt: skip


def standing(house: House) -> answers.SyncState:
    """When this clone was last at one with its remote (RFC 3339 or None), `age` in seconds, and why
    the last attempt failed."""
    known = network.last_sync(house.vault.folder)
    if not house.vault.repo.remotes():
        known = replace(known, tried=known.at, problem="")
    age = max(0.0, round(house.clock() - known.at, 1)) if known.at else None
    return {
        "remote": known.remote or None, "last": _when(known.at), "age": age,
        "tried": _when(known.tried), "problem": known.problem or None
    }  # fmt: skip


def _when(moment: float) -> str | None:
    return iso(moment) if moment else None


class Automatic:
    """When an owner syncs by itself: `sync.every` seconds after the last attempt, or `sync.quiet`
    seconds after the last change here. After failures the pauses double, up to an hour."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._tip = ""
        self._changed = float("-inf")

    @property
    def wanted(self) -> bool:
        """Does a setting ask for it?"""
        return bool(self._house.settings["sync.every"] or self._house.settings["sync.quiet"])

    def due(self) -> bool:
        """Is it time?"""
        house, now = self._house, self._house.clock()
        every, rest = house.settings["sync.every"], house.settings["sync.quiet"]
        tip = house.vault.head()
        if tip != self._tip:
            self._tip, self._changed = tip, now
        known = network.last_sync(house.vault.folder)
        since = abs(now - known.tried)  # a clock that was set back must not stop it for years
        if known.failures:
            return bool(
                since >= min(LONGEST_PAUSE, (every or rest) * 2.0 ** min(known.failures, 20))
            )
        changed = self._changed > known.at and now - self._changed >= rest
        return bool(every and since >= every) or bool(rest and changed and since >= rest)

    def run(self) -> None:
        """One automatic sync; a person's files that are in use wait. Raises OneiroError."""
        with _alone(self._house):
            edits = _keep_edits(self._house, None)
            answer = _answer(self._house, _nothing(edits=edits), False, quiet)
        if answer["offline"]:
            raise Unreachable(answer["offline"])
        self._tip = self._house.vault.head()


def loosened(root: Path) -> list[str]:
    """A sentence for each setting that `oneiro.toml` makes looser than this machine has agreed
    to."""
    return [f"{one.text}. {HINT}" for one in load(root, strict=False).loosened]


def offered(root: Path) -> Callable[[str], bool]:
    """Does the vault let what looks like a secret pass, by the sha256 of its text, and nobody here
    has agreed to it?"""
    theirs = {one.name: one.theirs for one in load(root, strict=False).loosened}
    allowed = frozenset(theirs.get("secrets.allowed", "").lower().split())
    return lambda sha256: theirs.get("secrets.mode") == "off" or sha256 in allowed
