"""Wait for a program that talks to another machine: as long as it says something, and not a moment longer than `stall` without a word."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO, Final

STALLED: Final = -1
"""The status of a program that was ended because nothing came from it."""
_LOOK: Final = 0.05
_END: Final = 0.002
_GRACE: Final = 1.0
_KEPT_BYTES: Final = 1_000_000


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


def attend(process: subprocess.Popen[bytes], stall: float, limit: float) -> tuple[int, bytes, bytes]:
    """Exit status, output and error output of a process that leads a session of its own. STALLED: it was ended, with its children."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Listener(process.stdout), _Listener(process.stderr)
    begun = time.monotonic()
    status = STALLED
    try:
        while process.poll() is None:
            now = time.monotonic()
            if now - max(out.heard, err.heard) > stall or now - begun > limit:
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
