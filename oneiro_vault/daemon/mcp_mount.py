"""The door for models: the MCP server, made at the first request (it costs a second and 25 MB), run
in the owner's loop and threads."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneiro_vault.daemon import protocol
from oneiro_vault.daemon.asgi import CancelledError, Pools, Progress, endpoint
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import OwnerProblem

if TYPE_CHECKING:
    from oneiro_vault.app import App
    from oneiro_vault.mcp.transports import Receive, Send, Served

log = logging.getLogger("oneiro.mcp")
FAREWELL = 2.0
"""Seconds that calls under way get when the owner ends, before the streams of their clients are
closed."""


class McpDoor:
    """`http` and `lines` are ASGI apps; `sets` are further tools. Everything but the constructor
    runs on the owner's loop."""

    def __init__(self, app: App, life: Life, pools: Pools, sets: Sequence[str] = ()) -> None:
        self.app, self.life, self.pools, self.sets = app, life, pools, sets
        self._opening: asyncio.Task[Served] | None = None
        self._running: asyncio.Task[None] | None = None
        self._end: asyncio.Event | None = None
        self._under_way = 0

    def routes(self) -> list[Any]:
        """Where the owner's own app serves it."""
        return [endpoint(protocol.BRIDGE, self.lines), endpoint("/mcp", self.http)]

    async def http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Streamable HTTP. Who asks is in the scope (`core.principal.SCOPE`), set by the door that
        let the request in."""
        await (await self._served()).http(scope, receive, send)

    async def lines(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """What `oneiro mcp` speaks. Once it is open only the requests that come over it keep the
        owner."""
        with self.life.request():
            served = await self._served()
        await served.lines(scope, receive, send)

    async def call(self, op: str, params: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        """One operation on a thread. When nobody waits for it any more a read is cut short and a
        write runs to its end."""
        left = threading.Event()

        def report(stage: str, done: int, total: int) -> None:
            if op in protocol.READS and (left.is_set() or self.life.stopping.is_set()):
                raise CancelledError
            progress(stage, done, total)

        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self.pools.of(op), self.app.call, op, dict(params), report
            )
        except (CancelledError, RuntimeError) as error:
            if self.life.stopping.is_set() or isinstance(error, CancelledError):
                raise OwnerProblem(
                    "the owner of the vault is ending",
                    kept="Nothing was changed.",
                    hint="Call it again.",
                ) from None
            raise
        finally:
            self._under_way -= 1
            left.set()

    async def close(self) -> None:
        """Let calls under way finish for a moment, then end every session."""
        for _ in range(int(FAREWELL / 0.02)):
            if self._under_way:
                await asyncio.sleep(0.02)
        if self._opening is not None:
            self._opening.cancel()
        if self._end is not None:
            self._end.set()
        if self._running is not None:
            with suppress(Exception):
                await self._running

    async def _served(self) -> Served:
        if self._opening is None or (
            self._opening.done() and self._opening.exception() is not None
        ):
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Served:
        served = await asyncio.get_running_loop().run_in_executor(None, self._make)
        self._end, ready = asyncio.Event(), asyncio.Event()
        self._running = asyncio.create_task(self._run(served, self._end, ready))
        await ready.wait()
        return served

    def _make(self) -> Served:
        from oneiro_vault.mcp.sampling_clients import Samplers
        from oneiro_vault.mcp.server import build
        from oneiro_vault.mcp.transports import Served

        logging.getLogger("mcp").setLevel(logging.WARNING)
        # session ids stay out of the log
        logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.ERROR)
        samplers = Samplers()
        self.app.sample_with(samplers.ask)
        return Served(
            build(
                self.call,
                listen=self.app.listen,
                hold=self.life.request,
                sets=self.sets,
                samplers=samplers,
            )
        )

    async def _run(self, served: Served, end: asyncio.Event, ready: asyncio.Event) -> None:
        """Sessions begin and end in one task, as their scopes must."""
        async with served.running():
            ready.set()
            await end.wait()
