"""Listen on TCP beside the socket: where, under which name, and what is refused because it would
send tokens in the clear. Behind the gate, besides MCP: the orientation, captures, and for an
admin's key the operations themselves. A connection that is slow on purpose loses its place."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import resource
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import h11
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from oneiro_vault.app import OPS, Access
from oneiro_vault.core.principal import SCOPE
from oneiro_vault.daemon.asgi import Desk, QuietServer, bound, http_server, params_of
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import InvalidInput, OneiroError, OwnerProblem, shown
from oneiro_vault.http.middleware import LONGEST_HEAD, Gate
from oneiro_vault.http.network_request import Names, RefusedError, answer_refusal, trouble
from oneiro_vault.http.oauth_routes import OAuthFace

MARKDOWN: Final = "text/markdown"
_NUMBERS: Final = frozenset({"n", "limit"})
_OURS: Final = frozenset({"actor", "source", "trust"})
"""Who said something is known to the server and never taken from a request."""


@dataclass
class Faces:
    """Parse, one App call, render."""

    desk: Desk

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/orientation", self.orientation),
            Route("/capture", self.operation, methods=["POST"]),
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

    async def operation(self, request: Request) -> Response:
        """`capture`, or any operation, as the caller: not even an admin's key speaks for the
        user."""
        op, caller = request.path_params.get("op", "capture"), request.scope[SCOPE]
        try:
            params = params_of(await request.body())
            _check_words(params)
        except InvalidInput as error:
            return trouble(error)
        if op in OPS and "actor" in OPS[op].parameters:
            params["actor"] = caller.actor
        return await self.desk.plain(op, params)


def _from_query(query: Mapping[str, str]) -> Mapping[str, int | str]:
    try:
        return {name: int(value) if name in _NUMBERS else value for name, value in query.items()}
    except ValueError as error:
        raise InvalidInput(
            "n and limit are whole numbers", hint="/orientation?n=5&limit=4000"
        ) from error


def _check_words(params: Mapping[str, Any]) -> None:
    items = params.get("items")
    for part in (params, *(items if isinstance(items, list) else ())):
        if isinstance(part, Mapping) and not _OURS.isdisjoint(part):
            text, kept = "actor, source and trust are set by the server", "Nothing was changed."
            raise InvalidInput(text, kept=kept, hint="Leave them out.")


log = logging.getLogger("oneiro.http")
log.setLevel(logging.ERROR)
HEAD_SECONDS: Final = 10.0
"""For the head of a request, from its first byte, or from the connection's beginning."""
LINGER: Final = 5.0
"""For the rest of a body that was refused."""


MOST: Final = max(16, min(400, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
"""Connections at once: half of the files this process may have open are left for others."""


class PatientProtocol(H11Protocol):
    """uvicorn's, which waits for ever, and has a line in the log for everybody who speaks no
    HTTP."""

    _limit: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = log

    def connection_made(  # type: ignore[override]  # asyncio's own is wider than what it passes
        self, transport: asyncio.Transport
    ) -> None:
        """Too many are hung up on at once."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._within(HEAD_SECONDS)

    def data_received(self, data: bytes) -> None:
        """Bytes came; unless they complete a head, the time goes on."""
        super().data_received(data)
        if self._handling():
            self._unlimited()
        elif self._limit is None and self.conn.our_state is h11.IDLE:
            self._within(HEAD_SECONDS)

    def on_response_complete(self) -> None:
        """Answered; what is left of a body that nobody read is thrown away for a while."""
        super().on_response_complete()
        unread = self.conn.their_state is h11.SEND_BODY
        if unread and not self._handling() and not self.transport.is_closing():
            self._within(LINGER)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._unlimited()
        super().connection_lost(exc)

    def _handling(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _within(self, seconds: float) -> None:
        self._unlimited()
        self._limit = self.loop.call_later(seconds, self._too_slow)

    def _unlimited(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        self._limit = None
        if not self.transport.is_closing() and not self._handling():
            self.transport.abort()


KEEP: Final = 15
"""Seconds a connection may be idle between two requests."""
_KEPT: Final = "Nothing was started."


@dataclass(frozen=True)
class Network:
    """A place to listen at. `public`: the address other machines use, "" for this one alone."""

    host: str
    port: int
    access: Access
    public: str = ""
    origins: tuple[str, ...] = ()

    @contextmanager
    def listening(self) -> Iterator[socket.socket]:
        """The bound socket. Raises OwnerProblem."""
        try:
            made = bound(self.host, self.port, 512)
        except OSError as error:
            raise OwnerProblem(
                f"cannot listen at {self.host}:{self.port}: {error.strerror}",
                kept=_KEPT,
                hint="Is the port taken, or below 1024?",
            ) from error
        try:
            with made:
                yield made
        finally:
            with suppress(OneiroError):
                self.access.flush()

    def url(self, listener: socket.socket) -> str:
        """Where clients find it."""
        if self.public:
            return self.public
        host, port = listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def app(self, desk: Desk, life: Life, routes: Sequence[BaseRoute]) -> ASGIApp:
        """Every route behind the gate; of `routes` only the paths that the gate knows can be
        reached."""
        handlers = {RefusedError: answer_refusal, OneiroError: answer_refusal}
        routes = [*OAuthFace(self.access).routes(), *Faces(desk).routes(), *routes]
        inner = Starlette(routes=routes, exception_handlers=handlers)
        names = Names(self.public, self.origins)
        gate = Gate(inner, self.access, names, life)
        from oneiro_vault.http.page_gate import PageGate  # templates take a while to load
        from oneiro_vault.web.page_server import shown

        pages = shown(desk.app, life, desk.pools)
        return PageGate(gate, pages, self.access, names, life)

    def server(self, asgi: ASGIApp, grace: int) -> QuietServer:
        """A server of its own: its limits are not the socket's."""
        return http_server(
            asgi,
            grace,
            http=PatientProtocol,
            proxy_headers=False,
            server_header=False,
            date_header=True,
            timeout_keep_alive=KEEP,
            h11_max_incomplete_event_size=2 * LONGEST_HEAD,
        )


def place(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[::1]:PORT`, or a port of this machine alone. Raises InvalidInput."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]") if colon else "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    try:
        if not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise ValueError
        return str(ipaddress.ip_address(host)), int(port)
    except ValueError as error:
        hint = "HOST:PORT with an IP address, such as 127.0.0.1:8787."
        told = f"{shown(text)} is not a place to listen at"
        raise InvalidInput(told, kept=_KEPT, hint=hint) from error


def check_public(public: str, host: str, insecure: bool) -> str:
    """The public address as everything uses it. Raises InvalidInput where tokens would travel in
    the clear."""
    try:
        parts = urlsplit(public)
        whole = f"{parts.scheme}://{parts.netloc}".lower()
        _ = parts.port
    except ValueError as error:
        text, hint = f"{shown(public)} is not an address", "Such as https://vault.example.org."
        raise InvalidInput(text, kept=_KEPT, hint=hint) from error
    plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in public
    if public and not (plain and public.rstrip("/").lower() == whole):
        hint = "A scheme and a host, no path: https://vault.example.org."
        raise InvalidInput(f"{shown(public)} is not a plain address", kept=_KEPT, hint=hint)
    here = not public or parts.hostname in ("127.0.0.1", "localhost", "::1")
    alone = here and ipaddress.ip_address(host).is_loopback
    if insecure or alone or parts.scheme == "https":
        return whole if public else ""
    hint = (
        "Put a proxy with TLS in front and name it by --public-url https://…; --insecure if "
        "the network itself is private."
    )
    raise InvalidInput("tokens and memories would travel in the clear", kept=_KEPT, hint=hint)
