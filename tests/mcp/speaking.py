"""Ways to reach the server under test: in memory, over an owner's socket, over the stdio bridge;
each in both protocol eras."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp_types import CallToolResult

from oneiro_vault.api import Progress
from oneiro_vault.app import App
from oneiro_vault.core.principal import MEMORIES
from oneiro_vault.mcp.server import build
from tests.box import Box, patient

ERAS = ("auto", "legacy")
WAYS = ("memory", "socket", "stdio")


def server_over(app: App, **more: Any) -> MCPServer[Any]:
    """A server whose calls go to an App of this process, on threads."""

    async def call(op: str, params: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        return await asyncio.to_thread(app.call, op, dict(params), progress)

    return build(call, listen=app.listen, **more)


@dataclass
class Heard:
    """A connected client and the notifications that came to it."""

    client: Client
    notes: list[Any] = field(default_factory=list)

    async def tool(self, name: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(name, arguments)

    async def said(self, name: str, **arguments: Any) -> str:
        """What a model reads of a call that must succeed."""
        found = await self.tool(name, **arguments)
        assert not found.is_error, found.content
        return words(found)

    async def id(self, name: str, **arguments: Any) -> str:
        """The memory that a call which must succeed is about, the first if there are several."""
        found = await self.tool(name, **arguments)
        assert not found.is_error, found.content
        return ids(found)[0]

    async def until(self, condition: Callable[[], object], seconds: float = 10) -> None:
        async with asyncio.timeout(patient(seconds)):
            while not condition():
                await asyncio.sleep(0.02)


def words(found: CallToolResult) -> str:
    """What a model reads of an answer."""
    return "\n".join(block.text for block in found.content if block.type == "text")


def ids(found: CallToolResult) -> list[str]:
    """The memories an answer is about, as programs read it."""
    named: list[str] = (found.meta or {})[MEMORIES]
    return named


@asynccontextmanager
async def connected(target: Any, era: str) -> AsyncIterator[Heard]:
    notes: list[Any] = []

    async def hear(message: Any) -> None:
        notes.append(message)

    async with Client(target, mode=era, message_handler=hear) as client:
        yield Heard(client, notes)


@asynccontextmanager
async def over_socket(box: Box, era: str) -> AsyncIterator[Heard]:
    """Streamable HTTP to the owner's Unix socket."""
    _ = box.pid
    transport = httpx2.AsyncHTTPTransport(uds=box.record["socket"], verify=False)
    async with (
        httpx2.AsyncClient(transport=transport, timeout=30) as line,
        connected(streamable_http_client("http://localhost/mcp", http_client=line), era) as heard,
    ):
        yield heard


@asynccontextmanager
async def over_stdio(box: Box, era: str) -> AsyncIterator[Heard]:
    """`oneiro mcp` as a client starts it."""
    command, *args = box.argv("mcp")
    async with connected(
        StdioServerParameters(command=command, args=args, env=box.env), era
    ) as heard:
        yield heard


Speak = Callable[[], AbstractAsyncContextManager[Heard]]


def run(work: Coroutine[Any, Any, None]) -> None:
    """A test's conversation, which must come to an end."""

    async def bounded() -> None:
        async with asyncio.timeout(90):
            await work

    asyncio.run(bounded())
