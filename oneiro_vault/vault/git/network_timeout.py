"""Run a git command that talks to another machine: as long as it reports progress, and not a
moment longer than `stall` in which it reports nothing.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

STALLED: Final = -1
"""The status of a program that was ended because nothing came from it."""
LIMIT: Final = 3600.0
"""Seconds that it may take in all, however much comes."""
_LOOK: Final = 0.05
_GRACE: Final = 1.0
_KEPT_BYTES: Final = 1_000_000
_ENDS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)


def attend(
    process: subprocess.Popen[bytes], stall: float, limit: float, arrived: Sequence[int]
) -> tuple[int, bytes, bytes]:
    """Exit status, output and error output of a process that leads a session of its own.

    STALLED: it was ended, with its children, which a signal in `arrived` does too.
    """
    out, err = bytearray(), bytearray()
    begun = heard = time.monotonic()
    status = STALLED
    with selectors.DefaultSelector() as streams:
        for stream, text in ((process.stdout, out), (process.stderr, err)):
            assert stream is not None
            streams.register(stream, selectors.EVENT_READ, text)
        try:
            while process.poll() is None:
                now = time.monotonic()
                if arrived or now - begun > limit or now - heard > stall:
                    break
                if _read(streams, _LOOK):
                    heard = now
            else:
                status = process.returncode
        finally:
            _end(process)
            while _read(streams, 0):
                pass
    return status, bytes(out), bytes(err)


def _read(streams: selectors.BaseSelector, wait: float) -> bool:
    """Whether anything came within `wait` seconds; progress without end is not kept without end."""
    if not streams.get_map():
        time.sleep(wait)
        return False
    ready = [key for key, _ in streams.select(wait)]
    for key in ready:
        if piece := os.read(key.fd, 65536):
            key.data.extend(piece)
            del key.data[:-_KEPT_BYTES]
        else:
            streams.unregister(key.fileobj)
    return bool(ready)


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
