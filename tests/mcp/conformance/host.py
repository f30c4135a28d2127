"""Our factory plus the fixtures on a TCP port of this machine: `python -m
tests.mcp.conformance.host VAULT PORT`. For tests only."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server import MCPServer
from starlette.types import ASGIApp

from oneiro_vault.api import Progress
from oneiro_vault.app import App, init_vault
from oneiro_vault.mcp.server import build
from oneiro_vault.settings.definitions import Settings
from tests.mcp.conformance import fixtures


def server_over(app: App) -> MCPServer[Any]:
    """A server whose calls go to an App of this process, on threads."""

    async def call(op: str, params: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        return await asyncio.to_thread(app.call, op, dict(params), progress)

    return build(call, listen=app.listen)


def web(app: App) -> ASGIApp:
    """With the fixtures, on HTTP, guarded as on any loopback port."""
    server = server_over(app)
    fixtures.add(server)
    return server.streamable_http_app(
        event_store=fixtures.Events(), retry_interval=100, host="127.0.0.1"
    )


def main(vault: Path, port: int) -> None:
    init_vault(vault)
    with App.open(vault, Settings({"embed.model": "hash", "disk.reserve": 0})) as app:
        app.call("remember", {"items": [{"text": "The boat is called Petrel."}]})
        uvicorn.run(web(app), host="127.0.0.1", port=port, log_level="warning", http="h11")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
