"""A connection that is slow on purpose loses its place: the head of a request must come in time,
and what is not wanted must end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger("oneiro.http")
log.setLevel(logging.ERROR)
HEAD_SECONDS: Final = 10.0
"""For the head of a request, from its first byte, or from the connection's beginning."""
LINGER: Final = 5.0
"""For the rest of a body that was refused."""


def most_connections() -> int:
    """Connections at once: at most half of the files this process may have open, so that the Unix
    socket is never without one."""
    try:
        import resource
    except ImportError:  # Windows
        return 200
    return max(16, min(400, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))


MOST: Final = most_connections()


class PatientProtocol(H11Protocol):
    """uvicorn's, which waits for ever, and has a line in the log for everybody who speaks no
    HTTP."""

    _limit: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = log

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # asyncio's own signature is wider than any transport it passes
        """Too many are hung up on at once."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._within(HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Bytes came; unless they complete a head, the time goes on."""
        super().data_received(data)
        if self._handling():
            self._unlimited()
        elif self._limit is None and self.conn.our_state is h11.IDLE:
            self._within(HEAD_SECONDS)

    def on_response_complete(self) -> None:
        """Answered; what is left of a body that nobody read is thrown away for a while."""
        super().on_response_complete()
        if (
            not self._handling()
            and self.conn.their_state is h11.SEND_BODY
            and not self.transport.is_closing()
        ):
            self._within(LINGER)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._unlimited()
        super().connection_lost(exc)

    def _handling(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _within(self, seconds: float) -> None:
        self._unlimited()
        self._limit = self.loop.call_later(seconds, self._too_slow)

    def _unlimited(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        self._limit = None
        if not self.transport.is_closing() and not self._handling():
            self.transport.abort()
