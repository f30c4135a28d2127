"""The stdio form of the MCP server: messages between standard input and output and the owner of the
vault, one a line both ways. Nothing but JSON-RPC ever goes to standard output.

The handshake and the lists, the same in every vault, are answered here from `mcp/constants.json`:
the server takes seconds to load on a busy machine, and a client that hears nothing for so long goes
on without its tools. Everything else, and what is asked in any unusual way, waits for an owner
(`forward`), and a client hears meanwhile what for.
"""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH118, PTH120, PTH123

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress

import oneiro_vault
from oneiro_vault.cli import terminal
from oneiro_vault.cli.forward import KEPT, Carrier, Errand, Errands
from oneiro_vault.daemon import client, protocol
from oneiro_vault.errors import OneiroError, OwnerProblem
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

LARGEST = 32 << 20
"""Bytes of one message; the owner takes no longer ones."""
PATIENCE = 45.0
"""Seconds a request waits for an owner until it is told what that does; many clients give up after
60."""
BEAT = 1.0
"""Seconds between two signs of life for a request that waits."""
_LOST = -32000
_PARSE, _REQUEST = -32700, -32600
_MEET = b'{"jsonrpc":"2.0","id":"oneiro-bridge","method":"ping"}'
"""The request at which an owner learns that it may ask the client's model: the client's own first
one may never reach it."""


def run(root: str, standard_input: int = 0) -> int:
    """Serve one client until it closes standard input; returns the exit code."""
    for file in (standard_input, terminal.OUT):
        with suppress(OSError):
            os.set_blocking(file, True)  # some clients hand over pipes that are not
    bridge = Bridge(root, _write)
    for line in lines(standard_input):
        bridge.take(line)
    bridge.finish()
    return 0


def _write(line: bytes) -> None:
    try:
        terminal.emit(terminal.OUT, line)
    except BrokenPipeError:
        os._exit(
            terminal.PIPE_CLOSED
            # whichever thread notices: another may be waiting for the next word of a client that is
            # gone
        )


def lines(file: int) -> Iterator[bytes | None]:
    """Whole lines of a file descriptor; None for one that is longer than LARGEST."""
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


class Bridge:
    """What one client hears. `take` and `finish` are called on one thread."""

    def __init__(
        self, root: str, write: Callable[[bytes], None], patience: float = PATIENCE
    ) -> None:
        self._write, self.patience = write, patience
        self._greeting, self._errands = Greeting(root), Errands()
        self._output = threading.Lock()
        self._carrier = Carrier(root, self._errands, self)
        threading.Thread(target=self._carrier.run, name="errands", daemon=True).start()

    def take(self, line: bytes | None) -> None:
        """One line from the client."""
        if line is None:
            self._error("null", _REQUEST, f"The message is longer than {LARGEST} bytes.")
            return
        if not line.strip():
            return
        try:
            message = _peek(line)
        except ValueError:
            self._error("null", _PARSE, "Parse error")
            return
        method, params = str(message.get("method", "")), message.get("params", {})
        key = json.dumps(message["id"]) if method and "id" in message else ""
        errand = Errand(line, key, method, params if isinstance(params, dict) else {})
        withdrawn = json.dumps(errand.params.get("requestId"))
        if method == "notifications/cancelled" and self._errands.withdraw(withdrawn):
            return
        errand.answered = self._answered(message, errand)
        self._errands.add(errand if not errand.answered or method == "initialize" else Errand(b""))
        if method == "notifications/initialized":
            self._errands.add(Errand(_MEET, json.dumps("oneiro-bridge"), "ping", answered=True))

    def finish(self) -> None:
        """The client has said its last word: let what is under way be answered."""
        self._errands.drain()
        self._carrier.finish()

    def _answered(self, message: Mapping[str, Any], errand: Errand) -> bool:
        ident = message.get("id")
        usual = message.get("jsonrpc") == "2.0" and isinstance(message.get("params", {}), dict)
        usable = isinstance(ident, str | int) and not isinstance(ident, bool)
        if not (errand.key and usual and usable):
            return False
        found = self._greeting.result(errand.method, errand.params)
        if found is not None:
            self._result(errand.key, found)
        return found is not None

    # -- while an owner is looked for (called on the carrier's thread)
    # ------------------------------------------------------------------

    def waiting(self, doing: str) -> None:
        """Ten times a second: requests that wait hear what for, as progress if they asked for
        it."""
        now = time.monotonic()
        for errand in self._errands.overdue(now - self.patience):
            late = OwnerProblem(
                f"the memory is not ready yet: {doing}",
                kept=KEPT,
                hint="Call it again in half a minute.",
            )
            self.refuse(late, errand)
        for errand in self._errands.awaited():
            meta = errand.params.get("_meta")
            token = meta.get("progressToken") if isinstance(meta, dict) else None
            if token is not None and now - errand.since >= BEAT * (errand.beats + 1):
                errand.beats += 1
                # only ever grows, and stays below the 1 with which an owner's own begins
                share = 1 - 1 / (1 + errand.beats)
                params = {"progressToken": token, "progress": share, "message": doing}
                head = {"jsonrpc": "2.0", "method": "notifications/progress"}
                self.say(_packed({**head, "params": params}))

    def refuse(self, error: OneiroError, errand: Errand) -> None:
        """Answer a request that no owner saw; a tool's answer is what a model reads."""
        text = f"{str(error).rstrip('.')}."
        text = " ".join(filter(None, (text, error.kept, error.hint)))
        terminal.emit(terminal.ERR, terminal.encode(f"oneiro mcp: {text}\n"))
        if not errand.awaited:
            return
        if errand.method != "tools/call":
            self.lost(errand.key, text)
            return
        meta = errand.params.get("_meta")
        modern = isinstance(meta, dict) and any(name.startswith(ENVELOPE) for name in meta)
        result = {"content": [{"type": "text", "text": text}], "isError": True}
        self._result(errand.key, result | ({"resultType": "complete"} if modern else {}))

    def lost(self, key: str, text: str) -> None:
        """Answer the request with this id with an error."""
        self._error(key, _LOST, text)

    def say(self, line: bytes) -> None:
        """A message for the client."""
        with self._output:
            self._write(line + b"\n")

    def _result(self, key: str, result: Mapping[str, Any]) -> None:
        self.say(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (key.encode(), _packed(result)))

    def _error(self, key: str, code: int, text: str) -> None:
        error = _packed({"code": code, "message": text})
        self.say(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (key.encode(), error))


def _packed(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _peek(line: bytes) -> Mapping[str, Any]:
    """A message as far as the bridge looks into it; {} for what only the owner's parser can read.
    Raises ValueError for no JSON."""
    try:
        found = json.loads(line)
    except RecursionError:
        return {}
    return found if isinstance(found, dict) else {}


FILE = os.path.join(os.path.dirname(oneiro_vault.__file__), "mcp", "constants.json")
TOOLS = "tools/list"
ENVELOPE = "io.modelcontextprotocol/"
_ASKED = frozenset(
    f"initialize server/discover ping {TOOLS} prompts/list resources/list "
    "resources/templates/list".split()
)


class Greeting:
    """Answers to one client. `initialized`: it has begun a handshake (before 2026-07-28)."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.initialized = False
        self._constants: Mapping[str, Any] = {}

    def result(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The result of a request, None for one that the owner must see."""
        if method not in _ASKED:
            return None
        self._constants = self._constants or _read()
        if method == "initialize":
            return self._handshake(params)
        if not params.keys() <= {"_meta"}:
            return None
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            return None
        modern = any(key.startswith(ENVELOPE) for key in meta)
        if not (self._modern(meta) if modern else self.initialized):
            return None
        return self._listed(method, "modern" if modern else "legacy")

    def _handshake(self, params: Mapping[str, Any]) -> Mapping[str, Any] | None:
        version, can = params.get("protocolVersion"), params.get("capabilities")
        usual = isinstance(version, str) and isinstance(can, dict)
        if self.initialized or not usual or not _named(params.get("clientInfo")):
            return None
        known = self._constants["legacy"]["versions"]
        self.initialized = True
        return {
            **self._constants["legacy"]["initialize"],
            "protocolVersion": version if version in known else known[-1],
        }

    def _modern(self, meta: Mapping[str, Any]) -> bool:
        known = self._constants["modern"]["versions"]
        can = meta.get(f"{ENVELOPE}clientCapabilities")
        who = meta.get(f"{ENVELOPE}clientInfo", {"name": "", "version": ""})
        usual = meta.get(f"{ENVELOPE}protocolVersion") in known and isinstance(can, dict)
        return usual and _named(who)

    def _listed(self, method: str, era: str) -> Mapping[str, Any] | None:
        found, around = self._constants[era].get(method), self._constants[era]["around"]
        if found is not None:
            return {**found}
        listed = self._constants["lists"].get(method)
        if listed is None:
            return None  # a ping of the era that has none
        if method != TOOLS:
            return {**listed, **around}
        sets = self._sets()
        if not all(name in self._constants["sets"] for name in sets):
            return None
        more = [tool for name in sets for tool in self._constants["sets"][name]]
        return {"tools": [*listed["tools"], *more], **around}

    def _sets(self) -> list[str]:
        """The sets of tools that a living owner serves, or one that is to come, by this machine's
        settings."""
        owner, lock = client.owner_of(self.root), locations.lock_file(self.root)
        if owner.get("version") == protocol.version() and client.held(lock):
            return owner.get("tools", "").split()
        from oneiro_vault.hook import program

        return program.tool_sets()


def _named(who: object) -> bool:
    names = (who.get("name"), who.get("version")) if isinstance(who, dict) else (None,)
    return all(isinstance(name, str) for name in names)


def _read() -> Any:
    with open(FILE, encoding="utf-8") as file:
        return json.loads(file.read().replace("{version}", oneiro_vault.__version__))
