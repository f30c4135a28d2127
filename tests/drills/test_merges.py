"""5,000 random merges: nothing lost, nothing resurrected, no markers, no side preferred. A failing
seed is printed with its texts."""

from __future__ import annotations

from random import Random

import pytest

from tests.core.merges import case, hold


@pytest.mark.drill
@pytest.mark.timeout(900)
def test_five_thousand_merges() -> None:
    for seed in range(5_000):
        hold(*case(Random(f"merge {seed}")))
