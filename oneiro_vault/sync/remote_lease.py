"""The lease among machines: a ref on the remote that says who dreams, taken by compare-and-swap,
kept by signs of life, given back at the end.

Nobody's clock is compared with another's: a machine that has seen the ref stand still for longer
than the holder promised takes it over. The numbers (fences), which only grow, tell a late holder's
commits. A run that is not there yet gives way, before anything is joined, to one that was sent
first and to that of a machine which took the lease after it: its decisions are taken back by
commits of their own.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from types import TracebackType
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.memory import epoch
from oneiro_vault.errors import Brake, Elsewhere, GitProblem, InvalidInput, OneiroError, StaleMemory
from oneiro_vault.vault.git.network import Remote
from oneiro_vault.vault.history.commit_log import Entry, History, taken_back
from oneiro_vault.vault.ledger import moment
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.write import disk
from oneiro_vault.vault.write.writer import machine

REF: Final = "refs/oneiro/lease"
_SEEN: Final = "refs/oneiro/leases"
LONGEST: Final = 3600.0
"""Seconds without a sign of life that a record can ask for at most, whatever it says."""
ASTRAY: Final = 7200.0
"""No two clocks are further apart than this: what ended that long ago is over."""
PATIENCE: Final = 1.5
"""A holder stops after its time, everybody else waits this many times as long."""
_FILE: Final = "lease.json"
_WORD: Final = re.compile(r"[a-z0-9-]{1,40}")
_WHEN: Final = re.compile(r"[0-9TZ:.+-]{1,40}")


def ticks() -> float:
    """Seconds since this machine was started, also those it slept, whatever is done to its
    clock."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True)
class Record:
    """`device` dreams `loops` as `run` (a random name of this holding) since `since`; after `until`
    without another word it has given up (RFC 3339, by its own clock, `at` now); `over`: it was
    given back."""

    device: str = ""
    run: str = ""
    loops: tuple[str, ...] = ()
    fence: int = 0
    since: str = ""
    at: str = ""
    until: str = ""
    beat: int = 0
    over: bool = False

    @property
    def seconds(self) -> float:
        """How long it may stand still."""
        begin, end = epoch(self.at), epoch(self.until)
        return (
            min(LONGEST, max(1.0, end - begin))
            if begin is not None and end is not None
            else LONGEST
        )


def parse(text: str) -> Record | None:
    """The record in a commit's message, None when there is none that makes sense."""
    try:
        found = json.loads(text[text.index("{") :])
        known = asdict(Record())
        record = Record(
            **{name: type(known[name])(value) for name, value in found.items() if name in known}
        )
        words = (record.device, record.run, *record.loops)
        sound = all(map(_WORD.fullmatch, words)) and all(
            map(_WHEN.fullmatch, (record.since, record.at, record.until))
        )
        return record if sound and 0 < record.fence < 10**12 else None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True)
class Seen:
    """Where the ref points, since when (`ticks`) it was seen to, what it says, the highest fence
    ever met. `device`: whose memory this is (a folder may be copied)."""

    device: str = ""
    commit: str = ""
    since: float = 0.0
    fence: int = 0
    record: Record | None = None


class LeaseRef:
    """The lease of one remote as this machine sees it."""

    def __init__(self, vault: Vault, remote: Remote, now: Callable[[], float] = ticks) -> None:
        self.vault = vault
        self.remote = remote
        self.now = now
        self.device = vault.ledger.device

    # -- what is there

    def look(self) -> Seen:
        """Ask the remote, and remember the answer. Raises Unreachable or GitProblem."""
        known, commit = remembered(self.vault), self.remote.peek(REF, f"{_SEEN}/{self.remote.name}")
        if commit == known.commit:
            return known
        record = parse(self.vault.repo.message(commit)) if commit else None
        return self._note(commit, record, max(known.fence, record.fence if record else 0))

    def standing(self, seen: Seen) -> float:
        """Seconds, under our eyes. After a restart of the machine: at least as long as it runs."""
        now = self.now()
        return now - seen.since if now >= seen.since else now

    def taken(self, seen: Seen) -> bool:
        """Does another machine hold it, as far as can be known?"""
        return seen.record is not None and seen.record.device != self.device and self.lives(seen)

    def lives(self, seen: Seen) -> bool:
        """Is somebody dreaming under it, as far as can be known?"""
        record = seen.record
        if record is None or record.over:
            return False
        ended = epoch(record.until)
        if ended is not None and self.vault.clock() > ended + ASTRAY:
            return False
        return self.standing(seen) <= record.seconds * PATIENCE

    # -- changing it

    def put(self, old: str, record: Record) -> str:
        """The commit the ref points at now, "" when it had moved. Raises Unreachable or
        GitProblem."""
        commit = self._commit(record)
        if not self.remote.swap(REF, old, commit):
            return ""
        self._note(commit, record, record.fence)
        return commit

    def _commit(self, record: Record) -> str:
        """Without files and without a past: nothing grows, every host takes it, and `git show`
        tells what it says."""
        name, email = machine("dream")
        doing = "given back by" if record.over else "held by"
        text = f"lease: {doing} {record.device}\n\n{json.dumps(asdict(record))}\n"
        run = self.vault.repo.commands.text
        tree = run("hash-object", "-t", "tree", "-w", os.devnull)
        who = ("-c", f"user.name={name}", "-c", f"user.email={email}")
        return run(*who, "commit-tree", "-m", text, tree)

    def _note(self, commit: str, record: Record | None, fence: int) -> Seen:
        seen = Seen(self.device, commit, self.now(), fence, record)
        disk.note("Noting the lease", self.vault.folder / _FILE, json.dumps(asdict(seen)))
        return seen

    def highest(self, seen: Seen) -> int:
        """Where the remote has no record, the history is asked too."""
        if seen.record is not None or not self.vault.head():
            return seen.fence
        found = self.vault.repo.commands.text(
            "log", "--grep=^Oneiro-Fence: ", "--format=%(trailers:key=Oneiro-Fence,valueonly)"
        ).split()
        return max(
            [seen.fence, *(int(word) for word in found if word.isdecimal() and len(word) < 12)]
        )


def remembered(vault: Vault) -> Seen:
    """Nothing it can rely on when that is unreadable or was another machine's."""
    try:
        found = json.loads((vault.folder / _FILE).read_bytes())
        record = found.pop("record")
        seen = Seen(record=parse(json.dumps(record)) if record else None, **found)
        sound = (
            isinstance(seen.commit, str)
            and isinstance(seen.since, float)
            and isinstance(seen.fence, int)
        )
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return Seen()
    return seen if sound and seen.device == vault.ledger.device else Seen()


def shown(ref: LeaseRef, seen: Seen) -> answers.Lease | None:
    """The lease as plain data; None when there is none."""
    record = seen.record
    if record is None:
        return None
    return {
        "device": record.device, "here": record.device == ref.device, "loops": list(record.loops),
        "fence": record.fence,
        "since": record.since, "until": record.until, "held": ref.lives(seen),
    }  # fmt: skip


def fenced_by_another(ref: LeaseRef) -> Record | None:
    """Raises Unreachable; where there can be no lease, nobody took it."""
    try:
        record = ref.look().record
    except GitProblem as error:
        if type(error) is not GitProblem:
            raise
        return None
    return record if record is not None and record.device != ref.device else None


_TRIES: Final = 4
_BEATS: Final = 4


class HeldLease:
    """The right to dream among machines. Raises Elsewhere while another machine has it, Unreachable
    or GitProblem when nobody can say.

    `seconds`: after so long without a sign of life it is lost.
    """

    def __init__(self, ref: LeaseRef, loops: Sequence[str], seconds: float) -> None:
        self._ref = ref
        self._seconds = seconds
        self._record = Record(
            ref.device, secrets.token_hex(4), tuple(loops), since=moment(ref.vault.clock())
        )
        self._commit = ""
        self._lost = False
        self._alive = 0.0
        self._over = threading.Event()
        self._take()
        self._thread = threading.Thread(target=self._live, name="oneiro-remote-lease", daemon=True)
        self._thread.start()

    @property
    def fence(self) -> int:
        """The number of this holding; every later one has a higher."""
        return self._record.fence

    def _take(self) -> None:
        for _ in range(_TRIES):
            seen = self._ref.look()
            if self._ref.taken(seen):
                raise _elsewhere(self._ref, seen)
            self._record = replace(self._record, fence=self._ref.highest(seen) + 1)
            if self._say(seen.commit):
                return
        raise Elsewhere(
            "several machines want to dream now",
            kept="Nothing was changed.",
            hint="Try again in a moment.",
            later=True,
        )

    def _say(self, old: str, over: bool = False) -> bool:
        """The time counts from before it is sent."""
        began, now = self._ref.now(), self._ref.vault.clock()
        said = replace(
            self._record,
            at=moment(now),
            until=moment(now + self._seconds),
            beat=self._record.beat + 1,
            over=over,
        )
        commit = self._ref.put(old, said)
        if commit:
            self._record, self._commit, self._alive = said, commit, began
        return bool(commit)

    def _live(self) -> None:
        while not self._over.wait(self._seconds / _BEATS):
            with suppress(OneiroError):  # out of reach for a moment; `held` knows for how long
                self.beat()
            if self._lost:
                return

    def beat(self) -> None:
        """Find out, too, when it is another's by now. Raises Unreachable, GitProblem or
        DiskProblem."""
        if self._say(self._commit):
            return
        seen = self._ref.look()
        ours = seen.record is not None and seen.record.run == self._record.run
        if ours and self._say(seen.commit):  # an answer of the remote's was lost, not the lease
            return
        self._lost = True

    def held(self) -> bool:
        """Is it still ours, and surely so?"""
        return not self._lost and self._ref.now() - self._alive <= self._seconds

    def release(self) -> None:
        """Give it back; what cannot be said now, the others see by the silence."""
        self._over.set()
        self._thread.join(self._seconds)
        if self.held() and not self._thread.is_alive():
            with suppress(OneiroError):
                self._say(self._commit, over=True)

    def __enter__(self) -> HeldLease:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()


def _elsewhere(ref: LeaseRef, seen: Seen) -> Elsewhere:
    record = seen.record
    assert record is not None
    left = max(0.0, record.seconds * PATIENCE - ref.standing(seen))
    return Elsewhere(
        f"{record.device} dreams: {', '.join(record.loops)}, since {record.since} by its clock",
        kept="Nothing was changed.",
        hint=f"Wait for it. Without another sign of life it is taken over in {left:.0f} s: run "
        f"this again then.",
    )


MACHINE: Final = "dream"
"""What it took back may be decided again, what a person took back may not."""


@dataclass
class Late:
    """A run that gives way, and why; `kept`: the ref that leads to it; `left`: how many of its
    decisions stay because their notes were changed since."""

    run: str
    loop: str
    fence: int
    why: str
    kept: str = ""
    left: int = 0
    commits: list[str] = field(default_factory=list)


def late_runs(vault: Vault, remote: Remote, ours: str, theirs: str) -> list[Late]:
    """Runs that only `ours` has and that have to give way, the latest first. Raises Unreachable or
    GitProblem."""
    if not ours:
        return []
    mine = _standing(vault.history, vault.history.decisions(ours, theirs))
    if not mine:
        return []
    there = (
        _fences(_standing(vault.history, vault.history.decisions(theirs, ours), theirs))
        if theirs
        else {}
    )
    record = (
        fenced_by_another(LeaseRef(vault, remote)) if any(entry.fence for entry in mine) else None
    )
    found: dict[str, Late] = {}
    for entry in mine:
        why = ""
        if entry.loop in there and (entry.fence or there[entry.loop]):
            why = f"another machine's {entry.loop} was sent first"
        elif record is not None and 0 < entry.fence < record.fence and entry.loop in record.loops:
            why = f"{record.device} has taken the lease since, for {entry.loop}"
        if why:
            found.setdefault(
                entry.run, Late(entry.run, entry.loop, entry.fence, why)
            ).commits.append(entry.commit)
    return list(found.values())


def _standing(history: History, decisions: Iterable[Entry], tip: str = "HEAD") -> list[Entry]:
    """Nobody took them back; what a person accepted is theirs."""
    made = [entry for entry in decisions if entry.decision and entry.run and entry.actor == MACHINE]
    back = taken_back(history.undoings(tip)) if made else set()
    return [entry for entry in made if not back & {entry.commit, entry.run}]


def _fences(entries: Iterable[Entry]) -> dict[str, int]:
    found: dict[str, int] = {}
    for entry in entries:
        found[entry.loop] = max(found.get(entry.loop, 0), entry.fence)
    return found


def give_way(vault: Vault, remote: Remote, ours: str, theirs: str) -> list[Late]:
    """Take those runs back. Raises what `late_runs` does, and LockTimeout, RepositoryBusy or
    DiskProblem."""
    found = late_runs(vault, remote, ours, theirs)
    for late in found:
        late.kept = remote.rescue(ours, f"late/{late.run}")
        _take_back(vault, late)
    return found


def _take_back(vault: Vault, late: Late) -> None:
    whole = [
        entry.commit
        for entry in vault.history.runs(late.run)
        if entry.run == late.run and entry.decision
    ]
    if whole == late.commits:
        with suppress(StaleMemory, Brake, InvalidInput):
            vault.undo_run(late.run, MACHINE)
            return
    for commit in late.commits:
        try:
            vault.undo(commit, MACHINE)
        except (StaleMemory, Brake, InvalidInput):
            late.left += 1


def withdrawn(history: History) -> set[str]:
    """Commits and runs that gave way: what they decided counts as not decided."""
    return taken_back(entry for entry in history.undoings() if entry.actor == MACHINE)
