"""Service keys: for programs that cannot log in. Shown once, stored as a hash, each with one
role."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from oneiro_vault.errors import InvalidInput, NotFound, shown
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.tokens import digest, mint, same

PREFIX: Final = "onk"
"""Every key begins with it, so that secret scanners can know one."""
KEY_ROLES: Final = ("reader", "writer", "hook", "admin")
MOST: Final = 500
LONGEST_NAME: Final = 80
_LETTERS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_SHAPE: Final = re.compile(
    rf"{PREFIX}_({'|'.join(KEY_ROLES)})_([0-9a-z]{{8}})_([A-Za-z0-9_-]{{43}})"
)
_NOBODY: Final = {"hash": digest("nobody has this key")}
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


class Keys:
    """All service keys of one vault on this machine."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    def add(self, role: str, name: str = "", expires: float | None = None) -> tuple[str, Key]:
        """A new key: (the secret text, which nobody can be shown again, and what is stored). Raises
        InvalidInput."""
        now = self._clock()
        if role not in KEY_ROLES:
            raise InvalidInput(
                f"there is no role {shown(role)}",
                kept=_KEPT,
                hint=f"One of: {', '.join(KEY_ROLES)}.",
            )
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidInput(
                f"a name has up to {LONGEST_NAME} visible characters",
                kept=_KEPT,
                hint="Choose a plain name.",
            )
        if expires is not None and expires <= now:
            raise InvalidInput(
                "the key would have expired already",
                kept=_KEPT,
                hint="Give a moment in the future, such as `30d`.",
            )
        secret, ident = mint(), "".join(secrets.choice(_LETTERS) for _ in range(8))
        with self._store.change() as keys:
            if len(keys) >= MOST:
                raise InvalidInput(
                    f"there are {len(keys)} keys already",
                    kept=_KEPT,
                    hint="`oneiro keys revoke ID` drops old ones.",
                )
            keys[ident] = {
                "role": role,
                "name": name,
                "hash": digest(secret),
                "created": now,
                "expires": expires,
                "revoked": None,
            }
        return f"{PREFIX}_{role}_{ident}_{secret}", _key(ident, keys[ident])

    def list(self) -> list[Key]:
        """Every key, also expired and revoked ones, oldest first."""
        return sorted(
            (_key(ident, entry) for ident, entry in self._store.read().items()),
            key=lambda key: key.created,
        )

    def revoke(self, which: str) -> Key:
        """From now on the key with this id or name opens nothing. Raises NotFound, InvalidInput
        when several have the name."""
        with self._store.change() as keys:
            found = [
                ident
                for ident, entry in keys.items()
                if which == ident or (which == entry["name"] and not entry["revoked"])
            ]
            if not found:
                raise NotFound(
                    f"there is no key {shown(which)}",
                    kept=_KEPT,
                    hint="`oneiro keys list` shows ids and names.",
                )
            if len(found) > 1:
                raise InvalidInput(
                    f"{len(found)} keys are called {shown(which)}",
                    kept=_KEPT,
                    hint=f"Give an id: {', '.join(found)}.",
                )
            keys[found[0]]["revoked"] = keys[found[0]]["revoked"] or self._clock()
            return _key(found[0], keys[found[0]])

    def check(self, text: str) -> Key | None:
        """The key this text is, if it opens anything now. Raises DiskProblem when nobody can
        tell."""
        shape = _SHAPE.fullmatch(text)
        role, ident, secret = shape.groups() if shape else ("", "", "")
        entry: Mapping[str, Any] = self._store.read().get(ident, _NOBODY)
        right = same(digest(secret), entry["hash"])
        if not right or entry is _NOBODY or entry["role"] != role:
            return None
        key = _key(ident, entry)
        return key if key.valid(self._clock()) else None

    def holds(self, ident: str) -> bool:
        """Is the key with this id still good (it may have been revoked since it was checked)?"""
        entry = self._store.read().get(ident)
        return entry is not None and entry["revoked"] is None


def _key(ident: str, entry: Mapping[str, Any]) -> Key:
    return Key(
        ident, entry["role"], entry["name"], entry["created"], entry["expires"], entry["revoked"]
    )
