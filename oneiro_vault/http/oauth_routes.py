"""The routes of the authorization server, with the login and consent page: no script, nothing from
elsewhere."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote_plus

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from oneiro_vault.app import Access
from oneiro_vault.errors import OAuthRefusal
from oneiro_vault.http.middleware import ADDRESS, BASE
from oneiro_vault.http.network_request import too_often

_CHOICES: Final = {"writer": "read and change memories", "reader": "read memories only"}


def page(
    shown: Mapping[str, object],
    status: int = 200,
    leads: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Which program asks for what, or a title and a text. Its form may end at `leads`, a source of
    a content security policy, besides here."""
    from oneiro_vault.web import templating  # which takes a while to load

    policy = (
        f"default-src 'none'; style-src 'self'; form-action 'self' {leads}".rstrip()
        + "; frame-ancestors 'none'; base-uri 'none'"
    )
    return HTMLResponse(
        templating.rendered("frame/consent.html", {"hint": "", "program": None, **shown}),
        status,
        private()
        | {"Content-Security-Policy": policy, "X-Frame-Options": "DENY"}
        | dict(headers or {}),
    )


def private() -> dict[str, str]:
    """Headers of what is for one pair of eyes (same-origin: a form needs its Origin)."""
    return {"Cache-Control": "no-store", "Pragma": "no-cache", "Referrer-Policy": "same-origin"}


MOST_FIELDS: Final = 30
_STALE: Final = "This page is too old, or was opened in another browser."


class OAuthFace:
    """Parse, ask Access, render."""

    def __init__(self, access: Access) -> None:
        self.access, self.server = access, access.oauth

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/.well-known/oauth-authorization-server", self.about_server),
            Route("/.well-known/oauth-protected-resource", self.about_resource),
            Route("/.well-known/oauth-protected-resource/mcp", self.about_resource),
            Route("/authorize", self.show, methods=["GET"]),
            Route("/authorize", self.decide, methods=["POST"]),
            Route("/token", self.token, methods=["POST"]),
            Route("/revoke", self.revoke, methods=["POST"]),
            Route("/register", self.register, methods=["POST"]),
        ]

    async def about_server(self, request: Request) -> Response:
        """RFC 8414."""
        return JSONResponse(self.server.metadata(request.scope[BASE]))

    async def about_resource(self, request: Request) -> Response:
        """RFC 9728."""
        return JSONResponse(self.server.resource(request.scope[BASE]))

    async def register(self, request: Request) -> Response:
        """RFC 7591."""
        self._knock("register", request)
        try:
            made = await asyncio.to_thread(
                self.server.clients.register, _object(await request.body())
            )
        except OAuthRefusal as refusal:
            return _oauth_error(refusal)
        return JSONResponse(made, 201, private())

    async def show(self, request: Request) -> Response:
        """A program sent a browser here: show the person what it asks for."""
        self._knock("login", request)
        try:
            fields = _fields(request.scope["query_string"])
            ask = await self.server.ask(fields, request.scope[BASE])
        except OAuthRefusal as refusal:
            return _turned_away(refusal)
        if not self.access.login.exists:
            text = "Nobody can log in to this vault yet."
            hint = "On the machine of the vault, run: oneiro keys login"
            return page({"title": "No password is set", "text": text, "hint": hint}, 403)
        name = _cookie_name(request)
        cookie = request.cookies.get(name, "")
        cookie = cookie if len(cookie) == 43 else secrets.token_urlsafe(32)
        shown = self._page(
            ask, self.access.pages.close({"browser": _mark(cookie), "fields": fields})
        )
        shown.set_cookie(
            name, cookie, httponly=True, samesite="strict", secure=_secure(request), path="/"
        )
        return shown

    async def decide(self, request: Request) -> Response:
        """The person's answer; the password comes with it, so nothing but this very form can give
        one."""
        try:
            given = _fields(await request.body())
            sealed = self.access.pages.open(given.get("sealed", ""))
            if sealed is None or sealed["browser"] != _mark(
                request.cookies.get(_cookie_name(request), "")
            ):
                hint = "Go back to the program and ask for access once more."
                return page({"title": "Start again", "text": _STALE, "hint": hint}, 400)
            ask = await self.server.ask(sealed["fields"], request.scope[BASE])
        except OAuthRefusal as refusal:
            return _turned_away(refusal)
        if given.get("decision") != "allow":
            return _redirect(self.server.deny(ask))
        address = request.scope[ADDRESS]
        wait = self.access.login.wait(address)
        if wait:
            seconds = str(round(wait) + 1)
            text = f"Too many attempts. Try again in {seconds} seconds."
            return self._page(ask, given["sealed"], text, 429, {"Retry-After": seconds})
        if not await asyncio.to_thread(self.access.login.check, given.get("password", ""), address):
            self.access.audit.write("nobody", "login", "failed", **{"from": address})
            return self._page(ask, given["sealed"], "That is not the password.", 403)
        role = "reader" if given.get("access") == "reader" else ask.role
        location = await asyncio.to_thread(self.server.approve, ask, role)
        self.access.audit.write("local", "approve", "ok", **{"from": address, "role": role})
        return _redirect(location)

    def _page(
        self,
        ask: Any,
        sealed: str,
        problem: str = "",
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        choices = {role: _CHOICES[role] for role in _CHOICES if role in (ask.role, "reader")}
        shown = {"program": ask, "sealed": sealed, "problem": problem, "choices": choices}
        return page(shown, status, ask.leads, headers)

    async def token(self, request: Request) -> Response:
        """Codes and refresh tokens become access tokens."""
        self._knock("token", request)
        try:
            fields = _fields(await request.body())
            answer = await self.server.token(fields, *_proof(request, fields))
        except OAuthRefusal as refusal:
            return _oauth_error(refusal)
        return JSONResponse(answer, 200, private())

    async def revoke(self, request: Request) -> Response:
        """RFC 7009: whatever the token was, afterwards it is none."""
        self._knock("token", request)
        try:
            fields = _fields(await request.body())
            await self.server.revoke(fields.get("token", ""), *_proof(request, fields))
        except OAuthRefusal as refusal:
            return _oauth_error(refusal)
        return Response(status_code=200, headers=private())

    def _knock(self, kind: str, request: Request) -> None:
        wait = self.access.knock(kind, request.scope[ADDRESS])
        if wait:
            raise too_often(wait)


def _object(data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OAuthRefusal("the body is not a JSON object", code="invalid_client_metadata")
    return found


def _fields(data: bytes) -> dict[str, str]:
    """A form or query in which no field stands twice (others might read it otherwise). Raises
    OAuthRefusal."""
    try:
        pairs = parse_qsl(
            data.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError as error:
        raise OAuthRefusal("the request is not a plain form") from error
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise OAuthRefusal("a field stands twice in the request")
    return fields


def _proof(request: Request, fields: Mapping[str, str]) -> tuple[str, str, str]:
    """How a program says who it is: (id, method, secret). Raises OAuthRefusal for two ways at
    once."""
    header = request.headers.get("authorization", "")
    if not header:
        secret = fields.get("client_secret", "")
        return fields.get("client_id", ""), "client_secret_post" if secret else "none", secret
    scheme, _, encoded = header.partition(" ")
    try:
        if scheme.lower() != "basic" or "client_secret" in fields:
            raise ValueError
        ident, colon, secret = (
            base64.b64decode(encoded.strip(), validate=True).decode("ascii").partition(":")
        )
        ident = unquote_plus(ident)
        if not colon or fields.get("client_id", ident) != ident:
            raise ValueError
    except (ValueError, binascii.Error) as error:
        raise OAuthRefusal("the Authorization header makes no sense here") from error
    return ident, "client_secret_basic", unquote_plus(secret)


def _oauth_error(refusal: OAuthRefusal) -> Response:
    headers = private() | (
        {"WWW-Authenticate": 'Basic realm="oneiro"'} if refusal.http_status == 401 else {}
    )
    return JSONResponse(
        {"error": refusal.code, "error_description": f"{refusal}"}, refusal.http_status, headers
    )


def _turned_away(refusal: OAuthRefusal) -> Response:
    """Back to the program with OAuth's name for it; to nobody when the address is not to be
    trusted."""
    if refusal.location:
        return _redirect(refusal.location)
    title = "This program cannot be let in"
    return page({"title": title, "text": f"{refusal}", "hint": refusal.hint}, 400)


def _redirect(location: str) -> Response:
    """To an address that was checked letter by letter, so it is not rewritten."""
    return Response(status_code=303, headers={**private(), "Location": location})


def _mark(cookie: str) -> str:
    """What the page carries of the browser's cookie; only the browser has the cookie itself."""
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


def _secure(request: Request) -> bool:
    return str(request.scope[BASE]).startswith("https:")


def _cookie_name(request: Request) -> str:
    return "__Host-oneiro" if _secure(request) else "oneiro"
