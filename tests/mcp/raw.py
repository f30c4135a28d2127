"""Clients that send exactly what they are told: one over HTTP on a Unix socket, one over the stdio
bridge."""

from __future__ import annotations

import http.client
import itertools
import json
import select
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Any

MODERN = "2026-07-28"
LEGACY = "2025-06-18"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}
HELLO = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Unix(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, place: str, timeout: float = 30) -> None:
        super().__init__("localhost", timeout=timeout)
        self.place = place

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.place)


class Http:
    """One client over HTTP in one era."""

    def __init__(self, place: str, era: str = MODERN) -> None:
        self.era = era
        self.line: http.client.HTTPConnection = Unix(place)
        self.session: dict[str, str] = {}
        self.ids = itertools.count(1)

    def __enter__(self) -> Http:
        if self.era != MODERN:
            self.rpc("initialize", HELLO)
            self.post(
                json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def post(
        self, body: bytes, headers: Mapping[str, str] | None = None, path: str = "/mcp"
    ) -> tuple[int, bytes]:
        """A request as it is; status and body of the answer."""
        self.line.request("POST", path, body, {**ACCEPT, **self.session, **(headers or {})})
        answer = self.line.getresponse()
        if found := answer.getheader("mcp-session-id"):
            self.session |= {"Mcp-Session-Id": found, "MCP-Protocol-Version": self.era}
        return answer.status, answer.read()

    def rpc(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One request, properly made; the whole answer."""
        sent = dict(params or {})
        headers = {}
        if self.era == MODERN:
            sent["_meta"] = ENVELOPE
            headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            if "name" in sent:
                headers["Mcp-Name"] = sent["name"]
        body = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": sent}
        status, data = self.post(json.dumps(body).encode(), headers)
        assert status == 200, (status, data)
        return unpacked(data)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.rpc("tools/call", {"name": name, "arguments": arguments})[
            "result"
        ]
        return result


def unpacked(data: bytes) -> dict[str, Any]:
    """The answer in a body of JSON or of server-sent events."""
    if data.lstrip().startswith(b"{"):
        found: dict[str, Any] = json.loads(data)
        return found
    events = [
        json.loads(line[5:])
        for line in data.splitlines()
        if line.startswith(b"data:") and line[5:].strip()
    ]
    return next(event for event in events if "id" in event)


class Stdio:
    """One client of `oneiro mcp` in one era. Everything the bridge says is checked to be a JSON-RPC
    message."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], era: str = MODERN) -> None:
        self.child = subprocess.Popen(
            argv,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.era, self.ids = era, itertools.count(1)
        self.buffer = b""

    def __enter__(self) -> Stdio:
        if self.era != MODERN:
            self.rpc("initialize", HELLO)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe(self.child.stdin).close()
        try:
            self.child.wait(15)
        finally:
            self.child.kill()
            self.child.wait()
            self.pipe(self.child.stdout).close()
            self.pipe(self.child.stderr).close()

    @staticmethod
    def pipe(found: IO[bytes] | None) -> IO[bytes]:
        assert found is not None
        return found

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        stdin = self.pipe(self.child.stdin)
        stdin.write(data)
        stdin.flush()

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def read(self, timeout: float = 30) -> dict[str, Any]:
        """The next message."""
        stdout = self.pipe(self.child.stdout)
        while b"\n" not in self.buffer:
            assert select.select([stdout], [], [], timeout)[0], "nothing came"
            data = stdout.read1(1 << 16)  # type: ignore[attr-defined]  # a BufferedReader
            assert data, "the bridge has ended"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return found

    def answer(self, ident: object, timeout: float = 30) -> dict[str, Any]:
        """The answer to a request, past whatever else comes."""
        while True:
            found = self.read(timeout)
            if found.get("id") == ident and "method" not in found:
                return found

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request, properly made; its id."""
        sent = dict(params or {})
        if self.era == MODERN:
            sent["_meta"] = ENVELOPE | sent.get("_meta", {})
        ident = next(self.ids)
        self.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": sent})
        return ident

    def rpc(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.answer(self.ask(method, params))

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.rpc("tools/call", {"name": name, "arguments": arguments})[
            "result"
        ]
        return result
