"""A real owner that listens on 127.0.0.1, its keys, and ways to talk to it as a program, a browser
or an attacker would."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from oneiro_vault.http.auth.access_tokens import challenge
from oneiro_vault.http.auth.authenticator import Access, folder_of
from tests.box import Box, eventually

ROLES = ("reader", "writer", "hook", "admin")
PASSWORD = "a password for tests"
VERIFIER = "v" * 64
BACK = "http://127.0.0.1:45678/callback"
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Remote:
    """One `oneiro serve --http`. Keys are made on first use; `get` and `post` never follow a
    redirect."""

    def __init__(self, box: Box, *options: str, where: str = "127.0.0.1") -> None:
        self.box = box
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        with (box.folder / "serve.log").open("ab") as log:
            self.child = box.start(
                "serve", "--http", f"{where}:{self.port}", *options, stderr=log, stdout=log
            )
        eventually(lambda: box.record.get("http") or self.child.poll() is not None, 30)
        self.base = f"http://127.0.0.1:{self.port}"
        self.issuer: str = box.record["http"]
        self.client = self._client(1)
        self._keys: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        """End the owner politely; it must be able to."""
        self.client.close()
        self.child.terminate()
        self.child.wait(20)
        self.box.close()

    def _client(self, number: int) -> httpx2.Client:
        """Every address of 127.0.0.0/8 is this machine's, and to the server each is somebody
        else."""
        self._number = number
        limits = httpx2.Limits(max_connections=100)
        transport = httpx2.HTTPTransport(
            local_address=f"127.0.0.{number}",
            limits=limits,
            trust_env=False,
            verify=False,  # it speaks plain HTTP, and reading all authorities takes 20 ms
        )
        return httpx2.Client(
            base_url=self.base,
            follow_redirects=False,
            timeout=60,
            trust_env=False,
            transport=transport,
        )

    def be_somebody_else(self) -> None:
        """From now on requests come from another address, whose permits are untouched."""
        self.client.close()
        self.client = self._client(self._number % 250 + 1)

    def key(self, role: str) -> str:
        if role not in self._keys:
            self._keys[role] = self.box.json("keys", "add", "--role", role)
        return str(self._keys[role]["key"])

    def key_id(self, role: str) -> str:
        self.key(role)
        return str(self._keys[role]["id"])

    def bearer(self, role: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key(role)}"}

    def send(
        self,
        method: str,
        path: str,
        role: str = "",
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> httpx2.Response:
        return self.client.request(
            method, path, headers={**(self.bearer(role) if role else {}), **(headers or {})}, **more
        )

    def mcp(self, message: Any, token: str, **headers: str) -> httpx2.Response:
        """One POST to /mcp; of a request the headers of the modern era are made."""
        params = message.get("params") if isinstance(message, dict) else None
        named = params.get("name") if isinstance(params, dict) else None
        wanted = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
        }
        wanted |= (
            {"Mcp-Method": message["method"]}
            if isinstance(message, dict) and "method" in message
            else {}
        )
        wanted |= {"Mcp-Name": named} if isinstance(named, str) else {}
        wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post("/mcp", json=message, headers=wanted)

    def call(self, tool: str, arguments: dict[str, Any], token: str) -> httpx2.Response:
        return self.mcp(request("tools/call", name=tool, arguments=arguments), token)

    def raw(self, data: bytes, seconds: float = 10.0) -> bytes:
        """Bytes in, bytes out, until the server hangs up or nothing comes any more."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as line:
            line.settimeout(seconds)
            line.sendall(data)
            found = b""
            try:
                while part := line.recv(65536):
                    found += part
            except (TimeoutError, ConnectionResetError):
                pass
            return found

    @property
    def access(self) -> Access:
        """The same files from another process: this one."""
        return Access(folder_of(self.box.vault, Path(self.box.env["XDG_CONFIG_HOME"]) / "oneiro"))

    @property
    def audit(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for line in (self.access.folder / "audit.jsonl").read_text().splitlines()
        ]

    @property
    def head(self) -> str:
        """What the vault's branch points at: it changes with every write."""
        return (self.box.vault / ".git" / "refs" / "heads" / "main").read_text().strip()


def request(method: str, ident: int | str = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": {**params, "_meta": META}}


def result(response: httpx2.Response) -> dict[str, Any]:
    """The result of a JSON-RPC answer, whether it came as JSON or as an event."""
    text = response.text
    if "text/event-stream" in response.headers.get("content-type", ""):
        text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
    found = json.loads(text)
    assert "result" in found, found
    answer: dict[str, Any] = found["result"]
    return answer


class Program:
    """An OAuth client with a browser and a person behind it."""

    def __init__(self, remote: Remote, **metadata: Any) -> None:
        self.remote = remote
        asked = {
            "redirect_uris": [BACK],
            "client_name": "Test program",
            "token_endpoint_auth_method": "none",
        } | metadata
        made = remote.client.post("/register", json=asked)
        assert made.status_code == 201, made.text
        self.registered: dict[str, Any] = made.json()
        self.id: str = self.registered["client_id"]

    def query(self, **change: str | None) -> dict[str, str]:
        fields = {
            "response_type": "code", "client_id": self.id, "redirect_uri": BACK, "state": "st",
            "code_challenge": challenge(VERIFIER),
            "code_challenge_method": "S256", "resource": f"{self.remote.issuer}/mcp",
        } | change  # fmt: skip
        return {name: value for name, value in fields.items() if value is not None}

    def authorize(self, **change: str | None) -> httpx2.Response:
        """In a browser that was never here."""
        self.remote.client.cookies.clear()
        return self.remote.client.get("/authorize?" + urlencode(self.query(**change)))

    def decide(
        self, page: httpx2.Response, password: str = PASSWORD, **change: str
    ) -> httpx2.Response:
        """Fill in the form of a page and send it."""
        return decide(self.remote, page, password, **change)

    def code(self, access: str = "writer", **change: str | None) -> str:
        done = self.decide(self.authorize(**change), access=access)
        assert done.status_code == 303, done.text
        return back(done)["code"]

    def token(self, **fields: str) -> httpx2.Response:
        given = {
            "grant_type": "authorization_code",
            "client_id": self.id,
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
        } | fields
        return self.remote.client.post("/token", data=given)

    def tokens(self, access: str = "writer") -> dict[str, Any]:
        done = self.token(code=self.code(access))
        assert done.status_code == 200, done.text
        found: dict[str, Any] = done.json()
        return found


def decide(
    remote: Remote,
    page: httpx2.Response,
    password: str = PASSWORD,
    cookie: str | None = None,
    **change: str,
) -> httpx2.Response:
    """What a browser sends when a person has filled in the form of a page."""
    fields = {
        "sealed": sealed(page),
        "password": password,
        "access": "writer",
        "decision": "allow",
    } | change
    kept = page.headers.get("set-cookie", "").partition(";")[0] if cookie is None else cookie
    remote.client.cookies.clear()
    headers = {"Origin": remote.issuer} | ({"Cookie": kept} if kept else {})
    return remote.client.post("/authorize", data=fields, headers=headers)


def sealed(page: httpx2.Response) -> str:
    found = re.search(r'name="sealed" value="([^"]+)"', page.text)
    assert found, page.text
    return html.unescape(found[1])


def back(response: httpx2.Response) -> dict[str, str]:
    """The fields with which a browser was sent back to the program."""
    location = response.headers["location"]
    assert location.startswith(BACK + "?"), location
    return {name: value for name, (value,) in parse_qs(urlsplit(location).query).items()}


def basic(ident: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{ident}:{secret}".encode()).decode()}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
