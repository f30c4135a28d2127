"""Messages of one client on their way to an owner: in order, on a thread of their own, because an
owner may have to be started first."""

from __future__ import annotations

import threading
import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LISTEN = "subscriptions/listen"
"""The request that lasts as long as its client: its answer is not waited for."""


class Errand:
    """One message (`line`, empty for none: an owner is to be there). `key`: the id of a request as
    JSON, else empty; `answered`: what an owner answers is not passed on; `beats`: how often the
    client was told that it waits."""

    __slots__ = ("answered", "beats", "key", "line", "method", "params", "since")

    def __init__(
        self,
        line: bytes,
        key: str = "",
        method: str = "",
        params: Mapping[str, Any] | None = None,
        *,
        answered: bool = False,
    ) -> None:
        self.line, self.key, self.method, self.answered = line, key, method, answered
        self.params: Mapping[str, Any] = params or {}
        self.since = time.monotonic()
        self.beats = 0

    @property
    def awaited(self) -> bool:
        """Does a client wait for the answer?"""
        return bool(self.key) and not self.answered and self.method != LISTEN


class Errands:
    """A queue that is also looked through while its first waits. `take` moves the first out; `back`
    undoes that, `passed` ends it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[Errand] = deque()
        self._in_hand: Errand | None = None

    def add(self, errand: Errand) -> None:
        """Last in the queue; one without a message only when nothing else is on its way."""
        with self._changed:
            if errand.line or not self._queue:
                self._queue.append(errand)
                self._changed.notify_all()

    def first(self) -> Errand:
        """Wait for one; it stays in the queue."""
        with self._changed:
            while not self._queue:
                self._changed.wait()
            return self._queue[0]

    def take(self, errand: Errand) -> bool:
        """Out of the queue and in hand; False when it is no longer wanted."""
        with self._changed:
            if errand not in self._queue:
                return False
            self._queue.remove(errand)
            self._in_hand = errand
            return True

    def back(self, errand: Errand) -> None:
        """It did not get through."""
        with self._changed:
            self._queue.appendleft(errand)
            self._in_hand = None

    def passed(self) -> None:
        """What was in hand got through, or was answered."""
        with self._changed:
            self._in_hand = None
            self._changed.notify_all()

    def withdraw(self, key: str) -> bool:
        """The client does not want the answer to this request any more: was it still here?"""
        with self._changed:
            return self._drop([errand for errand in self._queue if errand.key == key])

    def overdue(self, since: float) -> list[Errand]:
        """Requests that came before (monotonic) `since`; they are no longer in the queue."""
        with self._changed:
            late = [errand for errand in self._queue if errand.awaited and errand.since < since]
            self._drop(late)
            return late

    def awaited(self) -> list[Errand]:
        """Requests in the queue whose answer a client waits for."""
        with self._changed:
            return [errand for errand in self._queue if errand.awaited]

    def drain(self) -> None:
        """Wait until no request is on its way any more."""
        with self._changed:
            while any(errand.awaited for errand in (*self._queue, self._in_hand) if errand):
                self._changed.wait()

    def _drop(self, errands: list[Errand]) -> bool:
        for errand in errands:
            self._queue.remove(errand)
        self._changed.notify_all()
        return bool(errands)
