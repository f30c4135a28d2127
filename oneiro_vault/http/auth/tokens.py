"""Secrets: made, hashed, compared in constant time; passwords by scrypt; statements of ours that
travel through a browser, sealed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

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
    return (
        base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest())
        .rstrip(b"=")
        .decode()
    )


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
    """Lets a browser carry a statement of ours and bring it back unchanged, within `seconds`, to
    the process that made it."""

    def __init__(self, seconds: float) -> None:
        self._key = secrets.token_bytes(BYTES)
        self._seconds = seconds

    def close(self, statement: Mapping[str, Any], now: float) -> str:
        """The statement as text."""
        body = base64.urlsafe_b64encode(
            json.dumps([now + self._seconds, statement]).encode()
        ).decode()
        return f"{body}.{self._mark(body)}"

    def open(self, text: str, now: float) -> Mapping[str, Any] | None:
        """The statement again; None when it is not ours, was changed or is too old."""
        body, _, mark = text.partition(".")
        if not same(mark, self._mark(body)):
            return None
        expires, statement = json.loads(base64.urlsafe_b64decode(body))
        return statement if now <= expires else None

    def _mark(self, body: str) -> str:
        return hmac.new(
            self._key, body.encode("utf-8", "surrogatepass"), hashlib.sha256
        ).hexdigest()
