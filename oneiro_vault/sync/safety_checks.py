"""What stops a sync until a person has looked: a history that was rewritten, one that is not ours,
far too much that would vanish."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from oneiro_vault.errors import Brake, few, shown
from oneiro_vault.vault.git.network import Remote
from oneiro_vault.vault.git.repository import Repo
from oneiro_vault.vault.purge import rewrite
from oneiro_vault.vault.vault import Vault

FEW: Final = 10
"""Up to this many notes that vanish at once are always believed."""
SHARE: Final = 0.2
"""Beyond that, up to this share of all notes."""
_KEPT: Final = "Nothing was changed here or there."
_YES: Final = "If that is meant: oneiro sync --yes."


def rewritten(repo: Repo, remote: Remote, old: str, new: str, confirmed: bool) -> str:
    """Is what was there last no longer part of what is there now? Then the old tip is kept, under
    the name that is returned.

    Raises Brake unless `confirmed`, or what is there is what we have.
    """
    if not (old and new) or repo.contains(old, new):
        return ""
    kept = remote.rescue(old)
    if not confirmed and new != repo.tip():
        raise Brake(
            f"the history of {remote.name} was rewritten: it no longer contains {old[:10]}, which "
            f"was there when you synced last",
            kept=f"{_KEPT} The old history is kept as {kept}.",
            hint="`oneiro sync --yes` joins what is there now to what you have (also to what was "
            "taken out there). "
            f"To take theirs instead: git reset --keep {remote.tracking}, then `oneiro doctor "
            f"--fix`",
        )
    return kept


def erased(vault: Vault, remote: Remote, ours: str, theirs: str) -> None:
    """Would a sync bring back, here or there, what a person purged? Raises Brake, whatever was
    confirmed.

    Also when a `git pull` has joined it by hand before. What was just fetched of it is cleared away
    again.
    """
    repo = vault.repo
    gone = rewrite.purged(repo, ours)
    if not repo.contains(theirs, ours) and rewrite.returning(repo, theirs, ours, gone):
        with vault.gate.locked():  # what a writer has just stored belongs to no branch yet
            remote.drop()
        raise Brake(
            f"{remote.name} still holds what was purged here",
            kept="It was not let in.",
            hint="Replace the history there with the git push --force-with-lease of the receipt "
            "(.git/oneiro/receipts). If git refuses it, "
            f"something was sent there since: keep that from a new clone first, then git push "
            f"--force {remote.name} {remote.branch}.",
        )
    if rewrite.returning(repo, ours, theirs, rewrite.purged(repo, theirs)):
        raise Brake(
            f"memories were purged in another copy of this vault; this one still holds them, and "
            f"{remote.name} does not take them back",
            kept=_KEPT,
            hint=f"Make a new copy (oneiro clone {remote.url} PATH), add there what only this one "
            f"has, and delete this one.",
        )
    if rewrite.returning(repo, ours, "", gone):
        raise Brake(
            "what was purged is in the history here again: git joined a copy that still had it",
            kept=f"{_KEPT} What {remote.name} has no longer is not sent there.",
            hint="`oneiro purge` takes it out once more; then replace the history there, as its "
            "receipt says.",
        )


def related(remote: Remote, bases: Collection[str], confirmed: bool) -> None:
    """Have the two ever been one? Raises Brake unless `confirmed`."""
    if not bases and not confirmed:
        raise Brake(
            f"{remote.name} ({remote.url}) holds a history that has nothing in common with this "
            f"vault's",
            kept=_KEPT,
            hint=f"Is it the right remote? {_YES} Every note of both is kept.",
        )


def loss(gone: Collection[str], total: int, where: str, whose: str, confirmed: bool) -> None:
    """Would far too many notes vanish `where` because `whose` side took them away? Raises Brake
    unless `confirmed`."""
    if confirmed or len(gone) <= FEW or len(gone) <= SHARE * total:
        return
    which = few([shown(path, 80) for path in sorted(gone)])
    raise Brake(
        f"{len(gone)} of {total} notes would vanish {where}, because {whose}: {which}",
        kept=_KEPT,
        hint=_YES,
    )
