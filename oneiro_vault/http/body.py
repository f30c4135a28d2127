"""Requests are read whole before anything is done with them, but only so far and only so long;
what an MCP request is about is read off its body before the server behind the gate sees it:
rights, limits and the audit log need it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive

from oneiro_vault.core.principal import MEMORIES, METHODS, ORIENT, TOOLS, WRITE
from oneiro_vault.http.refusal import RefusedError

PATIENCE: Final = 10.0
"""Seconds a sender may pause."""
GRACE: Final = 20.0
SLOWEST: Final = 10_000
"""Bytes a second that must come on average once GRACE seconds have passed."""


def declared(headers: Headers, limit: int) -> None:
    """Look at what is said of the body's length before a byte of it is read. Raises
    RefusedError."""
    length = headers.get("content-length", "")
    if (
        length and "transfer-encoding" in headers
    ):  # two lengths, of which a proxy before us may have believed the other
        raise RefusedError(
            400,
            "invalid_request",
            "Content-Length and Transfer-Encoding exclude each other.",
            {"Connection": "close"},
        )
    if length and not (length.isascii() and length.isdigit()):
        raise RefusedError(400, "invalid_request", "Content-Length is not a number.")
    if length and (len(length) > 15 or int(length) > limit):
        raise too_large(limit)


async def whole(receive: Receive, limit: int) -> bytes:
    """The body, at most `limit` bytes of it kept. Raises RefusedError: 413 too large, 408 too slow,
    499 gone."""
    parts: list[bytes] = []
    size, began = 0, time.monotonic()
    while True:
        left = GRACE + size / SLOWEST - (time.monotonic() - began)
        try:
            message = await asyncio.wait_for(receive(), max(0.0, min(PATIENCE, left)))
        except TimeoutError as error:
            raise RefusedError(
                408, "too_slow", "The request did not arrive in time.", {"Connection": "close"}
            ) from error
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
        error = (
            {"code": -32600, "message": "Invalid Request"}
            if self.shape
            else {"code": -32700, "message": "Parse error"}
        )
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)


@dataclass(frozen=True, slots=True)
class Request:
    """One message: `op` for the audit log (never words of the caller), `scope` it needs, its
    `arguments`."""

    op: str
    scope: str
    arguments: Any = None

    @property
    def quiet(self) -> bool:
        """Is it too small to be written down?"""
        return self.op.startswith(_QUIET[1]) or self.op in _QUIET


def read(body: bytes) -> list[Request]:
    """The messages of a body. Raises NotRpcError, also for what two parsers may read
    differently."""
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise NotRpcError from error
    messages = found if isinstance(found, list) else [found]
    if not 0 < len(messages) <= MOST or not all(isinstance(message, dict) for message in messages):
        raise NotRpcError(shape=True)
    return [_request(message) for message in messages]


def _once(pairs: Iterable[tuple[str, Any]]) -> Mapping[str, Any]:
    """An object; a name that stands in it twice would mean one thing to us and perhaps another to
    the server."""
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _request(message: Mapping[str, Any]) -> Request:
    method, params = message.get("method"), message.get("params")
    params = params if isinstance(params, dict) else {}
    if method == "tools/call":
        name = params.get("name")
        known = isinstance(name, str) and name in TOOLS
        return Request(
            f"tools/call {name}" if known else "tools/call ?",
            TOOLS[str(name)] if known else WRITE,
            params.get("arguments"),
        )
    if not isinstance(method, str):
        return Request("", ORIENT)
    if method == "resources/read" and str(params.get("uri", "")).startswith("orientation:"):
        return Request(method, ORIENT)
    if method.startswith("notifications/"):
        return Request("notifications/", ORIENT)
    return Request(method if method in _KNOWN else "?", METHODS.get(method, ORIENT))


def outcome(body: bytes, kind: str) -> tuple[Any, bool]:
    """(what an operation answered, whether it failed) out of JSON or the event that has it; (None,
    False) when that cannot be read."""
    texts = (
        [body]
        if kind.startswith("application/json")
        else [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
    )
    for text in texts:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and "jsonrpc" not in found:
            return found, False
        result = found.get("result") if isinstance(found, dict) else None
        if isinstance(result, dict):
            about = result.get("_meta")
            return {"ids": about.get(MEMORIES)} if isinstance(about, dict) else None, bool(
                result.get("isError")
            )
        if isinstance(found, dict) and "error" in found:
            return None, True
    return None, False
