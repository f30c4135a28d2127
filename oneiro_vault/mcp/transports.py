"""One built server on two ASGI transports: streamable HTTP, and a stream of lines for the stdio
bridge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import anyio
from mcp.server import MCPServer
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from oneiro_vault.core.principal import SCOPE, Caller
from oneiro_vault.mcp.request_context import end_listening, lowlevel

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST: Final = 32 << 20
"""Bytes of one message: a picture of 24 MB as base64. What is longer is refused before it is
held."""
LONGEST_HEAD: Final = 16 << 10
"""Bytes of all headers of a request."""
_DRAIN: Final = 10.0
"""Seconds that requests under way get after a client has said its last word."""
_ENDLESS: Final = frozenset({"subscriptions/listen"})


class Served:
    """A server while it runs; enter `running` before the first request."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._engine = lowlevel(server)
        # the door that faces a network does it, for all routes
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(max_request_body_size=LARGEST, transport_security=security)
        self._manager = server.session_manager
        self._open: set[anyio.CancelScope] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions live as long as this. Bridges' streams are cut, to go on with another owner;
        those over HTTP end."""
        async with self._manager.run():
            try:
                yield
            finally:
                for scope in list(self._open):
                    scope.cancel()
                end_listening(self._engine)

    async def http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Streamable HTTP."""
        # not every HTTP parser takes the blanks away
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if sum(len(name) + len(value) for name, value in headers) > LONGEST_HEAD:
            await _refuse(send, 431, b"headers are too large")
            return
        asking = {**scope, "headers": headers}
        if isinstance(caller := scope.get(SCOPE), Caller):  # a session is its opener's alone
            token = AccessToken(token="", client_id=caller.name, scopes=[])
            asking["user"] = AuthenticatedUser(token)
        await self._manager.handle_request(asking, receive, _hanging_up(send))

    async def lines(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The stdio form: each line of the request's body, and of the answer's, is one JSON-RPC
        message."""
        if scope["method"] != "POST":
            await _refuse(send, 405, b"POST only")
            return
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"\n", "more_body": True})
        with anyio.CancelScope() as ending:
            self._open.add(ending)
            try:
                await _Lines(receive, send).serve(self._engine)
            finally:
                self._open.discard(ending)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _hanging_up(send: Send) -> Send:
    """A `send` after whose 413 the connection ends: nobody wants the rest of that body."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start" and message["status"] == 413:
            headers = [*message.get("headers", ()), (b"connection", b"close")]
            message = {**message, "headers": headers}
        await send(message)

    return sending


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text, "more_body": False})


class _Lines:
    """Bytes to messages and back; what is no message is answered here, so that no sender is left
    waiting."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._to_engine, self._from_client = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](0)
        self._to_client, self._from_engine = anyio.create_memory_object_stream[SessionMessage](0)
        self._pending: set[str | int | None] = set()

    async def serve(self, engine: Any) -> None:
        replies = self._to_client.clone()
        async with anyio.create_task_group() as group, replies:
            group.start_soon(self._outgoing)
            group.start_soon(self._incoming, replies, group.cancel_scope)
            await engine.run(
                self._from_client, self._to_client, engine.create_initialization_options()
            )
            await replies.aclose()

    async def _outgoing(self) -> None:
        async with self._from_engine:
            async for item in self._from_engine:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._send(
                    {"type": "http.response.body", "body": text.encode() + b"\n", "more_body": True}
                )
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    self._pending.discard(item.message.id)

    async def _incoming(self, replies: Any, scope: anyio.CancelScope) -> None:
        async with self._to_engine:
            try:
                async for line in self._lines():
                    await self._take(line, replies)
            except ConnectionError:
                scope.cancel()
                return
            with anyio.move_on_after(_DRAIN):
                while self._pending:
                    await anyio.sleep(0.01)

    async def _lines(self) -> AsyncIterator[bytes | None]:
        """Whole lines; None for one that is too long. Raises ConnectionError when the client is
        gone."""
        buffer, skipping = bytearray(), False
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            searched = len(buffer)
            buffer += message.get("body", b"")
            while (end := buffer.find(b"\n", searched)) >= 0:
                yield None if skipping else bytes(buffer[:end])
                del buffer[: end + 1]
                searched, skipping = 0, False
            if len(buffer) > LARGEST:
                buffer.clear()
                skipping = True
            if not message.get("more_body", False):
                if buffer or skipping:
                    yield None if skipping else bytes(buffer)
                return

    async def _take(self, line: bytes | None, replies: Any) -> None:
        if line is not None and not line.strip():
            return
        long = INVALID_REQUEST, f"the message is longer than {LARGEST} bytes", None
        read = long if line is None else parsed(line)
        if isinstance(read, tuple):
            code, text, ident = read
            error = ErrorData(code=code, message=text)
            await replies.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=ident, error=error)))
            return
        if isinstance(read.message, JSONRPCRequest) and read.message.method not in _ENDLESS:
            self._pending.add(read.message.id)
        await self._to_engine.send(read)


def parsed(line: bytes) -> SessionMessage | tuple[int, str, str | int | None]:
    """A message, or what to answer: code, text, and the id of the request if it has a usable
    one."""
    try:
        raw = from_json(line)
    except ValueError:
        return PARSE_ERROR, "Parse error", None
    ident = raw.get("id") if isinstance(raw, dict) else None
    usable = ident if isinstance(ident, str | int) and not isinstance(ident, bool) else None
    try:
        message = jsonrpc_message_adapter.validate_python(raw, by_name=False)
    except ValidationError:
        return INVALID_REQUEST, "Not a JSON-RPC 2.0 request, notification or response", usable
    # a request with a broken id would go unanswered
    if isinstance(message, JSONRPCNotification) and "id" in raw:
        return INVALID_REQUEST, "The id of a request is a string or a number", None
    return SessionMessage(message)
