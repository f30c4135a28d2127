"""Where it listens and under which name; what is refused; and that an owner with a network is an
owner like any other."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from oneiro_vault.errors import InvalidInput, OwnerProblem
from oneiro_vault.http.auth.authenticator import Access
from oneiro_vault.http.listen_tcp import Network, check_public, place
from tests.box import Box, command_line, eventually
from tests.http.remote import Remote, request


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:8787", ("127.0.0.1", 8787)), ("8787", ("127.0.0.1", 8787)),
        ("localhost:1", ("127.0.0.1", 1)), ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)), ("127.0.0.1:0", ("127.0.0.1", 0)),
    ],
)  # fmt: skip
def test_places(text: str, found: tuple[str, int]) -> None:
    assert place(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "127.0.0.1",
        "example.org:80",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:x",
        "::1:80:",
        "1.2.3:4",
        "http://127.0.0.1:80",
    ],
)
def test_no_places(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a place to listen at"):
        place(text)


@pytest.mark.parametrize(
    ("public", "host", "insecure", "found"),
    [
        ("", "127.0.0.1", False, ""), ("", "::1", False, ""),
        ("https://v.example.org", "127.0.0.1", False, "https://v.example.org"),
        ("https://V.example.org/", "0.0.0.0", False, "https://v.example.org"),
        ("https://v.example.org:8443", "10.0.0.1", False, "https://v.example.org:8443"),
        ("http://localhost:8787", "127.0.0.1", False, "http://localhost:8787"),
        ("", "0.0.0.0", True, ""),
        ("http://10.0.0.5:8787", "0.0.0.0", True, "http://10.0.0.5:8787"),
    ],
)  # fmt: skip
def test_public_addresses(public: str, host: str, insecure: bool, found: str) -> None:
    assert check_public(public, host, insecure) == found


@pytest.mark.parametrize(
    ("public", "host", "words"),
    [
        ("", "0.0.0.0", "in the clear"), ("", "::", "in the clear"),
        ("", "192.168.1.5", "in the clear"), ("http://v.example.org", "127.0.0.1", "in the clear"),
        ("http://v.example.org", "0.0.0.0", "in the clear"),
        ("https://v.example.org/path", "127.0.0.1", "plain address"),
        ("https://u@v.example.org", "127.0.0.1", "plain address"),
        ("v.example.org", "127.0.0.1", "plain address"),
        ("ftp://v.example.org", "127.0.0.1", "plain address"),
        ("https://v.example.org?x", "127.0.0.1", "plain address"),
        ("https://v.example.org:x", "127.0.0.1", "not an address"),
        ("https://", "127.0.0.1", "plain address"),
    ],
)  # fmt: skip
def test_what_would_send_tokens_in_the_clear_or_is_no_address(
    public: str, host: str, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_public(public, host, False)


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:"), ("::1", "http://[::1]:")]
)
def test_the_listener_is_known_to_be_tcp(tmp_path: Path, host: str, url: str) -> None:
    """Else asyncio leaves Nagle's algorithm on, and every answer takes 40 ms."""
    network = Network(host, 0, Access(tmp_path / "a"))
    with network.listening() as listener:
        assert listener.proto == socket.IPPROTO_TCP
        port = listener.getsockname()[1]
        assert network.url(listener) == f"{url}{port}"
        with (
            pytest.raises(OwnerProblem, match="cannot listen"),
            Network(host, port, network.access).listening(),
        ):
            pass
    assert (
        Network(host, 0, network.access, "https://v.example.org").url(listener)
        == "https://v.example.org"
    )


@pytest.mark.slow
def test_the_command_refuses_it_too(remote: Remote) -> None:
    for options, code, words in (
        (("--http", "0.0.0.0:0"), 2, b"in the clear"), (("--http", "nowhere"), 2, b"not a place"),
        (("--public-url", "https://x.org"), 2, b"--http"),
        (("--insecure",), 2, b"--http"),
        (("--http", f"127.0.0.1:{remote.port}"), 9, b"has the vault open"),
    ):  # fmt: skip
        done = remote.box("serve", *options)
        assert done.returncode == code, done.stderr
        assert words in done.stderr
    assert remote.send("GET", "/status", "admin").status_code == 200


@pytest.mark.slow
def test_it_takes_over_from_an_owner_that_a_command_started(box: Box) -> None:
    box.env["ONEIRO_OWNER_IDLE"] = "1.5"
    before = box.pid
    assert "http" not in box.record, "only when asked"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = box("serve", "--http", f"127.0.0.1:{taken.getsockname()[1]}")
        assert done.returncode == 13
        assert b"cannot listen" in done.stderr
    box.env["ONEIRO_OWNER_IDLE"] = "2"
    assert box.pid
    after = Remote(box)
    assert box.pid == after.child.pid != before
    assert not command_line(before)
    time.sleep(2.5)
    assert after.child.poll() is None, "it does not end because nobody asks"
    kept = box.remember("The tide is in.")
    assert (
        after.send("POST", "/api/recall", "admin", json={"query": "tide"}).json()["results"][0][
            "id"
        ]
        == kept["id"]
    )
    after.client.close()


@pytest.mark.slow
def test_new_settings_are_taken_up_by_the_same_process(solo: Callable[..., Remote]) -> None:
    remote = solo()
    key = remote.key("writer")
    assert remote.mcp(request("tools/list"), key).status_code == 200
    settings = Path(remote.box.env["XDG_CONFIG_HOME"]) / "oneiro" / "config.toml"
    settings.write_text("[access]\nreads = 6\nwrites = 2\n")

    def limited() -> bool:
        try:
            return any(remote.mcp(request("tools/list"), key).status_code == 429 for _ in range(8))
        except httpx2.HTTPError:  # it is just coming back
            return False

    eventually(limited, 30)
    assert remote.child.poll() is None
    refused = remote.mcp(request("tools/list"), key)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 61
    other = remote.key("admin")
    answers = [
        remote.call(
            "remember", {"text": f"Note {number} about limits of {number} kinds."}, other
        ).status_code
        for number in range(3)
    ]
    assert answers == [200, 200, 429], "each key has permits of its own, and fewer for changes"


def test_the_socket_knows_nothing_of_the_network(remote: Remote) -> None:
    remote.box.ok("list")  # before it is open it has one answer to everything
    place = remote.box.record["socket"]
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(place)
        line.sendall(
            b"GET /status HTTP/1.1\r\nHost: evil.org\r\nOrigin: https://evil.org\r\nConnection: "
            b"close\r\n\r\n"
        )
        assert line.recv(100).split()[1] == b"200"
    for path in ("/authorize", "/token", "/.well-known/oauth-authorization-server", "/orientation"):
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(place)
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert line.recv(100).split()[1] == b"404"


@pytest.mark.slow
def test_a_session_of_the_socket_is_not_reached_from_the_network(remote: Remote) -> None:
    hello = (
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","'
        b'capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    )
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(remote.box.record["socket"])
        head = (
            "POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
            "application/json\r\nAccept: application/json, text/event-stream\r\n"
        )
        line.sendall((head + f"Content-Length: {len(hello)}\r\n\r\n").encode() + hello)
        line.settimeout(10)
        answer = line.recv(65536).decode()
    session = next(
        row.partition(":")[2].strip()
        for row in answer.splitlines()
        if row.lower().startswith("mcp-session-id:")
    )
    plain = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert (
        remote.mcp(
            plain, remote.key("admin"), MCP_Protocol_Version="2025-06-18", Mcp_Session_Id=session
        ).status_code
        == 404
    )


def test_status_says_where_it_listens(remote: Remote) -> None:
    assert remote.box.json("status")["owner"]["http"] == remote.issuer
    assert remote.issuer in remote.box.ok("status")
