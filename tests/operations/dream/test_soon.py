"""Captures that have rested are encoded before the night, and the orientation follows, within what
a day may cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.operations.background import Background
from oneiro_vault.operations.dream import scheduler
from oneiro_vault.operations.remember import store_captures
from oneiro_vault.settings.definitions import Settings
from tests.judges.scripted import ScriptedJudge
from tests.operations.dream.support import SETTINGS, judged
from tests.operations.dream.test_scheduler import Clock, at

UNIT = {
    "content": "Maya moved to Porto in May 2026.",
    "title": "",
    "about": ["Maya"],
    "tags": [],
    "happened": "",
}
NOON = "2026-03-27T12:00"


@pytest.fixture
def clock() -> Clock:
    return Clock(at(NOON))


@pytest.fixture
def app(root: Path, clock: Clock) -> Iterator[App]:
    with App.open(root, Settings(SETTINGS | {"dreams.soon": 2}), clock=clock) as found:
        yield found


def capture(app: App, session: str) -> None:
    app.call(
        "capture",
        {
            "text": f"User: Maya moved to Porto in May 2026.\n\nUser: That was {session}.",
            "kind": "session",
            "session": session,
        },
    )


def encodes(app: App) -> ScriptedJudge:
    judge = ScriptedJudge(lambda _: {"reason": "said", "units": [UNIT], "complete": True})
    judged(app, judge)
    return judge


def waiting(app: App) -> int:
    return len(store_captures.waiting(app.house))


def test_what_has_rested_is_encoded_once_it_is_quiet(app: App, clock: Clock) -> None:
    encodes(app)
    background = Background(app.house)
    background.dream()
    capture(app, "s1")
    clock.now += 4 * 60
    background.dream()
    assert waiting(app) == 1, "four minutes are no rest"
    clock.now += 2 * 60
    background.dream()
    assert waiting(app) == 0
    assert [run["loop"] for run in app.call("runs")["runs"]] == ["distil", "encode"]
    assert not scheduler.soon_due(app.house)


def test_rules_encode_it_too_and_try_each_capture_once(app: App, clock: Clock) -> None:
    text = "User: I work as a bridge engineer at the harbour authority, and I live in Bergen."
    app.call("capture", {"text": text, "kind": "session", "session": "s1", "client": "claude-code"})
    clock.now += 3600
    Background(app.house).dream()
    assert [row["type"] for row in app.call("list")["results"]].count("orientation") == 1
    assert waiting(app) == 1, "what rules leave open waits"
    clock.now = at("2026-03-28T12:00")
    assert not scheduler.soon_due(app.house), "rules say the same on another day"
    capture(app, "s2")
    clock.now += 3600
    assert scheduler.soon_due(app.house)


def test_nobody_is_no_judge(root: Path, clock: Clock) -> None:
    with App.open(root, Settings(SETTINGS | {"dreams.judge": "none"}), clock=clock) as app:
        capture(app, "s1")
        clock.now += 3600
        assert not scheduler.soon_due(app.house)


@pytest.mark.parametrize("setting", ["dreams.rest", "dreams.soon"])
def test_it_can_be_left_to_the_night(root: Path, clock: Clock, setting: str) -> None:
    with App.open(root, Settings(SETTINGS | {setting: 0}), clock=clock) as app:
        encodes(app)
        capture(app, "s1")
        clock.now += 3600
        assert not scheduler.soon_due(app.house)


def test_a_day_has_its_ceiling_and_a_failure_is_left_to_the_night(app: App, clock: Clock) -> None:
    judge = ScriptedJudge(lambda _: "I would rather not.")
    judged(app, judge)
    for number in range(4):
        capture(app, f"s{number}")
        clock.now += 600
        if scheduler.soon_due(app.house):
            scheduler.run_soon(app.house)
        assert not scheduler.soon_due(app.house), "what was tried is the night's"
    assert len(judge.asked) == 2
    clock.now = at("2026-03-28T12:00")
    assert scheduler.soon_due(app.house), "another day, another ceiling"


def test_the_ceiling_holds_within_a_run(app: App, clock: Clock) -> None:
    judge = encodes(app)
    for number in range(5):
        capture(app, f"s{number}")
    clock.now += 600
    found = scheduler.run_soon(app.house)
    assert (len(judge.asked), found["later"]) == (2, False)
