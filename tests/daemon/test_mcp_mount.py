"""The door for models: made when somebody comes, never in the way of the owner's end, and careful
with what is under way."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.daemon.asgi import Pools
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.daemon.mcp_mount import McpDoor
from oneiro_vault.errors import OwnerProblem
from tests.box import Box, command_line, eventually, patient
from tests.daemon.fakes import SmallApp
from tests.mcp.raw import LEGACY, MODERN, Http, Stdio

OWNER = (
    "import sys, oneiro_vault.app, oneiro_vault.daemon.owner, "
    "oneiro_vault.cli.commands.machines.serve; sys.exit('mcp' in sys.modules or 'mcp_types' in "
    "sys.modules)"
)


def test_an_owner_without_models_does_not_load_the_protocol() -> None:
    assert subprocess.run([sys.executable, "-c", OWNER], timeout=60).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_the_owner_ends_at_once_with_clients_that_stay(box: Box, era: str) -> None:
    with (
        Stdio(box.argv("mcp"), box.env, era) as bridge,
        Http(box.record["socket"] if bridge.tool("flagged") else "", era) as stream,
    ):
        if era == MODERN:
            bridge.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            bridge.read()
        else:
            stream.line.request(
                "GET", "/mcp", headers={"Accept": "text/event-stream", **stream.session}
            )
            assert stream.line.getresponse().status == 200
        pid = int(box.record["pid"])
        started = time.monotonic()
        box.ok("stop")
        eventually(lambda: not command_line(pid), 8)
        assert time.monotonic() - started < patient(8)
        assert "ended: it was asked to stop" in box.log
        assert not [
            word for word in ("something still hung", "ERROR", "Traceback") if word in box.log
        ]
        assert bridge.tool("flagged")["content"]


class SlowApp(SmallApp):
    """`recall` reports until it is cut short, `remember` waits for the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.cut = threading.Event()

    def call(
        self, op: str, params: Any = None, progress: Any = None, env: Any = None
    ) -> dict[str, Any]:
        self.begun.set()
        if op != "recall":
            return super().call(op, params, progress, env)
        try:
            for number in range(1000):
                progress("looking", number, 1000)
                time.sleep(0.01)
        except Exception:
            self.cut.set()
            raise
        return {}


def door(folder: Path) -> tuple[McpDoor, SlowApp, Life, Pools]:
    app, life, pools = SlowApp(), Life(folder, 900), Pools()
    return McpDoor(app, life, pools), app, life, pools


def silent(_stage: str, _done: int, _total: int) -> None:
    pass


def test_a_read_nobody_waits_for_is_cut_short_and_a_write_is_not(tmp_path: Path) -> None:
    made, app, _, pools = door(tmp_path)

    async def talk() -> None:
        for op in ("recall", "remember"):
            app.begun.clear()
            task = asyncio.create_task(made.call(op, {"query": "x"}, silent))
            assert await asyncio.to_thread(app.begun.wait, patient(5))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(talk())
    assert app.cut.wait(patient(5))
    app.gate.set()
    pools.close()
    assert app.written


def test_a_read_under_way_when_the_owner_ends_says_so(tmp_path: Path) -> None:
    made, app, life, pools = door(tmp_path)

    async def talk() -> None:
        task = asyncio.create_task(made.call("recall", {"query": "x"}, silent))
        assert await asyncio.to_thread(app.begun.wait, patient(5))
        life.end("a test")
        with pytest.raises(OwnerProblem, match="ending"):
            await task
        pools.close()
        with pytest.raises(OwnerProblem, match="ending"):
            await made.call("recall", {"query": "x"}, silent)

    asyncio.run(talk())


def test_calls_under_way_are_answered_before_the_streams_close(tmp_path: Path) -> None:
    made, app, _, pools = door(tmp_path)

    async def talk() -> None:
        task = asyncio.create_task(made.call("remember", {"n": 1}, silent))
        assert await asyncio.to_thread(app.begun.wait, patient(5))
        threading.Timer(0.3, app.gate.set).start()
        await made.close()
        assert task.done()
        assert await task == {"schema": 1}

    asyncio.run(talk())
    pools.close()


def test_a_fault_of_the_app_stays_a_fault(tmp_path: Path) -> None:
    made, _, _, pools = door(tmp_path)
    with pytest.raises(RuntimeError, match="secret detail"):
        asyncio.run(made.call("stats", {}, silent))
    pools.close()


def test_further_tools_come_by_a_machine_setting(box: Box) -> None:
    box.env["ONEIRO_MCP_TOOLS"] = "history"
    with Stdio(box.argv("mcp"), box.env) as client:
        names = [tool["name"] for tool in client.rpc("tools/list")["result"]["tools"]]
        assert names[-2:] == ["recall_story", "restore"]
    box.ok("stop")
    box.env["ONEIRO_MCP_TOOLS"] = "nonsense"
    done = box("list")
    assert done.returncode == 2
    assert b"mcp.tools" in done.stderr
    assert json.dumps(done.stdout.decode())
