"""What was true when, by what a memory says itself and by what took its place.

It holds from its `valid_from`, else from `created`, until its `valid_until`, or until what replaced
it began to hold when that was earlier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.memory import epoch

TRUE: Final = ("active", "dormant", "superseded")
"""Proposals are not believed, and what is archived was put away, not replaced."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What validity depends on, of one note: dates as RFC 3339 or ""."""

    key: int
    handle: str
    status: str
    created: str
    timestamp: str
    valid_from: str
    valid_until: str
    superseded_by: str


@dataclass(frozen=True, slots=True)
class Held:
    """[since, until) in epoch seconds, None where it is open; `stated`: by the memory itself."""

    since: float | None
    until: float | None
    stated: bool

    def within(self, start: float | None, end: float | None) -> bool:
        """Did it hold at any moment of [start, end)?"""
        begun = self.since is None or end is None or self.since < end
        return (
            begun and (self.until is None or start is None or self.until > start) and not self.empty
        )

    @property
    def empty(self) -> bool:
        """Was it over before it began? Then it never held: it was corrected, not replaced."""
        return self.since is not None and self.until is not None and self.until <= self.since


def spans(claims: Iterable[Claim]) -> dict[int, Held]:
    """Key -> for how long each believed claim holds."""
    every = list(claims)
    known = {claim.handle: claim for claim in every}
    return {claim.key: _held(claim, known) for claim in every if claim.status in TRUE}


def _held(claim: Claim, known: Mapping[str, Claim]) -> Held:
    return Held(_begins(claim), _ends(claim, known), bool(epoch(claim.valid_from)))


def _begins(claim: Claim) -> float | None:
    for date in (claim.valid_from, claim.created, claim.timestamp):
        if (moment := epoch(date)) is not None:
            return moment
    return None


def _ends(claim: Claim, known: Mapping[str, Claim]) -> float | None:
    stated = epoch(claim.valid_until)
    if claim.status != "superseded":
        return stated
    heir, since = known.get(claim.superseded_by), _begins(claim)
    begun = _begins(heir) if heir else None
    # an heir may have taken over when the old one was created: only what it states itself says that
    # the old one never held
    if (
        heir
        and begun is not None
        and (since is None or begun > since or epoch(heir.valid_from) is not None)
    ):
        return begun if stated is None else min(begun, stated)
    return epoch(claim.timestamp) if stated is None else stated
