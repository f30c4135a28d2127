"""How far a memory still holds: how much of it is left, and what was true when.

Its strength is Ebbinghaus' curve at read time, never stored:
`exp(-days since last use / stability)`. Use stretches stability; the clock can jump either way and
the result stays in 0-1.

It holds from its `valid_from`, else from `created` (nobody says that it held before it was learned
or happened), until its `valid_until`, or until what replaced it began to hold when that was
earlier. What was never replaced holds still.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.memory import epoch

DAY: Final = 86_400.0

STABILITY: Final[Mapping[str, float]] = {"episodic": 7.0, "semantic": 30.0, "procedure": 90.0}
"""Days (settings `decay.<type>`). Orientation, entities, principles and a person's plain notes do
not fade."""

GROWTH: Final = 1.4
CAP: Final = 365.0
FADED: Final = 0.05


def stability(
    type_: str,
    reinforcements: int = 0,
    *,
    base: Mapping[str, float] = STABILITY,
    growth: float = GROWTH,
    cap: float = CAP,
) -> float:
    """Days in which a memory of this type falls to 37 %; infinite for types that are not in
    `base`."""
    first = base.get(type_)
    if first is None:
        return math.inf
    steps = max(0, reinforcements)
    # In logarithms, because a corrupt ledger may claim any number of uses and `growth ** steps`
    # would overflow.
    if growth > 1 and steps * math.log(growth) >= math.log(cap / first):
        return cap
    return min(first * growth**steps, cap)


def strength(
    type_: str,
    last_use: float | None,
    now: float,
    reinforcements: int = 0,
    *,
    base: Mapping[str, float] = STABILITY,
    growth: float = GROWTH,
    cap: float = CAP,
) -> float:
    """What is left now, 0-1; times in epoch seconds. A last use that is unknown or in the future
    counts as just now."""
    days = 0.0 if last_use is None else (now - last_use) / DAY
    return (
        math.exp(-days / stability(type_, reinforcements, base=base, growth=growth, cap=cap))
        if days > 0
        else 1.0
    )


def reinforcements(uses: Iterable[float]) -> int:
    """How many of these deliberate uses (epoch seconds, any order) count: at most one in any 24
    hours."""
    count, last = 0, -math.inf
    for use in sorted(uses):
        if use - last >= DAY:
            count, last = count + 1, use
    return count


def faded(strength: float, threshold: float = FADED) -> bool:
    """Has a memory of this strength left passive recall? A deliberate search still finds it."""
    return strength < threshold


def fades_at(last_use: float, stability: float, threshold: float = FADED) -> float:
    """Epoch seconds at which a memory that is not used again leaves passive recall; infinite when
    it never does."""
    return last_use - math.log(threshold) * stability * DAY if threshold > 0 else math.inf


TRUE: Final = ("active", "dormant", "superseded")
"""Statuses of what is or was believed; proposals are not, and what is archived was put away, not
replaced."""


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
    """[since, until) in epoch seconds, None where it is open; `stated`: the memory itself says
    since when."""

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
