"""Attacks on a real owner over TCP: the right status each, no crash, nothing written."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from oneiro_vault.core.principal import MEMORIES, TOOLS
from oneiro_vault.core.principal import ROLES as MAY
from oneiro_vault.http.middleware import RULES
from tests.box import eventually, patient
from tests.http.remote import ROLES, Remote, request, result

PIXEL = base64.b64encode(
    bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000")
    + bytes.fromhex(
        "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()
TRAVERSAL = [
    "../../../../etc/passwd", "..\\..\\etc\\passwd", "/etc/passwd", "....//x", "%2e%2e%2fx",
    ".git/config", "file:///etc/passwd", "\0", "a\nb", "~/x",
    "C:\\x", "$(id)", "HEAD:x", "x" * 5000, "\u202e", "../canary.md", "memory://../x",
    ".oneiro/index.db", "", " ", "-rf", "*",
]  # fmt: skip


@pytest.fixture
def writes() -> None:
    """A test that takes this means to write."""


@pytest.fixture(autouse=True)
def _nothing_is_written(remote: Remote, request: pytest.FixtureRequest) -> Iterator[None]:
    """Unless a test says that it writes, the branch stays where it is; and the server answers after
    every attack."""
    before = remote.head
    yield
    assert remote.send("GET", "/status", "admin").status_code == 200
    assert "writes" in request.fixturenames or remote.head == before


def arguments(tool: str, ident: str) -> dict[str, Any]:
    """Good arguments for a tool."""
    good: dict[str, dict[str, Any]] = {
        "recall_orient": {}, "recall_check": {"topic": "harbour"},
        "recall_specific": {"ids": [ident]}, "recall_image": {"id": ident}, "flagged": {},
        "remember": {"text": f"A note about {time.time_ns()} harbours."},
        "remember_with_image": {"text": f"Picture {time.time_ns()}", "image": PIXEL},
        "reframe": {"id": ident, "text": f"The harbour has {time.time_ns()} lamps."},
        "forget": {"id": ident},
        "reflect": {"highlights": f"We spoke of {time.time_ns()} lamps."},
        "recall_story": {"id": ident}, "restore": {"id": ident},
        "graph": {"name": ident}, "context": {"request": "Which harbour is it?"},
        "consult": {"decision": "Which harbour?"}, "ponder": {},
        "learn": {"text": f"Harbour {time.time_ns()} silts up."},
        "insights": {}, "recall_down": {"id": ident}, "recall_up": {"id": ident},
    }  # fmt: skip
    return good[tool]


# -- who calls
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.org", "evil.org:{port}", "127.0.0.1", "127.0.0.1:1", "loca"
                                                                                             "lhos"
                                                                                             "t.ev"
                                                                                             "il.o"
                                                                                             "rg:{"
                                                                                             "port"
                                                                                             "}",
                                                                                             "127."
                                                                                             "0.0."
                                                                                             "1.ev"
                                                                                             "il.o"
                                                                                             "rg:{"
                                                                                             "port"
                                                                                             "}",
                                                                                             "",
                                                                                             "0.0.0.0:{port}", "127.0.0.2:{port}", "[::1]", "127.0.0.1:{port}@evil.org", "127.0.0.1:{port}/x"])  # fmt: skip
@pytest.mark.parametrize(
    "path", ["/mcp", "/authorize", "/.well-known/oauth-authorization-server", "/token"]
)
def test_a_foreign_host_is_421(remote: Remote, host: str, path: str) -> None:
    named = host.format(port=remote.port)
    answer = remote.raw(
        f"GET {path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n".encode()
    )
    assert answer.split()[1] in (b"421", b"400"), (
        answer
    )  # 400: not even the HTTP parser takes it for a host
    assert b"issuer" not in answer


def test_no_host_at_all(remote: Remote) -> None:
    assert remote.raw(b"GET /mcp HTTP/1.0\r\n\r\n").split()[1] == b"421"
    assert remote.raw(b"GET /mcp HTTP/1.1\r\nConnection: close\r\n\r\n").split()[1] == b"400"
    both = (
        f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nHost: evil.org\r\nConnection: "
        f"close\r\n\r\n"
    )
    assert remote.raw(both.encode()).split()[1] == b"400"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"]
)
def test_its_own_names_are_fine(remote: Remote, host: str) -> None:
    assert (
        remote.send("GET", "/status", "admin", {"Host": host.format(port=remote.port)}).status_code
        == 200
    )


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.org",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost.evil.org",
        "https://127.0.0.1:{port}",
        "file://",
        "x",
    ],
)
@pytest.mark.parametrize(
    "path", ["/mcp", "/capture", "/authorize", "/token", "/register", "/api/remember", "/stop"]
)
def test_a_foreign_origin_is_403(remote: Remote, origin: str, path: str) -> None:
    answer = remote.send(
        "POST", path, "admin", {"Origin": origin.format(port=remote.port)}, json={}
    )
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden_origin")
    assert "access-control-allow-origin" not in answer.headers


def test_its_own_origin_is_fine(remote: Remote) -> None:
    assert remote.send("GET", "/status", "admin", {"Origin": remote.base}).status_code == 200


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/plain; application/json",
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/capture", "/api/remember", "/register"])
def test_what_a_page_may_send_without_asking_is_415(remote: Remote, kind: str, path: str) -> None:
    body = b'{"items": [{"text": "planted by a page"}]}'
    assert (
        remote.send("POST", path, "admin", {"Content-Type": kind}, content=body).status_code == 415
    )


@pytest.mark.parametrize("path", ["/token", "/revoke", "/authorize"])
def test_forms_are_forms(remote: Remote, path: str) -> None:
    assert remote.client.post(path, json={"grant_type": "x"}).status_code == 415


def test_preflights_are_not_answered(remote: Remote) -> None:
    for path in ("/mcp", "/token", "/register", "/authorize"):
        answer = remote.send(
            "OPTIONS",
            path,
            headers={"Origin": remote.base, "Access-Control-Request-Method": "POST"},
        )
        assert answer.status_code == 405
        assert "access-control-allow-origin" not in answer.headers


# -- with what
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/mcp",
        "/orientation",
        "/status",
        "/cli",
        "/stop",
        "/api/recall",
        "/x",
        "/",
        "/.git/config",
        "/mcp/",
        "//mcp",
        "/mcp/../mcp",
    ],
)
@pytest.mark.parametrize("header", ["", "Bearer", "Bearer x", "Basic eDp4", "bearer "
                                                                            "onk_admin_00000000_" + "A" * 43, "Bearer ona_" + "0" * 32 + "_" + "A" * 43, "Token {key}", "{key}", "Bearer {key}x", "Bearer  {key} x"])  # fmt: skip
def test_without_a_good_token_it_is_401_and_says_where_to_get_one(
    remote: Remote, path: str, header: str
) -> None:
    given = {"Authorization": header.format(key=remote.key("admin"))} if header else {}
    method = "POST" if path in ("/cli", "/stop", "/api/recall") else "GET"
    answer = remote.client.request(
        method, path, headers={**given, "Content-Type": "application/json"}
    )
    assert answer.status_code == 401
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith("Bearer ")
    assert (
        f'resource_metadata="{remote.base}/.well-known/oauth-protected-resource/mcp"' in challenge
    )
    assert remote.key("admin")[-43:] not in answer.text


def test_two_tokens_are_none(remote: Remote) -> None:
    key = remote.key("admin")
    lines = (
        f"GET /status HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {key}\r\nAuthorization: Bearer x\r\n\r\n"
    )
    assert remote.raw(lines.encode()).split()[1] == b"401"


@pytest.mark.parametrize(
    "name",
    [
        "access_token",
        "token",
        "Access_Token",
        "api_key",
        "key",
        "authorization",
        "client_secret",
        "password",
        "access%5Ftoken",
    ],
)
def test_a_token_in_the_address_is_refused_even_beside_a_good_one(
    remote: Remote, name: str
) -> None:
    for path in ("/status", "/mcp", "/authorize", "/orientation"):
        answer = remote.send("GET", f"{path}?{name}={remote.key('admin')}", "admin")
        assert answer.status_code == 400
        assert remote.key("admin")[-20:] not in answer.text


@pytest.mark.slow
def test_a_revoked_key_is_dead_within_a_second(remote: Remote) -> None:
    made = remote.box.json("keys", "add", "--role", "admin", "--name", "thief")
    header = {"Authorization": f"Bearer {made['key']}"}
    assert remote.client.get("/status", headers=header).status_code == 200
    remote.box.ok("keys", "revoke", "thief")
    began = time.monotonic()
    eventually(lambda: remote.client.get("/status", headers=header).status_code == 401, 1)
    assert time.monotonic() - began < patient(1)


def test_an_expired_key_is_dead(remote: Remote) -> None:
    key, _ = remote.access.keys.add("admin", expires=time.time() + 1.5)
    header = {"Authorization": f"Bearer {key}"}
    eventually(lambda: remote.client.get("/status", headers=header).status_code == 401, 10)


@pytest.mark.slow
def test_a_revoked_caller_loses_an_open_stream(remote: Remote) -> None:
    key, made = remote.access.keys.add("reader")
    listen = request("subscriptions/listen", notifications={"toolsListChanged": True})
    headers = {
        "Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "subscriptions/listen",
    }  # fmt: skip
    with remote.client.stream("POST", "/mcp", json=listen, headers=headers) as stream:
        assert stream.status_code == 200
        lines = stream.iter_lines()
        next(lines)
        remote.access.revoke(made.id)
        assert len(list(lines)) < 50, "the stream ends"
    eventually(
        lambda: any(
            line.get("revoked") for line in remote.audit if line["who"] == f"key:{made.id}"
        ),
        5,
    )


# -- which role may do what
# -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def note(remote: Remote) -> str:
    return str(remote.box.remember("The harbour has four lamps.")["id"])


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("role", ROLES)
def test_every_cell_of_role_and_tool_writes_only_where_it_may(
    remote: Remote, writes: None, note: str, role: str, tool: str
) -> None:
    if tool == "forget":
        note = str(remote.box.remember(f"To be forgotten by {role}: {time.time_ns()} gulls.")["id"])
    before = remote.head
    answer = remote.call(tool, arguments(tool, note), remote.key(role))
    if TOOLS[tool] not in MAY[role]:
        assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")
        assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
        assert remote.head == before
        return
    assert answer.status_code == 200
    found = result(answer)
    assert not found.get("isError") or tool in ("recall_image", "restore", "ponder"), (
        found
    )  # that note has no picture, and is not gone; and there may be nothing to ponder
    assert (remote.head != before) is (TOOLS[tool] == "write" and tool != "restore")


@pytest.mark.parametrize("role", ROLES)
def test_an_unknown_tool_needs_the_right_to_write(remote: Remote, role: str) -> None:
    answer = remote.call("purge_everything", {}, remote.key(role))
    assert answer.status_code == (403 if role in ("reader", "hook") else 200), answer.text


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "params", "scope"), [
    ("resources/read", {"uri": "memory://3xk9m2p7q4rt"}, "read"),
    ("resources/read", {"uri": "orientation://"}, "orient"), ("prompts/get", {"name": "x"}, "read"),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}, "read"),
    ("tools/list", {}, "orient"), ("resources/list", {}, "orient"),
])  # fmt: skip
def test_other_requests_need_rights_too(
    remote: Remote, role: str, method: str, params: dict[str, Any], scope: str
) -> None:
    answer = remote.mcp(request(method, **params), remote.key(role))
    assert (answer.status_code == 403) is (scope not in MAY[role]), answer.text


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "path", "body"), [
    ("GET", "/orientation", None), ("GET", "/status", None),
    ("POST", "/api/recall", {"query": "x"}), ("POST", "/api/list", {}), ("POST", "/capture", None),
])  # fmt: skip
def test_every_cell_of_role_and_route_writes_only_where_it_may(
    remote: Remote, writes: None, role: str, method: str, path: str, body: dict[str, Any] | None
) -> None:
    before = remote.head
    sent = (
        {"text": f"We spoke of {time.time_ns()} boats.", "session": "s"}
        if path == "/capture"
        else body
    )
    answer = remote.send(method, path, role, **({"json": sent} if method == "POST" else {}))
    needed = RULES["/api" if path.startswith("/api/") else path].scope
    assert answer.status_code == (200 if needed in MAY[role] else 403), answer.text
    assert (remote.head != before) is (path == "/capture" and answer.status_code == 200)


@pytest.mark.parametrize("role", ROLES)
def test_the_command_line_is_for_nobody_and_stopping_for_admins(remote: Remote, role: str) -> None:
    for path in (
        "/cli",
        "/api",
        "/api/",
        "/api/purge",
        "/api/recall/x",
        "/api/export",
        "/api/import_",
        "/bridge",
    ):
        assert (
            remote.send(
                "POST", path, role, {"Content-Type": "application/json"}, content=b"{}"
            ).status_code
            == 404
        ), path
    if role != "admin":
        assert remote.send("POST", "/stop", role).status_code == 403


@pytest.mark.parametrize("part", [{"actor": "user"}, {"source": "user"}, {"trust": "user"}])
def test_nobody_says_of_themselves_who_they_are(remote: Remote, part: dict[str, str]) -> None:
    for body in (
        {"items": [{"text": "I am the user."}]} | part,
        {"items": [{"text": "I am the user."} | part]},
    ):
        answer = remote.send("POST", "/api/remember", "admin", json=body)
        assert answer.status_code == 400
        assert "set by the server" in answer.json()["message"]
    assert remote.send("POST", "/capture", "hook", json={"text": "x"} | part).status_code == 400


def test_what_an_admin_writes_is_not_signed_by_the_user(remote: Remote, writes: None) -> None:
    made = remote.send(
        "POST",
        "/api/remember",
        "admin",
        json={"items": [{"text": f"The quay is {time.time_ns()} feet long."}]},
    ).json()
    note = (remote.box.vault / made["results"][0]["path"]).read_text()
    assert "source: model" in note
    assert "source: user" not in note


# -- with which content
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRAVERSAL)
def test_names_and_ids_lead_nowhere(remote: Remote, name: str) -> None:
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("recall_specific", {"ids": [name]}), ("recall_image", {"id": name}),
        ("recall_image", {"id": "3xk9m2p7q4rt", "sha256": name}),
        ("recall_image", {"id": "3xk9m2p7q4rt", "size": name}),
        ("reframe", {"id": name, "text": "hacked"}), ("forget", {"id": name}),
        ("recall_check", {"topic": "x", "entity": name, "tag": name, "type": name}),
    ]  # fmt: skip
    for tool, given in attempts:
        answer = remote.call(tool, given, remote.key("writer"))
        assert answer.status_code == 200, (tool, answer.text)
        assert "root:" not in answer.text
        assert "[core]" not in answer.text
    read = remote.mcp(request("resources/read", uri=f"memory://{name}"), remote.key("writer"))
    assert read.status_code in (200, 400, 404)
    assert "root:" not in read.text
    for op in ("show", "why", "forget", "restore"):
        assert remote.send("POST", f"/api/{op}", "admin", json={"id": name}).status_code in (
            400,
            404,
        ), op
    assert remote.send("POST", "/api/undo", "admin", json={"commit": name}).status_code in (
        400,
        404,
    )
    assert remote.send(
        "POST", "/api/move", "admin", json={"id": "3xk9m2p7q4rt", "path": name}
    ).status_code in (400, 404)
    assert name == "" or remote.send(
        "POST", "/api/browse", "admin", json={"path": name}
    ).status_code in (400, 404)


@pytest.mark.parametrize(
    "path",
    [
        "/%2e%2e/etc/passwd",
        "/mcp/%2e%2e/cli",
        "/api/..%2fcli",
        "/api/%2e%2e%2fstop",
        "/authorize/../cli",
        "/.well-known/../cli",
        "/\\..\\x",
        "/%00",
        "/mcp%00",
        "/mcp;x",
        "/MCP",
    ],
)
def test_paths_lead_nowhere(remote: Remote, path: str) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\n"
    )
    answer = remote.raw(
        (
            head
            + "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        ).encode()
    )
    assert answer.split()[1] in (b"404", b"400"), answer


def memory_of(remote: Remote) -> int:
    """Resident bytes of the owner."""
    text = (f"/proc/{remote.child.pid}/status", "VmRSS:")
    line = next(line for line in open(text[0], encoding="ascii") if line.startswith(text[1]))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize(
    "path", ["/mcp", "/api/remember", "/capture", "/token", "/register", "/authorize"]
)
@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_hundred_megabytes_are_413_and_not_held(remote: Remote, path: str, chunked: bool) -> None:
    kind = (
        "application/json"
        if path in ("/mcp", "/api/remember", "/capture", "/register")
        else "application/x-www-form-urlencoded"
    )
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\nContent-Type: {kind}\r\n"
    )
    head += "Transfer-Encoding: chunked\r\n\r\n" if chunked else "Content-Length: 104857600\r\n\r\n"
    before = memory_of(remote)
    with socket.create_connection(("127.0.0.1", remote.port), timeout=20) as line:
        line.sendall(head.encode())
        answer: list[bytes] = []
        reader = threading.Thread(target=lambda: answer.append(line.recv(65536)))
        reader.start()
        part = b"x" * 1_048_576
        try:
            for _ in range(100):
                line.sendall(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
        except OSError:
            pass  # it need not take all of it
        reader.join(20)
    assert answer
    assert answer[0].split()[1] == b"413", answer[0][:200]
    assert memory_of(remote) - before < 90_000_000


def test_a_length_that_is_no_number(remote: Remote) -> None:
    for length in ("-1", "x", "1e3", "9" * 30, "+5", "0x10"):
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nContent-Type: "
            f"application/json\r\nContent-Length: {length}\r\n\r\n"
        )
        assert remote.raw(head.encode(), 3).split()[1] in (b"400", b"413"), length


def test_large_headers(remote: Remote) -> None:
    host = f"Host: 127.0.0.1:{remote.port}\r\nConnection: close\r\n"
    small = (
        f"GET /status HTTP/1.1\r\n{host}X: {'y' * 8000}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\n\r\n"
    )
    assert remote.raw(small.encode()).split()[1] == b"200"
    for head in (
        f"GET /status HTTP/1.1\r\n{host}X: {'y' * 40_000}\r\n\r\n",
        f"GET /status?{'y' * 40_000} HTTP/1.1\r\n{host}\r\n",
    ):
        assert remote.raw(head.encode()).split()[1] in (b"400", b"431")
    many = "".join(f"X-{n}: {n}\r\n" for n in range(5000))
    assert remote.raw(f"GET /status HTTP/1.1\r\n{host}{many}\r\n".encode()).split()[1] in (
        b"400",
        b"431",
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 10,
        b"G\xff\xff / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ],
)
def test_what_is_no_http(remote: Remote, data: bytes) -> None:
    answer = remote.raw(data, 1)
    assert answer == b"" or answer.split()[1] in (b"400", b"421")


def test_smuggled_requests_are_refused(remote: Remote) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\nContent-Type: application/json\r\n"
    )
    stop = (
        f"POST /stop HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\n\r\n"
    )
    for twist in (
        "Content-Length: 2\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
    ):
        assert remote.raw((head + twist + "\r\n{}" + stop).encode(), 3).split()[1] in (
            b"400",
            b"411",
            b"413",
            b"501",
        ), twist
    for rest in ("0\r\n\r\n", "", "5\r\n{}"):  # at once, whatever of the body has come
        both = remote.raw(
            (head + f"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{rest}").encode(), 30
        )
        assert both.split()[1] == b"400"
        assert both.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("code", "body"),
    [
        *(
            (-32700, body)
            for body in (
                b"",
                b"{",
                b"\xff\xfe",
                b"[" * 100_000,
                b'{"a":' * 50_000,
                '{"method":"tools/call"}'.encode("utf-16"),
            )
        ),
        (-32700, b'{"method": "tools/list", "method": "tools/call"}'),
        *(
            (-32600, body)
            for body in (b"[]", b"null", b"5", b'"x"', b"[1]", b"[{}" + b",{}" * 60 + b"]")
        ),
    ],
)
def test_what_is_no_json_rpc_is_said_to_be_none(remote: Remote, code: int, body: bytes) -> None:
    answer = remote.send(
        "POST", "/mcp", "writer", {"Content-Type": "application/json"}, content=body
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"method": 5},
        {"method": "tools/call"},
        {"method": "tools/call", "params": []},
        {"method": "tools/call", "params": {"name": ["remember"]}},
        {"method": "tools/call", "params": {"name": "Remember"}},
    ],
)
def test_a_reader_gets_nothing_by_odd_messages(remote: Remote, message: dict[str, Any]) -> None:
    answer = remote.mcp(
        {"jsonrpc": "2.0", "id": 1} | message,
        remote.key("reader"),
        Mcp_Method="tools/call",
        Mcp_Name="remember",
    )
    assert answer.status_code in (400, 403, 404, 202), answer.text
    assert (
        remote.mcp(
            [
                request("tools/list"),
                request("tools/call", name="remember", arguments={"text": "planted"}),
            ],
            remote.key("reader"),
        ).status_code
        == 403
    )


def test_orientation_as_a_program_or_a_model_wants_it(remote: Remote) -> None:
    assert remote.send("GET", "/orientation?n=0&limit=500", "hook").json()["recent"] == []
    text = remote.send("GET", "/orientation", "hook", {"Accept": "text/markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    for query in ("n=many", "limit=", "n=1.5", "n=-1", "unknown=1"):
        assert remote.send("GET", f"/orientation?{query}", "reader").status_code == 400, query
    assert (
        remote.send(
            "GET", "/orientation?" + "&".join(f"a{n}=1" for n in range(60)), "reader"
        ).status_code
        == 400
    )


@pytest.mark.parametrize("path", ["/api/recall", "/capture"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"\xff", b'{"unknown": 1}'])
def test_bodies_that_are_no_request(remote: Remote, path: str, body: bytes) -> None:
    assert (
        remote.send(
            "POST", path, "admin", {"Content-Type": "application/json"}, content=body
        ).status_code
        == 400
    )


# -- sessions
# --------------------------------------------------------------------------------------------------


def opened(remote: Remote, role: str) -> str:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    answer = remote.mcp(hello, remote.key(role), MCP_Protocol_Version="2025-06-18")
    assert answer.status_code == 200, answer.text
    return str(answer.headers["mcp-session-id"])


def test_a_session_belongs_to_who_opened_it(remote: Remote) -> None:
    session = opened(remote, "writer")
    plain = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for role, status in (("writer", 200), ("reader", 404), ("admin", 404)):
        answer = remote.mcp(
            plain, remote.key(role), MCP_Protocol_Version="2025-06-18", Mcp_Session_Id=session
        )
        assert answer.status_code == status, role
    assert remote.send("DELETE", "/mcp", "reader", {"Mcp-Session-Id": session}).status_code == 404
    assert (
        remote.send(
            "GET", "/mcp", "reader", {"Mcp-Session-Id": session, "Accept": "text/event-stream"}
        ).status_code
        == 404
    )
    assert (
        remote.mcp(
            plain, remote.key("writer"), MCP_Protocol_Version="2025-06-18", Mcp_Session_Id=session
        ).status_code
        == 200
    )
    assert remote.send("DELETE", "/mcp", "writer", {"Mcp-Session-Id": session}).status_code == 200


def test_invented_sessions(remote: Remote) -> None:
    for session in ("x", "0" * 32, "../x", "x" * 5000):
        answer = remote.mcp(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
            remote.key("admin"),
            MCP_Protocol_Version="2025-06-18",
            Mcp_Session_Id=session,
        )
        assert answer.status_code == 404


def test_rights_count_per_message_and_not_per_session(remote: Remote) -> None:
    session = opened(remote, "reader")
    call = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"text": "planted in a session"}},
    }
    assert (
        remote.mcp(
            call, remote.key("reader"), MCP_Protocol_Version="2025-06-18", Mcp_Session_Id=session
        ).status_code
        == 403
    )


# -- what is left of it
# --------------------------------------------------------------------------------------------------


def test_the_audit_log_says_who_did_what_and_never_a_word(remote: Remote, writes: None) -> None:
    word = f"secretword{time.time_ns()}"
    (made,) = result(
        remote.call("remember", {"text": f"The {word} lamp is out."}, remote.key("writer"))
    )["_meta"][MEMORIES]
    remote.call("recall_check", {"topic": word}, remote.key("reader"))
    remote.call("forget", {"id": made, "reason": word}, remote.key("writer"))
    remote.send("GET", f"/orientation?context={word}", "reader")
    remote.send("POST", "/capture", "hook", json={"text": f"Session about {word}."})
    remote.call("x" + word, {word: word}, remote.key("admin"))
    remote.client.get(
        f"/{word}?{word}={word}", headers={"Authorization": f"Bearer {word}", "User-Agent": word}
    )
    audit = remote.audit
    who = f"key:{remote.key_id('writer')}"
    told = [(line["op"], line["ids"]) for line in audit if line["who"] == who][-2:]
    assert told == [("tools/call remember", [made]), ("tools/call forget", [made])]
    text = json.dumps(audit)
    log = (remote.box.folder / "serve.log").read_text()
    for secret in (word, *(remote.key(role)[-43:] for role in ROLES)):
        assert secret not in text
    for role in ROLES:
        assert remote.key(role)[-43:] not in log


def test_nothing_has_gone_wrong_inside(remote: Remote) -> None:
    assert "Exception in ASGI" not in (remote.box.folder / "serve.log").read_text()


# -- slow and many
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_clients_at_once(remote: Remote) -> None:
    key = remote.key("reader")
    assert remote.call("recall_check", {"topic": "harbour"}, key).status_code == 200
    before = memory_of(remote)
    answers: list[int] = []

    def client() -> None:
        for tool, given in (
            ("recall_orient", {}),
            ("recall_check", {"topic": "lamps"}),
            ("flagged", {}),
        ):
            answers.append(remote.call(tool, dict(given), key).status_code)

    threads = [threading.Thread(target=client) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [200] * 300
    assert memory_of(remote) - before < 100_000_000


@pytest.mark.slow
def test_slow_heads_are_hung_up_on_while_others_are_served(remote: Remote) -> None:
    lines = [socket.create_connection(("127.0.0.1", remote.port), timeout=30) for _ in range(50)]
    try:
        for line in lines[:25]:
            line.sendall(b"GET /mcp HTTP/1.1\r\nHost: 127")
        for _ in range(5):
            assert remote.send("GET", "/status", "admin").status_code == 200
        began = time.monotonic()
        for line in lines:
            line.settimeout(30)
            assert ended(line)
        assert time.monotonic() - began < patient(25)
    finally:
        for line in lines:
            line.close()


@pytest.mark.slow
def test_a_slow_body_is_408(remote: Remote) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{remote.port}\r\nAuthorization: Bearer "
        f"{remote.key('admin')}\r\nContent-Type: application/json\r\n"
    )
    answer = remote.raw((head + "Content-Length: 100\r\n\r\n{").encode(), 25)
    assert answer.split()[1] == b"408"


def ended(line: socket.socket) -> bool:
    """Does the server hang up (an answer before that is fine)?"""
    try:
        while line.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def test_too_many_connections_leave_the_socket_alone(remote: Remote) -> None:
    lines: list[socket.socket] = []
    try:
        lines.extend(
            socket.create_connection(("127.0.0.1", remote.port), timeout=10) for _ in range(450)
        )
        assert remote.box.json("list")["schema"] == 1
    finally:
        for line in lines:
            line.close()
    eventually(lambda: remote.send("GET", "/status", "admin").status_code == 200, 20)
