"""The stdio form of the MCP server: messages from standard input to the owner of the vault, its messages to standard output.

One message a line both ways. The bridge keeps only what a client would have to say again to another owner: the handshake and what it
listens to. When the owner ends (it does when nobody asks for a while) the next message starts another, and the client notices nothing;
when it ends with work in hand, each request under way is answered with an error. Nothing but JSON-RPC ever goes to standard output.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from contextlib import suppress

from oneiro_vault.cli import terminal
from oneiro_vault.daemon import client, protocol
from oneiro_vault.daemon.duplex import Duplex
from oneiro_vault.errors import OneiroError, OwnerProblem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

LARGEST = 32 << 20
"""Bytes of one message; the owner takes no longer ones."""
PATIENCE = 20.0
"""Seconds in which a message must find an owner."""
FAREWELL = 12.0
"""Seconds to wait for answers after standard input ended; the owner gives requests under way 10."""
_LOST = -32000
_PARSE, _REQUEST = -32700, -32600
_ANSWER = re.compile(rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?\d+),"(?:result|error)":')
_ACKNOWLEDGED = b"notifications/subscriptions/acknowledged"


def run(root: str, standard_input: int = 0) -> int:
    """Serve one client until it closes standard input; returns the exit code."""
    for file in (standard_input, terminal.OUT):
        with suppress(OSError):
            os.set_blocking(file, True)  # some clients hand over pipes that are not
    bridge = Bridge(root, lambda line: terminal.emit(terminal.OUT, line))
    for line in lines(standard_input):
        bridge.take(line)
    bridge.finish()
    return 0


def lines(file: int) -> Iterator[bytes | None]:
    """Whole lines of a file descriptor; None for one that is longer than LARGEST, of which nothing is kept."""
    parts: list[bytes] = []
    size = 0
    while data := os.read(file, 1 << 16):
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield None if size + len(line) > LARGEST else b"".join((*parts, line))
            parts.clear()
            size = 0
        size += len(rest)
        parts = [*parts, rest] if size <= LARGEST else []
    if size:
        yield None if size > LARGEST else b"".join(parts)


class Link:
    """One connection to one owner. `pending`: requests without an answer, by id; `swallow`: answers to what was only said again."""

    def __init__(self, duplex: Duplex) -> None:
        self.duplex = duplex
        self.pending: dict[str, str] = {}
        self.swallow: set[str] = set()
        self.unacknowledged = 0
        self.thread: threading.Thread | None = None


class Bridge:
    """Between one client and whichever owner there is. `take` and `finish` are called on one thread."""

    def __init__(self, root: str, write: Callable[[bytes], None]) -> None:
        self.root, self._write = root, write
        self._link: Link | None = None
        self._lock, self._output = threading.Lock(), threading.Lock()
        self._met = False
        self._handshake: list[bytes] = []
        self._followed: dict[str, bytes] = {}
        self._listens: dict[str, bytes] = {}

    def take(self, line: bytes | None) -> None:
        """One line from the client. Raises BrokenPipeError when the client reads no more."""
        if line is None:
            self._error("null", _REQUEST, f"The message is longer than {LARGEST} bytes.")
            return
        if not line.strip():
            return
        message = _peek(line)
        method = str(message.get("method", "")) if message else ""
        key = json.dumps(message["id"]) if message and method and "id" in message else ""
        if method == "initialize":
            self._handshake = []
        try:
            self._pass(line, key, method)
        except (OneiroError, client.UnreachedError) as error:
            self._unreached(error, message, key)
            return
        self._keep(line, message or {}, key, method)

    def finish(self) -> None:
        """The client has said its last word: let what is under way be answered."""
        with self._lock:
            link, self._link = self._link, None
        if link is not None and link.thread is not None:
            try:
                link.duplex.end()
            except OSError:
                return
            link.thread.join(FAREWELL)

    # -- towards the owner --------------------------------------------------------------------------------------------------------------

    def _pass(self, line: bytes, key: str, method: str) -> None:
        """Hand it to an owner, another one if that vanishes before it has all of it. Raises OneiroError or UnreachedError."""
        end = time.monotonic() + PATIENCE
        while True:
            link = self._link or self._connect(end)
            if key:
                link.pending[key] = method
            try:
                link.duplex.put(line + b"\n")
                return
            except OSError as error:
                with self._lock:
                    self._link = None
                    if key and link.pending.pop(key, None) is None:
                        return  # its reader was quicker, and has answered with an error
                if time.monotonic() > end:
                    raise client.UnreachedError(str(error)) from error

    def _connect(self, end: float) -> Link:
        while True:
            owner = client.owner_of(self.root)
            if not self._met and owner.get("version") != protocol.version():
                owner = {}
            try:
                return self._begin(Link(Duplex(owner or self._start(), protocol.BRIDGE)))
            except client.SilentError as error:
                from oneiro_vault.daemon import spawn

                raise spawn.silent(owner, error) from error
            except (client.UnreachedError, OSError):
                if time.monotonic() > end:
                    raise
            self._start()

    def _start(self) -> dict[str, str]:
        """The record of an owner of this vault, started if need be. Raises OneiroError."""
        from pathlib import Path

        from oneiro_vault.config import load
        from oneiro_vault.daemon import places, spawn

        root = Path(self.root)
        settings = load(root, strict=False)
        index = Path(places.index_dir(self.root, settings["index.dir"]))
        owner = spawn.ensure(root, index, settings["git.wait"]) if settings["owner.start"] else spawn.usable(root)
        if not owner:
            text = "no owner process runs, and the setting owner.start forbids to start one"
            raise OwnerProblem(text, kept="Nothing was changed.", hint="A person can start one with `oneiro serve`.")
        return owner

    def _begin(self, link: Link) -> Link:
        """Say again what the former owner was told, and read what this one says."""
        if self._met:
            for line in (*self._handshake, *self._followed.values(), *self._listens.values()):
                key = json.dumps((_peek(line) or {}).get("id"))
                if key in self._listens:
                    link.pending[key] = "subscriptions/listen"
                    link.unacknowledged += 1
                elif key != "null":
                    link.swallow.add(key)
                link.duplex.put(line + b"\n")
        self._met, self._link = True, link
        link.thread = threading.Thread(target=self._read, args=(link,), name="answers", daemon=True)
        link.thread.start()
        return link

    def _keep(self, line: bytes, message: dict[str, Any], key: str, method: str) -> None:
        """Remember what another owner would have to be told."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "initialize" or (method == "notifications/initialized" and len(self._handshake) == 1):
            self._handshake.append(line)
        elif method == "resources/subscribe":
            self._followed[str(params.get("uri"))] = line
        elif method == "resources/unsubscribe":
            self._followed.pop(str(params.get("uri")), None)
        elif method == "notifications/cancelled":
            self._listens.pop(json.dumps(params.get("requestId")), None)
        elif method == "subscriptions/listen" and key:
            self._listens[key] = line

    # -- towards the client -------------------------------------------------------------------------------------------------------------

    def _read(self, link: Link) -> None:
        """Everything one owner says; at its end, errors for what it leaves unanswered."""
        try:
            for line in link.duplex.lines():
                if not self._repeated(line, link):
                    self._say(line)
            with self._lock:
                self._link = None if self._link is link else self._link
                lost, link.pending = link.pending, {}
            for key, method in lost.items():
                if method != "subscriptions/listen":  # goes on with the next owner
                    self._error(key, _LOST, _LOST_TEXT)
        except BrokenPipeError:
            os._exit(terminal.PIPE_CLOSED)  # the main thread waits for a client that is gone

    def _repeated(self, line: bytes, link: Link) -> bool:
        """Did the client hear this from an earlier owner? Also strikes the request that this line answers off the list."""
        found = _ANSWER.match(line)
        if found is None:
            if link.unacknowledged and _ACKNOWLEDGED in line[:200]:
                link.unacknowledged -= 1
                return True
            return False
        key = json.dumps(json.loads(found[1]))
        with self._lock:
            if link.pending.pop(key, None) == "subscriptions/listen":
                self._listens.pop(key, None)
        if key in link.swallow:
            link.swallow.discard(key)
            return True
        return False

    def _unreached(self, error: OneiroError | client.UnreachedError, message: dict[str, Any] | None, key: str) -> None:
        told = error.to_dict() if isinstance(error, OneiroError) else {"message": f"the owner cannot be reached: {error}"}
        parts = (f"{told['message'].rstrip('.')}.", told.get("kept", "Nothing was changed."), told.get("hint", "Try again."))
        text = " ".join(filter(None, parts))
        terminal.emit(terminal.ERR, terminal.encode(f"oneiro mcp: {text}\n"))
        if message is None:
            self._error("null", _PARSE, "Parse error")
        elif key:
            self._error(key, _LOST, text)

    def _error(self, key: str, code: int, text: str) -> None:
        self._say(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (key.encode(), json.dumps({"code": code, "message": text}).encode()))

    def _say(self, line: bytes) -> None:
        with self._output:
            self._write(line + b"\n")


_LOST_TEXT = (
    "The process that owns the memory ended while it worked on this. What was there before is safe; whether this change was made is not "
    "known. Look with recall_check, then call it again if need be: another one starts by itself."
)


def _peek(line: bytes) -> dict[str, Any] | None:
    """A message as far as the bridge looks into it; None for what is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
