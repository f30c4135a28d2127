"""The curve of one memory: as it was, as it is, as it will be."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import InvalidInput
from tests.operations.conftest import QUICK, Call, stored

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now.timestamp()


def day(row: dict[str, Any]) -> str:
    return str(row["when"])[:10]


def test_a_memory_that_nobody_looked_at(root: Path) -> None:
    clock = Clock()
    with App.open(root, QUICK, clock=clock) as app:
        call: Call = lambda op, **params: app.call(op, params)  # noqa: E731  # shorter than a function
        ident = stored(call, "The boat is red.")
        clock.now = NOW + timedelta(days=30)
        found = call("strength", id=ident[:5], days=60)
        assert (found["id"], found["title"], found["type"]) == (
            ident,
            "The boat is red.",
            "semantic",
        )
        assert found["strength"] == pytest.approx(math.exp(-1), abs=1e-3)
        assert (found["stability"], found["threshold"], found["uses"]) == (
            30,
            0.05,
            {"days": 0, "last": None},
        )
        assert (
            found["fades"][:10] == (NOW + timedelta(days=30 * -math.log(0.05))).date().isoformat()
        )
        assert not found["faded"]
        points = found["points"]
        assert len(points) == 61
        assert (day(points[0]), day(points[-1])) == ("2026-11-01", "2027-01-30")
        assert points[0]["strength"] == 1.0
        assert points[-1]["strength"] == pytest.approx(math.exp(-3), abs=1e-3)
        assert sorted((point["strength"] for point in points), reverse=True) == [
            point["strength"] for point in points
        ]
        assert sum(point["ahead"] for point in points) == 40
        assert call("why", id=ident)["uses"]["days"] == 0
        clock.now = NOW + timedelta(days=200)
        gone = call("strength", id=ident)
        assert gone["faded"]
        assert gone["fades"] == found["fades"]
        assert day(gone["points"][0]) == (NOW + timedelta(days=110)).date().isoformat()


def test_uses_raise_the_curve_and_flatten_it(root: Path) -> None:
    clock = Clock()
    with App.open(root, QUICK, clock=clock) as app:
        call: Call = lambda op, **params: app.call(op, params)  # noqa: E731  # shorter than a function
        ident = stored(call, "The boat is red.")
        for days in (10, 20):
            clock.now = NOW + timedelta(days=days)
            call("show", id=ident)
        clock.now = NOW + timedelta(days=30)
        found = call("strength", id=ident)
        assert found["uses"]["days"] == 2
        assert found["uses"]["last"][:10] == "2026-11-21"
        assert found["stability"] == pytest.approx(30 * 1.4**2)
        assert found["strength"] == pytest.approx(math.exp(-10 / (30 * 1.4**2)), abs=1e-3)
        values = [point["strength"] for point in found["points"]]
        assert sum(after > before for before, after in itertools.pairwise(values)) == 2


def test_what_does_not_fade(call: Call) -> None:
    found = call("strength", id=stored(call, "Four people.", type="orientation"))
    assert (found["stability"], found["fades"], found["strength"]) == (None, None, 1.0)


@pytest.mark.parametrize("days", [0, -1, 36_501, True, "3", 1.5])
def test_days_are_checked(call: Call, days: Any) -> None:
    ident = stored(call, "The boat is red.")
    with pytest.raises(InvalidInput, match="whole number"):
        call("strength", id=ident, days=days)


def test_uses_say_why(call: Call) -> None:
    ident = stored(call, "The boat is called Petrel.")
    assert call("usage", id=ident)["total"] == 0
    call("show", id=ident, passive=True)
    assert call("usage", id=ident)["total"] == 0
    call("recall", query="what is the boat called?")
    call("recall", query="what is the boat ca", noted=False)
    call("show", id=ident)
    call("feedback", id=ident, useful=False, reason="it was sold")
    found = call("usage", id=ident[:6])
    assert {(one["why"], one["question"], one["reason"]) for one in found["uses"]} == {
        ("wrong", "", "it was sold"),
        ("shown", "what is the boat called?", ""),
    }
    call("forget", id=ident)
    assert call("usage", id=ident)["total"] == 2
