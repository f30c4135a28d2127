"""The ASGI app on a real Unix socket, with a small real App behind it, spoken to by the real
client."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import oneiro_vault
from oneiro_vault.daemon import client, protocol
from oneiro_vault.daemon.asgi import McpDoor, Pools, build, http_server
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.daemon.protocol import Request, Terminal
from oneiro_vault.errors import InvalidInput, NotFound, OwnerProblem
from tests.box import Box, command_line, eventually, patient
from tests.daemon.fakes import SmallApp
from tests.mcp.raw import LEGACY, MODERN, Http, Stdio


class Served:
    """A server in a thread."""

    def __init__(self, folder: Path) -> None:
        self.app, self.life, self.pools = SmallApp(), Life(folder, 900), Pools()
        self.owner = {"socket": str(folder / "s"), "pid": "0"}
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "s"))
        listener.listen()
        self._server = http_server(build(self.app, self.life, self.run_cli, self.pools), 1)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server.serve(sockets=[listener]))
        )
        self._thread.start()

    def run_cli(self, request: Request) -> tuple[int, bytes, bytes]:
        if request.argv == ["slow"]:
            time.sleep(1.3)
        return len(request.argv), request.cwd.encode(), b"err"

    def raw(self, request: bytes) -> tuple[int, Any]:
        with socket.socket(socket.AF_UNIX) as made:
            made.settimeout(5)
            made.connect(self.owner["socket"])
            made.sendall(request)
            data = b""
            while part := made.recv(65536):
                data += part
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)

    def post(self, path: str, body: bytes, **headers: str) -> tuple[int, Any]:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
            f"{len(body)}\r\n"
        )
        head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        return self.raw(head.encode() + b"\r\n" + body)

    def close(self) -> None:
        self.app.gate.set()
        self.life.stopping.set()
        self._server.should_exit = True
        self._thread.join(10)
        self.pools.close()
        assert not self._thread.is_alive()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


def test_an_operation(served: Served) -> None:
    assert client.call(served.owner, "recall", {"query": "tea ☕"})["results"] == ["tea ☕"]


def test_an_operation_as_plain_json(served: Served) -> None:
    assert served.post("/api/recall", b'{"query": "tea"}') == (
        200,
        {"schema": 1, "results": ["tea"]},
    )


def test_an_error_crosses_the_socket_whole(served: Served) -> None:
    with pytest.raises(NotFound) as caught:
        client.call(served.owner, "show", {"id": "x"})
    assert (str(caught.value), caught.value.kept, caught.value.hint) == (
        "no such memory",
        "everything",
        "look",
    )
    status, body = served.post("/api/show", b"")
    assert (status, body["error"]) == (404, "NotFound")


def test_a_fault_keeps_its_details_in_the_log(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(client.FaultError, match="RuntimeError in stats") as caught:
        client.call(served.owner, "stats", {})
    assert "secret" not in str(caught.value)
    assert "secret detail" in caplog.text
    assert served.post("/api/stats", b"{}")[0] == 500


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object(served: Served, body: bytes) -> None:
    assert served.post("/api/recall", body)[0] == InvalidInput.http_status


def test_progress_comes_while_it_runs(served: Served) -> None:
    seen: list[tuple[str, int, int]] = []

    def progress(stage: str, done: int, total: int) -> None:
        seen.append((stage, done, total))
        served.app.gate.set()

    client.call(served.owner, "remember", {"items": []}, progress)
    assert seen == [("storing", 1, 2)]


def test_reads_are_answered_while_writes_wait(served: Served) -> None:
    with ThreadPoolExecutor(12) as threads:
        writes = [
            threads.submit(client.call, served.owner, "remember", {"n": n}) for n in range(12)
        ]
        time.sleep(0.3)
        started = time.monotonic()
        assert client.call(served.owner, "recall", {"query": "q"})["results"] == ["q"]
        assert time.monotonic() - started < patient(1)
        served.app.gate.set()
        assert len([write.result(10) for write in writes]) == 12
    assert sorted(params["n"] for params in served.app.written) == list(range(12))


def test_a_stream_ends_when_its_reader_leaves(served: Served) -> None:
    seen: list[str] = []

    class EnoughError(Exception):
        pass

    def progress(stage: str, _done: int, _total: int) -> None:
        seen.append(stage)
        if len(seen) == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        client.call(served.owner, "watch", {}, progress)
    assert seen == ["IDX 1", "IDX 2", "IDX 3"]
    eventually(lambda: served.app.watchers == 0, 5)


def test_a_write_runs_to_its_end_when_its_caller_leaves(served: Served) -> None:
    line = client.Line(served.owner)
    line.send("POST", "/api/remember", b'{"n": 1}', protocol.NDJSON)
    line.close()
    served.app.gate.set()
    eventually(lambda: served.app.written == [{"n": 1}], 5)


def test_streams_end_when_the_owner_ends(served: Served) -> None:
    with ThreadPoolExecutor(1) as threads:
        watching = threads.submit(client.call, served.owner, "watch", {}, lambda *_: None)
        eventually(lambda: served.app.watchers == 1, 5)
        client.stop(served.owner)
        with pytest.raises(Exception, match="nobody waited"):
            watching.result(5)


def test_a_command_line(served: Served) -> None:
    assert client.run_cli(served.owner, Request(["a", "b"], "/x", {}, Terminal())) == (
        2,
        b"/x",
        b"err",
    )


def test_a_long_command_shows_signs_of_life(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "SILENCE", 1.2)
    assert client.run_cli(served.owner, Request(["slow"], "/x", {}, Terminal()))[0] == 1


def test_a_bad_command_line(served: Served) -> None:
    assert served.post("/cli", b"rubbish")[0] == 400


def test_status(served: Served) -> None:
    found = client.status(served.owner)
    assert found["version"] == protocol.version()
    assert not found["leaving"]


def test_another_version_is_turned_away_but_may_ask_and_stop(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oneiro_vault, "__version__", "0.0.0")
    assert served.post("/api/recall", b"{}", x_oneiro_version="9")[0] == protocol.OTHER_VERSION
    assert (
        served.raw(
            b"GET /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-oneiro-version: 9\r\n\r\n"
        )[0]
        == 200
    )
    assert served.post("/stop", b"", x_oneiro_version="9")[0] == 200


def test_a_leaving_owner_turns_requests_away(served: Served) -> None:
    served.life.end("a test")
    with pytest.raises(client.RefusedError) as caught:
        client.call(served.owner, "recall", {"query": "x"})
    assert caught.value.status == protocol.LEAVING
    assert client.status(served.owner)["leaving"]


def test_unknown_paths(served: Served) -> None:
    with pytest.raises(client.RefusedError, match="404"):
        client.Line(served.owner).send("GET", "/none")


OWNER = (
    "import sys, oneiro_vault.app, oneiro_vault.daemon.owner, "
    "oneiro_vault.cli.commands.serve; print(*{'mcp', 'mcp_types', 'pydantic', 'jinja2', "
    "'markdown_it', 'oneiro_vault.importers', 'oneiro_vault.mind'} & set(sys.modules))"
)


@pytest.mark.slow
def test_an_owner_loads_neither_the_protocol_nor_pages_loops_and_imports() -> None:
    done = subprocess.run([sys.executable, "-c", OWNER], timeout=60, capture_output=True)
    assert (done.returncode, done.stdout.strip()) == (0, b"")


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
