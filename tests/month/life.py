"""Living the story: conversations are captured by day, loops run by night, and what can be recalled
is measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.judges.base import Judge
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault
from tests.month.judge import told
from tests.month.story import DAYS, START, THREADS, Talk, story

TOP = 10
Progress = Callable[[str, int, int], None]


@dataclass
class Clock:
    """A clock that a test turns."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass
class Month:
    """A vault and what was seen of it night by night."""

    app: App
    clock: Clock
    runs: list[dict[str, Any]] = field(default_factory=list)
    orientation: list[int] = field(default_factory=list)
    """Characters of the orientation after each night."""

    @property
    def days(self) -> int:
        """Lived so far."""
        return len(self.orientation)

    def day(self, number: int, talks: Sequence[Talk], loops: Sequence[str]) -> None:
        """One day and the night after it."""
        for talk in talks:
            self.clock.now = talk.when.timestamp()
            self.app.call(
                "capture",
                {
                    "text": talk.text,
                    "kind": "session",
                    "session": talk.session,
                    "when": talk.when.isoformat(),
                },
            )
        self.clock.now = (START + timedelta(days=number + 1, hours=-6)).timestamp()
        self.runs += self.app.call("dream", {"loops": list(loops)})["runs"]
        self.orientation.append(len(self.app.call("orient", {})["text"]))

    def knowledge(self) -> dict[str, Any]:
        """Every active note that is no capture: id -> what it says."""
        shown = self.app.call("list", {"limit": 10_000})["results"]
        ids = [
            row["id"]
            for row in shown
            if row["type"] in ("semantic", "orientation") and row["status"] == "active"
        ]
        return {ident: self.app.call("show", {"id": ident})["body"] for ident in ids}


def live(
    root: Path,
    judge: Judge | None,
    days: int = DAYS,
    loops: Sequence[str] = (),
    progress: Progress | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Month:
    """A month in a new vault; the caller closes its App. Without a judge the settings say who
    judges."""
    new_vault(root)
    clock = Clock(START.timestamp())
    given: dict[str, Any] = {
        "embed.model": "hash",
        "disk.reserve": 0,
        "edits.quiet": 0.0,
        **(settings or {}),
    }
    app = App.open(root, Settings(given), clock=clock)
    if judge is not None:
        app.house.dreams.judges = lambda _name: judge
    month = Month(app, clock)
    for number, talks in enumerate(story(days=days)):
        month.day(number, talks, loops)
        if progress is not None:
            progress("night", number + 1, days)
    return month


def recall(month: Month, days: int = DAYS) -> tuple[float, float]:
    """(Recall@10, nDCG@10) of what is true on the last day, asked in the story's own questions."""
    gains = []
    for thread in THREADS:
        value = thread.at(days - 1)
        if value:
            rows = month.app.call("recall", {"query": thread.question, "k": TOP})["results"]
            ranks = [
                rank
                for rank, row in enumerate(rows)
                if (thread.key, value) in told(month.app.call("show", {"id": row["id"]})["body"])
            ]
            gains.append(1 / math.log2(2 + ranks[0]) if ranks else 0.0)
    return sum(gain > 0 for gain in gains) / len(gains), sum(gains) / len(gains)
