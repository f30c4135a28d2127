"""What a caller shows: service keys, and the codes and tokens that come of what a person granted;
also the password (scrypt) and statements of ours that travel through a browser, sealed.

A grant is the family of everything that came out of one approval. Whoever presents a code a second
time, or a refresh token that was exchanged before, has a copy: then the whole family ends. Secrets
are opaque and stored as hashes; a token begins with a mark and 32 hex digits of its family, so a
used one is recognised without a list of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from oneiro_vault.core.memory import ALPHABET
from oneiro_vault.core.principal import KEY_ROLES
from oneiro_vault.errors import InvalidInput, NotFound, OAuthRefusal, shown
from oneiro_vault.http.auth.json_store import Store

BYTES: Final = 32
"""Random bytes of every secret: 256 bit, so a plain hash is as good as a slow one."""
_COST: Final = {"n": 2**15, "r": 8, "p": 3}
_MEMORY: Final = 128 * 1024 * 1024


def mint() -> str:
    """A new secret of 43 characters that may stand in a header or a form."""
    return secrets.token_urlsafe(BYTES)


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Are two hashes (or other ASCII words) equal? Takes the same time wherever they differ."""
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def challenge(verifier: str) -> str:
    """The S256 code challenge of a PKCE verifier (RFC 7636)."""
    found = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def hash_password(password: str) -> Mapping[str, str | int]:
    """A password as it is stored: scrypt with its own salt and the costs it was made with."""
    salt = secrets.token_bytes(16)
    return {"scheme": "scrypt", **_COST, "salt": salt.hex(), "hash": _scrypt(password, salt, _COST)}


def check_password(password: str, stored: Mapping[str, Any]) -> bool:
    """Is this the password? About a third of a second, whatever the answer."""
    found = _scrypt(
        password, bytes.fromhex(stored["salt"]), {name: int(stored[name]) for name in _COST}
    )
    return same(found, str(stored["hash"]))


def _scrypt(password: str, salt: bytes, cost: Mapping[str, int]) -> str:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, **cost, maxmem=_MEMORY, dklen=32
    ).hex()


class Seal:
    """Lets a browser carry a statement of ours and bring it back unchanged, within `seconds`."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._key, self._seconds, self._clock = secrets.token_bytes(BYTES), seconds, clock

    def close(self, statement: Mapping[str, Any]) -> str:
        """The statement as text."""
        text = json.dumps([self._clock() + self._seconds, statement])
        body = base64.urlsafe_b64encode(text.encode()).decode()
        return f"{body}.{self._mark(body)}"

    def open(self, text: str) -> Mapping[str, Any] | None:
        """The statement again; None when it is not ours, was changed or is too old."""
        body, _, mark = text.partition(".")
        if not same(mark, self._mark(body)):
            return None
        expires, statement = json.loads(base64.urlsafe_b64decode(body))
        return statement if self._clock() <= expires else None

    def _mark(self, body: str) -> str:
        return hmac.new(
            self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256
        ).hexdigest()


PREFIX: Final = "onk"
"""Every key begins with it, so that secret scanners can know one."""
MOST_KEYS: Final = 500
LONGEST_NAME: Final = 80
_KEY: Final = re.compile(rf"{PREFIX}_({'|'.join(KEY_ROLES)})_([0-9a-z]{{8}})_([A-Za-z0-9_-]{{43}})")
_NOBODY: Final = digest("nobody has this key")
_KEPT: Final = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret. Times are epoch seconds; `expires` and `revoked` may be None."""

    id: str
    role: str
    name: str
    created: float
    expires: float | None
    revoked: float | None

    def valid(self, now: float) -> bool:
        """Does it open anything at this moment?"""
        return self.revoked is None and (self.expires is None or now < self.expires)


class KeyEntry(TypedDict):
    """A key as it lies in the file."""

    role: str
    name: str
    hash: str
    created: float
    expires: float | None
    revoked: float | None


class Keys:
    """All service keys of one vault on this machine."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    def add(self, role: str, name: str = "", expires: float | None = None) -> tuple[str, Key]:
        """A new key: (its secret text, which is shown once, and what is stored). Raises
        InvalidInput."""
        now = self._clock()
        if role not in KEY_ROLES:
            roles = f"One of: {', '.join(KEY_ROLES)}."
            raise InvalidInput(f"there is no role {shown(role)}", kept=_KEPT, hint=roles)
        if len(name) > LONGEST_NAME or not name.isprintable():
            text = f"a name has up to {LONGEST_NAME} visible characters"
            raise InvalidInput(text, kept=_KEPT, hint="Choose a plain name.")
        if expires is not None and expires <= now:
            hint = "Give a moment in the future, such as `30d`."
            raise InvalidInput("the key would have expired already", kept=_KEPT, hint=hint)
        secret, ident = mint(), "".join(secrets.choice(ALPHABET) for _ in range(8))
        with self._store.change() as keys:
            if len(keys) >= MOST_KEYS:
                raise InvalidInput(
                    f"there are {len(keys)} keys already",
                    kept=_KEPT,
                    hint="`oneiro keys revoke ID` drops old ones.",
                )
            keys[ident] = entry = KeyEntry(
                role=role,
                name=name,
                hash=digest(secret),
                created=now,
                expires=expires,
                revoked=None,
            )
        return f"{PREFIX}_{role}_{ident}_{secret}", _key(ident, entry)

    def list(self) -> list[Key]:
        """Every key, also expired and revoked ones, oldest first."""
        return sorted(
            (_key(ident, entry) for ident, entry in self._store.read().items()),
            key=lambda key: key.created,
        )

    def revoke(self, which: str) -> Key:
        """End the key with this id or name. Raises NotFound, InvalidInput when several have the
        name."""
        with self._store.change() as keys:
            found = [
                ident
                for ident, entry in keys.items()
                if which == ident or (which == entry["name"] and not entry["revoked"])
            ]
            if not found:
                hint = "`oneiro keys list` shows ids and names."
                raise NotFound(f"there is no key {shown(which)}", kept=_KEPT, hint=hint)
            if len(found) > 1:
                text, hint = f"{len(found)} keys are called", f"Give an id: {', '.join(found)}."
                raise InvalidInput(f"{text} {shown(which)}", kept=_KEPT, hint=hint)
            keys[found[0]]["revoked"] = keys[found[0]]["revoked"] or self._clock()
            return _key(found[0], keys[found[0]])

    def check(self, text: str) -> Key | None:
        """The key this text is, if it opens anything now. Raises DiskProblem."""
        shape = _KEY.fullmatch(text)
        role, ident, secret = shape.groups() if shape else ("", "", "")
        entry: KeyEntry | None = self._store.read().get(ident)
        right = same(digest(secret), entry["hash"] if entry else _NOBODY)
        if not right or entry is None or entry["role"] != role:
            return None
        key = _key(ident, entry)
        return key if key.valid(self._clock()) else None

    def holds(self, ident: str) -> bool:
        """Is the key with this id still good (it may have been revoked since it was checked)?"""
        entry = self._store.read().get(ident)
        return entry is not None and entry["revoked"] is None


def _key(ident: str, entry: KeyEntry) -> Key:
    return Key(
        ident, entry["role"], entry["name"], entry["created"], entry["expires"], entry["revoked"]
    )


SCOPES: Final[dict[str, str]] = {"vault:read": "reader", "vault:write": "writer"}
"""What a program may ask for -> the role that gives it. Writing includes reading."""
CODE_SECONDS: Final = 60.0
CODE, ACCESS, REFRESH = "onc", "ona", "onr"
MOST_GRANTS: Final = 300
_MOST_ACCESS: Final = 50
_TOKEN: Final = re.compile(r"(on[car])_([0-9a-f]{32})_([A-Za-z0-9_-]{43})")
SHORT: Final = 12
"""Characters of a grant's public id: the beginning of the hash of its family."""


class CodeEntry(TypedDict):
    """The code of a grant; it stays when it was used, so that a second use is known."""

    hash: str
    redirect: str
    challenge: str
    used: bool


class Entry(TypedDict):
    """A grant as it lies in the file. `terms`: the fields of Terms, in order; `refresh`: hash of
    the token that is good now; `access`: hash of a token -> until when it is good."""

    terms: list[str]
    created: float
    expires: float
    code: CodeEntry
    refresh: str
    access: dict[str, float]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a person agreed to: which program (id, name, host of its redirect), which role and
    resource."""

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


class Tokens(TypedDict):
    """What the token endpoint answers."""

    access_token: str
    token_type: str
    expires_in: int
    refresh_token: str
    scope: str


class Grants:
    """All grants of one vault; seconds that tokens are good (refresh: since the last use)."""

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
        entry: Entry,
        terms: Terms,
        client: str,
        redirect: str,
        challenge: str,
        resource: str,
    ) -> str:
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
        role = entry["terms"][3]
        return {
            "access_token": f"{ACCESS}_{family}_{access}",
            "token_type": "Bearer",
            "expires_in": int(self.access_seconds),
            "refresh_token": f"{REFRESH}_{family}_{refresh}",
            "scope": " ".join(name for name, gives in SCOPES.items() if gives in ("reader", role)),
        }

    def check(self, token: str) -> Grant | None:
        """The grant an access token belongs to, if it is good now. Raises DiskProblem."""
        shape = _TOKEN.fullmatch(token)
        if shape is None or shape[1] != ACCESS:
            return None
        mark, known = digest(shape[2]), digest(shape[3])
        entry: Entry | None = self._store.read().get(mark)
        tokens = entry["access"].items() if entry else ()
        until = max((until for key, until in tokens if same(key, known)), default=0.0)
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
                hint = "`oneiro keys list` shows ids."
                raise NotFound(f"there is no grant {shown(ident)}", kept=_KEPT, hint=hint)
            return _grant(mark, grants.pop(mark))

    def revoke(self, token: str, client: str) -> str:
        """End the grant of a program's token (RFC 7009); returns its id, "" when the token meant
        nothing."""
        shape = _TOKEN.fullmatch(token)
        if shape is None or shape[1] not in (ACCESS, REFRESH):
            return ""
        with self._store.change() as grants:
            mark, known = digest(shape[2]), digest(shape[3])
            entry = grants.get(mark)
            mine = entry if entry and entry["terms"][0] == client else None
            if mine and (known in mine["access"] or same(known, mine["refresh"])):
                del grants[mark]
                return mark[:SHORT]
        return ""


def _family(grants: Mapping[str, Entry], token: str, kind: str) -> tuple[str, Entry, str]:
    """(family, its entry, hash of the token's own secret). Raises OAuthRefusal."""
    shape = _TOKEN.fullmatch(token)
    entry = grants.get(digest(shape[2])) if shape and shape[1] == kind else None
    if shape is None or entry is None:
        raise _invalid("this code or token is unknown, or what it belonged to has ended")
    return shape[2], entry, digest(shape[3])


def _prune(grants: dict[str, Entry], now: float) -> None:
    """Drop what is over, and when there are too many, the one whose time ends first."""
    for mark in [mark for mark, entry in grants.items() if entry["expires"] < now]:
        del grants[mark]
    while len(grants) >= MOST_GRANTS:
        del grants[min(grants, key=lambda mark: float(grants[mark]["expires"]))]


def _grant(mark: str, entry: Entry) -> Grant:
    return Grant(mark[:SHORT], Terms(*entry["terms"]), entry["created"], entry["expires"])


def _invalid(text: str) -> OAuthRefusal:
    return OAuthRefusal(text, code="invalid_grant", hint="Ask for access again.")
