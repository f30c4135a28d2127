"""An OAuth 2.1 authorization server for one vault: programs that register themselves (RFC 7591),
where a browser may be sent with a code (RFC 8252), the code with PKCE S256 (RFC 7636), refresh,
revocation (RFC 7009), and what it says of itself (RFC 8414, RFC 9728; RFC 8707 resources, RFC 9207
issuer)."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

from oneiro_vault.errors import InvalidInput, OAuthRefusal, UnknownClient, shown
from oneiro_vault.http.auth.access_tokens import (
    SCOPES,
    Grants,
    Terms,
    Tokens,
    challenge,
    digest,
    mint,
    same,
)
from oneiro_vault.http.auth.json_store import Store

if TYPE_CHECKING:
    from oneiro_vault.http.auth.client_documents import Documents

LONGEST: Final = 2000
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
KNOWN_SCHEMES: Final = frozenset({"cursor", "vscode", "vscode-insiders", "claude"})
"""Schemes of programs on a person's own machine. Others need the operator's list."""
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9\-.]*[A-Za-z0-9])?")


def parse(uri: str) -> SplitResult:
    """The parts of an address that can be a redirect and that all parsers read alike. Raises
    OAuthRefusal."""
    if not isinstance(uri, str) or len(uri) > LONGEST or not _CHARACTERS.fullmatch(uri):
        raise _not_a_redirect(f"{shown(uri)} is not a plain address")
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _not_a_redirect(f"{shown(uri)} is not an address") from error
    if not parts.scheme or parts.scheme != uri.partition(":")[0] or "@" in parts.netloc:
        raise _not_a_redirect(f"{shown(uri)} is not a plain address")
    if (host or parts.scheme in ("http", "https")) and not (
        host == "::1" or _HOST.fullmatch(host or "")
    ):
        raise _not_a_redirect(f"{shown(uri)} names no host")
    return parts


def check(uri: str, listed: Collection[str] = ()) -> str:
    """An address that a client may register: https, http on loopback, a known program's own scheme,
    or what the operator lists; with a list nothing else but loopback. Raises OAuthRefusal."""
    parts = parse(uri)
    if uri in listed or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return uri
    if listed:
        raise _not_a_redirect(f"{shown(uri)} is not among the redirects that this vault allows")
    if parts.scheme == "https" and parts.hostname not in LOOPBACK:
        return uri
    if parts.scheme in KNOWN_SCHEMES:
        return uri
    raise _not_a_redirect(f"{shown(uri)} is neither https nor on this machine")


def fits(requested: str, registered: Iterable[str]) -> bool:
    """Is this one of them? Letter by letter, but for the port of a loopback address."""
    return any(requested == known or _same_but_port(requested, known) for known in registered)


def _same_but_port(requested: str, known: str) -> bool:
    try:
        one, other = parse(requested), parse(known)
    except OAuthRefusal:
        return False
    same_but_port = all(
        getattr(one, name) == getattr(other, name)
        for name in ("scheme", "hostname", "path", "query")
    )
    return same_but_port and one.scheme == "http" and one.hostname in LOOPBACK


def with_query(uri: str, **fields: str) -> str:
    """The address with these fields added to its query; empty ones are left out."""
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def host(uri: str) -> str:
    """What a person should look at: the host, or the scheme of a program on their machine."""
    parts = parse(uri)
    if parts.scheme not in ("http", "https"):
        return f"{parts.scheme}: (a program on this computer)"
    return f"{parts.hostname}{' (this computer)' if parts.hostname in LOOPBACK else ''}"


def source(uri: str) -> str:
    """The address as a source in a content security policy."""
    parts = parse(uri)
    if parts.scheme not in ("http", "https") or parts.hostname == "::1":
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _not_a_redirect(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_redirect_uri")


PREFIX: Final = "onp_"
MOST: Final = 200
MOST_REDIRECTS: Final = 10
METHODS: Final = ("none", "client_secret_post", "client_secret_basic")
_GRANTS: Final = frozenset({"authorization_code", "refresh_token"})


@dataclass(frozen=True, slots=True)
class Client:
    """A program. `method` is how it proves itself at the token endpoint; `secret` a hash, if
    any."""

    id: str
    name: str
    redirects: tuple[str, ...]
    method: str = "none"
    secret: str = ""


class Clients:
    """Self-registered programs, MOST of them; `listed` are the operator's redirects."""

    def __init__(
        self, store: Store, listed: Collection[str] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._listed, self._clock = store, listed, clock

    def register(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take a program in; returns what it must remember, its secret among it. Raises
        OAuthRefusal."""
        client = described(asked, PREFIX + secrets.token_hex(16), self._listed)
        method = asked.get("token_endpoint_auth_method") or "client_secret_basic"
        if method not in METHODS:
            raise _unfit(f"the only ways to prove oneself here are {', '.join(METHODS)}")
        secret = mint() if method != "none" else ""
        now = self._clock()
        entry = {
            "name": client.name,
            "redirects": client.redirects,
            "method": method,
            "secret": secret and digest(secret),
        }
        with self._store.change() as known:
            _make_room(known)
            known[client.id] = entry | {"created": now, "approved": None}
        answer = {
            "client_id": client.id,
            "client_id_issued_at": int(now),
            "client_name": client.name,
            "redirect_uris": list(client.redirects),
            "grant_types": sorted(_GRANTS),
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
        }
        return answer | ({"client_secret": secret, "client_secret_expires_at": 0} if secret else {})

    def find(self, ident: str) -> Client:
        """The registered program with this id. Raises UnknownClient."""
        entry = self._store.read().get(ident)
        if entry is None:
            raise UnknownClient(
                "this program is not registered here",
                hint="Let it register again.",
                code="invalid_client",
            )
        return Client(
            ident, entry["name"], tuple(entry["redirects"]), entry["method"], entry["secret"]
        )

    def approved(self, ident: str) -> None:
        """A person let this program in: it stays."""
        with self._store.change() as known:
            if ident in known:
                known[ident]["approved"] = self._clock()


def proved(client: Client, method: str, secret: str) -> None:
    """Raise UnknownClient unless the program proved itself as it said it would."""
    if client.method != method or (client.secret and not same(digest(secret), client.secret)):
        raise UnknownClient(
            "the program did not prove who it is",
            hint="Let it register again.",
            code="invalid_client",
        )


def described(asked: Mapping[str, Any], ident: str, listed: Collection[str]) -> Client:
    """A program as its own metadata describes it. Raises OAuthRefusal."""
    uris = asked.get("redirect_uris")
    if (
        not isinstance(uris, list)
        or not 0 < len(uris) <= MOST_REDIRECTS
        or not all(isinstance(uri, str) for uri in uris)
    ):
        raise OAuthRefusal(
            f"redirect_uris must be a list of 1 to {MOST_REDIRECTS} addresses",
            code="invalid_redirect_uri",
        )
    grants = asked.get("grant_types", ["authorization_code"])
    if not isinstance(grants, list) or "authorization_code" not in grants:
        raise _unfit("grant_types must include authorization_code")
    if asked.get("response_types", ["code"]) != ["code"]:
        raise _unfit("the only response type is code")
    return Client(
        ident,
        shown_name(asked.get("client_name")),
        tuple(check(uri, listed) for uri in uris),
    )


def shown_name(name: object) -> str:
    """What a program calls itself: short, on one line, nothing invisible or turned round."""
    letters = name if isinstance(name, str) else ""
    text = "".join(letter for letter in letters if letter.isprintable()).strip()
    return text[:60] or "A program without a name"


def _make_room(known: MutableMapping[str, Any]) -> None:
    """Drop the oldest that nobody approved, or whose approval is oldest: it can register again."""

    def age(ident: str) -> tuple[float, float]:
        return known[ident]["approved"] or 0.0, known[ident]["created"]

    while len(known) >= MOST:
        del known[min(known, key=age)]


def _unfit(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_client_metadata")


RESOURCE_PATH: Final = "/mcp"
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_STATE: Final = re.compile(r"[\x20-\x7e]{0,2000}")


@dataclass(frozen=True, slots=True)
class Ask:
    """A program's wish. `role` is the most it asked for; `base` the address it asked at."""

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
        return host(self.redirect)

    @property
    def leads(self) -> str:
        """The same for a content security policy."""
        return source(self.redirect)

    def back(self, **fields: str) -> str:
        """Where the browser goes next, with the answer."""
        return with_query(self.redirect, **fields, state=self.state, iss=self.base)


@dataclass
class Authorization:
    """The server. `base` is its own address, `https://host` without a path: issuer and root of
    everything."""

    clients: Clients
    documents: Documents | None
    grants: Grants

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
        if "://" in ident:  # the address of a document about it
            if self.documents is None:
                raise UnknownClient(
                    "programs named by an address are not taken here", code="invalid_client"
                )
            return await self.documents.find(ident)
        return self.clients.find(ident)

    async def ask(self, fields: Mapping[str, str], base: str) -> Ask:
        """Check an authorization request. Raises OAuthRefusal, whose `location` is empty while the
        redirect itself is not to be trusted."""
        client = await self.client(fields.get("client_id", ""))
        redirect = fields.get("redirect_uri", "")
        if not fits(redirect, client.redirects):
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
        """A person said yes, perhaps to less: where the browser goes, with a code. Raises
        InvalidInput."""
        if role not in ("reader", ask.role):
            raise InvalidInput("that is more than the program asked for")
        terms = Terms(
            ask.client.id,
            ask.client.name,
            host(ask.redirect),
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
    ) -> Tokens:
        """The answer to a program that proves by `method` that it is `ident`. Raises
        OAuthRefusal."""
        client = await self._proved(ident, method, secret)
        return await asyncio.to_thread(self._exchange, fields, client)

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
        """The id of the grant that has ended, "" when the token meant nothing. Raises
        OAuthRefusal."""
        client = await self._proved(ident, method, secret)
        return await asyncio.to_thread(self.grants.revoke, token, client.id)

    async def _proved(self, ident: str, method: str, secret: str) -> Client:
        try:
            client = await self.client(ident)
        except OAuthRefusal as refusal:
            raise UnknownClient(str(refusal), hint=refusal.hint, code="invalid_client") from refusal
        proved(client, method, secret)
        return client


def _role(scope: str) -> str:
    """The most that was asked for, of what is known here; nothing in particular means
    everything."""
    known = [SCOPES[word] for word in scope.split() if word in SCOPES]
    return "reader" if known and "writer" not in known else "writer"


def _target(resource: str) -> str:
    """A resource indicator as grants hold it; who names the whole server means its one resource."""
    whole = not resource or resource.endswith(RESOURCE_PATH)
    return resource if whole else resource.rstrip("/") + RESOURCE_PATH


def _wrong(fields: Mapping[str, str], ask: Ask) -> tuple[str, str]:
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
