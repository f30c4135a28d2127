"""The caller's terminal: what it can show, and bytes out. Light: on the fast path."""

from __future__ import annotations

import os
import sys
import time

from oneiro_vault.daemon.protocol import Terminal, doing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OUT, ERR = 1, 2
PIPE_CLOSED = 141
INTERRUPTED = 130
_FRAME = 0.05
"""Seconds a sign stands at least before the next."""
_BAR = 16
"""Characters of a progress bar; a terminal narrower than four of it shows none."""
MODEL = "loading the embedding model (--fast does not wait for it)"


def here() -> Terminal:
    """The terminal standard output leads to (width 0: none)."""
    try:
        width = os.get_terminal_size(OUT).columns if os.isatty(OUT) else 0
    except OSError:
        width = 0
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    return Terminal(width, bool(width) and not plain)


def emit(file: int, data: bytes) -> None:
    """Write all of it, unbuffered. Raises BrokenPipeError when it cannot be."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(file, view) :]
    except OSError as error:
        raise BrokenPipeError(error.errno, error.strerror) from error


def encode(text: str) -> bytes:
    """Text for a terminal or a pipe; what UTF-8 cannot say is escaped rather than refused."""
    return text.encode("utf-8", "backslashreplace")


class Waiting:
    """A sign that we wait, and for what; a context manager. On a terminal it appears `after` a
    second, with a bar where something is counted; elsewhere, if `aloud`, it is a line after two
    seconds and another every half minute."""

    frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def __init__(
        self,
        text: str = "working",
        aloud: bool = False,
        clock: Callable[[], float] = time.monotonic,
        *,
        shows: bool = True,
        after: float = 1.0,
    ) -> None:
        self._text = text
        self._doing = ""
        self._share: float | None = None
        self._ticks = 0
        self._clock = clock
        self._shows = shows and os.isatty(ERR)
        self._aloud = shows and aloud and not self._shows
        self._began, self._next = clock(), after if self._shows else 2.0

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def says(self, text: str) -> None:
        """What is waited for from now on."""
        self._text, self._doing, self._share = text, "", None

    def ticks(self) -> Waiting:
        """The sign is shown in time whatever this thread is at; for work that is not in the
        owner."""
        import threading

        threading.Thread(target=self._tick, name="ticks", daemon=True).start()
        return self

    def _tick(self) -> None:
        while self._shows or self._aloud:
            time.sleep(0.1)
            try:
                self()
            except OSError:
                return

    def __call__(self, doing: str | None = None, share: float | None = None) -> None:
        """A tenth of a second or so has passed; `doing`: what keeps the answer back ("": nothing
        any more), and the `share` of it (0..1) that is done."""
        if doing is not None:
            self._doing, self._share = doing, share
        text, waited = self._doing or self._text, self._clock() - self._began
        if waited <= self._next:
            return
        if self._shows:
            self._ticks, self._next = self._ticks + 1, waited + _FRAME
            emit(ERR, encode(f"\r{self._line(text)}\x1b[K"))
        elif self._aloud:
            self._next = waited + 30
            emit(ERR, encode(f"oneiro: {text} …\n"))

    def count(self, stage: str, done: int, total: int, more: str = "") -> None:
        """Progress: the stage is at `done` of `total` (0: unknown); `more` stands behind it."""
        said = doing(stage, done, total)
        self(f"{said}, {more}" if more else said, min(done / total, 1.0) if total else None)

    def _line(self, text: str) -> str:
        """What fits one line of the terminal: two would pile up."""
        try:
            width = os.get_terminal_size(ERR).columns or 80
        except OSError:
            width = 80
        sign = self.frames[self._ticks % len(self.frames)]
        if self._share is not None and width >= 4 * _BAR:
            full = round(_BAR * max(self._share, 0.0))
            sign = f"{sign} {'━' * full}{'─' * (_BAR - full)}"
        return f"{sign} {text}"[: width - 1]

    def close(self) -> None:
        """Take the sign away."""
        if self._shows and self._ticks:
            emit(ERR, b"\r\x1b[K")
        self._shows = self._aloud = False


def leave_quietly() -> int:
    """Nobody reads us any more: end without a word, also from the interpreter's last flush."""
    sys.stdout = sys.stderr = None
    return PIPE_CLOSED
