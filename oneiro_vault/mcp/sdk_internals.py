"""The few things we need that the SDK keeps private, in one place: a new release is looked at
here."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer, Server
from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler


def lowlevel(server: MCPServer[Any]) -> Server[Any]:
    """The protocol engine under an MCPServer: it serves streams, and takes handlers that have no
    decorator."""
    return server._lowlevel_server


def connection(session: ServerSession) -> Connection:
    """The connection a request came over; its exit stack is unwound when it ends."""
    return session._connection


def end_listening(engine: Server[Any]) -> None:
    """Let every `subscriptions/listen` stream come to its proper end."""
    entry = engine.get_request_handler("subscriptions/listen")
    if entry is not None and isinstance(entry.handler, ListenHandler):
        entry.handler.close()
