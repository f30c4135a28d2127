"""Whose it is to dream, where a vault lives on several machines: the lease on the remote, or the
machine that `dreams.runner` names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from oneiro_vault import answers
from oneiro_vault.errors import (
    Elsewhere,
    GitProblem,
    InvalidInput,
    NotFound,
    OneiroError,
    Unreachable,
    shown,
)
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.git import network

if TYPE_CHECKING:
    from oneiro_vault.sync.remote_lease import HeldLease, LeaseRef

_KEPT: Final = "Nothing was changed."
_NAME: Final = (
    "Let one machine alone dream: `runner` under [dreams] in oneiro.toml (`oneiro schedule` names "
    "this one)."
)


def take(house: House, loops: Sequence[str], scheduled: bool) -> tuple[HeldLease | None, str]:
    """The lease among machines (None: there is nothing to hold), and what a person should know
    about that. Raises Elsewhere when it is another's, or when nobody can say and nobody asked for
    this run. Without a remote and a named machine the right is always ours.
    """
    runner, device = house.settings["dreams.runner"], house.vault.ledger.device
    if runner and runner != device:
        raise Elsewhere(
            f"only {shown(runner)} dreams for this vault (dreams.runner), and this machine is "
            f"{device}",
            kept=_KEPT,
            hint="Run it there, or change the setting in oneiro.toml.",
        )
    ref = lease_ref(house)
    if ref is None:
        return None, ""
    from oneiro_vault.sync.remote_lease import HeldLease

    try:
        return HeldLease(ref, loops, house.settings["dreams.lease"]), ""
    except (Unreachable, GitProblem) as error:
        if runner or not _ever_met(house, ref):
            return None, ""
        if scheduled:
            raise Elsewhere(
                f"nobody can say whether another machine dreams: {error}",
                kept=_KEPT,
                hint=_NAME,
                later=True,
            ) from error
        return None, (
            f"Another machine may dream at the same time: {error}. What both did gives way "
            f"to one at the next sync."
        )


def lease_ref(house: House) -> LeaseRef | None:
    """Where machines agree; None without a remote."""
    if not house.vault.repo.remotes():
        return None
    from oneiro_vault.sync.remote_lease import LeaseRef  # not loaded by those who are alone

    settings = house.settings
    try:
        remote = network.choose(
            house.vault.repo, house.vault.recovery, settings["sync.remote"], settings["sync.wait"]
        )
    except (NotFound, InvalidInput):
        return None  # several, and none is the one to sync with
    return LeaseRef(house.vault, remote)


def _ever_met(house: House, ref: LeaseRef) -> bool:
    """Was this vault ever at one with that remote? If not, nobody else can have it from there."""
    return bool(network.last_sync(house.vault.folder).at or ref.remote.known())


def holder(house: House, ask: bool = False) -> answers.Sharing:
    """Who may dream: `device` is this machine, `runner` the only one that may ("": any), `lease`
    what the remote said (None: nobody ever took one), `problem` why it could not be asked (with
    `ask`)."""
    found: answers.Sharing = {
        "device": house.vault.ledger.device,
        "runner": house.settings["dreams.runner"],
        "lease": None,
        "problem": None,
    }
    try:
        ref = lease_ref(house)
        if ref is None:
            return found
        from oneiro_vault.sync.remote_lease import shown as data

        seen = ref.known()
        try:
            seen = ref.look() if ask else seen
        except (Unreachable, GitProblem) as error:
            found["problem"] = str(error)
        return {**found, "lease": data(ref, seen)}
    except OneiroError as error:  # a detached HEAD has no branch that could be shared
        return {**found, "problem": str(error) if ask else None}
