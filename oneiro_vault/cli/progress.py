"""Progress on a terminal: nothing for the first second, then a bar or a spinner on standard error; silent everywhere else."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from oneiro_vault.cli import terminal

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_AFTER = 1.0


class Bar:
    """Fed by (stage, done, total); a context manager. Imports rich only when there is something to show.

    `waiting` (None when nothing may be shown) is for steps without a count; with `aloud` it says one line even off a terminal.
    """

    def __init__(self, shows: bool, after: float = _AFTER, aloud: bool = False) -> None:
        self._after = after
        self._shows = shows and os.isatty(terminal.ERR)
        self._started = time.monotonic()
        self._rich: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}
        self.waiting = terminal.Waiting("working", aloud) if shows else None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rich is not None:
            self._rich.stop()
        elif self.waiting is not None:
            self.waiting.close()

    def says(self, text: str) -> None:
        """What is waited for from now on."""
        if self.waiting is not None:
            self.waiting.text = text

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Stage `stage` is at `done` of `total` (0: unknown)."""
        if not self._shows or not stage or time.monotonic() - self._started < self._after:
            return
        bar = self._bar()
        if stage not in self._tasks:
            self._tasks[stage] = bar.add_task(stage, total=total or None)
        bar.update(self._tasks[stage], completed=done, total=total or None)

    def _bar(self) -> Any:
        if self._rich is None:
            from rich.console import Console
            from rich.progress import Progress

            if self.waiting is not None:
                self.waiting.close()
                self.waiting = None
            self._rich = Progress(console=Console(stderr=True), transient=True)
            self._rich.start()
        return self._rich
