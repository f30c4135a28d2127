"""Who may see the page: one-time codes that a command on this machine hands out, and the sessions
of browsers that spent one. Nothing is kept but hashes, and nothing outlives the owner."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Final

CODE_SECONDS: Final = 60.0
SESSION_SECONDS: Final = 12 * 3600.0
_MOST: Final = 64
"""Codes or sessions at once; the oldest goes."""


class Sessions:
    """Codes are good once, for a minute; sessions for half a day. `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._sessions: dict[str, float] = {}

    def new_code(self) -> str:
        """A secret for the one who asked at a terminal."""
        return self._new(self._codes, CODE_SECONDS)

    def spend(self, code: str) -> str | None:
        """A session for a code, which is gone with it; None for what is none (any more)."""
        ends = self._codes.pop(_hash(code), 0.0)
        return self._new(self._sessions, SESSION_SECONDS) if ends > self._clock() else None

    def knows(self, session: str) -> bool:
        """Is it a session that has not ended?"""
        return self._sessions.get(_hash(session), 0.0) > self._clock()

    def end(self, session: str) -> None:
        """The person leaves."""
        self._sessions.pop(_hash(session), None)

    def _new(self, kept: dict[str, float], seconds: float) -> str:
        now = self._clock()
        for old in [name for name, ends in kept.items() if ends <= now] + list(kept)[: 1 - _MOST]:
            kept.pop(old, None)
        made = secrets.token_urlsafe(32)
        kept[_hash(made)] = now + seconds
        return made


def _hash(secret: str) -> str:
    """What is compared is a hash, so that time says nothing of the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
