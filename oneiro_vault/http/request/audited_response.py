"""What goes back through the gate: its beginning is kept, so that the audit log can name the
memories, and it can be cut short."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Message, Send

from oneiro_vault.http.request import rpc_peek

KEPT: Final = 65_536
"""Bytes of an answer that are kept; ids in a longer one are not found."""


class Answer:
    """A `send` that notes what passes. `status` is 0 until an answer begins."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send, self._kept, self._kind, self._ended = send, bytearray(), "", False

    async def __call__(self, message: Message) -> None:
        """ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            self._kind = Headers(raw=headers).get("content-type", "")
            message = {**message, "headers": [*headers, (b"x-content-type-options", b"nosniff")]}
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if len(self._kept) < KEPT:
                self._kept += message.get("body", b"")[:KEPT]
        await self._send(message)

    def outcome(self) -> tuple[Any, bool]:
        """(what an operation answered, did it fail though the status says nothing of it); (None,
        False) when that cannot be read."""
        return rpc_peek.outcome(bytes(self._kept), self._kind)

    async def cut(self) -> None:
        """Whoever waits for the rest hears that there is none."""
        with suppress(Exception):  # nobody may be there any more
            if not self.status:
                await self(
                    {
                        "type": "http.response.start",
                        "status": 401,
                        "headers": [(b"content-length", b"0")],
                    }
                )
            if not self._ended:
                await self({"type": "http.response.body", "body": b"", "more_body": False})
