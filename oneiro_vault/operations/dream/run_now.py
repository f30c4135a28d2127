"""Running loops now: one judge, one lease, and what is to become of the questions they leave open.

What judges said is kept beside the vault so that nothing is asked twice. That is disposable: a file
that cannot be read is begun anew, which costs questions and nothing else.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.errors import DiskProblem, InvalidInput, OneiroError, shown
from oneiro_vault.judges import deferred
from oneiro_vault.mind import report
from oneiro_vault.mind.base import Loop
from oneiro_vault.mind.loops import (
    consolidate,
    decay,
    dialectic,
    distil,
    encode,
    entities,
    split,
    synthesize,
    whittle,
)
from oneiro_vault.mind.report import Run
from oneiro_vault.operations.care import synchronize
from oneiro_vault.operations.dream import choose_judge, run_lease
from oneiro_vault.operations.dream.run_lease import Lease
from oneiro_vault.operations.dream.run_loop import Runner
from oneiro_vault.operations.review import tidy
from oneiro_vault.operations.runtime import Dreams, House
from oneiro_vault.vault.history import proposal_branches

_NIGHT: Final[Sequence[Loop]] = (
    encode,
    consolidate,
    split,
    synthesize,
    entities,
    distil,
    whittle,
    dialectic,
    decay,
)
LOOPS: Final = {found.name: found for found in _NIGHT}
"""In the order of a night."""
FILE: Final = "verdicts.db"
KEPT: Final = 180 * 86_400
"""Seconds after which an answer nobody has needed is forgotten."""
_FRESH: Final = 86_400
WAIT: Final = 60.0
"""Seconds a person's run waits for one that is under way."""
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS said (question TEXT, judge TEXT, answer TEXT, used REAL, PRIMARY "
    "KEY (question, judge))"
)


class Verdicts:
    """Answers by question and judge, in a file of `folder`. Never raises: without a disk it
    forgets."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = folder / FILE, clock
        self._db: sqlite3.Connection | None = None
        try:
            self._db = self._open()
        except (sqlite3.Error, OSError):
            with suppress(OSError, sqlite3.Error):
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
                    (folder / name).unlink(missing_ok=True)
                self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(exist_ok=True)
        db = sqlite3.connect(self._file, timeout=5, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(_SCHEMA)
            db.execute("DELETE FROM said WHERE used < ?", (self._clock() - KEPT,))
            db.execute("SELECT question, judge, answer, used FROM said LIMIT 1").fetchall()
            if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("damaged")
        except BaseException:
            db.close()
            raise
        return db

    def get(self, question: str, judge: str) -> Mapping[str, Any] | None:
        """What this judge said to this question."""
        if self._db is None:
            return None
        try:
            row = self._db.execute(
                "SELECT answer, used FROM said WHERE question = ? AND judge = ?", (question, judge)
            ).fetchone()
            if row is None:
                return None
            found = json.loads(row[0])
            if self._clock() - row[1] > _FRESH:
                self._db.execute(
                    "UPDATE said SET used = ? WHERE question = ? AND judge = ?",
                    (self._clock(), question, judge),
                )
        except (sqlite3.Error, ValueError, TypeError):
            return None
        return found if isinstance(found, dict) else None

    def put(self, question: str, judge: str, answer: Mapping[str, Any]) -> None:
        """Keep it."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                row = (question, judge, json.dumps(answer, ensure_ascii=False), self._clock())
                self._db.execute("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
            self._db = None


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
) -> answers.Dreamt:
    """Run loops now, all of them or some; a dry run asks and decides and changes no note. With
    `review`, or where the settings say so, what is decided waits on a branch for a person.

    Raises InvalidInput for an unknown loop or judge, LockTimeout while another run is under way
    for longer than a minute, Elsewhere when it is another machine's.
    """
    return run(house, loops, judge, dry_run, review, progress, wait=WAIT)


def run(
    house: House,
    loops: Sequence[str] = (),
    judge: str | None = None,
    dry_run: bool = False,
    review: bool = False,
    progress: Progress = quiet,
    scheduled: bool = False,
    calls: int | None = None,
    wait: float = 0.0,
) -> answers.Dreamt:
    """As `dream`. `scheduled`: nobody asked for it now. `calls`: questions that all of them
    together ask at most. `wait`: seconds for a run that is under way."""
    note = ""
    names = _names(loops)
    asked = choose_judge.judge(house.settings, house.dreams, judge, calls)
    with closing(asked), closing(Verdicts(house.vault.folder, house.clock)) as answers:
        if dry_run:
            house.dreams.cancel.clear()
            runner = Runner(house, asked, answers, None, progress)
            found = _all(runner, names)
        else:
            with _turn(house.dreams, wait, progress) as turn:
                lease = Lease(house.vault, ", ".join(names), turn)
            with lease:
                lease.remote, note = run_lease.take(house.vault, house.settings, names, scheduled)
                _meet(house, lease)
                # what a person left on disk belongs into the picture, but is no condition
                with suppress(OneiroError):
                    house.commit_edits()
                with suppress(OneiroError):
                    tidy(house.indexing)
                review = (
                    review or house.settings["dreams.review"]
                ) and not proposal_branches.reviewing_here(house.vault.repo)
                branch = (
                    proposal_branches.Branch(house.vault, house.now()[:10], house.vault.head())
                    if review
                    else None
                )
                runner = Runner(house, asked, answers, lease, progress, branch)
                found = _all(runner, names)
                runner.note(found)
                _meet(house, lease)
        if asked.name in _PARKING:
            _tidy(
                house, asked.name, found, answers, review or (dry_run and to_review(house.dreams))
            )
    rows = [report.row(run) for run in found]
    if rows and not dry_run:
        choose_judge.note(house.dreams, rows, house.now())
    return {
        "schema": 1,
        "dry_run": dry_run,
        "runs": rows,
        "waiting": len(deferred.waiting(choose_judge.folder(house.dreams))),
        "note": note
        or (choose_judge.problem(house.settings, house.dreams) if judge is None else "")
        or None,
    }


@contextmanager
def _turn(
    dreams: Dreams, longest: float, progress: Progress
) -> Iterator[Callable[[run_lease.Holder], bool]]:
    """Shall one who wants to run go on waiting? For `longest` seconds, unless told to end."""
    ended, end = threading.Event(), time.monotonic() + longest

    def waits(held: run_lease.Holder) -> bool:
        if ended.is_set() or time.monotonic() >= end:
            return False
        progress(f"waiting for a run that is under way ({held.about})", 0, 0)
        return True

    dreams.queued.append(ended)
    try:
        yield waits
        (dreams.cancel.set if ended.is_set() else dreams.cancel.clear)()
    finally:
        dreams.queued.remove(ended)


def _meet(house: House, lease: Lease) -> None:
    automatic, cancelled = synchronize.Automatic(house), house.dreams.cancel.is_set
    if lease.remote is not None and automatic.wanted and lease.held() and not cancelled():
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
    found: list[Run] = []
    with _interruptible(runner):
        for name in names:
            if runner.house.dreams.cancel.is_set() or (
                runner.lease is not None and not runner.lease.held()
            ):
                break
            found.append(runner.run(LOOPS[name]))
    return found


@contextmanager
def _interruptible(runner: Runner) -> Iterator[None]:
    """The first Ctrl-C ends the run in good order, the second at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_signal: int, _frame: object) -> None:
        again = runner.house.dreams.cancel.is_set()
        runner.house.dreams.cancel.set()
        if again or runner.patient.asking:
            raise KeyboardInterrupt

    former = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def left_open(dreams: Dreams) -> dict[str, list[str]]:
    """Loop -> ids of the questions it left for somebody to answer."""
    return {
        str(name): list(ids) for name, ids in dreams.noted(_OPEN).items() if isinstance(ids, list)
    }


def to_review(dreams: Dreams) -> bool:
    """Did the run that asked want its decisions reviewed?"""
    return bool(dreams.noted(_OPEN).get(_REVIEW))


def asked_by(dreams: Dreams) -> str:
    """The judge that left the questions open."""
    found = dreams.noted(_OPEN).get(_JUDGE)
    return found if found in _PARKING else deferred.DeferredJudge.name


def _tidy(house: House, judge: str, runs: Sequence[Run], answers: Verdicts, review: bool) -> None:
    """An answer that was refused is asked for again."""
    place, before = choose_judge.folder(house.dreams), left_open(house.dreams)
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
    with suppress(DiskProblem):
        house.dreams.note(
            _OPEN, {**after, _REVIEW: review, _JUDGE: judge}, "which questions are open"
        )
