"""Messages of a client to whichever owner there is, and what that says back. They go in order, on a
thread of their own, because an owner may have to be started first.

What another owner would have to be told is kept: the handshake and what the client listens to. When
an idle owner ends, the next message starts another, and the client notices nothing; when one ends
with work in hand, each request under way is answered with an error.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque

from oneiro_vault.daemon import client, protocol
from oneiro_vault.errors import OneiroError, OwnerProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from oneiro_vault.cli.bridge import Bridge

LISTEN = "subscriptions/listen"
"""The request that lasts as long as its client: its answer is not waited for."""


class Errand:
    """One message (`line`, empty for none: an owner is to be there). `key`: the id of a request as
    JSON, else ""; `answered`: what an owner answers is not passed on; `beats`: signs that it
    waits."""

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
    """A queue that is also looked through while its first waits; `take` moves the first in hand."""

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


REACH = 20.0
"""Seconds in which an owner that is there must take a message."""
OPENS = 100.0
"""Seconds more for one of another version that opens the vault."""
FAREWELL = 12.0
"""Seconds to wait for answers after the last message; the owner gives requests under way 10."""
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"(?:result|error)":')
_ACKNOWLEDGED = b"notifications/subscriptions/acknowledged"
_STEP = 0.1
KEPT = "Nothing was changed."
_STARTING = "the owner is being started"


class Duplex(client.Line):
    """An open POST to the owner: its body goes out on one thread while the answer comes in on
    another. It names no version: the owner may be newer than we are."""

    def __init__(
        self, owner: dict[str, str], target: str, waiting: client.Waiting | None = None
    ) -> None:
        """Raises client.UnreachedError; RefusedError carries the status."""
        super().__init__(owner, waiting=waiting)
        head = (
            f"POST {target} HTTP/1.1\r\nHost: oneiro\r\nTransfer-Encoding: chunked\r\n"
            f"{self._head_start}\r\n"
        )
        self._write(head.encode("latin-1"))
        status = self._head()
        if status != 200:
            raise client.RefusedError(status, b"".join(self.chunks()))
        self._socket.settimeout(None)

    def put(self, data: bytes) -> None:
        """A piece of the body. Raises OSError: then not all of it arrived."""
        self._socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """The body is complete; the answer may go on. Raises OSError."""
        self._socket.sendall(b"0\r\n\r\n")

    def lines(self) -> Iterator[bytes]:
        """Whole non-empty lines of the answer, until the owner ends it or is gone."""
        parts: list[bytes] = []
        try:
            for chunk in self.chunks():
                *whole, rest = chunk.split(b"\n")
                for line in whole:
                    text = b"".join((*parts, line))
                    parts.clear()
                    if text:
                        yield text
                parts.append(rest)
        except (client.UnreachedError, ValueError):  # cut in the middle of a chunk's size
            return


class Link:
    """One connection to one owner. `pending`: requests without an answer; `swallow`: answers the
    client has."""

    def __init__(self, duplex: Duplex) -> None:
        self.duplex = duplex
        self.pending: dict[str, str] = {}
        self.swallow: set[str] = set()
        self.unacknowledged = 0
        self.thread: threading.Thread | None = None


class Carrier:
    """Takes errands out of their queue, in `run`, for ever; `finish` is for another thread."""

    def __init__(self, root: str, errands: Errands, to: Bridge) -> None:
        self.root, self._errands, self._client = root, errands, to
        self._link: Link | None = None
        self._lock = threading.Lock()
        self._met = False
        self._doing = _STARTING
        self._handshake: list[bytes] = []
        self._followed: dict[str, bytes] = {}
        self._listens: dict[str, bytes] = {}

    def run(self) -> None:
        """One message after the other."""
        while True:
            errand = self._errands.first()
            try:
                self._pass(errand)
            except (OneiroError, client.UnreachedError) as error:
                if self._errands.take(errand):
                    if not isinstance(error, OneiroError):
                        from oneiro_vault.daemon import spawn

                        error = spawn.unreached(error)
                    self._client.refuse(error, errand)
                    if errand.answered or not errand.key:
                        self._keep_handshake(errand)
            self._errands.passed()

    def finish(self) -> None:
        """No more messages come: wait for the answers to those that went."""
        with self._lock:
            link, self._link = self._link, None
        if link is not None and link.thread is not None:
            try:
                link.duplex.end()
            except OSError:
                return
            link.thread.join(FAREWELL)

    # -- towards the owner
    # ----------------------------------------------------------------------------------------------

    def _pass(self, errand: Errand) -> None:
        """Hand it to an owner, to another if that vanishes before. Raises OneiroError,
        UnreachedError."""
        end = time.monotonic() + REACH
        while True:
            link = self._link or self._connect(end)
            if not self._errands.take(errand):
                return  # withdrawn, or it waited too long
            if errand.answered:
                link.swallow.add(errand.key)
            elif errand.key:
                link.pending[errand.key] = errand.method
            try:
                if errand.line:
                    link.duplex.put(errand.line + b"\n")
                self._keep(errand)
                return
            except OSError as error:
                with self._lock:
                    self._link = None
                    if errand.awaited and link.pending.pop(errand.key, None) is None:
                        return  # its reader was quicker, and has answered with an error
                self._errands.back(errand)
                if time.monotonic() > end:
                    raise client.UnreachedError(str(error)) from error

    def _connect(self, end: float) -> Link:
        while True:
            owner = client.owner_of(self.root)
            if not self._met and owner.get("version") != protocol.version():
                owner = {}
            try:
                duplex = Duplex(owner or self._start(), protocol.BRIDGE, self._wait)
                return self._begin(Link(duplex))
            except client.SilentError as error:
                from oneiro_vault.daemon import spawn

                raise spawn.silent(owner, error) from error
            except (client.UnreachedError, OSError) as error:
                other = owner.get("version", "") != protocol.version()
                opening = other and getattr(error, "status", 0) == protocol.NOT_YET
                if time.monotonic() > end + (OPENS if opening else 0):
                    raise
                if opening:  # one of a newer version, which `_start` would end
                    self._wait(f"the owner is {protocol.OPENING}")
                    time.sleep(_STEP)
                    continue
            self._start()
            end = max(end, time.monotonic() + 1)

    def _start(self) -> dict[str, str]:
        from pathlib import Path

        from oneiro_vault.daemon import spawn
        from oneiro_vault.settings import locations
        from oneiro_vault.settings.definitions import load

        root = Path(self.root)
        settings = load(root, strict=False)
        index = Path(locations.index_dir(self.root, settings["index.dir"]))
        self._doing = _STARTING
        if settings["owner.start"]:
            owner = spawn.ensure(root, index, settings["git.wait"], self._wait)
        else:
            owner = spawn.usable(root)
        if not owner:
            text = "no owner process runs, and the setting owner.start forbids to start one"
            raise OwnerProblem(text, kept=KEPT, hint="A person can start one with `oneiro serve`.")
        return owner

    def _wait(self, doing: str | None = None) -> None:
        self._doing = doing or self._doing
        self._client.waiting(self._doing)

    def _begin(self, link: Link) -> Link:
        for line in (*self._handshake, *self._followed.values(), *self._listens.values()):
            key = json.dumps(json.loads(line).get("id"))
            if key in self._listens:
                link.pending[key] = LISTEN
                link.unacknowledged += 1
            elif key != "null":
                link.swallow.add(key)
            link.duplex.put(line + b"\n")
        self._met, self._link = True, link
        link.thread = threading.Thread(target=self._read, args=(link,), name="answers", daemon=True)
        link.thread.start()
        return link

    def _keep(self, errand: Errand) -> None:
        params: Mapping[str, Any] = errand.params
        self._keep_handshake(errand)
        if errand.method == "resources/subscribe":
            self._followed[str(params.get("uri"))] = errand.line
        elif errand.method == "resources/unsubscribe":
            self._followed.pop(str(params.get("uri")), None)
        elif errand.method == "notifications/cancelled":
            self._listens.pop(json.dumps(params.get("requestId")), None)
        elif errand.method == LISTEN and errand.key:
            self._listens[errand.key] = errand.line

    def _keep_handshake(self, errand: Errand) -> None:
        steps = ["initialize", "notifications/initialized", "ping"]
        if errand.method == steps[0]:
            self._handshake.clear()
        if steps[len(self._handshake) :][:1] == [errand.method]:
            self._handshake.append(errand.line)

    # -- towards the client
    # ----------------------------------------------------------------------------------------------

    def _read(self, link: Link) -> None:
        """Everything one owner says; at its end, errors for what it leaves unanswered."""
        for line in link.duplex.lines():
            if not self._repeated(line, link):
                self._client.say(line)
        with self._lock:
            self._link = None if self._link is link else self._link
            lost, link.pending = link.pending, {}
        for key, method in lost.items():
            if method != LISTEN:  # goes on with the next owner
                self._client.lost(key, _LOST_TEXT)

    def _repeated(self, line: bytes, link: Link) -> bool:
        """Did the client hear this already? Also strikes the answered request off the list."""
        found = _ANSWER.match(line)
        if found is None:
            if link.unacknowledged and _ACKNOWLEDGED in line[:200]:
                link.unacknowledged -= 1
                return True
            return False
        key = json.dumps(json.loads(found[1]))
        with self._lock:
            if link.pending.pop(key, None) == LISTEN:
                self._listens.pop(key, None)
        if key in link.swallow:
            link.swallow.discard(key)
            return True
        return False


_LOST_TEXT = (
    "The process that owns the memory ended while it worked on this. What was there before is "
    "safe; whether this change was made is not known. Look with recall_check, then call it again "
    "if need be: another one starts by itself."
)
