"""The table of pages: which module answers which address; and the stream by which an open page
hears that the vault has changed (on disk, by a loop, by a model), upon which it asks anew for what
it shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from oneiro_vault.app import App
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import NotFound
from oneiro_vault.web.page import Handler, Page, Site, endpoint
from oneiro_vault.web.views import (
    care,
    dreams,
    graph_page,
    memory,
    memory_changes,
    search,
    time_pages,
    wake,
)

READS: Final[dict[str, Handler]] = {
    **wake.READS,
    **search.READS,
    **memory.READS,
    **memory_changes.READS,
    **time_pages.READS,
    **graph_page.READS,
    **dreams.READS,
    **care.READS,
}
"""Address -> what answers a GET; it changes nothing."""
WRITES: Final[dict[str, Handler]] = {
    **memory_changes.WRITES,
    **time_pages.WRITES,
    **dreams.WRITES,
    **care.WRITES,
}
"""Address -> what answers a POST."""


async def nowhere(page: Page) -> Response:
    """An address that leads to no page."""
    hint = "The pages are in the menu."
    return page.trouble(NotFound("there is no such page", hint=hint))


def routes(site: Site) -> list[BaseRoute]:
    """All pages, and what is said where there is none."""
    reads = [Route(path, endpoint(site, handler)) for path, handler in READS.items()]
    writes = [
        Route(path, endpoint(site, handler), methods=["POST"])
        for path, handler in (WRITES if not site.reads_only else {}).items()
    ]
    rest = Route("/{rest:path}", endpoint(site, nowhere), methods=["GET", "POST"])
    return [*reads, *writes, rest]


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
