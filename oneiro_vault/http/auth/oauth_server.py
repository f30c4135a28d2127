"""An OAuth 2.1 authorization server for one vault: authorization code with PKCE S256, refresh,
revocation, and what it says of itself.

Specifications: OAuth 2.1, PKCE (RFC 7636), server metadata (RFC 8414), resource indicators (RFC
8707), issuer in the redirect (RFC 9207), protected resource metadata (RFC 9728), revocation (RFC
7009).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from oneiro_vault.errors import InvalidInput, OAuthRefusal, UnknownClient
from oneiro_vault.http.auth import registered_clients
from oneiro_vault.http.auth.grants import Grants, Terms, Tokens
from oneiro_vault.http.auth.registered_clients import METHODS, Client, Clients, is_document, proved
from oneiro_vault.http.auth.tokens import challenge

if TYPE_CHECKING:
    from oneiro_vault.http.auth.client_documents import Documents

SCOPES: Final[dict[str, str]] = {"vault:read": "reader", "vault:write": "writer"}
"""What a program may ask for -> the role that gives it. Writing includes reading."""
RESOURCE_PATH: Final = "/mcp"
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_STATE: Final = re.compile(r"[\x20-\x7e]{0,2000}")


@dataclass(frozen=True, slots=True)
class Ask:
    """A program's wish that a person can be shown. `role` is the most it asked for; `base` the
    address it asked at."""

    client: Client
    redirect: str
    state: str
    challenge: str
    role: str
    resource: str
    base: str

    @property
    def host(self) -> str:
        """Where the answer goes, for people."""
        return registered_clients.host(self.redirect)

    @property
    def leads(self) -> str:
        """The same for a content security policy."""
        return registered_clients.source(self.redirect)

    def back(self, **fields: str) -> str:
        """Where the browser goes next, with the answer."""
        return registered_clients.with_query(
            self.redirect, **fields, state=self.state, iss=self.base
        )


class Authorization:
    """The server. `base` in its methods is its own address, `https://host` without a path: issuer
    and root of everything."""

    def __init__(self, clients: Clients, documents: Documents | None, grants: Grants) -> None:
        self.clients, self.documents, self.grants = clients, documents, grants

    def metadata(self, base: str) -> Mapping[str, Any]:
        """RFC 8414."""
        return {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "revocation_endpoint": f"{base}/revoke",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": list(METHODS),
            "revocation_endpoint_auth_methods_supported": list(METHODS),
            "scopes_supported": list(SCOPES),
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": self.documents is not None,
        }

    def resource(self, base: str) -> Mapping[str, Any]:
        """RFC 9728."""
        return {
            "resource": base + RESOURCE_PATH,
            "authorization_servers": [base],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "oneiro vault",
        }

    async def client(self, ident: str) -> Client:
        """The program with this id. Raises OAuthRefusal."""
        if is_document(ident):
            if self.documents is None:
                raise UnknownClient(
                    "programs named by an address are not taken here", code="invalid_client"
                )
            return await self.documents.find(ident)
        return self.clients.find(ident)

    async def ask(self, fields: Mapping[str, str], base: str) -> Ask:
        """Check an authorization request. Raises OAuthRefusal; its `location` is empty while the
        redirect itself is not to be trusted."""
        client = await self.client(fields.get("client_id", ""))
        redirect = fields.get("redirect_uri", "")
        if not registered_clients.fits(redirect, client.redirects):
            raise OAuthRefusal(
                "redirect_uri is not one of those the program registered",
                hint="It must be the same letter by letter.",
            )
        state = fields.get("state", "")
        if not _STATE.fullmatch(state):
            raise OAuthRefusal("state is too long or not plain text")
        draft = Ask(
            client,
            redirect,
            state,
            fields.get("code_challenge", ""),
            _role(fields.get("scope", "")),
            base + RESOURCE_PATH,
            base,
        )
        code, text = _wrong(fields, draft)
        if code:
            raise OAuthRefusal(
                text, code=code, location=draft.back(error=code, error_description=text)
            )
        return draft

    def approve(self, ask: Ask, role: str) -> str:
        """A person said yes, perhaps to less than was asked: where the browser goes, with a code.
        Raises InvalidInput."""
        if role not in ("reader", ask.role):
            raise InvalidInput("that is more than the program asked for")
        terms = Terms(
            ask.client.id,
            ask.client.name,
            registered_clients.host(ask.redirect),
            role,
            ask.resource,
        )
        code = self.grants.open(terms, ask.redirect, ask.challenge)
        self.clients.approved(ask.client.id)
        return ask.back(code=code)

    def deny(self, ask: Ask) -> str:
        """A person said no: where the browser goes."""
        return ask.back(error="access_denied", error_description="the person refused")

    async def token(
        self, fields: Mapping[str, str], ident: str, method: str, secret: str
    ) -> Mapping[str, Any]:
        """The token endpoint's answer, for a program that says to be `ident` and proves it by
        `method`. Raises OAuthRefusal."""
        client = await self._proved(ident, method, secret)
        return answer(await asyncio.to_thread(self._exchange, fields, client))

    def _exchange(self, fields: Mapping[str, str], client: Client) -> Tokens:
        resource, kind = _target(fields.get("resource", "")), fields.get("grant_type", "")
        if kind == "refresh_token":
            return self.grants.refresh(fields.get("refresh_token", ""), client.id, resource)
        if kind != "authorization_code":
            raise OAuthRefusal(
                "grant_type must be authorization_code or refresh_token",
                code="unsupported_grant_type",
            )
        verifier = fields.get("code_verifier", "")
        mark = challenge(verifier) if _VERIFIER.fullmatch(verifier) else ""
        return self.grants.redeem(
            fields.get("code", ""), client.id, fields.get("redirect_uri", ""), mark, resource
        )

    async def revoke(self, token: str, ident: str, method: str, secret: str) -> str:
        """RFC 7009: the id of the grant that has ended, empty when the token meant nothing. Raises
        OAuthRefusal for an unproved program."""
        client = await self._proved(ident, method, secret)
        return await asyncio.to_thread(self.grants.revoke, token, client.id)

    async def _proved(self, ident: str, method: str, secret: str) -> Client:
        try:
            client = await self.client(ident)
        except OAuthRefusal as refusal:
            raise UnknownClient(str(refusal), hint=refusal.hint, code="invalid_client") from refusal
        proved(client, method, secret)
        return client


def answer(tokens: Tokens) -> Mapping[str, Any]:
    """Tokens as the token endpoint says them."""
    scopes = [scope for scope, role in SCOPES.items() if role in ("reader", tokens.role)]
    return {
        "access_token": tokens.access,
        "token_type": "Bearer",
        "expires_in": tokens.seconds,
        "refresh_token": tokens.refresh,
        "scope": " ".join(scopes),
    }


def _role(scope: str) -> str:
    """The most that was asked for; what is unknown here is passed over, and who asks for nothing in
    particular asks for everything."""
    known = [SCOPES[word] for word in scope.split() if word in SCOPES]
    return "reader" if known and "writer" not in known else "writer"


def _target(resource: str) -> str:
    """A resource indicator as grants hold it: who names the whole server means the one resource it
    has."""
    return (
        resource
        if not resource or resource.endswith(RESOURCE_PATH)
        else resource.rstrip("/") + RESOURCE_PATH
    )


def _wrong(fields: Mapping[str, str], ask: Ask) -> tuple[str, str]:
    """OAuth's name for what is wrong with a request, and words; ("", "") when nothing is."""
    if fields.get("response_type") != "code":
        return "unsupported_response_type", "response_type must be code"
    if fields.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(ask.challenge):
        return "invalid_request", "PKCE with code_challenge_method S256 is needed"
    if _target(fields.get("resource", "")) not in ("", ask.resource):
        return "invalid_target", f"the only resource here is {ask.resource}"
    if (
        fields.get("response_mode", "query") != "query"
        or "request" in fields
        or "request_uri" in fields
    ):
        return "invalid_request", "only plain query parameters are supported"
    return "", ""
