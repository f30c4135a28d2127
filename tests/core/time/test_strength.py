"""The forgetting curve: the numbers of the design, and no clock that can break it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.core.memory import TYPES
from oneiro_vault.core.time import strength as curve
from oneiro_vault.core.time.strength import (
    CAP,
    DAY,
    fades_at,
    stability,
    strength,
)
from oneiro_vault.settings import definitions


def test_the_defaults_are_those_of_the_settings() -> None:
    settings = definitions.Settings()
    assert {f"decay.{name}": days for name, days in curve.STABILITY.items()} == {
        name: settings[name] for name in ("decay.episodic", "decay.semantic", "decay.procedure")
    }
    assert settings["decay.faded"] == curve.FADED


@pytest.mark.parametrize(
    ("type_", "days"), [("episodic", 7.0), ("semantic", 30.0), ("procedure", 90.0)]
)
def test_stability_is_the_time_to_37_percent(type_: str, days: float) -> None:
    assert stability(type_) == days
    assert strength(type_, 0.0, days * DAY) == pytest.approx(math.exp(-1))
    assert stability(type_, 1) == pytest.approx(days * 1.4)
    assert stability(type_, -3) == days


@pytest.mark.parametrize("type_", ["orientation", "entity", "principle", "note", ""])
def test_what_does_not_fade(type_: str) -> None:
    assert stability(type_, 5) == math.inf
    assert strength(type_, 0.0, 1e12) == 1.0
    assert fades_at(0.0, stability(type_)) == math.inf


def test_known_values() -> None:
    assert strength("episodic", 0.0, 30 * DAY) == pytest.approx(0.0138, abs=1e-4)
    assert stability("episodic", 12) == CAP
    assert stability("episodic", 11) == pytest.approx(7 * 1.4**11)
    assert strength("episodic", None, 1e9) == 1.0


@given(
    st.sampled_from(TYPES), st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.integers(-5, 10**9)
)
def test_whatever_the_clock_says_the_result_is_a_share(
    type_: str, last: float, now: float, uses: int
) -> None:
    assert 0.0 <= strength(type_, last, now, uses) <= 1.0
    assert strength(type_, max(last, now), min(last, now), uses) == 1.0


@given(
    st.sampled_from(["episodic", "semantic", "procedure"]), st.integers(0, 40), st.floats(0, 1e4)
)
def test_more_use_never_weakens_and_more_time_never_strengthens(
    type_: str, uses: int, days: float
) -> None:
    assert stability(type_, uses) <= stability(type_, uses + 1) <= CAP
    assert strength(type_, 0.0, days * DAY, uses) <= strength(type_, 0.0, days * DAY, uses + 1)
    assert strength(type_, 0.0, (days + 1) * DAY, uses) < max(
        strength(type_, 0.0, days * DAY, uses), 1e-300
    )


@pytest.mark.parametrize(("base", "uses", "days"), [(7, 0, 7), (500, 0, 365), (10, 2, 19.6)])
def test_other_settings(base: float, uses: int, days: float) -> None:
    assert stability("x", uses, base={"x": base}) == pytest.approx(days)
    assert strength("x", 0.0, days * DAY, uses, base={"x": base}) == pytest.approx(math.exp(-1))


def test_when_it_fades() -> None:
    moment = fades_at(100.0, 7.0)
    assert strength("episodic", 100.0, moment - 60) > curve.FADED
    assert strength("episodic", 100.0, moment + 60) < curve.FADED
    assert fades_at(0.0, 7.0, threshold=0.0) == math.inf
