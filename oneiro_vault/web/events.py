"""The stream by which an open page hears that the vault has changed: on disk, by a loop, by a
model; or that what waits for a person may have. It says that, not what: the page asks anew for the
parts it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from oneiro_vault.app import App
from oneiro_vault.daemon.lifetime import Life

BEAT: Final = 15.0
"""Seconds between signs of life on a quiet stream."""
_LOOK: Final = 0.5
"""Seconds until an owner that ends is noticed."""


@dataclass
class Events:
    """Server-sent events; one `changed` for however much came at once."""

    app: App
    life: Life

    async def stream(self, _request: Request) -> Response:
        """Until the browser hangs up or the owner ends."""
        return StreamingResponse(self._lines(), media_type="text/event-stream")

    async def _lines(self) -> AsyncIterator[bytes]:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()

        def hear() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(heard.set)

        done = self.app.listen(hear, writes=True)
        quiet = 0.0
        try:
            yield b"retry: 2000\nevent: open\ndata: \n\n"
            while not self.life.stopping.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), _LOOK)
                quiet += _LOOK
                if heard.is_set():
                    heard.clear()
                    quiet = 0.0
                    yield b"event: changed\ndata: \n\n"
                elif quiet >= BEAT:
                    quiet = 0.0
                    yield b": here\n\n"
        finally:
            done()
