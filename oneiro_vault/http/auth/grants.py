"""What people granted to programs: one-time codes, access tokens that soon expire, refresh tokens
that change with every use.

A grant is the family of everything that came out of one approval. Whoever presents a code a second
time, or a refresh token that was exchanged before, shows that somebody has a copy: then the whole
family ends. Tokens are opaque and stored as hashes. Each begins with a mark and 32 hex digits that
only the family's own tokens have, so a used one is recognised without keeping a list of them.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.errors import NotFound, OAuthRefusal, shown
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.tokens import digest, mint, same

CODE_SECONDS: Final = 60.0
CODE, ACCESS, REFRESH = "onc", "ona", "onr"
MOST: Final = 300
_MOST_ACCESS: Final = 50
_SHAPE: Final = re.compile(r"(on[car])_([0-9a-f]{32})_([A-Za-z0-9_-]{43})")
SHORT: Final = 12
"""Characters of a grant's public id: the beginning of the hash of its family."""


Entry = dict[str, Any]
"""A grant as it lies in the file."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person agreed to: which program (id, name, host of its redirect), as what role, for
    which resource."""

    client: str
    name: str
    host: str
    role: str
    resource: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A family as people may see it. Times are epoch seconds."""

    id: str
    terms: Terms
    created: float
    expires: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """What the token endpoint hands out; `seconds` is how long `access` is good."""

    access: str
    refresh: str
    seconds: int
    role: str
    grant: str


class Grants:
    """All grants of one vault. `access_seconds` and `refresh_seconds` are how long tokens are good
    (refresh: since the last use)."""

    def __init__(
        self,
        store: Store,
        access_seconds: float,
        refresh_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._clock = store, clock
        self.access_seconds, self.refresh_seconds = access_seconds, refresh_seconds

    def open(self, terms: Terms, redirect: str, challenge: str) -> str:
        """A code for a grant that a person has just made; it is good once, for CODE_SECONDS."""
        now, family, secret = self._clock(), secrets.token_hex(16), mint()
        entry: Entry = {
            "terms": [terms.client, terms.name, terms.host, terms.role, terms.resource],
            "created": now,
            "expires": now + CODE_SECONDS,
            "code": {
                "hash": digest(secret),
                "redirect": redirect,
                "challenge": challenge,
                "used": False,
            },
            "refresh": "",
            "access": {},
        }
        with self._store.change() as grants:
            _prune(grants, now)
            grants[digest(family)] = entry
        return f"{CODE}_{family}_{secret}"

    def redeem(
        self, code: str, client: str, redirect: str, challenge: str, resource: str
    ) -> Tokens:
        """Tokens for a code. It is spent by the attempt, whatever comes of it. Raises
        OAuthRefusal."""
        with self._store.change() as grants:
            family, entry, known = _family(grants, code, CODE)
            if not same(known, entry["code"]["hash"]):
                raise _invalid("this code was never given out")
            problem = self._fault(
                entry, Terms(*entry["terms"]), client, redirect, challenge, resource
            )
            if not problem:
                entry["code"]["used"] = True
                return self._issue(family, entry)
            del grants[digest(family)]
        raise _invalid(problem)

    def _fault(
        self,
        entry: Mapping[str, Any],
        terms: Terms,
        client: str,
        redirect: str,
        challenge: str,
        resource: str,
    ) -> str:
        """Why a code must not be exchanged, or an empty string."""
        code = entry["code"]
        if code["used"]:
            return "this code was used before; everything that came of it has ended"
        if self._clock() > entry["expires"]:
            return "this code is too old"
        if client != terms.client:
            return "this code was given to another program"
        if redirect != code["redirect"]:
            return "redirect_uri is not the one the code was sent to"
        if not same(challenge, code["challenge"]):
            return "code_verifier does not fit the code_challenge"
        return "this code is for another resource" if resource not in ("", terms.resource) else ""

    def refresh(self, token: str, client: str, resource: str) -> Tokens:
        """New tokens for a refresh token, which is spent by this. Raises OAuthRefusal."""
        with self._store.change() as grants:
            family, entry, known = _family(grants, token, REFRESH)
            terms = Terms(*entry["terms"])
            if self._clock() > entry["expires"]:
                problem = "this token is too old"
            elif client != terms.client or resource not in ("", terms.resource):
                problem = "this token was given to another program, or for another resource"
            elif not same(known, entry["refresh"]):
                problem = (
                    "this token was used before; everything that came of the approval has ended"
                )
            else:
                return self._issue(family, entry)
            del grants[digest(family)]
        raise _invalid(problem)

    def _issue(self, family: str, entry: Entry) -> Tokens:
        now = self._clock()
        access, refresh = mint(), mint()
        fresh = [(known, until) for known, until in entry["access"].items() if until > now]
        entry["access"] = dict(fresh[-_MOST_ACCESS:]) | {digest(access): now + self.access_seconds}
        entry["refresh"], entry["expires"] = digest(refresh), now + self.refresh_seconds
        name, role = digest(family)[:SHORT], entry["terms"][3]
        return Tokens(
            f"{ACCESS}_{family}_{access}",
            f"{REFRESH}_{family}_{refresh}",
            int(self.access_seconds),
            role,
            name,
        )

    def check(self, token: str) -> Grant | None:
        """The grant an access token belongs to, if it is good now. Raises DiskProblem when nobody
        can tell."""
        shape = _SHAPE.fullmatch(token)
        if shape is None or shape[1] != ACCESS:
            return None
        mark, known = digest(shape[2]), digest(shape[3])
        entry = self._store.read().get(mark)
        until = (
            max((until for key, until in entry["access"].items() if same(key, known)), default=0.0)
            if entry
            else 0.0
        )
        return _grant(mark, entry) if entry and self._clock() < until else None

    def holds(self, ident: str) -> bool:
        """Has nobody ended the grant with this id?"""
        return any(mark.startswith(ident) for mark in self._store.read())

    def list(self) -> list[Grant]:
        """Every grant that something came of, oldest first."""
        now = self._clock()
        found = [
            _grant(mark, entry)
            for mark, entry in self._store.read().items()
            if entry["code"]["used"] and entry["expires"] > now
        ]
        return sorted(found, key=lambda grant: grant.created)

    def end(self, ident: str) -> Grant:
        """End one grant by its id. Raises NotFound."""
        with self._store.change() as grants:
            mark = next((mark for mark in grants if mark[:SHORT] == ident), "")
            if not mark:
                raise NotFound(
                    f"there is no grant {shown(ident)}",
                    kept="Nothing was changed.",
                    hint="`oneiro keys list` shows ids.",
                )
            return _grant(mark, grants.pop(mark))

    def revoke(self, token: str, client: str) -> str:
        """End the grant a token of this program came from (RFC 7009); returns its id, empty when
        the token meant nothing."""
        shape = _SHAPE.fullmatch(token)
        if shape is None or shape[1] not in (ACCESS, REFRESH):
            return ""
        with self._store.change() as grants:
            mark, known = digest(shape[2]), digest(shape[3])
            entry = grants.get(mark)
            if (
                entry is None
                or entry["terms"][0] != client
                or not (known in entry["access"] or same(known, entry["refresh"]))
            ):
                return ""
            del grants[mark]
            return mark[:SHORT]


def _family(grants: Mapping[str, Any], token: str, kind: str) -> tuple[str, Entry, str]:
    """(family, its entry, hash of the token's own secret). Raises OAuthRefusal."""
    shape = _SHAPE.fullmatch(token)
    entry = grants.get(digest(shape[2])) if shape and shape[1] == kind else None
    if shape is None or entry is None:
        raise _invalid("this code or token is unknown, or what it belonged to has ended")
    return shape[2], entry, digest(shape[3])


def _prune(grants: dict[str, Entry], now: float) -> None:
    """Drop what nobody can use any more, and when there are too many, the one whose time ends
    first."""
    for mark in [mark for mark, entry in grants.items() if entry["expires"] < now]:
        del grants[mark]
    while len(grants) >= MOST:
        del grants[min(grants, key=lambda mark: float(grants[mark]["expires"]))]


def _grant(mark: str, entry: Mapping[str, Any]) -> Grant:
    return Grant(mark[:SHORT], Terms(*entry["terms"]), entry["created"], entry["expires"])


def _invalid(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_grant", hint="Ask for access again.")
