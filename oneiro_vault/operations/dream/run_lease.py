"""One run at a time: a record of who dreams, with a sign of life, and a fence that a run which was
given up cannot pass; and on which of several machines: the lease on the remote, or `dreams.runner`.

The record changes hands only under the vault's write lock, and every commit of a run asks for it
under the same lock: a run that hung finds out before it writes, however late it wakes.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.errors import (
    Elsewhere,
    GitProblem,
    InvalidInput,
    LockTimeout,
    NotFound,
    OneiroError,
    Unreachable,
    shown,
)
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.vault.git import network
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.sync.remote_lease import HeldLease, LeaseRef

_DECIDED: Final = "What was decided before it is committed."
BEAT: Final = 0.5
STALE: Final = 4.0
"""Seconds without a sign of life after which a run counts as given up."""
_NAME: Final = "dream.json"


class Lease:
    """The right to change the vault as a run. `wait` is asked again and again, with who holds it,
    while another run has it and lives; where it says no, LockTimeout is raised. `remote`: the same
    right among machines."""

    def __init__(
        self, vault: Vault, about: str, wait: Callable[[Holder], bool] = lambda _: False
    ) -> None:
        self._vault, self._wait = vault, wait
        self.remote: HeldLease | None = None
        self._file = vault.folder / _NAME
        self.token = secrets.token_hex(8)
        self._beat = self._beating(self.token)
        self._over = threading.Event()
        self._acquire(
            {"token": self.token, "pid": os.getpid(), "about": about, "since": vault.clock()}
        )
        self._thread = threading.Thread(target=self._live, name="oneiro-lease", daemon=True)
        self._thread.start()

    def _beating(self, token: str) -> Path:
        return self._file.with_name(f"dream-{token}.beat")

    def _acquire(self, mine: Mapping[str, object]) -> None:
        watched: tuple[str, int] | None = None
        end = 0.0
        while True:
            with self._vault.gate.locked():
                held = self.holder()
                if held is None or not _runs(held.pid):
                    return self._take(mine, held.token if held else "")
                seen = (held.token, self._last(held.token))
                if seen == watched and time.monotonic() > end:
                    return self._take(mine, held.token)
            lives = watched is not None and seen != watched and seen[0] == watched[0]
            if lives and not self._wait(held):
                raise LockTimeout(
                    f"a dream is under way: {held.about} (process {held.pid})",
                    kept="Nothing was changed.",
                    hint="Wait for it; `oneiro runs` shows what it did.",
                )
            if seen != watched:
                watched, end = seen, time.monotonic() + STALE
            time.sleep(BEAT / 4)

    def _take(self, mine: Mapping[str, object], former: str) -> None:
        if former:
            self._beating(former).unlink(missing_ok=True)
        self._beat.touch()
        disk.note("Noting who dreams", self._file, json.dumps(mine))

    def _last(self, token: str) -> int:
        try:
            return self._beating(token).stat().st_mtime_ns
        except OSError:
            return 0

    def _live(self) -> None:
        while not self._over.wait(BEAT):
            with suppress(OSError):
                os.utime(self._beat)  # a file that was taken away is not made again

    def holder(self) -> Holder | None:
        """Who holds the lease; None when nobody does, or the record cannot be read."""
        return _read(self._file)

    def _here(self) -> bool:
        held = self.holder()
        return held is not None and held.token == self.token

    def held(self) -> bool:
        """Is it still ours, here and among machines?"""
        return self._here() and (self.remote is None or self.remote.held())

    def check(self) -> None:
        """Raise LockTimeout when it is not."""
        if not self._here():
            raise LockTimeout(
                "another run took over, because this one gave no sign of life", kept=_DECIDED
            )
        if not self.held():
            why = (
                "the lease is lost: another machine took it over, or the remote was out of reach "
                "for too long"
            )
            raise LockTimeout(why, kept=_DECIDED)

    @property
    def fence(self) -> int:
        """The number of the lease among machines, 0 when there is none."""
        return self.remote.fence if self.remote is not None else 0

    def release(self) -> None:
        """Give it back, unless somebody took it over."""
        try:
            if self.remote is not None:
                self.remote.release()
        finally:
            self._over.set()
            self._thread.join(timeout=2)
            with suppress(OSError, LockTimeout), self._vault.gate.locked():
                if self._here():
                    self._file.unlink(missing_ok=True)
            self._beat.unlink(missing_ok=True)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Holder(NamedTuple):
    """Who dreams: the process, the name it gave its lease, and the loops it runs."""

    token: str
    pid: int
    about: str


def _read(file: Path) -> Holder | None:
    try:
        found = json.loads(file.read_bytes())
        pid = found["pid"]
        held = Holder(str(found["token"]), pid, str(found["about"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return held if isinstance(pid, int) else None


def current(vault: Vault) -> Holder | None:
    """Who dreams right now, as far as can be seen without waiting."""
    held = _read(vault.folder / _NAME)
    return held if held is not None and _runs(held.pid) else None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's process
    return True


_KEPT: Final = "Nothing was changed."
_ONE_ALONE: Final = (
    "Let one machine alone dream: `runner` under [dreams] in oneiro.toml (`oneiro schedule` names "
    "this one)."
)


def take(
    vault: Vault, settings: Settings, loops: Sequence[str], scheduled: bool
) -> tuple[HeldLease | None, str]:
    """The lease among machines (None: there is nothing to hold), and what a person should know
    about it. Raises Elsewhere when it is another's, or when nobody can say and nobody asked for
    this run."""
    runner, device = settings["dreams.runner"], vault.ledger.device
    if runner and runner != device:
        raise Elsewhere(
            f"only {shown(runner)} dreams for this vault (dreams.runner), and this machine is "
            f"{device}",
            kept=_KEPT,
            hint="Run it there, or change the setting in oneiro.toml.",
        )
    ref = lease_ref(vault, settings)
    if ref is None:
        return None, ""
    from oneiro_vault.sync.remote_lease import HeldLease

    try:
        return HeldLease(ref, loops, settings["dreams.lease"]), ""
    except (Unreachable, GitProblem) as error:
        if runner or not _ever_met(vault, ref):
            return None, ""
        if scheduled:
            raise Elsewhere(
                f"nobody can say whether another machine dreams: {error}",
                kept=_KEPT,
                hint=_ONE_ALONE,
                later=True,
            ) from error
        return None, (
            f"Another machine may dream at the same time: {error}. What both did gives way "
            f"to one at the next sync."
        )


def lease_ref(vault: Vault, settings: Settings) -> LeaseRef | None:
    """Where machines agree; None without a remote."""
    if not vault.repo.remotes():
        return None
    from oneiro_vault.sync.remote_lease import LeaseRef  # not loaded by those who are alone

    try:
        remote = network.choose(
            vault.repo, vault.recovery, settings["sync.remote"], settings["sync.wait"]
        )
    except (NotFound, InvalidInput):
        return None  # several, and none is the one to sync with
    return LeaseRef(vault, remote)


def _ever_met(vault: Vault, ref: LeaseRef) -> bool:
    """Was this vault ever at one with that remote? If not, nobody else can have it from there."""
    return bool(network.last_sync(vault.folder).at or ref.remote.known())


def holder(vault: Vault, settings: Settings, ask: bool = False) -> answers.Sharing:
    """`device` is this machine, `runner` the only one that may dream ("": any), `lease` what the
    remote said (None: nobody ever took one), `problem` why it could not be asked."""
    found: answers.Sharing = {
        "device": vault.ledger.device,
        "runner": settings["dreams.runner"],
        "lease": None,
        "problem": None,
    }
    try:
        ref = lease_ref(vault, settings)
        if ref is None:
            return found
        from oneiro_vault.sync import remote_lease

        seen = remote_lease.remembered(vault)
        try:
            seen = ref.look() if ask else seen
        except (Unreachable, GitProblem) as error:
            found["problem"] = str(error)
        return {**found, "lease": remote_lease.shown(ref, seen)}
    except OneiroError as error:  # a detached HEAD has no branch that could be shared
        return {**found, "problem": str(error) if ask else None}
