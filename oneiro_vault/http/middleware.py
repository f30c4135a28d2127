"""In front of every request that comes over a network: is it meant for us, from whom is it, may
they, how often, and who did what.

Cheapest and most general first, so that a stranger costs next to nothing: Host and Origin, path and
method, size and type, token, role, rate; only then is a body read, and an MCP body looked into.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oneiro_vault.app import OPS, Access
from oneiro_vault.core.principal import ADMIN, CAPTURE, ORIENT, READ, SCOPE, WRITE, Caller
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import OneiroError
from oneiro_vault.http.network_request import (
    Names,
    NotRpcError,
    RefusedError,
    again,
    declared,
    outcome,
    read,
    too_often,
    trouble,
    unavailable,
    whole,
)

LOOK: Final = 0.5
"""Seconds between two looks at whether the caller of a long request has been revoked."""
SMALL: Final = 65_536
"""Bytes that whoever needs no token may send."""
LARGE: Final = 33_554_432
"""Bytes that others may send."""
LONGEST_HEAD: Final = 16_384
"""Bytes of a request's headers and query."""
BASE: Final = "oneiro.base"
ADDRESS: Final = "oneiro.address"
_SECRET_NAMES: Final = frozenset(
    "access_token refresh_token token bearer api_key key authorization client_secret "
    "code_verifier password".split()
)
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
NOBODY: Final = "nobody"
"""A scope that no role has."""
KEPT: Final = 65_536
"""Bytes of an answer that are kept; ids in a longer one are not found."""


class Rule(NamedTuple):
    """What a path takes: methods, the type of its body, the scope its caller needs ("":
    anybody)."""

    methods: str
    kind: str = ""
    scope: str = ""


RULES: Final[dict[str, Rule]] = {
    "/.well-known/oauth-authorization-server": Rule("GET"),
    "/.well-known/oauth-protected-resource": Rule("GET"),
    "/.well-known/oauth-protected-resource/mcp": Rule("GET"),
    "/authorize": Rule("GET POST", FORM),
    "/token": Rule("POST", FORM),
    "/revoke": Rule("POST", FORM),
    "/register": Rule("POST", JSON),
    "/mcp": Rule("GET POST DELETE", JSON, ORIENT),
    "/orientation": Rule("GET", scope=ORIENT),
    "/capture": Rule("POST", JSON, CAPTURE),
    "/status": Rule("GET", scope=ADMIN),
    "/stop": Rule("POST", scope=ADMIN),
    "/api": Rule("POST", JSON, ADMIN),
}


def rule_of(path: str) -> tuple[str, Rule | None]:
    """(the path as the audit log may name it, its rule); ("?", None) where there is none."""
    if path.startswith("/api/"):
        operation = OPS.get(path.removeprefix("/api/"))
        known = operation is not None and not operation.local
        return (path, RULES["/api"]) if known else ("?", None)
    return (path, RULES[path]) if path in RULES and path != "/api" else ("?", None)


def changes(path: str) -> bool:
    """May a request to this path, which is not MCP, change something?"""
    operation = OPS.get(path.removeprefix("/api/")) if path.startswith("/api/") else None
    return path == "/capture" or (operation is not None and not operation.reads_only)


class Answer:
    """A `send` that keeps the beginning of what passes, for the audit log, and can cut it short.
    `status` is 0 until an answer begins."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send, self._kept, self._kind, self._ended = send, bytearray(), "", False

    async def __call__(self, message: Message) -> None:
        """ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", []))
            self._kind = Headers(raw=headers).get("content-type", "")
            message = {**message, "headers": [*headers, (b"x-content-type-options", b"nosniff")]}
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if len(self._kept) < KEPT:
                self._kept += message.get("body", b"")[:KEPT]
        await self._send(message)

    def outcome(self) -> tuple[Any, bool]:
        """(what an operation answered, did it fail); (None, False) when that cannot be read."""
        return outcome(bytes(self._kept), self._kind)

    async def cut(self) -> None:
        """Whoever waits for the rest hears that there is none."""
        with suppress(Exception):  # nobody may be there any more
            if not self.status:
                headers = [(b"content-length", b"0")]
                await self({"type": "http.response.start", "status": 401, "headers": headers})
            if not self._ended:
                await self({"type": "http.response.body", "body": b"", "more_body": False})


def admitted(scope: Scope, headers: Headers, names: Names, life: Life) -> str:
    """The address by which a request is for us. Raises RefusedError."""
    if not life.examine():
        raise RefusedError(503, "leaving", "The server is restarting.", {"Retry-After": "2"})
    head = sum(len(name) + len(value) for name, value in headers.raw)
    if head + len(scope["query_string"]) > LONGEST_HEAD:
        text = f"A head has at most {LONGEST_HEAD} bytes."
        raise RefusedError(431, "headers_too_large", text, {"Connection": "close"})
    return names.check(scope, headers)


def typed(headers: Headers, kind: str) -> None:
    """Raise RefusedError for a body that is not of this kind ("": of any)."""
    if kind and headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise RefusedError(415, "unsupported_media_type", f"The body must be {kind}.")


@dataclass
class Gate:
    """`inner` has every route; nothing reaches it but what this lets through, with its Caller in
    the scope."""

    inner: ASGIApp
    access: Access
    names: Names
    life: Life

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            return
        answer = Answer(send)
        visit = Visit(self, scope, Headers(scope=scope), answer)
        try:
            await visit.serve(receive)
        except RefusedError as refusal:
            await refusal.response()(scope, receive, answer)
        except NotRpcError as error:
            await error.response()(scope, receive, answer)
        except OneiroError as error:
            await (trouble(error) if visit.caller else unavailable(error).response())(
                scope, receive, answer
            )
        finally:
            visit.write_down()


class Visit:
    """One request on its way through the gate."""

    def __init__(self, gate: Gate, scope: Scope, headers: Headers, answer: Answer) -> None:
        self.gate, self.scope, self.headers, self.answer = gate, scope, headers, answer
        self.began = time.monotonic()
        self.caller: Caller | None = None
        self.address = gate.names.address(scope, headers)
        self.op, self.quiet, self.revoked = "?", False, False
        self.about: list[Any] = []

    async def serve(self, receive: Receive) -> None:
        """Let it through. Raises RefusedError, NotRpcError, DiskProblem."""
        base = admitted(self.scope, self.headers, self.gate.names, self.gate.life)
        self.scope[BASE] = base
        self.scope[ADDRESS] = self.address
        rule = self._rule()
        limit = LARGE if rule.scope else SMALL
        declared(self.headers, limit)
        if rule.scope:
            self._admit(rule, base)
        if self.scope["method"] == "POST":
            typed(self.headers, rule.kind)
            data = await whole(receive, limit)
            receive = again(data, receive)
            self._look_into(data)
        await (
            self._attended(self.caller, receive)
            if self.caller
            else self.gate.inner(self.scope, receive, self.answer)
        )

    def _rule(self) -> Rule:
        """What the path takes; a stranger is not told which paths exist. Raises RefusedError."""
        method = self.scope["method"]
        known, rule = rule_of(self.scope["path"])
        rule = rule or Rule(method, scope=NOBODY)
        methods = rule.methods.split()
        self.op = f"{method} {known}" if method in methods else known
        if method not in methods:
            allowed = {"Allow": ", ".join(sorted(methods))}
            raise RefusedError(405, "method_not_allowed", "Use another method.", allowed)
        query = self.scope["query_string"].decode("latin-1")
        try:
            named = {name.lower() for name, _ in parse_qsl(query, True, max_num_fields=50)}
        except ValueError as error:
            raise RefusedError(400, "invalid_request", "The query has too many fields.") from error
        if named & _SECRET_NAMES:
            text = "A secret has no place in an address: it is in logs now, so revoke it."
            raise RefusedError(400, "invalid_request", text)
        return rule

    def _admit(self, rule: Rule, base: str) -> None:
        given = self.headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() == "bearer":
            self.caller = self.gate.access.identify(
                token.strip(), self.gate.names.resources(self.scope)
            )
        if self.caller is None:
            error = "invalid_token" if given else "unauthorized"
            why = _challenge(base, error if given else "", "vault:read vault:write")
            raise RefusedError(401, error, "A valid token is needed.", why)
        if rule.scope == NOBODY:
            raise RefusedError(404, "not_found", "There is nothing here.")
        self._need(rule.scope)
        self._pay(READ, 1)
        self.scope[SCOPE] = self.caller

    def _need(self, scope: str) -> None:
        if self.caller is None or not self.caller.may(scope):
            wanted = {"write": "vault:write", "read": "vault:read", "orient": "vault:read"}
            why = _challenge(self.scope[BASE], "insufficient_scope", wanted.get(scope, ""))
            text = f"This key or login may not do that: it needs the right to {scope}."
            raise RefusedError(403, "insufficient_scope", text, why)

    def _pay(self, scope: str, count: int) -> None:
        wait = self.gate.access.spend(self.caller, scope, count) if self.caller and count else 0.0
        if wait:
            raise too_often(wait)

    def _look_into(self, data: bytes) -> None:
        """Rights and permits that an MCP body, or another way to change something, needs
        besides."""
        if self.scope["path"] != "/mcp":
            self._pay(WRITE, int(changes(self.scope["path"])))
            return
        requests = read(data)
        self.op = (
            ", ".join(dict.fromkeys(request.op for request in requests if not request.quiet))[:200]
            or "mcp"
        )
        self.quiet = all(request.quiet for request in requests)
        self.about += [request.arguments for request in requests]
        for request in requests:
            self._need(request.scope)
        self._pay(WRITE, sum(request.scope == WRITE for request in requests))
        self._pay(READ, len(requests) - 1)

    async def _attended(self, caller: Caller, receive: Receive) -> None:
        work = asyncio.ensure_future(self.gate.inner(self.scope, receive, self.answer))
        try:
            while not (await asyncio.wait({work}, timeout=LOOK))[0]:
                if not self.gate.access.holds(caller):
                    self.revoked = True
                    work.cancel()
                    await asyncio.wait({work})
                    await self.answer.cut()
                    return
            work.result()
        finally:
            work.cancel()

    def write_down(self) -> None:
        """One line in the audit log; strangers must not fill the disk with what they were
        refused."""
        status = self.answer.status or 500
        if self.caller is None and self.gate.access.knock("refused", self.address):
            return
        if self.quiet and status in (200, 202):
            return
        result, failed = self.answer.outcome() if self.caller else (None, False)
        took = round(1000 * (time.monotonic() - self.began))
        more: dict[str, str | int] = {"from": self.address, "ms": took}
        more |= ({"failed": 1} if failed else {}) | ({"revoked": 1} if self.revoked else {})
        about = [*self.about, result] if self.op.startswith(("tools/call", "POST")) else self.about
        self.gate.access.audit.write(
            self.caller.name if self.caller else "nobody", self.op, status, about=about, **more
        )


def _challenge(base: str, error: str, scope: str) -> Mapping[str, str]:
    """RFC 6750 and RFC 9728: why, and where a program learns how to get a token."""
    place = f"{base}/.well-known/oauth-protected-resource/mcp"
    fields = {"error": error, "scope": scope, "resource_metadata": place}
    said = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
    return {"WWW-Authenticate": f"Bearer {said}"}
