"""One request that came over a network: by which name, how much of it is read and how long, what an
MCP body is about (before the server sees it), and how it is turned away."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope

from oneiro_vault.core.principal import MEMORIES, METHODS, ORIENT, TOOLS, WRITE
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
    """For strangers: the reason, which names files of this machine, stays in the log."""
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
    """By which names this server may be called. `public`: the address other machines use, "" for
    none; `origins`: further web origins."""

    def __init__(self, public: str = "", origins: Iterable[str] = ()) -> None:
        self.public = public.rstrip("/")
        parts = urlsplit(self.public)
        usual = {"https": ":443", "http": ":80"}.get(parts.scheme, "")
        self._hosts = {parts.netloc.lower(), parts.netloc.lower() + usual} if public else set()
        self._origins = {*origins, *([self.public] if public else [])}

    def check(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """The address at which this request reached us. Raises RefusedError: 421 for a foreign
        Host, 403 for an Origin."""
        host, own = headers.get("host", "").lower(), own_hosts(scope)
        if host not in self._hosts and host not in own:
            raise RefusedError(421, "misdirected_request", "This server is not known by that name.")
        origin = headers.get("origin", "")
        if origin and origin not in self._origins | {f"http://{name}" for name in own}:
            text = "Pages of that origin may not call this server."
            raise RefusedError(403, "forbidden_origin", text)
        return self.public or f"http://{host}"

    def resources(self, scope: Scope) -> set[str]:
        """What a token may have been issued for to be good here."""
        own = [f"http://{name}" for name in own_hosts(scope)]
        return {f"{base}/mcp" for base in ([self.public] if self.public else own)}

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
        if found.version == 6:
            return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
        return str(found)


def own_hosts(scope: Scope) -> set[str]:
    """Hosts that mean this very connection and cannot be rebound."""
    address, port = scope.get("server") or ("", 0)
    literal = f"[{address}]" if ":" in str(address) else str(address)
    names = {*LOOPBACK, literal}
    return {f"{name}:{port}" for name in names} | (names if port == 80 else set())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


PATIENCE: Final = 10.0
"""Seconds a sender may pause."""
GRACE: Final = 20.0
SLOWEST: Final = 10_000
"""Bytes a second that must come on average once GRACE seconds have passed."""


def declared(headers: Headers, limit: int) -> None:
    """Look at what is said of the body's length. Raises RefusedError."""
    length = headers.get("content-length", "")
    if length and "transfer-encoding" in headers:  # a proxy may have believed the other length
        text = "Content-Length and Transfer-Encoding exclude each other."
        raise RefusedError(400, "invalid_request", text, {"Connection": "close"})
    if length and not (length.isascii() and length.isdigit()):
        raise RefusedError(400, "invalid_request", "Content-Length is not a number.")
    if length and (len(length) > 15 or int(length) > limit):
        raise too_large(limit)


async def whole(receive: Receive, limit: int) -> bytes:
    """The body, at most `limit` bytes. Raises RefusedError: 413 too large, 408 too slow, 499
    gone."""
    parts: list[bytes] = []
    size, began = 0, time.monotonic()
    while True:
        left = GRACE + size / SLOWEST - (time.monotonic() - began)
        try:
            message = await asyncio.wait_for(receive(), max(0.0, min(PATIENCE, left)))
        except TimeoutError as error:
            text = "The request did not arrive in time."
            raise RefusedError(408, "too_slow", text, {"Connection": "close"}) from error
        if message["type"] != "http.request":
            raise RefusedError(499, "gone", "Nobody is there any more.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise too_large(limit)
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first gives the body that was read, and then whatever else comes."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def too_large(limit: int) -> RefusedError:
    """The body is larger than is taken here."""
    return RefusedError(413, "too_large", f"A request has at most {limit} bytes.")


MOST: Final = 50
"""Messages in one body."""
_QUIET: Final = ("ping", "notifications/", "")
_KNOWN: Final = (
    frozenset(
        "initialize ping tools/list resources/list resources/templates/list prompts/list "
        "logging/setLevel server/discover".split()
    )
    | METHODS.keys()
)


class NotRpcError(Exception):
    """The body is no JSON, or (`shape`) JSON that is no message."""

    def __init__(self, shape: bool = False) -> None:
        super().__init__()
        self.shape = shape

    def response(self) -> Response:
        """As JSON-RPC says it."""
        code, text = (-32600, "Invalid Request") if self.shape else (-32700, "Parse error")
        error = {"code": code, "message": text}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """One message: `op` for the audit log (never words of the caller), `scope` it needs, its
    `arguments`."""

    op: str
    scope: str
    arguments: Any = None

    @property
    def quiet(self) -> bool:
        """Is it too small to be written down?"""
        return self.op.startswith(_QUIET[1]) or self.op in _QUIET


def read(body: bytes) -> list[RpcMessage]:
    """The messages of a body. Raises NotRpcError, also for what two parsers may read
    differently."""
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotRpcError from error
    messages = found if isinstance(found, list) else [found]
    if not 0 < len(messages) <= MOST or not all(isinstance(message, dict) for message in messages):
        raise NotRpcError(shape=True)
    return [_about(message) for message in messages]


def _once(pairs: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    """An object in which no name stands twice: others might read it otherwise."""
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _about(message: Mapping[str, Any]) -> RpcMessage:
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    if method == "tools/call":
        name = params.get("name")
        known = isinstance(name, str) and name in TOOLS
        return RpcMessage(
            f"tools/call {name}" if known else "tools/call ?",
            TOOLS[str(name)] if known else WRITE,
            params.get("arguments"),
        )
    if not isinstance(method, str):
        return RpcMessage("", ORIENT)
    if method == "resources/read" and str(params.get("uri", "")).startswith("orientation:"):
        return RpcMessage(method, ORIENT)
    if method.startswith("notifications/"):
        return RpcMessage("notifications/", ORIENT)
    return RpcMessage(method if method in _KNOWN else "?", METHODS.get(method, ORIENT))


def outcome(body: bytes, kind: str) -> tuple[Any, bool]:
    """(what an operation answered, whether it failed) out of JSON or an event; (None, False) for
    neither."""
    events = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
    for text in [body] if kind.startswith("application/json") else events:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "jsonrpc" not in found:
            return found, False
        result = found.get("result") if isinstance(found, dict) else None
        if isinstance(result, dict):
            about = result.get("_meta")
            ids = {"ids": about.get(MEMORIES)} if isinstance(about, dict) else None
            return ids, bool(result.get("isError"))
        if isinstance(found, dict) and "error" in found:
            return None, True
    return None, False
