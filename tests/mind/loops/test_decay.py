"""What faded and what will, read off the same curve as recall; and nothing is done about it."""

from __future__ import annotations

import math

import pytest

from oneiro_vault.core.time import strength
from oneiro_vault.mind.base import Note, Telling
from oneiro_vault.mind.drive_loop import Driver
from oneiro_vault.mind.loops import decay
from oneiro_vault.mind.loops.decay import forecast
from tests.judges.scripted import temperament
from tests.mind.stepping import BEGINNING, DAY, iso, noted, picture, remembered
from tests.mind.support import Memo

DAYS = -math.log(0.05)
"""Stabilities after which a memory has faded."""


def test_nothing_is_asked_and_nothing_decided() -> None:
    judge = temperament("yes")
    assert Driver(judge, Memo()).drive(decay.run(picture(remembered("a", "x", days=9_999)))) == []
    assert judge.asked == []


def test_the_faded_and_the_fading() -> None:
    gone = remembered("a", "x", days=30 * DAYS + 1)
    long_gone = remembered("b", "x", days=30 * DAYS + 50)
    soon = remembered("c", "x", days=30 * DAYS - 3)
    later = remembered("d", "x", days=30 * DAYS - 29)
    fresh = remembered("e", "x", days=30 * DAYS - 31)
    others = [
        remembered("f", "x", days=9_999, type="orientation"),
        remembered("g", "x", days=9_999, status="archived"),
    ]
    faded, fading = forecast(picture(fresh, later, soon, long_gone, gone, *others))
    assert [note.id for _, note in faded] == [gone.id, long_gone.id]
    assert [note.id for _, note in fading] == [soon.id, later.id]
    assert [(when - BEGINNING) / DAY for when, _ in (*faded, *fading)] == pytest.approx(
        [-1, -50, 3, 29], abs=1e-3
    )


def test_use_and_learning_put_it_off() -> None:
    def used(last: float, uses: int) -> Note:
        return noted(
            remembered("a", "x", days=500).memory, last_use=BEGINNING - last * DAY, uses=uses
        )

    assert forecast(picture(used(10, 3)))[1] == []
    ((when, _),) = forecast(picture(used(100, 1)))[1]
    assert when == pytest.approx(strength.fades_at(BEGINNING - 100 * DAY, 42.0))
    assert forecast(picture(remembered("a", "x", days=500, timestamp=iso(BEGINNING))))[0] == []
    assert forecast(picture(noted(remembered("a", "x", created="").memory)))[0] == []


def test_the_report_names_them() -> None:
    notes = [
        remembered(f"{number:012x}", "x", title=f"Note\n{number}", days=30 * DAYS + number)
        for number in range(-25, 26)
    ]
    lines = decay.told(picture(*notes))
    assert lines[0].startswith("- Note -1 (")
    assert "fades on 2026-09-22" in lines[0]
    assert sum("faded on" in line for line in lines) == 26
    assert len(lines) == 51


def test_it_speaks_in_the_report_and_only_when_there_is_something_to_say() -> None:
    assert isinstance(decay, Telling)
    assert decay.told(picture()) == []
