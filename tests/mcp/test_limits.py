"""Bar row 40: many clients at once, slow ones among them; large heads and bodies are refused before
they are held."""

from __future__ import annotations

import base64
import json
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from oneiro_vault.mcp.transports import LARGEST, LONGEST_HEAD
from tests.box import Box
from tests.mcp.raw import LEGACY, MODERN, Http, Stdio

HEAD = (
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: "
    "application/json, text/event-stream\r\n"
)


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    found = next(
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(found.split()[1]) * 1024


@contextmanager
def slow(place: str, number: int) -> Iterator[None]:
    """Clients that send a byte of their request now and then, and never its end."""
    lines = [socket.socket(socket.AF_UNIX) for _ in range(number)]
    done = threading.Event()

    def drip() -> None:
        while not done.wait(0.2):
            for line in lines:
                line.sendall(b"x")

    for line in lines:
        line.connect(place)
        line.sendall(HEAD.encode() + b"X-Slow: ")
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        for line in lines:
            line.close()


def visit(place: str, number: int, until: float) -> list[float]:
    """One client's calls until then, at least three; seconds of each. Half of the clients are of
    the older era."""
    took: list[float] = []
    with Http(place, MODERN if number % 2 else LEGACY) as client:
        while len(took) < 3 or time.monotonic() < until:
            started = time.monotonic()
            if len(took) % 5 == 1:
                found = client.tool("flagged")
            else:
                found = client.tool("recall_check", topic=f"boat number {number}", limit=3)
            took.append(time.monotonic() - started)
            assert not found.get("isError"), found
    return took


@pytest.mark.parametrize(
    "seconds",
    [pytest.param(0, marks=pytest.mark.slow), pytest.param(30, marks=pytest.mark.drill)],
)
def test_a_hundred_clients_at_once(box: Box, seconds: int) -> None:
    for number in range(20):
        box.remember(f"Boat number {number} is painted in colour {number}.")
    place, pid = box.record["socket"], box.pid
    visit(place, 1, 0)
    before = memory(pid)
    until = time.monotonic() + seconds
    with slow(place, 20), ThreadPoolExecutor(100) as threads:
        took = sorted(
            second
            for one in threads.map(lambda n: visit(place, n, until), range(100))
            for second in one
        )
    p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
    print(
        f"{len(took)} calls by 100 clients: p50 {p50:.3f} s, p99 {p99:.3f} s, "
        f"{(memory(pid) - before) / 1e6:.0f} MB more"
    )
    assert len(took) >= 300
    assert memory(pid) - before < 100e6
    if seconds:
        assert p99 <= 10 * p50


@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_a_head_of_more_than_16_kilobytes_is_refused(box: Box, era: str) -> None:
    box.ok("list")
    status = 431
    with (
        Http(box.record["socket"], era) as client,
        suppress(ConnectionError),
    ):  # the owner may hang up while we still send
        status, _ = client.post(b"{}", {"X-Long": "x" * LONGEST_HEAD})
    assert status == 431
    with Http(box.record["socket"], era) as client:
        assert client.tool("flagged")["content"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_a_hundred_megabytes_is_refused_unread(box: Box, chunked: bool) -> None:
    box.ok("list")
    before, pid = memory(box.pid), box.pid
    piece, sent = b" " * (1 << 20), 0
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(20)
        line.connect(box.record["socket"])
        length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {100 << 20}"
        line.sendall(f"{HEAD}{length}\r\n\r\n".encode())
        try:
            for _ in range(100):
                line.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                sent += len(piece)
        except OSError:
            pass  # the owner has hung up, as it should
        assert sent <= (LARGEST if chunked else 0) + (8 << 20)
        with suppress(ConnectionError):
            assert line.recv(100).startswith(b"HTTP/1.1 413")
    assert memory(pid) - before < (2.5 * LARGEST if chunked else 8 << 20)
    with Http(box.record["socket"]) as client:
        assert client.tool("flagged")["content"]


def test_a_line_that_is_too_long_is_refused_and_the_next_is_answered(box: Box) -> None:
    with Stdio(box.argv("mcp"), box.env) as client:
        client.write(
            b'{"jsonrpc":"2.0","id":"long","method":"tools/call","params":"'
            + b"x" * (LARGEST + 10)
            + b'"}\n'
        )
        refused = client.read()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert client.tool("flagged")["content"]


def test_a_picture_of_some_megabytes_gets_through(box: Box) -> None:
    """Refused for what it is, not for its size."""
    data = base64.b64encode(b"no picture at all" * 300_000).decode()
    with Stdio(box.argv("mcp"), box.env) as client:
        found = client.tool("remember_with_image", text="Big.", image=data)
        assert found["isError"]
        assert "larger" not in json.dumps(found)
    with Http(box.record["socket"]) as client:
        assert client.tool("remember_with_image", text="Big.", image=data)["isError"]


def test_what_is_no_bridge_is_turned_away(box: Box) -> None:
    box.ok("list")
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(box.record["socket"])
        line.sendall(b"GET /mcp/stdio HTTP/1.1\r\nHost: x\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 405")
