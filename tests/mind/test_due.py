"""Once a local day, whatever the clocks do."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from oneiro_vault.mind.due import next_due, overdue, parse

ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Africa/Cairo",
    "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia",
    "America/Sao_Paulo", "Asia/Beirut",
)  # fmt: skip
HOUR = 3600.0


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("time", ["00:00", "00:30", "02:30", "18:00"])
@pytest.mark.parametrize("year", [2018, 2026])
def test_once_a_local_day_over_a_year_of_daylight_saving(zone: str, time: str, year: int) -> None:
    """An owner that looks every half an hour about a change of the clocks, else every six hours,
    for a year (2018: midnights in Sao Paulo that do not exist)."""
    place = ZoneInfo(zone)
    now, end = at(f"{year}-01-01T12:00", zone), at(f"{year + 1}-01-01T12:00", zone)
    last: float = now
    days: Counter[str] = Counter()
    while now <= end:
        moment = next_due(last, now, [time], place)
        assert moment is not None
        if moment <= now:
            days[datetime.fromtimestamp(moment, place).date().isoformat()] += 1
            last = now
        near = {
            datetime.fromtimestamp(now + days_off * 24 * HOUR, place).utcoffset()
            for days_off in (-2, 0, 2)
        }
        now += HOUR / 2 if len(near) > 1 else 6 * HOUR
    assert set(days.values()) == {1}
    assert len(days) == 365


def test_a_machine_that_slept_catches_up_once() -> None:
    zone = ZoneInfo("Europe/Berlin")
    last, now = at("2026-03-01T00:00:05", "Europe/Berlin"), at("2026-03-04T09:00", "Europe/Berlin")
    due = next_due(last, now, ["00:00"], zone)
    assert due == at("2026-03-04T00:00", "Europe/Berlin")
    assert next_due(now, now, ["00:00"], zone) == at("2026-03-05T00:00", "Europe/Berlin")
    assert next_due(now, now + 60, ["00:00"], zone) == at("2026-03-05T00:00", "Europe/Berlin")


def test_a_clock_that_is_set_back_runs_nothing_twice() -> None:
    zone = ZoneInfo("UTC")
    last = at("2026-05-02T00:00:01")
    for back in (0.5, 5.0, 23.0, 47.0):
        found = next_due(last, last - back * HOUR, ["00:00"], zone)
        assert found is not None
        assert found > last


def test_what_never_ran_has_nothing_to_catch_up_on() -> None:
    zone = ZoneInfo("UTC")
    assert next_due(None, at("2026-05-02T09:00"), ["00:00", "18:00"], zone) == at(
        "2026-05-02T18:00"
    )
    assert next_due(None, at("2026-05-02T09:00"), [], zone) is None


def test_times_by_loop() -> None:
    loops = ["encode", "consolidate", "dialectic"]
    assert parse("00:00, 18:00 dialectic", loops) == {
        "encode": ["00:00"],
        "consolidate": ["00:00"],
        "dialectic": ["18:00"],
    }
    assert parse("6:00, 18:00", ["decay"]) == {"decay": ["06:00", "18:00"]}
    assert parse("12:00 decay later", ["encode", "decay"]) == {"decay": ["12:00"]}
    assert parse("  ", loops) == {}
    for wrong in ("midnight", "24:00", "12:60", "12:00 3"):
        with pytest.raises(ValueError, match="time of day"):
            parse(wrong, loops)


def test_what_is_overdue_keeps_its_order() -> None:
    wanted = {"encode": ["00:00"], "decay": ["00:00"], "dialectic": ["18:00"], "new": ["00:00"]}
    last = dict.fromkeys(("encode", "decay", "dialectic"), at("2026-05-01T19:00"))
    assert overdue(last, at("2026-05-02T01:00"), wanted, UTC) == ["encode", "decay"]
