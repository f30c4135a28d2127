"""In front of every page: is the request for this server, from one of its own pages, and from
somebody who came by a one-time link? And the headers that keep a browser from doing more than it
should. Of one-time codes and of the sessions of browsers that spent one nothing is kept but hashes,
and nothing outlives the owner.

Pure ASGI: Starlette's own middleware class would hold streams back.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oneiro_vault.daemon.lifetime import Life

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""Of every answer that does not say otherwise. No CORS header anywhere."""
READING: Final = frozenset({"GET", "HEAD"})
"""Methods that change nothing."""
STATIC: Final = "/ui/static/"
"""Where the pages' own files lie."""
OPEN: Final = frozenset(("/ui/login", "/ui/session"))
"""What somebody without a session may ask for besides; none of it says anything of the vault."""
LARGEST: Final = 4_000_000
"""Bytes of a form."""
_CLOSED: Final = "The page is not open any more: run `oneiro ui` again. Nothing was changed."


@dataclass
class Guard:
    """`port`: where we listen, on the loopback address only."""

    inner: ASGIApp
    sessions: Sessions
    life: Life
    port: int

    @property
    def cookie(self) -> str:
        """Its name has the port in it: cookies are shared by all ports of a host."""
        return f"oneiro-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        with self.life.request():
            await (refusal or self.inner)(scope, receive, with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        method, path = scope["method"], scope["path"]
        if headers.get("host", "") not in self._hosts():
            return PlainTextResponse("This server is not known by that name.", 421)
        if method not in READING and method != "POST":
            return PlainTextResponse("Only GET and POST.", 405, {"Allow": "GET, HEAD, POST"})
        if method == "POST" and not own_page(headers, f"http://{headers['host']}"):
            return PlainTextResponse("Only its own pages may change the vault.", 403)
        if not headers.get("content-length", "0").isdigit():
            return PlainTextResponse("How long is it?", 400)
        if int(headers.get("content-length", "0")) > LARGEST or "transfer-encoding" in headers:
            return PlainTextResponse("That is too much at once.", 413)
        if path in OPEN or path.startswith(STATIC) or self.sessions.knows(self.session(headers)):
            return None
        if method == "POST":
            return _Late()
        if "hx-request" in headers or path == "/ui/events":
            return PlainTextResponse(_CLOSED, 401)
        return RedirectResponse("/ui/login", 303)

    def session(self, headers: Mapping[str, str]) -> str:
        """What the browser says its session is, "" for nothing."""
        return cookie_of(headers, self.cookie)

    def _hosts(self) -> frozenset[str]:
        return frozenset(f"{host}:{self.port}" for host in ("127.0.0.1", "localhost", "[::1]"))


class _Late(Response):
    """What a form is answered that was sent after the page had ended (the owner was stopped, half a
    day went by). The words in it come back: a browser has them no more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        fields = {}
        with suppress(HTTPException, MultiPartException, ClientDisconnect):
            fields = dict(await Request(scope, receive).form())
        words = str(fields.get("text", "")).replace("\r\n", "\n").strip()
        told = f"{_CLOSED} These are your words:\n\n{words}\n" if words else _CLOSED
        await PlainTextResponse(told, 401)(scope, receive, send)


def with_headers(send: Send) -> Send:
    """A `send` whose answers carry HEADERS."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                given.setdefault(name, value)
        await send(message)

    return guarded


def cookie_of(headers: Mapping[str, str], name: str) -> str:
    """The value of a browser's cookie, "" for none."""
    return cookie_parser(headers.get("cookie", "")).get(name, "")


def own_page(headers: Mapping[str, str], base: str) -> bool:
    """From a page of this very origin (`base`)? Other ports of this machine are the same site, so
    `same-site` is not enough."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return headers.get("origin", "") == base


CODE_SECONDS: Final = 60.0
SESSION_SECONDS: Final = 12 * 3600.0
_MOST: Final = 64
"""Codes or sessions at once; the oldest goes."""


class Sessions:
    """Codes are good once, for a minute; sessions for half a day. `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._sessions: dict[str, float] = {}

    def new_code(self) -> str:
        """A secret for the one who asked at a terminal."""
        return self._new(self._codes, CODE_SECONDS)

    def spend(self, code: str) -> str | None:
        """A session for a code, which is gone with it; None for what is none (any more)."""
        ends = self._codes.pop(_hash(code), 0.0)
        return self._new(self._sessions, SESSION_SECONDS) if ends > self._clock() else None

    def knows(self, session: str) -> bool:
        """Is it a session that has not ended?"""
        return self._sessions.get(_hash(session), 0.0) > self._clock()

    def end(self, session: str) -> None:
        """The person leaves."""
        self._sessions.pop(_hash(session), None)

    def _new(self, kept: dict[str, float], seconds: float) -> str:
        now = self._clock()
        for old in [name for name, ends in kept.items() if ends <= now] + list(kept)[: 1 - _MOST]:
            kept.pop(old, None)
        made = secrets.token_urlsafe(32)
        kept[_hash(made)] = now + seconds
        return made


def _hash(secret: str) -> str:
    """What is compared is a hash, so that time says nothing of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
