"""First minutes on a machine that has other things to do: six processes spin while vaults are made,
asked and spoken to.

`ONEIRO_DRILL_ROUNDS` (50) rounds, with the default model, of: `init --here` of 1,000 notes, a
recall, `remember`, a prompt hook, and a client of the MCP SDK.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import selectors
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.box import ENTRY, Box
from tests.mcp.raw import HELLO, LEGACY, Stdio

pytestmark = pytest.mark.drill

ROUNDS = int(os.environ.get("ONEIRO_DRILL_ROUNDS", "50"))
NOTES = 1_000
LOOPS = 6
LIMITS = {"mcp initialize": 0.5, "recall --fast": 5.0}
"""Seconds from the start of the process to its answer."""
SILENCE = 5.0
"""Seconds until a person reads what is waited for. A hook is silent by design, and bounded by its
own deadline."""
EVENT = {"session_id": "s", "prompt": "Where did we moor the boat in the harbour?"}


def spin() -> None:
    """Work that never ends."""
    while True:
        pass


@pytest.fixture(scope="module", autouse=True)
def busy() -> Iterator[None]:
    loops = [
        multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(LOOPS)
    ]
    for loop in loops:
        loop.start()
    yield
    for loop in loops:
        loop.kill()
        loop.join()


def notes(folder: Path, mark: int) -> None:
    for number in range(NOTES):
        path = folder / f"part{number % 20}" / f"note{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# Note {number}\n\nThe boat lay in the harbour of year {mark}; mooring{number} "
            f"held.\n"
        )


class Round:
    """One new vault, and how long everything took."""

    def __init__(self, box: Box, times: dict[str, list[float]]) -> None:
        self.box, self.times = box, times

    def timed(
        self, what: str, *args: str, entry: str = ENTRY, cwd: Path | None = None, stdin: bytes = b""
    ) -> str:
        """Run a command; it ends with 0, and its first line is timed."""
        argv = [sys.executable, "-c", entry, *args]
        began = heard = time.monotonic()
        child = subprocess.Popen(
            argv,
            env=self.box.env,
            cwd=cwd or self.box.vault,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdin is not None
        child.stdin.write(stdin)
        child.stdin.close()
        pieces: dict[str, bytes] = {"out": b"", "err": b""}
        first = 0.0
        with selectors.DefaultSelector() as both:
            for name, pipe in (("out", child.stdout), ("err", child.stderr)):
                both.register(pipe, selectors.EVENT_READ, name)  # type: ignore[arg-type]  # both are pipes
            while both.get_map():
                for key, _ in both.select():
                    data = os.read(key.fd, 1 << 16)
                    first = first or time.monotonic() - heard
                    pieces[key.data] += data
                    if not data:
                        both.unregister(key.fileobj)
        code = child.wait()
        self.times.setdefault(what, []).append(time.monotonic() - began)
        self.times.setdefault(f"{what}: first line", []).append(first)
        for pipe in (child.stdout, child.stderr):
            assert pipe is not None
            pipe.close()
        assert code == 0, (what, code, pieces)
        assert b"Nothing was changed" not in pieces["err"], pieces
        return pieces["out"].decode()

    def handshake(self) -> None:
        """From the start of the process to the answer, in the era that has a handshake."""
        began = time.monotonic()
        bridge = Stdio(self.box.argv("mcp"), self.box.env, LEGACY)
        try:
            assert bridge.rpc("initialize", HELLO)["result"]
            self.times.setdefault("mcp initialize", []).append(time.monotonic() - began)
            bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert bridge.rpc("tools/list")["result"]["tools"]
            self.times.setdefault("mcp tools/list", []).append(time.monotonic() - began)
        finally:
            bridge.__exit__()

    def session(self, topic: str) -> None:
        """A real client: connects, lists, and calls."""

        async def talk() -> None:
            began = time.monotonic()
            command, *args = self.box.argv("mcp")
            async with Client(
                StdioServerParameters(command=command, args=args, env=self.box.env)
            ) as client:
                assert (await client.list_tools()).tools
                self.times.setdefault("mcp client connected", []).append(time.monotonic() - began)
                found = await client.call_tool("recall_check", {"topic": topic})
                assert not found.is_error, found
                self.times.setdefault("mcp first call", []).append(time.monotonic() - began)

        asyncio.run(talk())


def table(times: dict[str, list[float]]) -> str:
    def at(values: Sequence[float], share: float) -> float:
        return sorted(values)[min(len(values) - 1, int(share * len(values)))]

    rows = [f"{'seconds':28}  p50    p95    max   (n)"]
    rows += [
        f"{name:28} {statistics.median(v):6.2f} {at(v, 0.95):6.2f} {max(v):6.2f}  ({len(v)})"
        for name, v in times.items()
    ]
    return "\n".join(rows)


def test_first_minutes_beside_six_busy_loops(tmp_path: Path, sealed_env: dict[str, str]) -> None:
    times: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        box = Box(tmp_path / str(number), sealed_env | {"ONEIRO_EMBED_MODEL": "default"})
        notes(box.vault, number)
        one = Round(box, times)
        try:
            assert f"{NOTES} notes are indexed" in one.timed("init --here", "init", "--here")
            assert "mooring77" in one.timed("recall --fast", "recall", "--fast", "mooring77")
            one.timed("remember", "remember", f"The ferry leaves at {number}.")
            one.timed(
                "hook",
                "hook",
                "UserPromptSubmit",
                stdin=json.dumps(EVENT | {"cwd": str(box.vault)}).encode(),
            )
            one.handshake()
            box.ok(
                "stop"
            )  # the next client finds no owner, as the first one after a start of the machine does
            one.handshake()
            one.session("the ferry")
            one.timed("recall", "recall", "when does the ferry leave")
            assert "Stopped process" in one.timed("stop", "stop")
        finally:
            box.close()
        print(f"round {number + 1}\n{table(times)}", flush=True)
    limits = LIMITS | {
        name: SILENCE
        for name in times
        if name.endswith("first line") and not name.startswith("hook")
    }
    late = {name: max(times[name]) for name, limit in limits.items() if max(times[name]) > limit}
    assert not late, late
