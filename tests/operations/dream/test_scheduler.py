"""The schedule of a vault: run when due, caught up once, never twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import DiskProblem, SettingsError
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.dream import scheduler
from oneiro_vault.operations.dream.scheduler import next_due, overdue, parse
from oneiro_vault.settings.definitions import Settings
from tests.operations.dream.support import SETTINGS, TWINS, fill, judged

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-03-27T12:00"))


@pytest.fixture
def app(root: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    with App.open(
        root, Settings(SETTINGS | {"dreams.schedule": "02:30 consolidate"}), clock=clock
    ) as found:
        fill(found, *TWINS)
        judged(found)
        yield found


def runs(app: App) -> int:
    return len(scheduler.scheduled(app.house)["runs"])


def test_each_local_night_once_also_when_its_hour_does_not_exist(app: App, clock: Clock) -> None:
    nights = []
    assert runs(app) == 0  # nothing to catch up on in a vault that never dreamt here
    while clock.now < at("2026-03-31T12:00"):
        clock.now += 1800
        if runs(app):
            nights.append(datetime.fromtimestamp(clock.now, BERLIN).strftime("%d %H:%M"))
    assert nights == [
        "28 02:30",
        "29 03:30",
        "30 02:30",
        "31 02:30",
    ]  # on the 29th there is no 02:30


def test_three_days_of_sleep_are_one_run(app: App, clock: Clock) -> None:
    assert runs(app) == 0
    clock.now = at("2026-03-30T09:00")
    assert runs(app) == 1
    assert runs(app) == 0


def test_a_run_that_was_begun_is_not_begun_again(app: App, clock: Clock) -> None:
    """Whatever killed it: what is left is done by the next night, or by hand."""
    runs(app)
    clock.now = at("2026-03-28T02:30")

    def dies(_name: str) -> None:
        raise KeyboardInterrupt

    app.house.dreams.judges = dies  # type: ignore[assignment]  # a judge of one test
    with pytest.raises(KeyboardInterrupt):
        runs(app)
    judged(app)
    assert runs(app) == 0
    clock.now = at("2026-03-29T04:00")
    assert runs(app) == 1


def test_an_owner_dreams_between_requests(
    app: App, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    background = Background(app.house)
    background.dream()
    assert app.call("runs")["runs"] == []
    clock.now = at("2026-03-30T09:00")
    background.dream()
    background.dream()
    assert len(app.call("runs")["runs"]) == 1
    assert not background.busy()


def test_the_schedule_is_shown(app: App, clock: Clock) -> None:
    shown = app.call("schedule")
    (row,) = shown["loops"]
    assert (row["loop"], row["times"], row["last"]) == ("consolidate", ["02:30"], None)
    app.call("schedule", {"begin": True})
    assert (
        app.call("schedule")["loops"][0]["last"] is None
    )  # it counts from now on, and has not run
    clock.now += 2 * 86_400
    assert len(app.call("scheduled")["runs"]) == 1
    assert app.call("schedule")["loops"][0]["last"] is not None


def test_what_cannot_be_kept_is_said_in_words(app: App, root: Path) -> None:
    for name in ("schedule.json", "soon.json"):
        (root / ".git/oneiro" / name).mkdir()
    with pytest.raises(DiskProblem, match="Noting when the loops were begun failed"):
        app.call("schedule", {"begin": True})
    with pytest.raises(DiskProblem, match="Noting which captures were tried failed"):
        scheduler.run_soon(app.house)


def test_a_schedule_that_makes_no_sense_is_named(root: Path) -> None:
    with (
        App.open(root, Settings(SETTINGS | {"dreams.schedule": "at night"})) as app,
        pytest.raises(SettingsError, match="at night"),
    ):
        app.call("schedule")


def test_the_zone_is_this_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/Santiago")
    assert str(scheduler.local_zone()) == "America/Santiago"
    monkeypatch.setenv("TZ", "Nowhere/Else")
    assert (
        scheduler.local_zone().utcoffset(datetime.now().astimezone()) is not None
    )  # what the system says


ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Africa/Cairo",
    "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia",
    "America/Sao_Paulo", "Asia/Beirut",
)  # fmt: skip
HOUR = 3600.0


def instant_of(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("time", ["00:00", "00:30", "02:30", "18:00"])
@pytest.mark.parametrize("year", [2018, 2026])
def test_once_a_local_day_over_a_year_of_daylight_saving(zone: str, time: str, year: int) -> None:
    """An owner that looks every half an hour about a change of the clocks, else every six hours,
    for a year (2018: midnights in Sao Paulo that do not exist)."""
    place = ZoneInfo(zone)
    now, end = instant_of(f"{year}-01-01T12:00", zone), instant_of(f"{year + 1}-01-01T12:00", zone)
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
    last, now = (
        instant_of("2026-03-01T00:00:05", "Europe/Berlin"),
        instant_of("2026-03-04T09:00", "Europe/Berlin"),
    )
    due = next_due(last, now, ["00:00"], zone)
    assert due == instant_of("2026-03-04T00:00", "Europe/Berlin")
    assert next_due(now, now, ["00:00"], zone) == instant_of("2026-03-05T00:00", "Europe/Berlin")
    assert next_due(now, now + 60, ["00:00"], zone) == instant_of(
        "2026-03-05T00:00", "Europe/Berlin"
    )


def test_a_clock_that_is_set_back_runs_nothing_twice() -> None:
    zone = ZoneInfo("UTC")
    last = instant_of("2026-05-02T00:00:01")
    for back in (0.5, 5.0, 23.0, 47.0):
        found = next_due(last, last - back * HOUR, ["00:00"], zone)
        assert found is not None
        assert found > last


def test_what_never_ran_has_nothing_to_catch_up_on() -> None:
    zone = ZoneInfo("UTC")
    assert next_due(None, instant_of("2026-05-02T09:00"), ["00:00", "18:00"], zone) == instant_of(
        "2026-05-02T18:00"
    )
    assert next_due(None, instant_of("2026-05-02T09:00"), [], zone) is None


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
    last = dict.fromkeys(("encode", "decay", "dialectic"), instant_of("2026-05-01T19:00"))
    assert overdue(last, instant_of("2026-05-02T01:00"), wanted, UTC) == ["encode", "decay"]
