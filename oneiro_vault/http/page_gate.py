"""The pages over a network: for whoever has the vault's password, or a key that may read; and for
looking only, since nobody who comes over a network is the user."""

from __future__ import annotations

import asyncio
import time
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oneiro_vault.app import Access
from oneiro_vault.core.principal import READ, Caller
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import OneiroError
from oneiro_vault.http.auth.access_tokens import digest, mint
from oneiro_vault.http.middleware import FORM, SMALL, admitted, typed
from oneiro_vault.http.network_request import (
    Names,
    RefusedError,
    again,
    declared,
    too_often,
    unavailable,
    whole,
)
from oneiro_vault.web.entrance import login_form
from oneiro_vault.web.guard import READING, STATIC, cookie_of, own_page, with_headers

SESSION_SECONDS: Final = 3600.0
"""Since the last look."""
MOST: Final = 256
"""Sessions at once; the oldest goes."""
LOGIN: Final = "login"
_HERE: Final = frozenset({"/ui/session", "/ui/leave", "/ui/theme"})
"""What a POST may go to."""


class Session(NamedTuple):
    """Who looks, until when (monotonic seconds), and the password's mark when they came."""

    caller: Caller
    ends: float
    mark: str


class PageGate:
    """`gate` answers everything but the pages."""

    def __init__(
        self,
        gate: ASGIApp,
        pages: ASGIApp,
        access: Access,
        names: Names,
        life: Life,
    ) -> None:
        self.gate, self.pages, self.access, self.names = gate, pages, access, names
        self.life = life
        self._sessions: dict[str, Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith("/ui/"):
            await self.gate(scope, receive, send)
            return
        headers, status = Headers(scope=scope), 0

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        caller, began = None, time.monotonic()
        try:
            caller = self._caller(headers)
            answer, receive = await self._answer(scope, headers, receive, caller)
        except RefusedError as refusal:
            answer = refusal.response()
        except OneiroError as error:
            answer = unavailable(error).response()
        with self.life.request():
            await (answer or self.pages)(scope, receive, with_headers(noting))
        if caller is not None and not scope["path"].startswith(STATIC):
            took: dict[str, str | int] = {"ms": round(1000 * (time.monotonic() - began))}
            took["from"] = self.names.address(scope, headers)
            self.access.audit.write(caller.name, f"{scope['method']} /ui", status, about=(), **took)

    async def _answer(
        self, scope: Scope, headers: Headers, receive: Receive, caller: Caller | None
    ) -> tuple[Response | None, Receive]:
        """None where the pages answer. Raises RefusedError, OneiroError."""
        base, path = admitted(scope, headers, self.names, self.life), scope["path"]
        if scope["method"] not in READING:
            return await self._post(scope, headers, receive, base)
        if path == "/ui/login":
            failed = b"failed" in scope["query_string"]
            return login_form(failed, network=True), receive
        if path.startswith(STATIC):
            return None, receive
        if caller is None:
            return RedirectResponse("/ui/login", 303), receive
        if wait := self.access.spend(caller, READ):
            raise too_often(wait)
        # no stream over a network: it would outlive whoever is let out
        return (Response(status_code=204) if path == "/ui/events" else None), receive

    async def _post(
        self, scope: Scope, headers: Headers, receive: Receive, base: str
    ) -> tuple[Response | None, Receive]:
        if scope["method"] != "POST" or not own_page(headers, base):
            raise RefusedError(403, "forbidden", "Only its own pages may send something.")
        if scope["path"] not in _HERE:
            text = "Over a network the pages only show: `oneiro ui` on the vault's own machine."
            raise RefusedError(403, "read_only", text)
        declared(headers, SMALL)
        if scope["path"] == "/ui/leave":
            self._sessions.pop(digest(cookie_of(headers, _cookie(base))), None)
            return RedirectResponse("/ui/login", 303), receive
        typed(headers, FORM)
        data = await whole(receive, SMALL)
        if scope["path"] == "/ui/session":
            return await self._enter(scope, headers, data, base), receive
        return None, again(data, receive)

    async def _enter(self, scope: Scope, headers: Headers, data: bytes, base: str) -> Response:
        address = self.names.address(scope, headers)
        if wait := self.access.knock("login", address):
            raise too_often(wait)
        fields = dict(parse_qsl(data.decode("utf-8", "replace"), max_num_fields=10))
        caller = await self._known(fields.get("code", "").strip(), address)
        if caller is None:
            self.access.audit.write("nobody", "login", "failed", **{"from": address})
            return RedirectResponse("/ui/login?failed", 303)
        self.access.audit.write(caller.name, "login", "ok", **{"from": address})
        session = mint()
        for old in list(self._sessions)[: 1 - MOST]:
            self._sessions.pop(old, None)
        ends = time.monotonic() + SESSION_SECONDS
        self._sessions[digest(session)] = Session(caller, ends, self.access.login.mark)
        answer = RedirectResponse("/ui/", 303)
        secure = base.startswith("https:")
        answer.set_cookie(
            _cookie(base), session, path="/", httponly=True, samesite="strict", secure=secure
        )
        return answer

    async def _known(self, secret: str, address: str) -> Caller | None:
        """Who has this key, or the password. Raises RefusedError, DiskProblem."""
        caller = self.access.identify(secret, ()) if secret else None
        if caller is not None:
            return caller if caller.may(READ) else None
        if wait := self.access.login.wait(address):
            raise too_often(wait)
        right = await asyncio.to_thread(self.access.login.check, secret, address)
        return Caller("model", "reader", LOGIN) if right else None

    def _caller(self, headers: Headers) -> Caller | None:
        """Who looks, if they still may: a key that was revoked, and another password, end it."""
        for secure in (True, False):
            name = digest(cookie_of(headers, _cookie("https:" if secure else "http:")))
            found = self._sessions.get(name)
            if found is None:
                continue
            holds = (
                found.mark == self.access.login.mark
                if found.caller.name == LOGIN
                else self.access.holds(found.caller)
            )
            if found.ends > time.monotonic() and holds:
                self._sessions[name] = found._replace(ends=time.monotonic() + SESSION_SECONDS)
                return found.caller
            self._sessions.pop(name, None)
        return None


def _cookie(base: str) -> str:
    return "__Host-oneiro-page" if base.startswith("https:") else "oneiro-page"
