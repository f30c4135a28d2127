"""What every tool, resource and prompt has at hand: a way to the App, a clock, who asks, progress
back to them; the few things the SDK keeps private; and the model of the client at the other end.

Outside of any request that model can be asked only as the handshakes before 2026-07-28 allow. Later
clients get no requests a server makes by itself (SEP-2577): their models take the questions of
`dream_next`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from mcp.server import MCPServer, Server
from mcp.server.connection import Connection
from mcp.server.mcpserver import Context
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from oneiro_vault.answers import Json
from oneiro_vault.api import AsyncCalls, Progress, quiet
from oneiro_vault.core.principal import ADMIN, LOCAL, SCOPE, Caller
from oneiro_vault.core.time.date_ranges import local

Ctx: TypeAlias = Context[Any, Any]
Call: TypeAlias = Callable[[str, Mapping[str, Any], Progress], Awaitable[Json]]
"""Runs one operation of the App on another thread; the progress callback may be called from there.
Raises OneiroError."""

T = TypeVar("T")
PATIENCE: Final = 15.0
"""Seconds a question waits for the model and for vectors; many clients give up after 60."""
MODEL_PATIENCE: Final = 60.0
"""The same of one that a model is asked about first."""
_EVERY = 0.1


@dataclass(frozen=True)
class Desk:
    """The way from a request to the App."""

    call: Call
    clock: Callable[[], float] = time.time
    patience: float = PATIENCE

    def ask(self, ctx: Ctx) -> AsyncCalls:
        """The operations, their progress sent on; what is None or empty is left out."""

        async def call(op: str, params: Mapping[str, Any], _progress: object) -> Any:
            given = {name: value for name, value in params.items() if value not in (None, "", [])}
            return await self.call(op, given, Reporter(ctx, asyncio.get_running_loop()))

        return AsyncCalls(call)

    async def by_meaning(
        self, ask: Callable[[bool], Awaitable[T]], patience: float | None = None
    ) -> T:
        """The answer by meaning, by words alone when that takes too long; `ask` is told whether to
        be fast."""
        try:
            async with asyncio.timeout(patience or self.patience) as ours:
                return await ask(False)
        except TimeoutError:
            if not ours.expired():
                raise
        return await ask(True)

    @property
    def silent(self) -> AsyncCalls:
        """The operations, without progress."""
        return AsyncCalls(lambda op, given, _progress: self.call(op, given, quiet))

    def now(self) -> str:
        """Local, to the minute."""
        return f"{local(self.clock()):%Y-%m-%d %H:%M}"


def caller_of(request: object) -> Caller:
    """Who asks, as the door left it in the request's scope; without a request the user's own
    program."""
    scope = getattr(request, "scope", None)
    found = scope.get(SCOPE, LOCAL) if isinstance(scope, Mapping) else LOCAL
    if not isinstance(found, Caller):
        raise TypeError(f"{SCOPE} holds {type(found).__name__}")
    return found


def actor_of(ctx: Ctx) -> str:
    """Who is written into commits and `source` for what this request changes."""
    return caller_of(ctx.request_context.request).actor


def may_ask(ctx: Ctx) -> bool:
    """May this caller have the vault's own model asked, at the cost of whoever runs it?"""
    return caller_of(ctx.request_context.request).may(ADMIN)


class Reporter:
    """Sends progress to a client that asked, thinned out. Its number only ever grows, as the
    protocol wants: each stage adds one, after the 1 below which the bridge stays."""

    def __init__(self, ctx: Ctx, loop: asyncio.AbstractEventLoop) -> None:
        self._ctx, self._loop = ctx, loop
        self._stages: list[str] = []
        self._sent, self._next = 0.0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called on the thread that works."""
        if stage and stage not in self._stages:
            self._stages.append(stage)
        share = min(done / total, 1.0) if total else 0.0
        reached = 1 + self._stages.index(stage) + share if stage else self._sent
        now = time.monotonic()
        if reached > self._sent and (now >= self._next or (total and done >= total)):
            self._sent, self._next = reached, now + _EVERY
            text = f"{stage} {done}/{total}" if total else stage
            work = self._ctx.report_progress(reached, None, text)
            try:
                asyncio.run_coroutine_threadsafe(work, self._loop)
            except RuntimeError:  # the loop has ended
                with suppress(RuntimeError):
                    work.close()


def lowlevel(server: MCPServer[Any]) -> Server[Any]:
    """The protocol engine under an MCPServer: it serves streams, and takes handlers that have no
    decorator."""
    return server._lowlevel_server


def connection_of(session: ServerSession) -> Connection:
    """The connection a request came over; its exit stack is unwound when it ends."""
    return session._connection


def end_listening(engine: Server[Any]) -> None:
    """Let every `subscriptions/listen` stream come to its proper end."""
    entry = engine.get_request_handler("subscriptions/listen")
    if entry is not None and isinstance(entry.handler, ListenHandler):
        entry.handler.close()


SAMPLING_PATIENCE: Final = 120.0
"""Seconds a client may take for one answer: a person may have to allow it."""


class Samplers:
    """Connections whose clients let us ask, the latest last. All but `ask` runs on the event
    loop."""

    def __init__(self, patience: float = SAMPLING_PATIENCE) -> None:
        self.patience = patience
        self._open: dict[Connection, ServerSession] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def meet(self, session: ServerSession) -> None:
        """A request came over this session."""
        connection, offered = connection_of(session), session.client_capabilities
        able = offered is not None and offered.sampling is not None
        if not able or not connection.initialized.is_set() or connection in self._open:
            return
        modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
        if modern or connection.session_id is not None:  # HTTP may have no way back
            return
        self._loop = asyncio.get_running_loop()
        self._open[connection] = session
        connection.exit_stack.callback(self._ended, connection)

    def _ended(self, connection: Connection) -> None:
        self._open.pop(connection, None)

    def ask(self, system: str, prompt: str, most: int) -> str | None:
        """What the model of the latest client says, None without one; not for the loop's thread.
        Raises RuntimeError, from a TimeoutError when the client is silent or gone."""
        session, loop = next(reversed(list(self._open.values())), None), self._loop
        if session is None or loop is None:
            return None
        message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        params = CreateMessageRequestParams(
            messages=[message], system_prompt=system, max_tokens=most, temperature=0.0
        )
        asked = session.send_request(
            CreateMessageRequest(params=params), CreateMessageResult, self.patience
        )
        work = asyncio.run_coroutine_threadsafe(asked, loop)
        try:
            said = work.result(self.patience + 5).content
        except Exception as error:  # whatever the client or its connection came to
            work.cancel()
            cause = TimeoutError(str(error)) if silent(error) else error
            raise RuntimeError(f"{type(error).__name__}: {error}") from cause
        if not isinstance(said, TextContent):
            raise RuntimeError(f"the answer is no text but {said.type}")
        return said.text


def silent(error: Exception) -> bool:
    """Did nothing come back, in its time or for lack of a connection?"""
    if isinstance(error, MCPError):
        return error.code in (REQUEST_TIMEOUT, CONNECTION_CLOSED) or isinstance(
            error, NoBackChannelError
        )
    return isinstance(error, TimeoutError | CancelledError)
