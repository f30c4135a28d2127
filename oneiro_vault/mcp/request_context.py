"""What every tool, resource and prompt has at hand: a way to the App, a clock, who is asking, and
progress back to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeVar

from mcp.server.mcpserver import Context

from oneiro_vault.api import AsyncCalls
from oneiro_vault.core.principal import LOCAL, SCOPE, Caller

Ctx: TypeAlias = Context[Any, Any]
Progress: TypeAlias = Callable[[str, int, int], None]
Call: TypeAlias = Callable[[str, Mapping[str, Any], Progress], Awaitable[dict[str, Any]]]
"""Runs one operation of the App on another thread; the progress callback may be called from there.
Raises OneiroError."""

T = TypeVar("T")
PATIENCE: Final = 15.0
"""Seconds a question waits for the model, and for the vectors of what was just remembered; many
clients give up after 60."""
_EVERY = 0.1
"""Seconds between two progress messages of one call."""


@dataclass(frozen=True)
class Desk:
    """The way from a request to the App."""

    call: Call
    clock: Callable[[], float] = time.time
    patience: float = PATIENCE

    def ask(self, ctx: Ctx) -> AsyncCalls:
        """The operations, their progress sent on; what is None or empty is left out."""

        async def call(op: str, params: Mapping[str, Any], _progress: object) -> Any:
            given = {
                name: value
                for name, value in params.items()
                if value is not None and value not in ("", [])
            }
            return await self.call(op, given, Reporter(ctx, asyncio.get_running_loop()))

        return AsyncCalls(call)

    async def by_meaning(self, ask: Callable[[bool], Awaitable[T]]) -> T:
        """The answer by meaning, by words alone when that takes too long; `ask` is told whether to
        be fast."""
        try:
            async with asyncio.timeout(self.patience) as ours:
                return await ask(False)
        except TimeoutError:
            if not ours.expired():
                raise
        return await ask(True)

    @property
    def silent(self) -> AsyncCalls:
        """The operations, without progress."""
        return AsyncCalls(lambda op, given, _progress: self.call(op, given, nowhere))

    def now(self) -> str:
        """Local, to the minute."""
        return f"{datetime.fromtimestamp(self.clock()).astimezone():%Y-%m-%d %H:%M}"


def caller_of(request: object) -> Caller:
    """Who asks: left in the request's scope by the door it came through; without a request (stdio,
    in memory) the user's own program."""
    scope = getattr(request, "scope", None)
    found = scope.get(SCOPE, LOCAL) if isinstance(scope, Mapping) else LOCAL
    if not isinstance(found, Caller):
        raise TypeError(f"{SCOPE} holds {type(found).__name__}")
    return found


def actor_of(ctx: Ctx) -> str:
    """Who is written into commits and `source` for what this request changes."""
    return caller_of(ctx.request_context.request).actor


class Reporter:
    """Sends progress to the client, thinned out; a no-op for a client that did not ask. Its number
    only ever grows, as the protocol wants: each stage adds one, after the first 1 that the bridge
    has for itself (`cli/bridge/stdio`)."""

    def __init__(self, ctx: Ctx, loop: asyncio.AbstractEventLoop) -> None:
        self._ctx, self._loop = ctx, loop
        self._stages: list[str] = []
        self._sent, self._next = 0.0, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Called on the thread that works."""
        if stage and stage not in self._stages:
            self._stages.append(stage)
        reached = (
            1 + self._stages.index(stage) + (min(done / total, 1.0) if total else 0.0)
            if stage
            else self._sent
        )
        now = time.monotonic()
        if reached > self._sent and (now >= self._next or (total and done >= total)):
            self._sent, self._next = reached, now + _EVERY
            work = self._ctx.report_progress(
                reached, None, f"{stage} {done}/{total}" if total else stage
            )
            try:
                asyncio.run_coroutine_threadsafe(work, self._loop)
            except RuntimeError:  # the loop has ended
                with suppress(RuntimeError):
                    work.close()


def nowhere(_stage: str, _done: int, _total: int) -> None:
    """Progress nobody asked for."""
