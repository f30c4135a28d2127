"""A hundred clients with a key that never pause: every request is answered, and nobody waits ten
times as long as the others.

(The same over the Unix socket, with slow ones among them, is in `tests/mcp/test_limits.py`.)
"""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import threading
import time
from typing import Any

import pytest

from tests.http.remote import Remote, request
from tests.mcp.raw import ACCEPT, MODERN

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall_check", {"topic": "which lamp is at the pier?"}),
    ("recall_orient", {}),
    ("flagged", {}),
)


class Client(threading.Thread):
    """Calls one tool after the other on one connection; `took` are seconds of each answer, `wrong`
    what was no good one."""

    def __init__(self, remote: Remote, key: str, until: float) -> None:
        super().__init__()
        self.line = http.client.HTTPConnection("127.0.0.1", remote.port, timeout=60)
        self.headers = {
            **ACCEPT,
            "Authorization": f"Bearer {key}",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
        }
        self.until = until
        self.took: list[float] = []
        self.wrong: list[object] = []

    def run(self) -> None:
        for name, given in itertools.cycle(CALLS):
            if time.monotonic() > self.until or self.wrong:
                break
            try:
                self.once(name, given)
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.wrong.append(error)
        self.line.close()

    def once(self, name: str, given: dict[str, Any]) -> None:
        body = json.dumps(request("tools/call", name=name, arguments=given)).encode()
        began = time.monotonic()
        self.line.request("POST", "/mcp", body, self.headers | {"Mcp-Name": name})
        answer = self.line.getresponse()
        data = answer.read()
        self.took.append(time.monotonic() - began)
        if (
            answer.status != 200
            or b'"isError":true' in data.replace(b" ", b"")
            or b'"result"' not in data
        ):
            self.wrong.append((answer.status, data[:300]))


def crowd(remote: Remote, number: int, seconds: float) -> list[float]:
    """Seconds of every answer, sorted; fails when one was wrong."""
    key, until = remote.key("reader"), time.monotonic() + seconds
    clients = [Client(remote, key, until) for _ in range(number)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(seconds + 90)
    assert [wrong for client in clients for wrong in client.wrong] == []
    assert all(client.took for client in clients), "somebody was never answered"
    return sorted(second for client in clients for second in client.took)


def fill(remote: Remote) -> None:
    items = [
        {"text": f"Lamp {n} stands at pier {n % 40} and is lit by keeper {n % 7}."}
        for n in range(1_000)
    ]
    remote.box.ok(
        "remember",
        "--from-jsonl",
        "-",
        stdin="".join(json.dumps(item) + "\n" for item in items).encode(),
    )


@pytest.mark.drill
def test_a_hundred_clients_for_half_a_minute(remote: Remote) -> None:
    fill(remote)
    crowd(remote, 10, 2.0)  # the model has come, the caches are warm
    took = crowd(remote, 100, 30.0)
    half, slow = statistics.median(took), took[int(len(took) * 0.99)]
    print(
        f"{len(took)} answers, {len(took) / 30:.0f} a second, p50 {1000 * half:.0f} ms, p99 "
        f"{1000 * slow:.0f} ms"
    )
    assert slow <= 10 * half
