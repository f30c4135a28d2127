"""Wait for a program that talks to another machine: as long as something comes, and not a moment longer than `stall` in which nothing does.

What comes is what it says, and also what it and its children read, write and compute: git tells nobody while a list of refs drips in, while
it fetches file by file from a plain web server, or while it checks what it got. Only Linux lets us see that; elsewhere its words must do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

STALLED: Final = -1
"""The status of a program that was ended because nothing came from it."""
_LOOK: Final = 0.05
_END: Final = 0.002
_GRACE: Final = 1.0
_KEPT_BYTES: Final = 1_000_000
_PROC: Final = Path("/proc")
_ENOUGH: Final = 2
"""Growth that counts: a byte is so much, a tick of the processor half of it (whoever waits in vain wakes up now and then)."""
_SAMPLES: Final = 8
"""Looks at the work in the time without a word that is allowed."""


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
    """What the programs of a session have done so far; `heard` is when that last grew (monotonic seconds)."""

    def __init__(self, session: int, every: float) -> None:
        self._session = str(session)
        self._every = every
        self._known: dict[str, int] = {}
        self._at = self.heard = time.monotonic()

    def look(self, now: float) -> None:
        """Again, if the last look is long enough ago."""
        if now - self._at < self._every:
            return
        self._at, found = now, self._done()
        if any(amount - self._known.get(pid, amount) >= _ENOUGH for pid, amount in found.items()):
            self.heard = now
        self._known = found

    def _done(self) -> dict[str, int]:
        """Process -> the bytes that went through its hands and its time on the processor, as one number."""
        found: dict[str, int] = {}
        for place in _PROC.glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):
                facts = (place / "stat").read_text().rpartition(")")[2].split()
                if facts[3] == self._session:
                    passed = [int(line.split()[1]) for line in (place / "io").read_text().splitlines() if line[1:6] == "char:"]
                    found[place.name] = sum(passed) * _ENOUGH + int(facts[11]) + int(facts[12])
        return found


def attend(process: subprocess.Popen[bytes], stall: float, limit: float) -> tuple[int, bytes, bytes]:
    """Exit status, output and error output of a process that leads a session of its own. STALLED: it was ended, with its children."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Listener(process.stdout), _Listener(process.stderr)
    work = _Work(process.pid, stall / _SAMPLES)
    begun = time.monotonic()
    status = STALLED
    try:
        while process.poll() is None:
            now = time.monotonic()
            silent = now - max(out.heard, err.heard)
            if silent > 2 * stall / _SAMPLES:
                work.look(now)
            if min(silent, now - work.heard) > stall or now - begun > limit:
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the session, politely first: git takes its lock files away then."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
