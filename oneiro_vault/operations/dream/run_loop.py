"""One run of one loop: snapshot, drive, settle, recall gate, one commit a decision, report.
Whatever stops a run leaves only whole decisions behind, and the next goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Final

from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.errors import InvalidInput, LockTimeout, OneiroError, StaleMemory, UnreadableNote
from oneiro_vault.judges import deferred
from oneiro_vault.judges.budget import Budgeted
from oneiro_vault.mind import report
from oneiro_vault.mind.base import Decision, Gathering, Loop, Set, Telling
from oneiro_vault.mind.drive_loop import Answers, Driver
from oneiro_vault.mind.recall_gate import Gate
from oneiro_vault.mind.report import Done, Run
from oneiro_vault.mind.validate import AFTER, Turned, settle
from oneiro_vault.operations.dream import apply, vault_snapshot
from oneiro_vault.operations.dream.run_lease import Lease
from oneiro_vault.operations.dream.run_log import EVENT
from oneiro_vault.operations.dream.vault_snapshot import Finder
from oneiro_vault.operations.runtime import House, new_id
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.history.proposal_branches import Branch

FIRST: Final = "another decision of this run changed one of its memories first"
WAITS: Final = "a proposal that waits for your review changes one of its memories"
STOPPED: Final = (
    "It was stopped; what was committed until then stays, and the next run goes on from there"
)


PASSES: Final = 8
"""How often a loop looks at the vault in one run, when decisions come again after others."""
WAITING: Final = "waits"
FAILED: Final = "failed"
"""What a report told of a question that a judge left open, or that it answered in no form."""


def _mark(*words: str) -> str:
    return sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:20]


def _in_the_way(
    seen: vault_snapshot.Picture, decision: Decision, done: Sequence[Done], proposing: bool = False
) -> str:
    """Why the decision cannot stand after what was done since `seen`, "" when it can."""
    if (
        set(decision.after)
        - {one.decision.id(seen.snapshot) for one in done}
        - seen.snapshot.settled
    ):
        return AFTER
    touched = {edit.id for one in done for edit in one.decision.edits if isinstance(edit, Set)}
    if proposing and any(
        isinstance(edit, Set) and seen.places[edit.id][0] in seen.waiting for edit in decision.edits
    ):
        return WAITS
    return FIRST if touched & set(apply.based_on(decision)) else ""


@dataclass
class Patient:
    """A judge that a person may interrupt: Ctrl-C while it is asked ends the asking, not the
    run."""

    judge: Budgeted
    stop: Callable[[], None]
    asking: bool = False

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.judge.name

    def ask(self, questions: Sequence[Question]) -> Iterator[tuple[str, Raw]]:
        """As the judge does."""
        answers = iter(self.judge.ask(questions))
        try:
            while True:
                self.asking = True
                pair = next(answers, None)
                self.asking = False
                if pair is None:
                    return
                yield pair
        except KeyboardInterrupt:
            self.stop()
        finally:
            self.asking = False


@dataclass
class Runner:
    """Runs loops one after the other under one lease; without one it only tries. With a `branch` it
    proposes there."""

    house: House
    judge: Budgeted
    answers: Answers
    lease: Lease | None
    progress: Progress = quiet
    branch: Branch | None = None

    def __post_init__(self) -> None:
        self.patient = Patient(self.judge, self.house.dreams.cancel.set)
        self._seen: vault_snapshot.Picture | None = None

    def _picture(self) -> vault_snapshot.Picture:
        self.house.indexing.converge()
        if self._seen is None or self._seen.head != self.house.vault.head():
            known = (partial(self._told, WAITING), partial(self._told, FAILED))
            self._seen = vault_snapshot.take(
                self.house,
                lambda question: self.answers.get(question, self.judge.name) is not None,
                *known,
                free=self.judge.name not in report.ANSWERING or self.judge.name == deferred.NAME,
                connected=self.judge.name in report.ANSWERING,
            )
        return self._seen

    def run(self, loop: Loop) -> Run:
        """One loop from beginning to end. Raises OneiroError only when nothing was done yet."""
        if self.lease is not None and (found := self.house.vault.health.rewritten()) is not None:
            raise found.brake()  # before anybody is asked, and paid, for what could not be written
        self.judge.begin()
        run = Run(
            new_id()[:8],
            loop.name,
            self.judge.name,
            self.house.now(),
            dry=self.lease is None,
            spent=self.judge.spent,
        )
        driver = Driver(
            self.patient, self.answers, self.house.dreams.cancel.is_set, self.progress, run
        )
        for _ in range(PASSES):
            seen = self._picture()
            decisions = self._driven(driver, loop, seen, run)
            done = self._decided(seen, self._allowed(seen, decisions, run), run)
            run.done += done
            made = {one.decision.id(seen.snapshot) for one in done}
            again = any(one.comes_again and made.issuperset(one.after) for one in decisions)
            if self.lease is None or self.branch is not None or run.notes or not again:
                break
        self._finish(loop, seen, run)
        return run

    def _decided(
        self, seen: vault_snapshot.Picture, wanted: Sequence[Decision], run: Run
    ) -> list[Done]:
        done: list[Done] = []
        for position, decision in enumerate(wanted, 1):
            self.progress(f"{run.loop}: deciding", position, len(wanted))
            if not self._done(seen, decision, run, done):
                run.notes.append(
                    f"Not carried out any more: {len(wanted) - position + 1} of {len(wanted)} "
                    f"decisions"
                )
                break
        return done

    def _driven(
        self, driver: Driver, loop: Loop, seen: vault_snapshot.Picture, run: Run
    ) -> list[Decision]:
        try:
            return driver.drive(loop.run(seen.snapshot))
        except OneiroError as error:
            run.failed.append(("loop", str(error)))
        except Exception as error:  # one loop's fault must not take the night away from the others
            run.failed.append(("loop", f"{type(error).__name__}: {str(error)[:200]}"))
        return []

    def _allowed(
        self, seen: vault_snapshot.Picture, decisions: Sequence[Decision], run: Run
    ) -> list[Decision]:
        told = {(one.title, one.reason) for one in run.seen}
        run.seen += [
            one
            for one in decisions
            if not one.edits and not one.comes_again and (one.title, one.reason) not in told
        ]
        share = self.house.settings["dreams.brake"]
        acting = [decision for decision in decisions if decision.edits]
        kept, turned = settle(seen.snapshot, acting, share)
        before = {(one.decision.title, one.why) for one in run.turned}
        run.turned += [
            one
            for one in turned
            if one.why != "it was decided before" and (one.decision.title, one.why) not in before
        ]
        if not kept:
            return []
        gate = Gate(seen.snapshot, Finder(self.house), seen.asked)
        kept, dropped = gate.judge(kept)
        run.turned += dropped
        run.probes = {name: number + gate.numbers[name] for name, number in run.probes.items()}
        return kept

    def _done(
        self, seen: vault_snapshot.Picture, decision: Decision, run: Run, done: list[Done]
    ) -> bool:
        """False when the run must end."""
        if self.house.dreams.cancel.is_set():
            return False
        if why := _in_the_way(seen, decision, done, self.branch is not None):
            run.turned.append(Turned(decision, why))
            return True
        if self.lease is None:
            done.append(Done(decision))
            return True
        try:
            done.append(
                apply.apply(
                    self.house.indexing,
                    seen,
                    decision,
                    self.house.now(),
                    run.run,
                    self.judge.name,
                    self.lease,
                    self.branch,
                )
            )
        except (StaleMemory, InvalidInput, UnreadableNote) as error:
            run.turned.append(Turned(decision, str(error)))
        except OneiroError as error:
            run.notes.append(f"It ended early: {error}")
            return False
        return True

    def _finish(self, loop: Loop, seen: vault_snapshot.Picture, run: Run) -> None:
        # every look at the vault asked them again
        run.waiting, run.unusable = ([*dict.fromkeys(ids)] for ids in (run.waiting, run.unusable))
        if self.house.dreams.cancel.is_set():
            run.notes.append(STOPPED)
        why = self.judge.unreached.rstrip(".")
        if why and (self._is_news("unreached", run.loop, why) or run.done):
            run.failed.append(
                ("judge", f"{why}; rules answered for now, and the questions are asked again")
            )
        if isinstance(loop, Telling):
            with suppress(OneiroError):
                run.told = "\n".join(
                    line for line in loop.told(seen.snapshot) if self._is_news(loop.name, line)
                )
        if self.lease is None and isinstance(loop, Gathering):
            run.due, missing = loop.due(seen.snapshot)
            run.notes += [missing] if missing else []
        said: list[tuple[str, ...]] = [
            (one.id(seen.snapshot), one.title, one.reason) for one in run.seen
        ]
        said += [(one.decision.id(seen.snapshot), one.why) for one in run.turned]
        run.news = sum(self._is_news(loop.name, *words) for words in said) + bool(run.told)
        for question in run.unusable:
            self._is_news(FAILED, run.judge, question)
        for question in run.waiting:
            self._is_news(WAITING, run.judge, question)
        run.ended = self.house.now()
        run.branch = self.branch.name if self.branch and run.done else ""
        if self.lease is not None and run.decided:
            run.path = report.name_of(run)
            self._write(run, report.body_of(run, seen.snapshot), report.title_of(run))

    def _is_news(self, *words: str) -> bool:
        mark = _mark(*words)
        if self.answers.get(mark, "report") is not None:
            return False
        if self.lease is not None:
            self.answers.put(mark, "report", {"told": True})
        return True

    def _told(self, what: str, question: str) -> bool:
        return self.answers.get(_mark(what, self.judge.name, question), "report") is not None

    def note(self, runs: Sequence[Run]) -> None:
        """Note the runs of a night that decided nothing, for `runs`, as one event and no file;
        where nothing is ever to do, once a day."""
        idle = [run for run in runs if not run.decided]
        if not idle or self.lease is None:
            return
        title = report.gathered(idle, whole=len(idle) == len(runs) > 1)
        first, day = idle[0], idle[0].started[:10]
        if all(run.quiet for run in idle) and not self._is_news("night", day, title):
            return
        facts = {
            "loops": [run.loop for run in idle],
            "judge": first.judge,
            "title": title,
            "since": first.started,
        }
        with suppress(OneiroError):  # a night of which nobody can be told is no less over
            self.house.vault.ledger.use(first.run, EVENT, **facts)

    def _write(self, run: Run, body: str, title: str) -> None:
        path = report.name_of(run)
        change = Write(path, yaml_block.composed(report.meta_of(run, title), body))
        lease = self.lease
        assert lease is not None
        operation = Operation(
            "ledger",
            f"report of {title}",
            "dream",
            run=run.run,
            judge=run.judge,
            loop=run.loop,
            fence=lease.fence,
        )
        try:
            if (
                self.branch is not None and self.branch.name
            ):  # beside what it tells; of a night without proposals nothing is to review
                self.branch.add([change], operation, lambda *_: lease.check())
                return
            self.house.indexing.apply([change], operation, check=lambda _tip: lease.check())
        except (OneiroError, LockTimeout) as error:
            run.path = ""
            run.notes.append(f"The report could not be written: {error}")
