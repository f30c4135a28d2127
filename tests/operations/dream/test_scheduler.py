"""The schedule of a vault: run when due, caught up once, never twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from oneiro_vault.app import App
from oneiro_vault.errors import SettingsError
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.dream import scheduler
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
def app(root: Path, clock: Clock) -> Iterator[App]:
    with App.open(
        root, Settings(SETTINGS | {"dreams.schedule": "02:30 consolidate"}), clock=clock
    ) as found:
        fill(found, *TWINS)
        judged(found)
        yield found


def runs(app: App) -> int:
    return len(scheduler.scheduled(app.house, BERLIN)["runs"])


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

    app.house.judges = dies  # type: ignore[assignment]  # a judge of one test
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
