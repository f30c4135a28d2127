"""Eight clients remember and recall at once: nothing lost, no error, one owner, and nothing left
running."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import pytest

from tests.box import Box, command_line, eventually
from tests.drills.whole import acks, children, kept, owner_pids, processes

WARMING = re.compile(
    rb"(keywords only: (embedder warming|the vector index is not open yet|\d+ passages wait for a "
    rb"vector)\n)?(commits not indexed yet: \d+\n)?"
)
"""What a recall may say on the side while an owner is young and seven others write."""


class Client(threading.Thread):
    """Remembers one thing after the other, each in a process of its own, and asks for what it just
    stored."""

    def __init__(self, box: Box, name: str, until: float) -> None:
        super().__init__(name=name)
        self.box, self.until = box, until
        self.acked: dict[str, str] = {}
        self.trouble: list[Any] = []
        self.slowest = 0.0

    def run(self) -> None:
        number = 0
        while time.monotonic() < self.until and not self.trouble:
            number += 1
            started = time.monotonic()
            self._turn(f"word{self.name}x{number}")
            self.slowest = max(self.slowest, time.monotonic() - started)

    def _turn(self, word: str) -> None:
        if word.endswith("0"):  # the ordinary way, several at once
            lines = "".join(
                json.dumps({"text": f"Bulk {part} says {word}."}) + "\n" for part in range(3)
            )
            done = self.box("remember", "--from-jsonl", "-", "--ack", stdin=lines.encode())
            found, expected = acks(done.stdout), 3
        else:
            done = self.box("--json", "remember", f"The client says {word} today.", "--again")
            found = {
                row["path"]: row["sha256"]
                for row in json.loads(done.stdout or b'{"results": []}').get("results", [])
            }
            expected = 1
        self.acked |= found
        asked = self.box("--json", "recall", word, "-k", "5", "--fast")
        paths = {
            row["path"] for row in json.loads(asked.stdout or b'{"results": []}').get("results", [])
        }
        quiet = done.stderr in (b"", b"stored 3, already there 0, refused 0\n")
        fine = (
            not done.returncode
            and quiet
            and not asked.returncode
            and WARMING.fullmatch(asked.stderr)
        )
        if not fine or len(found) != expected or not set(found) <= paths:
            self.trouble = [word, done, asked]


def crowd(box: Box, seconds: float) -> None:
    before = set(owner_pids(box))
    box.ok("stop")
    until = time.monotonic() + seconds
    clients = [Client(box, letter, until) for letter in "abcdefgh"]
    for client in clients:
        client.start()
    owners: set[int] = set()
    while any(client.is_alive() for client in clients):
        owners |= set(owner_pids(box)) - before
        time.sleep(0.05)
    assert [client.trouble for client in clients if client.trouble] == []
    acked = {path: sha for client in clients for path, sha in client.acked.items()}
    print(
        len(acked), f"acknowledged, slowest turn {max(client.slowest for client in clients):.2f} s"
    )
    assert len(acked) == sum(len(client.acked) for client in clients) > seconds
    assert len(owners) == 1, "more than one process owned the vault"
    assert [line for line in processes(box).values() if " serve " in line] == [
        command_line(owners.pop())
    ]
    assert box.json("list")["total"] == len(acked)
    kept(box, acked)
    nothing_left(box)


def nothing_left(box: Box) -> None:
    """After `stop` no process of the vault runs, no embedding worker either."""
    family = {
        pid: command_line(pid) for owner in owner_pids(box) for pid in [owner, *children(owner)]
    }
    assert family
    box.ok("stop")
    eventually(lambda: not processes(box), 8)
    eventually(lambda: not [pid for pid, line in family.items() if command_line(pid) == line], 8)


@pytest.mark.slow
def test_eight_clients(box: Box) -> None:
    crowd(box, 4)


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_eight_clients_for_a_minute(box: Box) -> None:
    box.env["ONEIRO_EMBED_MODEL"] = "default"
    crowd(box, 60)
