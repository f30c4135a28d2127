"""How a request is turned away: a status, words for a program, and headers, raised where the
reason is found and answered in one place; and by which names this server may be called: a page
of somebody else's that makes a browser ask us gives itself away by its own."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from oneiro_vault.errors import OneiroError

log = logging.getLogger("oneiro.owner")


class RefusedError(Exception):
    """`error` is a word for programs, `text` says what to do; neither repeats anything the caller
    sent."""

    def __init__(
        self, status: int, error: str, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.error, self.headers = status, error, dict(headers or {})

    def response(self) -> Response:
        """As JSON, never cached."""
        body = {"error": self.error, "error_description": str(self)}
        return JSONResponse(body, self.status, {"Cache-Control": "no-store", **self.headers})


def too_often(seconds: float) -> RefusedError:
    """The caller must wait."""
    return RefusedError(
        429, "too_many_requests", "Slow down.", {"Retry-After": str(max(1, round(seconds + 0.5)))}
    )


def trouble(error: OneiroError) -> Response:
    """One of our errors as JSON."""
    return JSONResponse(error.to_dict(), error.http_status, {"Cache-Control": "no-store"})


def unavailable(error: OneiroError) -> RefusedError:
    """For strangers: the reason names files of this machine, so it stays in the log."""
    log.error("nobody can be let in: %s", error)
    return RefusedError(
        503, "unavailable", "Who may come in cannot be told right now.", {"Retry-After": "10"}
    )


async def answer_refusal(_request: Request, error: Exception) -> Response:
    """For routes behind the gate that turn somebody away themselves."""
    if isinstance(error, OneiroError):
        return unavailable(error).response()
    if isinstance(error, RefusedError):
        return error.response()
    raise error


LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Names:
    """`public`: the address that other machines use (`https://host`), empty when there is none;
    `origins`: further web origins."""

    def __init__(self, public: str = "", origins: Iterable[str] = ()) -> None:
        self.public = public.rstrip("/")
        parts = urlsplit(self.public)
        usual = {"https": ":443", "http": ":80"}.get(parts.scheme, "")
        self._hosts = {parts.netloc.lower(), parts.netloc.lower() + usual} if public else set()
        self._origins = {*origins, *([self.public] if public else [])}

    def check(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """The address at which this request reached us, without a path. Raises RefusedError: 421
        for a foreign Host, 403 for an Origin."""
        host, own = headers.get("host", "").lower(), own_hosts(scope)
        if host not in self._hosts and host not in own:
            raise RefusedError(421, "misdirected_request", "This server is not known by that name.")
        origin = headers.get("origin", "")
        if (
            origin
            and origin not in self._origins
            and origin not in {f"http://{name}" for name in own}
        ):
            raise RefusedError(
                403, "forbidden_origin", "Pages of that origin may not call this server."
            )
        return self.public or f"http://{host}"

    def resources(self, scope: Scope) -> set[str]:
        """What a token may have been issued for to be good here."""
        return {
            f"{base}/mcp"
            for base in (
                [self.public] if self.public else [f"http://{name}" for name in own_hosts(scope)]
            )
        }

    def address(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """Where a request comes from, for limits: the peer, or what the proxy on this machine saw;
        an IPv6 network counts as one."""
        peer = str((scope.get("client") or ("", 0))[0])
        if self.public and _is_loopback(peer):
            peer = headers.get("x-forwarded-for", "").rpartition(",")[2].strip() or peer
        try:
            found = ipaddress.ip_address(peer)
        except ValueError:
            return "unknown"
        return (
            str(found)
            if found.version == 4
            else str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
        )


def own_hosts(scope: Scope) -> set[str]:
    """Hosts that mean this very connection: the loopback names and the address it came in at; none
    of them can be rebound."""
    address, port = scope.get("server") or ("", 0)
    literal = f"[{address}]" if ":" in str(address) else str(address)
    names = {*LOOPBACK, literal}
    return {f"{name}:{port}" for name in names} | (names if port == 80 else set())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
