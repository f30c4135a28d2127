"""Legacy MCP sessions belong to the caller that opened them: a session id is not a secret, and its
server side keeps no other identity."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from starlette.types import Message, Send

from oneiro_vault.core.principal import Caller
from oneiro_vault.http.refusal import RefusedError

HEADER: Final = "mcp-session-id"
MOST: Final = 10_000


class Sessions:
    """Session id -> name of the caller that opened it over the network."""

    def __init__(self) -> None:
        self._owners: OrderedDict[str, str] = OrderedDict()

    def check(self, session: str, caller: Caller) -> None:
        """Raises RefusedError for a session of somebody else, exactly as for one that does not
        exist."""
        if session and self._owners.get(session) != caller.name:
            raise RefusedError(
                404, "session_not_found", "There is no such session; open a new one."
            )

    def watch(self, caller: Caller, send: Send) -> Send:
        """A `send` that learns of sessions which the server opens for this caller."""

        async def learn(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name.lower() == HEADER.encode() and message["status"] < 300:
                        self._keep(value.decode("latin-1"), caller)
            await send(message)

        return learn

    def _keep(self, session: str, caller: Caller) -> None:
        self._owners.setdefault(session, caller.name)
        self._owners.move_to_end(session)
        if len(self._owners) > MOST:
            self._owners.popitem(last=False)
