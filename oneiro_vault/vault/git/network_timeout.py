"""Wait for a program that talks to another machine: as long as something comes, and not a moment
longer than `stall` in which nothing does.

What comes is what it says, and also what git's own programs read, write and compute, as long as
that is worth a transfer: git tells nobody while a list of refs drips in, while it fetches file by
file from a plain web server, or while it checks what it got. Only Linux lets us see that; elsewhere
its words must do. A connection that is only kept alive is none of it, and nothing makes up for
words for ever.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

STALLED: Final = -1
"""The status of a program that was ended because nothing came from it."""
LIMIT: Final = 3600.0
"""Seconds that it may take in all, however much comes."""
_LOOK: Final = 0.05
_END: Final = 0.002
_GRACE: Final = 1.0
_KEPT_BYTES: Final = 1_000_000
_PROC: Final = Path("/proc")
_RATE: Final = 64
"""Bytes a second, read and written, that are worth waiting for. A tick of the processor counts as
much as these."""
_LEAST: Final = 3 * _RATE
"""However short the time: whoever waits in vain wakes up now and then."""
_SAMPLES: Final = 8
"""Looks at the work in the time without a word that is allowed."""
_MUTE: Final = 10
"""Work may stand in for words this many times as long as nothing at all is waited for."""
_ENDS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)


class _Listener(threading.Thread):
    """Reads one stream to its end; `heard` is when the last bytes came (monotonic seconds)."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True, name="oneiro-git")
        self._stream = stream
        self.said = bytearray()
        self.heard = time.monotonic()
        self.start()

    def run(self) -> None:
        """Until the stream ends; progress without end is not kept without end."""
        with suppress(OSError, ValueError):
            while piece := os.read(self._stream.fileno(), 65536):
                self.heard = time.monotonic()
                self.said += piece
                del self.said[:-_KEPT_BYTES]


class _Work:
    """What git's programs of a session have done; `heard` is when it last came to something
    (monotonic seconds)."""

    def __init__(self, session: int, stall: float) -> None:
        self._session = str(session)
        self._every = stall / _SAMPLES
        self._enough = max(_LEAST, _RATE * stall)
        self._known: dict[str, int] = {}
        self._at = self.heard = time.monotonic()

    def look(self, now: float) -> None:
        """Again, if the last look is long enough ago."""
        if now - self._at < self._every:
            return
        self._at, found = now, self._done()
        self._known = found | {pid: amount for pid, amount in self._known.items() if pid in found}
        if sum(found.values()) - sum(self._known.values()) >= self._enough:
            self.heard, self._known = now, found

    def _done(self) -> dict[str, int]:
        """Process -> the bytes that went through its hands and its time on the processor, as one
        number."""
        found: dict[str, int] = {}
        for place in _PROC.glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):
                head, _, tail = (place / "stat").read_text().rpartition(")")
                facts, name = tail.split(), head.partition("(")[2]
                if facts[3] == self._session and (
                    name == "git" or name.startswith("git-")
                ):  # ssh may be kept busy by nothing
                    passed = [
                        int(line.split()[1])
                        for line in (place / "io").read_text().splitlines()
                        if line[1:6] == "char:"
                    ]
                    found[place.name] = sum(passed) + (int(facts[11]) + int(facts[12])) * _RATE
        return found


def attend(
    process: subprocess.Popen[bytes], stall: float, limit: float, arrived: Sequence[int]
) -> tuple[int, bytes, bytes]:
    """Exit status, output and error output of a process that leads a session of its own.

    STALLED: it was ended, with its children, which a signal in `arrived` does too.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Listener(process.stdout), _Listener(process.stderr)
    work = _Work(process.pid, stall)
    begun = time.monotonic()
    status = STALLED
    try:
        while process.poll() is None:
            now = time.monotonic()
            if arrived or now - begun > limit or _stalled(out, err, work, stall, now):
                break
            out.join(_LOOK)  # it ends with its output, as a rule: no need to find out later
            if not out.is_alive():
                time.sleep(_END)
        else:
            status = process.returncode
    finally:
        _end(process)
        for listener in (out, err):
            listener.join(_GRACE)
    return status, bytes(out.said), bytes(err.said)


def _stalled(out: _Listener, err: _Listener, work: _Work, stall: float, now: float) -> bool:
    """Is this no longer worth waiting for?"""
    silent = now - max(out.heard, err.heard)
    if silent > 2 * stall / _SAMPLES:
        work.look(now)
    return min(silent, now - work.heard) > stall or silent > _MUTE * stall


@contextmanager
def signals_deferred() -> Iterator[list[int]]:
    """The signals that arrived and would have ended us; what they do is done at the end.

    Around the start of a process in a session of its own, too: they reach only us, and a
    process of which nobody knows yet would be left behind.
    """
    arrived: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handlers = {sign: signal.getsignal(sign) for sign in _ENDS if main}
    handlers = {sign: handler for sign, handler in handlers.items() if handler in _DEFAULTS}
    for sign in handlers:
        signal.signal(sign, lambda number, _: arrived.append(number))
    try:
        yield arrived
    finally:
        for sign, handler in handlers.items():
            signal.signal(sign, handler)
        if arrived:
            ours = SystemExit(128 + arrived[0])
            raise KeyboardInterrupt if arrived[0] == signal.SIGINT else ours


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the session, politely first: git takes its lock files away then."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
