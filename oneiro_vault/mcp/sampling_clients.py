"""Asking the model of a client that is connected, outside of any request of it: what the handshakes
before 2026-07-28 allow.

The era since then has no requests that a server makes by itself (SEP-2577), so a loop cannot ask
such a client: its model takes the questions of `dream_next`. A client over stdio is met at its
first request after the handshake, and forgotten when its connection ends.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import CancelledError
from typing import Final

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
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

from oneiro_vault.mcp import sdk_internals

PATIENCE: Final = 120.0
"""Seconds a client may take for one answer: a person may have to allow it."""


class Samplers:
    """Connections whose clients let us ask, the latest last. All but `ask` runs on the event
    loop."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._open: dict[Connection, ServerSession] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def meet(self, session: ServerSession) -> None:
        """A request came over this session."""
        connection, offered = sdk_internals.connection(session), session.client_capabilities
        able = (
            offered is not None and offered.sampling is not None and connection.initialized.is_set()
        )
        duplex = (
            connection.session_id is None
            and session.protocol_version not in MODERN_PROTOCOL_VERSIONS
        )  # HTTP may have no way back
        if not able or not duplex or connection in self._open:
            return
        self._loop = asyncio.get_running_loop()
        self._open[connection] = session
        connection.exit_stack.callback(self._ended, connection)

    def _ended(self, connection: Connection) -> None:
        self._open.pop(connection, None)

    def ask(self, system: str, prompt: str, most: int) -> str | None:
        """What the model of the latest client says, None without one. On a thread that is not the
        loop's. Raises RuntimeError, from a TimeoutError when the client is silent or gone."""
        session, loop = next(reversed(list(self._open.values())), None), self._loop
        if session is None or loop is None:
            return None
        request = CreateMessageRequest(
            params=CreateMessageRequestParams(
                messages=[
                    SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
                ],
                system_prompt=system,
                max_tokens=most,
                temperature=0.0,
            )
        )
        work = asyncio.run_coroutine_threadsafe(
            session.send_request(request, CreateMessageResult, self.patience), loop
        )
        try:
            said = work.result(self.patience + 5).content
        except Exception as error:  # whatever the client or its connection came to
            work.cancel()
            raise RuntimeError(f"{type(error).__name__}: {error}") from (
                TimeoutError(str(error)) if silent(error) else error
            )
        if not isinstance(said, TextContent):
            raise RuntimeError(f"the answer is no text but {said.type}")
        return said.text


def silent(error: Exception) -> bool:
    """Did nothing come back at all, in its time or because the connection ended? The SDK tells both
    as an error like the client's own."""
    if isinstance(error, MCPError):
        return error.code in (REQUEST_TIMEOUT, CONNECTION_CLOSED) or isinstance(
            error, NoBackChannelError
        )
    return isinstance(error, TimeoutError | CancelledError)
