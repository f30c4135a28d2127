"""Listen on TCP beside the socket: where, under which name, and what is refused because it would
send tokens in the clear."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from oneiro_vault.app import Access
from oneiro_vault.daemon.asgi import Desk, QuietServer, http_server
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import InvalidInput, OneiroError, OwnerProblem, shown
from oneiro_vault.http.hosts import Names
from oneiro_vault.http.oauth_routes import OAuthFace
from oneiro_vault.http.refusal import RefusedError, answer_refusal
from oneiro_vault.http.request.middleware import LONGEST_HEAD, Gate
from oneiro_vault.http.routes import Faces
from oneiro_vault.http.slow_clients import PatientProtocol

KEEP: Final = 15
"""Seconds a connection may be idle between two requests."""
_KEPT: Final = "Nothing was started."


@dataclass(frozen=True)
class Network:
    """A place to listen at and what is known about it. `public`: the address other machines use,
    empty for this one alone."""

    host: str
    port: int
    access: Access
    public: str = ""
    origins: tuple[str, ...] = ()
    body_bytes: int = 33_554_432

    @contextmanager
    def listening(self) -> Iterator[socket.socket]:
        """The bound socket. Raises OwnerProblem."""
        try:
            made = self._bound()
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

    def _bound(self) -> socket.socket:
        """Its protocol is named, because asyncio turns off the wait for more bytes (40 ms an
        answer) only for a socket known to be TCP."""
        made = socket.socket(
            socket.AF_INET6 if ":" in self.host else socket.AF_INET,
            socket.SOCK_STREAM,
            socket.IPPROTO_TCP,
        )
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((self.host, self.port))
            made.listen(512)
        except OSError:
            made.close()
            raise
        return made

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
        inner = Starlette(
            routes=[*OAuthFace(self.access).routes(), *Faces(desk).routes(), *routes],
            exception_handlers=handlers,
        )
        return Gate(inner, self.access, Names(self.public, self.origins), life, self.body_bytes)

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
        return str(ipaddress.ip_address(host)), _port(port)
    except ValueError as error:
        raise InvalidInput(
            f"{shown(text)} is not a place to listen at",
            kept=_KEPT,
            hint="HOST:PORT with an IP address, such as 127.0.0.1:8787.",
        ) from error


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65_536):
        raise ValueError
    return int(text)


def check_public(public: str, host: str, insecure: bool) -> str:
    """The public address as everything uses it. Raises InvalidInput where tokens would travel in
    the clear."""
    try:
        parts = urlsplit(public)
        whole = f"{parts.scheme}://{parts.netloc}".lower()
        _ = parts.port
    except ValueError as error:
        raise InvalidInput(
            f"{shown(public)} is not an address",
            kept=_KEPT,
            hint="Such as https://vault.example.org.",
        ) from error
    if public and (
        public.rstrip("/").lower() != whole
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or "@" in public
    ):
        raise InvalidInput(
            f"{shown(public)} is not a plain address",
            kept=_KEPT,
            hint="A scheme and a host, no path: https://vault.example.org.",
        )
    alone = ipaddress.ip_address(host).is_loopback
    if (
        insecure
        or parts.scheme == "https"
        or (alone and (not public or parts.hostname in ("127.0.0.1", "localhost", "::1")))
    ):
        return whole if public else ""
    raise InvalidInput(
        "tokens and memories would travel in the clear",
        kept=_KEPT,
        hint="Put a proxy with TLS in front and name it by --public-url https://…; --insecure if "
        "the network itself is private.",
    )
