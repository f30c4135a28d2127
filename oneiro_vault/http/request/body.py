"""Requests are read whole before anything is done with them, but only so far and only so long."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Message, Receive

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
