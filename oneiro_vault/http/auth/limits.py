"""How often somebody may do something: a bucket of permits per name that fills again with time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable


class Buckets:
    """`size` permits at once, all of them back after `seconds`. A size of 0 means no limit.
    Thread-safe.

    Names beyond `most` make the one that was idle longest forgotten, so that nobody fills the
    memory with invented names.
    """

    def __init__(
        self,
        size: float,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        most: int = 10_000,
    ) -> None:
        self._size, self._rate, self._clock, self._most = size, size / seconds, clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def spend(self, name: str, cost: float = 1.0) -> float:
        """0.0 when `cost` permits were there (they are taken), else the seconds until they will be;
        more than fit count as all."""
        if self._size <= 0:
            return 0.0
        cost = min(cost, self._size)
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(name, (self._size, now))
            left = min(self._size, left + (now - since) * self._rate)
            enough = left >= cost
            self._left[name] = (left - cost if enough else left, now)
            if len(self._left) > self._most:
                self._left.popitem(last=False)
            return 0.0 if enough else (cost - left) / self._rate

    def give_back(self, name: str) -> None:
        """All permits of this name are there again."""
        with self._lock:
            self._left.pop(name, None)

    def refund(self, name: str, cost: float = 1.0) -> None:
        """What was spent for this name a moment ago counts no more."""
        with self._lock:
            if name in self._left:
                left, since = self._left[name]
                self._left[name] = (min(self._size, left + cost), since)
