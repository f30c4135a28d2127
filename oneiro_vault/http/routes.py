"""What is behind the gate besides MCP: the orientation, captures, and for an admin's key the
operations themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from oneiro_vault.app import OPS
from oneiro_vault.core.principal import SCOPE, Caller
from oneiro_vault.daemon.asgi import Desk, params_of
from oneiro_vault.errors import InvalidInput
from oneiro_vault.http.refusal import trouble

MARKDOWN: Final = "text/markdown"
_NUMBERS: Final = frozenset({"n", "limit"})
_OURS: Final = frozenset({"actor", "source", "trust"})
"""Who said something is known to the server and never taken from a request."""


class Faces:
    """Parse, one App call, render."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/orientation", self.orientation),
            Route("/capture", self.capture, methods=["POST"]),
            Route("/status", self.desk.status),
            Route("/stop", self.desk.stop, methods=["POST"]),
            Route("/api/{op}", self.operation, methods=["POST"]),
        ]

    async def orientation(self, request: Request) -> Response:
        """`orient` with the query as its parameters: JSON, or just the text for who accepts
        Markdown."""
        try:
            asked = _from_query(request.query_params)
        except InvalidInput as error:
            return trouble(error)
        answer = await self.desk.plain("orient", asked)
        if answer.status_code == 200 and MARKDOWN in request.headers.get("accept", ""):
            return Response(json.loads(bytes(answer.body))["text"], media_type=MARKDOWN)
        return answer

    async def capture(self, request: Request) -> Response:
        """`capture`, as the caller."""
        return await self._as_caller("capture", request)

    async def operation(self, request: Request) -> Response:
        """Any operation, as the caller: not even an admin's key speaks for the user."""
        return await self._as_caller(request.path_params["op"], request)

    async def _as_caller(self, op: str, request: Request) -> Response:
        caller: Caller = request.scope[SCOPE]
        try:
            params = params_of(await request.body())
            _check_words(params)
        except InvalidInput as error:
            return trouble(error)
        if op in OPS and "actor" in OPS[op].parameters:
            params["actor"] = caller.actor
        return await self.desk.plain(op, params)


def _from_query(query: Mapping[str, str]) -> dict[str, Any]:
    """Parameters that came as text. Raises InvalidInput."""
    try:
        return {name: int(value) if name in _NUMBERS else value for name, value in query.items()}
    except ValueError as error:
        raise InvalidInput(
            "n and limit are whole numbers", hint="/orientation?n=5&limit=4000"
        ) from error


def _check_words(params: Mapping[str, Any]) -> None:
    """Raise InvalidInput when a request says by itself who is speaking."""
    items = params.get("items")
    for part in (params, *(items if isinstance(items, list) else ())):
        if isinstance(part, Mapping) and not _OURS.isdisjoint(part):
            raise InvalidInput(
                "actor, source and trust are set by the server",
                kept="Nothing was changed.",
                hint="Leave them out.",
            )
