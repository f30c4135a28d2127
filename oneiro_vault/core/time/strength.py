"""How much of a memory is left: Ebbinghaus' curve at read time, never stored.

`exp(-days since last use / stability)`. Use stretches stability; the clock can jump either way and
the result stays in 0-1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

DAY: Final = 86_400.0

STABILITY: Final[Mapping[str, float]] = {"episodic": 7.0, "semantic": 30.0, "procedure": 90.0}
"""Days (settings `decay.<type>`). Other types do not fade."""

GROWTH: Final = 1.4
CAP: Final = 365.0
FADED: Final = 0.05


def stability(
    type_: str, reinforcements: int = 0, *, base: Mapping[str, float] = STABILITY
) -> float:
    """Days in which a memory of this type falls to 37 %; infinite for types that are not in
    `base`."""
    first = base.get(type_)
    if first is None:
        return math.inf
    steps = max(0, reinforcements)
    # In logarithms, because a corrupt ledger may claim any number of uses and `GROWTH ** steps`
    # would overflow.
    if steps * math.log(GROWTH) >= math.log(CAP / first):
        return CAP
    return min(first * GROWTH**steps, CAP)


def strength(
    type_: str,
    last_use: float | None,
    now: float,
    reinforcements: int = 0,
    *,
    base: Mapping[str, float] = STABILITY,
) -> float:
    """0-1; times in epoch seconds. A last use that is unknown or in the future counts as just
    now."""
    days = 0.0 if last_use is None else (now - last_use) / DAY
    return math.exp(-days / stability(type_, reinforcements, base=base)) if days > 0 else 1.0


def fades_at(last_use: float, stability: float, threshold: float = FADED) -> float:
    """Epoch seconds at which a memory that is not used again leaves passive recall; infinite for
    never."""
    return last_use - math.log(threshold) * stability * DAY if threshold > 0 else math.inf
