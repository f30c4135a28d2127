"""Progress: on a terminal nothing for the first second, then a bar or a spinner on standard error;
elsewhere a line when it takes long."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneiro_vault.cli import terminal
from oneiro_vault.daemon import protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_AFTER = 1.0


class Bar:
    """Fed by (stage, done, total); a context manager. Imports rich only when there is something to
    show.

    `waiting` (None when nothing may be shown) is for steps without a count; off a terminal it says
    all of it in a line now and then.
    """

    def __init__(
        self, shows: bool, after: float = _AFTER, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._after = after
        self._shows = shows and os.isatty(terminal.ERR)
        self._clock = clock
        self._started = clock()
        self._ended = threading.Event()
        self._rich: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}
        self.waiting = terminal.Waiting("working", True, clock) if shows else None

    def __enter__(self) -> Bar:
        return self

    def ticks(self) -> Bar:
        """From now on a sign is shown in time whatever this thread is at; for work that is not in
        the owner."""
        if self.waiting is not None:
            threading.Thread(
                target=self._tick, args=(self.waiting,), name="ticks", daemon=True
            ).start()
        return self

    def _tick(self, waiting: terminal.Waiting) -> None:
        while not self._ended.wait(0.1) and waiting is self.waiting:
            with suppress(OSError):
                waiting()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._rich is not None:
            self._rich.stop()
        elif self.waiting is not None:
            self.waiting.close()

    def says(self, text: str) -> None:
        """What is waited for from now on."""
        if self.waiting is not None:
            self.waiting.says(text)

    def __call__(self, stage: str, done: int, total: int, more: str = "") -> None:
        """Stage `stage` is at `done` of `total` (0: unknown); `more` stands behind its bar."""
        if not self._shows and self.waiting is not None:
            self.waiting(protocol.doing(stage, done, total))
        if not self._shows or not stage or self._clock() - self._started < self._after:
            return
        bar = self._bar()
        if stage not in self._tasks:
            self._tasks[stage] = bar.add_task(stage, total=total or None, more="")
        bar.update(self._tasks[stage], completed=done, total=total or None, more=more)

    def _bar(self) -> Any:
        if self._rich is None:
            from rich.console import Console
            from rich.progress import Progress, TextColumn

            if self.waiting is not None:
                self.waiting.close()
                self.waiting = None
            columns = (*Progress.get_default_columns(), TextColumn("{task.fields[more]}"))
            self._rich = Progress(*columns, console=Console(stderr=True), transient=True)
            self._rich.start()
        return self._rich


def pace(state: Mapping[str, Any]) -> str:
    """`31 a second`, of `status`'s `embedding`; empty while nothing can be said."""
    return f"{state['rate']:.0f} a second" if state["rate"] else ""


def embedded(state: Mapping[str, Any]) -> str:
    """`6,200 of 24,256 passages have a vector (25%), 31 a second, about 9 minutes left`."""
    done, total, seconds = state["done"], state["total"], state["seconds_left"]
    said = [f"{done:,} of {total:,} passages have a vector ({100 * done // total}%)", pace(state)]
    if seconds is not None:
        left = f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
        said.append(f"about {left} left")
    return ", ".join(filter(None, said))
