"""Addresses a client can read, complete and follow: memory://{id}, orientation://current,
dream://{date}; and read and complete: memory://{id}/down and memory://{id}/up, what it was made of
and what was made of it.

Followers are told that what is behind one changed: those of 2026-07-28 hold a
`subscriptions/listen` stream on the server's bus; earlier ones asked with `resources/subscribe`.
Stamps before and after are compared.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

from mcp.server import MCPServer
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.subscriptions import ResourceUpdated, SubscriptionBus
from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    ResourceTemplateReference,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from oneiro_vault.api import AsyncCalls, quiet
from oneiro_vault.core.markdown.quoting import PREFACE, quote
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError
from oneiro_vault.mcp import formatting
from oneiro_vault.mcp.request_context import Desk, connection_of, lowlevel
from oneiro_vault.mcp.tools.tool import advice

MEMORY: Final = "memory://"
ORIENTATION: Final = "orientation://current"
DREAM: Final = "dream://"
_MARKDOWN: Final = "text/markdown"
_DOWN: Final = f"{MEMORY}{{id}}/down"
_UP: Final = f"{MEMORY}{{id}}/up"
_KINDS: Final = {
    **dict.fromkeys((f"{MEMORY}{{id}}", _DOWN, _UP), "memory"),
    f"{DREAM}{{date}}": "dream",
}


def add(server: MCPServer[Any], desk: Desk) -> None:
    """Register them and their completions. Reading a memory is a use of it; the others are
    passive."""

    async def call(op: str, params: Mapping[str, Any], _progress: object) -> Any:
        try:
            return await desk.call(op, params, quiet)
        except (NotFound, InvalidInput) as error:
            raise ResourceNotFoundError(f"{error}. {advice(error.hint)}") from error
        except OneiroError as error:
            raise ResourceError(f"{error}. {advice(error.hint)}") from error

    vault = AsyncCalls(call)

    @server.resource(
        ORIENTATION,
        title="Orientation",
        description="What is always loaded, as quoted Markdown",
        mime_type=_MARKDOWN,
    )
    async def orientation() -> str:
        found = await vault.orient(n=0)
        return f"Now: {desk.now()}\n\n{found['text'].strip() or 'No orientation yet.'}\n"

    @server.resource(
        f"{MEMORY}{{id}}",
        title="A memory",
        description="One memory in full, quoted",
        mime_type=_MARKDOWN,
    )
    async def memory(id: str) -> str:
        found = await vault.get(ids=[id])
        if not found["memories"]:
            raise ResourceNotFoundError(formatting.one_line(advice(found["missing"][0]["reason"])))
        one = formatting.whole(found["memories"][0], len(found["memories"][0]["body"]))
        return f"Now: {desk.now()}\n\n{PREFACE}\n\n{one}\n"

    async def levels(id: str, up: bool) -> str:
        shown = formatting.levels(await vault.levels(id=id, up=up), up)
        return f"Now: {desk.now()}\n\n{PREFACE}\n\n{shown}\n"

    @server.resource(
        _DOWN,
        title="What a memory was made of",
        description="Step by step down to the raw words",
        mime_type=_MARKDOWN,
    )
    async def down(id: str) -> str:
        return await levels(id, up=False)

    @server.resource(
        _UP,
        title="What was made of a memory",
        description="Step by step up to the orientation",
        mime_type=_MARKDOWN,
    )
    async def up(id: str) -> str:
        return await levels(id, up=True)

    @server.resource(
        f"{DREAM}{{date}}",
        title="A night's reports",
        description="What the loops did on a date",
        mime_type=_MARKDOWN,
    )
    async def dream(date: str) -> str:
        found = await vault.reports(date=date)
        parts = [f"Now: {desk.now()}", PREFACE]
        for one in found["reports"]:
            facts = {"id": one["path"], "created": one["created"] or date}
            parts.append(quote(one["body"], **facts, trust="", source="dream"))
        return "\n\n".join(parts) + "\n"

    async def complete(
        _ctx: ServerRequestContext[Any, Any], params: CompleteRequestParams
    ) -> CompleteResult:
        values: list[str] = []
        total = 0
        if isinstance(params.ref, ResourceTemplateReference) and params.ref.uri in _KINDS:
            prefix = params.argument.value.strip().lower()
            found = await vault.complete(kind=_KINDS[params.ref.uri], prefix=prefix)
            values, total = found["values"], found["total"]
        more = total > len(values)
        return CompleteResult(completion=Completion(values=values, total=total, has_more=more))

    lowlevel(server).add_request_handler("completion/complete", CompleteRequestParams, complete)


LOG = logging.getLogger("oneiro.mcp")
Listen: TypeAlias = Callable[[Callable[[], None]], Callable[[], None]]
"""Takes what to call after every change, on any thread; gives how to end it."""
MOST: Final = 1000
"""Addresses one request may follow."""
_SETTLE: Final = 0.05
"""Seconds in which several changes become one notification."""
_PATIENCE: Final = 5.0
"""Seconds a client may take to accept a notification."""


class Updates:
    """Who follows what. Lives on the event loop; only `_heard` is called from elsewhere."""

    def __init__(
        self,
        desk: Desk,
        bus: SubscriptionBus,
        listen: Listen,
        hold: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.desk, self.bus = desk, bus
        self._listen, self._hold = listen, hold
        self._followed: Counter[str] = Counter()
        self._stamps: dict[str, object] = {}
        self._legacy: dict[Connection, set[str]] = {}
        self._work: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def serve(self, server: MCPServer[Any]) -> None:
        """Register what earlier eras ask with."""
        engine = lowlevel(server)
        engine.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        engine.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe
        )

    @asynccontextmanager
    async def following(self, uris: Iterable[str]) -> AsyncIterator[None]:
        """Follow these addresses meanwhile."""
        wanted = list(dict.fromkeys(uris))[:MOST]
        await self._follow(wanted)
        try:
            yield
        finally:
            self._leave(wanted)

    async def _follow(self, uris: list[str]) -> None:
        self._followed.update(uris)
        if self._followed and self._work is None:
            self._changed = asyncio.Event()
            self._work = asyncio.create_task(self._watch(self._changed), name="mcp updates")
        try:
            fresh = [uri for uri in uris if uri not in self._stamps]
            self._stamps = await self._look(fresh) | self._stamps
        except BaseException:
            self._leave(uris)
            raise
        self._changed.set()  # something may have changed while we looked

    def _leave(self, uris: Iterable[str]) -> None:
        self._followed.subtract(uris)
        self._followed = +self._followed
        self._stamps = {uri: stamp for uri, stamp in self._stamps.items() if uri in self._followed}
        if not self._followed and self._work is not None:
            self._work.cancel()
            self._work = None

    async def _subscribe(
        self, ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams
    ) -> EmptyResult:
        connection = connection_of(ctx.session)
        if connection not in self._legacy:
            self._legacy[connection] = set()
            connection.exit_stack.callback(self._ended, connection)
        mine = self._legacy[connection]
        if str(params.uri) not in mine and len(mine) < MOST:
            mine.add(str(params.uri))
            await self._follow([str(params.uri)])
        return EmptyResult()

    async def _unsubscribe(
        self, ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
    ) -> EmptyResult:
        mine = self._legacy.get(connection_of(ctx.session), set())
        if str(params.uri) in mine:
            mine.remove(str(params.uri))
            self._leave([str(params.uri)])
        return EmptyResult()

    def _ended(self, connection: Connection) -> None:
        self._leave(self._legacy.pop(connection, set()))

    async def _watch(self, changed: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()

        def heard() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(changed.set)

        end = self._listen(heard)
        try:
            with self._hold():
                while True:
                    await changed.wait()
                    await asyncio.sleep(_SETTLE)
                    changed.clear()
                    await self._compare()
        finally:
            end()

    async def _compare(self) -> None:
        try:
            now = await self._look(list(self._stamps))
        except OneiroError as error:
            LOG.warning("followers were not told of a change: %s", error)
            return
        except Exception:
            LOG.exception("followers were not told of a change")
            return
        for uri, stamp in now.items():
            if uri in self._stamps and self._stamps[uri] != stamp:
                self._stamps[uri] = stamp
                await self._tell(uri)

    async def _look(self, uris: list[str]) -> dict[str, object]:
        """Address -> stamp; what is no address of ours never changes."""
        if not uris:
            return {}
        ids = [uri.removeprefix(MEMORY) for uri in uris if uri.startswith(MEMORY)]
        dates = [uri.removeprefix(DREAM) for uri in uris if uri.startswith(DREAM)]
        found = await self.desk.silent.stamps(ids=ids, dates=dates)
        known: dict[str, object] = {ORIENTATION: found["orientation"]}
        known |= {f"{MEMORY}{name}": stamp for name, stamp in found["memories"].items()}
        known |= {f"{DREAM}{name}": stamp for name, stamp in found["dreams"].items()}
        return {uri: known.get(uri) for uri in uris}

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri))
        for connection in [one for one, mine in self._legacy.items() if uri in mine]:
            with suppress(TimeoutError):
                await asyncio.wait_for(connection.send_resource_updated(uri), _PATIENCE)


def asked_for(params: Mapping[str, Any] | None) -> list[str]:
    """The addresses that a `subscriptions/listen` wants to follow, as it came over the wire."""
    wanted = (params or {}).get("notifications")
    uris = wanted.get("resourceSubscriptions") if isinstance(wanted, Mapping) else None
    return [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []
