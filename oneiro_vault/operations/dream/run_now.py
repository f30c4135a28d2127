"""Running loops now: one judge, one lease, and what is to become of the questions they leave
open."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.errors import InvalidInput, OneiroError, shown
from oneiro_vault.judges import deferred
from oneiro_vault.mind import report
from oneiro_vault.mind.registry import LOOPS
from oneiro_vault.mind.report import Run
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.dream import choose_judge
from oneiro_vault.operations.dream.answer_cache import Verdicts
from oneiro_vault.operations.dream.run_lease import Lease
from oneiro_vault.operations.dream.run_loop import Runner
from oneiro_vault.operations.remember.drafts import moment
from oneiro_vault.operations.review import decisions
from oneiro_vault.operations.runtime import House, Progress, quiet
from oneiro_vault.operations.schedule import judge_status, which_machine
from oneiro_vault.vault.history import proposal_branches

_KEPT: Final = "Nothing was changed."
_OPEN: Final = "open-questions.json"
"""loop -> ids of the questions it left open, beside the questions' folder."""
_REVIEW: Final = "review"
"""In the same file: whether what is decided waits for a person."""
_JUDGE: Final = "judge"
"""In the same file: whose questions they are."""
_PARKING: Final = (deferred.DeferredJudge.name, deferred.NAME)
"""Judges that leave questions for somebody to answer."""


def dream(
    house: House,
    loops: Sequence[str] = (),
    judge: str | None = None,
    dry_run: bool = False,
    review: bool = False,
    progress: Progress = quiet,
    scheduled: bool = False,
    calls: int | None = None,
) -> answers.Dreamt:
    """Run loops now, all of them or some, one after the other; a dry run asks and decides and
    changes no note.

    With `review`, or where the settings say so, what is decided waits on a branch for a person.
    `scheduled`: nobody asked for it now. `calls`: questions that all of them together ask at most.
    Raises InvalidInput for an unknown loop or judge, LockTimeout while another run is under way,
    Elsewhere when it is another machine's.
    """
    note = ""
    names = _names(loops)
    asked = choose_judge.judge(house, judge, calls)
    with closing(asked), closing(Verdicts(house.vault.folder, house.clock)) as answers:
        house.cancel.clear()
        if dry_run:
            runner = Runner(house, asked, answers, None, progress)
            found = _all(runner, names)
        else:
            with Lease(house.vault, ", ".join(names)) as lease:
                lease.remote, note = which_machine.take(house, names, scheduled)
                _meet(house, lease)
                with suppress(
                    OneiroError
                ):  # what a person left on disk belongs into the picture, but is no condition
                    house.commit_edits()
                with suppress(OneiroError):
                    decisions.tidy(house)
                review = (
                    review or house.settings["dreams.review"]
                ) and not proposal_branches.reviewing_here(house.vault)
                branch = (
                    proposal_branches.Branch(house.vault, moment(house)[:10], house.vault.head())
                    if review
                    else None
                )
                runner = Runner(house, asked, answers, lease, progress, branch)
                found = _all(runner, names)
                runner.note(found)
                _meet(house, lease)
        if asked.name in _PARKING:
            _tidy(house, asked.name, found, answers, review or (dry_run and to_review(house)))
    rows = [report.row(run) for run in found]
    if rows and not dry_run:
        judge_status.note(house, rows)
    return {
        "schema": 1,
        "dry_run": dry_run,
        "runs": rows,
        "waiting": len(deferred.waiting(choose_judge.folder(house))),
        "note": note or (choose_judge.problem(house) if judge is None else "") or None,
    }


def _meet(house: House, lease: Lease) -> None:
    """Where syncing by itself is wanted: learn what the others decided, and let them know. `status`
    tells what is in the way."""
    automatic = synchronize.Automatic(house)
    if lease.remote is not None and automatic.wanted and lease.held() and not house.cancel.is_set():
        with suppress(OneiroError):
            automatic.run()


def _names(loops: Sequence[str]) -> list[str]:
    wanted = [loops] if isinstance(loops, str) else list(loops)
    if strange := [name for name in wanted if name not in LOOPS]:
        raise InvalidInput(
            f"there is no loop {shown(strange[0])}", kept=_KEPT, hint=f"One of: {', '.join(LOOPS)}."
        )
    return [name for name in LOOPS if not wanted or name in wanted]


def _all(runner: Runner, names: Sequence[str]) -> list[Run]:
    """Every loop in its order, until somebody stops it or another run takes over."""
    found: list[Run] = []
    with _interruptible(runner):
        for name in names:
            if runner.house.cancel.is_set() or (
                runner.lease is not None and not runner.lease.held()
            ):
                break
            found.append(runner.run(LOOPS[name]))
    return found


@contextmanager
def _interruptible(runner: Runner) -> Iterator[None]:
    """The first Ctrl-C ends the run in good order, the second at once (which loses nothing
    either)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_signal: int, _frame: object) -> None:
        again = runner.house.cancel.is_set()
        runner.house.cancel.set()
        if again or runner.patient.asking:
            raise KeyboardInterrupt

    former = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def left_open(house: House) -> dict[str, list[str]]:
    """Loop -> ids of the questions it left for somebody to answer."""
    return {str(name): list(ids) for name, ids in _known(house).items() if isinstance(ids, list)}


def _known(house: House) -> dict[str, Any]:
    try:
        found = json.loads((house.vault.folder / _OPEN).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def to_review(house: House) -> bool:
    """Did the run that asked want its decisions reviewed?"""
    return bool(_known(house).get(_REVIEW))


def asked_by(house: House) -> str:
    """The judge that left the questions open: what it was told before counts for its next run."""
    found = _known(house).get(_JUDGE)
    return found if found in _PARKING else deferred.DeferredJudge.name


def _tidy(house: House, judge: str, runs: Sequence[Run], answers: Verdicts, review: bool) -> None:
    """Forget questions that are settled or that no loop asks any more; an answer that was refused
    is asked for again."""
    place, before = choose_judge.folder(house), left_open(house)
    after = before | {
        run.loop: [*run.waiting, *(ident for ident, _ in run.unasked)] for run in runs
    }
    for run in runs:
        still = {ident for ids in after.values() for ident in ids}
        for ident in before.get(run.loop, ()):
            if ident not in still:
                refused = (place / f"{ident}.answer.json").exists() and answers.get(
                    ident, judge
                ) is None
                if refused and any(kind != "loop" for kind, _ in run.failed):
                    (place / f"{ident}.answer.json").unlink(missing_ok=True)
                    after[run.loop] = [*after[run.loop], ident]
                else:
                    deferred.drop(place, [ident])
    _put(house.vault.folder / _OPEN, {**after, _REVIEW: review, _JUDGE: judge})


def _put(path: Path, found: Mapping[str, Any]) -> None:
    with suppress(OSError):
        temp = path.with_suffix(f".{os.getpid()}")
        temp.write_text(json.dumps(found), encoding="utf-8")
        temp.replace(path)
