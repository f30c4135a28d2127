"""Programs that may ask a person for access: those that registered themselves (RFC 7591),
bounded in number and size; and where a browser may be sent with a code: exactly where the client
said beforehand, only a loopback port may differ (RFC 8252)."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlencode, urlsplit

from oneiro_vault.errors import OAuthRefusal, UnknownClient, shown
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.tokens import digest, mint, same

LONGEST: Final = 2000
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
KNOWN_SCHEMES: Final = frozenset({"cursor", "vscode", "vscode-insiders", "claude"})
"""Programs on a person's own machine that are reached by a scheme of their own. Others need the
operator's list."""
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9\-.]*[A-Za-z0-9])?")


def parse(uri: str) -> SplitResult:
    """The parts of an address that can be a redirect at all; what parsers may read differently is
    none. Raises OAuthRefusal."""
    if not isinstance(uri, str) or len(uri) > LONGEST or not _CHARACTERS.fullmatch(uri):
        raise _refused(f"{shown(uri)} is not a plain address")
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise _refused(f"{shown(uri)} is not an address") from error
    if not parts.scheme or parts.scheme != uri.partition(":")[0] or "@" in parts.netloc:
        raise _refused(f"{shown(uri)} is not a plain address")
    if (host or parts.scheme in ("http", "https")) and not (
        host == "::1" or _HOST.fullmatch(host or "")
    ):
        raise _refused(f"{shown(uri)} names no host")
    return parts


def check(uri: str, listed: Collection[str] = ()) -> str:
    """An address that a client may register: https, http on loopback, a known program's own scheme;
    or what the operator lists.

    With a list nothing else is taken but loopback. Raises OAuthRefusal.
    """
    parts = parse(uri)
    if uri in listed or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return uri
    if listed:
        raise _refused(f"{shown(uri)} is not among the redirects that this vault allows")
    if parts.scheme == "https" and parts.hostname not in LOOPBACK:
        return uri
    if parts.scheme in KNOWN_SCHEMES:
        return uri
    raise _refused(f"{shown(uri)} is neither https nor on this machine")


def fits(requested: str, registered: Iterable[str]) -> bool:
    """Is this one of them? Letter by letter, but for the port of a loopback address."""
    return any(requested == known or _same_but_port(requested, known) for known in registered)


def _same_but_port(requested: str, known: str) -> bool:
    try:
        one, other = parse(requested), parse(known)
    except OAuthRefusal:
        return False
    both_loopback = (
        one.scheme == other.scheme == "http"
        and one.hostname == other.hostname
        and one.hostname in LOOPBACK
    )
    return both_loopback and (one.path, one.query) == (other.path, other.query)


def with_query(uri: str, **fields: str) -> str:
    """The address with these fields added to its query; empty ones are left out."""
    query = urlencode({name: value for name, value in fields.items() if value})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"


def host(uri: str) -> str:
    """What a person should look at: the host, or the scheme of a program on their machine."""
    parts = parse(uri)
    if parts.scheme in ("http", "https"):
        return (
            f"{parts.hostname} (this computer)"
            if parts.hostname in LOOPBACK
            else str(parts.hostname)
        )
    return f"{parts.scheme}: (a program on this computer)"


def source(uri: str) -> str:
    """The address as a source in a content security policy, so that a form may end there and
    nowhere else."""
    parts = parse(uri)
    if parts.scheme not in ("http", "https") or parts.hostname == "::1":
        return f"{parts.scheme}:"
    return f"{parts.scheme}://{parts.netloc}"


def _refused(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_redirect_uri")


PREFIX: Final = "onp_"
MOST: Final = 200
MOST_REDIRECTS: Final = 10
METHODS: Final = ("none", "client_secret_post", "client_secret_basic")
_GRANTS: Final = frozenset({"authorization_code", "refresh_token"})


@dataclass(frozen=True, slots=True)
class Client:
    """A program. `method` is how it proves itself at the token endpoint; `secret` the hash of what
    it proves that with, if anything."""

    id: str
    name: str
    redirects: tuple[str, ...]
    method: str = "none"
    secret: str = ""


class Clients:
    """Self-registered programs, MOST of them: one that nobody approved makes room first. `listed`
    are the operator's redirects."""

    def __init__(
        self, store: Store, listed: Collection[str] = (), clock: Callable[[], float] = time.time
    ) -> None:
        self._store, self._listed, self._clock = store, listed, clock

    def register(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take a program in; returns what it must remember (its secret is shown here only). Raises
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


def is_document(ident: str) -> bool:
    """Does a program's id look like the address of a document about it?"""
    return "://" in ident


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
    """What a program calls itself, as a person may safely be shown it: short, on one line, nothing
    invisible or turned round."""
    text = (
        "".join(letter for letter in name if letter.isprintable()).strip()
        if isinstance(name, str)
        else ""
    )
    return text[:60] or "A program without a name"


def _make_room(known: MutableMapping[str, Any]) -> None:
    """Drop the oldest program that nobody approved, or the one whose approval is oldest: it can
    register again."""
    while len(known) >= MOST:
        del known[
            min(known, key=lambda ident: (known[ident]["approved"] or 0.0, known[ident]["created"]))
        ]


def _unfit(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_client_metadata")
