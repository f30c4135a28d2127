"""The person's own login, which approves programs: one password for a vault on this machine,
guessed at only slowly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from oneiro_vault.errors import InvalidInput
from oneiro_vault.http.auth.json_store import Store
from oneiro_vault.http.auth.limits import Buckets
from oneiro_vault.http.auth.tokens import check_password, hash_password

SHORTEST: Final = 10
LONGEST: Final = 1000
TRIES: Final = 5
"""Attempts from one address in TRY_SECONDS; from everywhere together six times as many."""
TRY_SECONDS: Final = 300.0
_KEPT: Final = "Nothing was changed."


class Login:
    """Sets and checks the password. Checking takes a third of a second of one core, so only one is
    checked at a time."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._near, self._far = (
            Buckets(TRIES, TRY_SECONDS, clock),
            Buckets(6 * TRIES, TRY_SECONDS, clock),
        )
        self._one = threading.Lock()

    @property
    def exists(self) -> bool:
        """Was a password set?"""
        return "hash" in self._store.read()

    def set(self, password: str) -> None:
        """From now on this is the password. Raises InvalidInput."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise InvalidInput(
                f"the password must have {SHORTEST} to {LONGEST} characters",
                kept=_KEPT,
                hint="A sentence is easy to keep.",
            )
        stored = hash_password(password)
        with self._store.change() as known:
            known.clear()
            known.update(stored)

    def remove(self) -> bool:
        """Nobody can log in any more; False when nobody could."""
        with self._store.change() as known:
            existed = bool(known)
            known.clear()
        return existed

    def wait(self, address: str) -> float:
        """Take one attempt for somebody at this address: 0.0, or the seconds until the next is
        free."""
        return self._near.spend(address) or self._far.spend("all")

    def check(self, password: str, address: str) -> bool:
        """Is this the password? Never without `wait` before it; who knows it has all attempts again
        and takes none from others."""
        stored = self._store.read()
        if "hash" not in stored or len(password) > LONGEST:
            return False
        with self._one:
            right = check_password(password, stored)
        if right:
            self._near.give_back(address)
            self._far.refund("all")
        return right
