"""Programs that may ask a person for access: those that registered themselves (RFC 7591), bounded
in number and size."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.errors import OAuthRefusal, UnknownClient
from oneiro_vault.http.auth import redirects
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.tokens import digest, mint, same

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

    def register(self, asked: Mapping[str, Any]) -> dict[str, Any]:
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
        tuple(redirects.check(uri, listed) for uri in uris),
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


def _make_room(known: dict[str, Any]) -> None:
    """Drop the oldest program that nobody approved, or the one whose approval is oldest: it can
    register again."""
    while len(known) >= MOST:
        del known[
            min(known, key=lambda ident: (known[ident]["approved"] or 0.0, known[ident]["created"]))
        ]


def _unfit(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_client_metadata")
