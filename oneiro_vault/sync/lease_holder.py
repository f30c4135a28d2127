"""Holding the lease among machines: taken by compare-and-swap, kept by signs of life, given back at
the end.

The holder stops a good while before anybody else takes over, and the numbers (fences), which only
grow, tell a late one's commits.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Final

from oneiro_vault.errors import Elsewhere, OneiroError
from oneiro_vault.sync.remote_lease import PATIENCE, Post, Record, Seen
from oneiro_vault.vault.ledger import moment

_TRIES: Final = 4
_BEATS: Final = 4


class Tenure:
    """The right to dream among machines. Raises Elsewhere while another machine has it, Unreachable
    or GitProblem when nobody can say.

    `seconds`: after so long without a sign of life it is lost.
    """

    def __init__(self, post: Post, loops: Sequence[str], seconds: float) -> None:
        self._post = post
        self._seconds = seconds
        self._record = Record(
            post.device, secrets.token_hex(4), tuple(loops), since=moment(post.vault.clock())
        )
        self._commit = ""
        self._lost = False
        self._alive = 0.0
        self._over = threading.Event()
        self._take()
        self._thread = threading.Thread(target=self._live, name="oneiro-tenure", daemon=True)
        self._thread.start()

    @property
    def fence(self) -> int:
        """The number of this holding; every later one has a higher."""
        return self._record.fence

    def _take(self) -> None:
        for _ in range(_TRIES):
            seen = self._post.look()
            if self._post.taken(seen):
                raise _elsewhere(self._post, seen)
            self._record = replace(self._record, fence=self._post.highest(seen) + 1)
            if self._say(seen.commit):
                return
        raise Elsewhere(
            "several machines want to dream now",
            kept="Nothing was changed.",
            hint="Try again in a moment.",
            later=True,
        )

    def _say(self, old: str, over: bool = False) -> bool:
        """One sign of life, or the last one; the time counts from before it is sent."""
        began, now = self._post.now(), self._post.vault.clock()
        said = replace(
            self._record,
            at=moment(now),
            until=moment(now + self._seconds),
            beat=self._record.beat + 1,
            over=over,
        )
        commit = self._post.put(old, said)
        if commit:
            self._record, self._commit, self._alive = said, commit, began
        return bool(commit)

    def _live(self) -> None:
        while not self._over.wait(self._seconds / _BEATS):
            with suppress(OneiroError):  # out of reach for a moment; `held` knows for how long
                self.beat()
            if self._lost:
                return

    def beat(self) -> None:
        """Give a sign of life; find out when it is another's by now. Raises Unreachable, GitProblem
        or DiskProblem."""
        if self._say(self._commit):
            return
        seen = self._post.look()
        ours = seen.record is not None and seen.record.run == self._record.run
        if ours and self._say(seen.commit):  # an answer of the remote's was lost, not the lease
            return
        self._lost = True

    def held(self) -> bool:
        """Is it still ours, and surely so?"""
        return not self._lost and self._post.now() - self._alive <= self._seconds

    def release(self) -> None:
        """Give it back; what cannot be said now, the others see by the silence."""
        self._over.set()
        self._thread.join(self._seconds)
        if self.held() and not self._thread.is_alive():
            with suppress(OneiroError):
                self._say(self._commit, over=True)

    def __enter__(self) -> Tenure:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()


def _elsewhere(post: Post, seen: Seen) -> Elsewhere:
    record = seen.record
    assert record is not None
    left = max(0.0, record.seconds * PATIENCE - post.standing(seen))
    return Elsewhere(
        f"{record.device} dreams: {', '.join(record.loops)}, since {record.since} by its clock",
        kept="Nothing was changed.",
        hint=f"Wait for it. Without another sign of life it is taken over in {left:.0f} s: run "
        f"this again then.",
    )
