"""`oneiro mcp`: light, silent but for messages, and with one owner or another always able to
answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.cli import bridge
from oneiro_vault.core.principal import MEMORIES
from oneiro_vault.daemon.owner_lock import OwnerLock
from oneiro_vault.settings import locations
from tests.box import Box, command_line, eventually
from tests.cli.test_thin import HEAVY, TRACED
from tests.mcp.raw import ENVELOPE, HELLO, LEGACY, MODERN, Stdio

OTHER_VERSION = (
    "import sys, oneiro_vault; oneiro_vault.__version__ = '99.0'; from oneiro_vault.cli.main "
    "import main; sys.exit(main())"
)
NEEDED = {"json", "re", "datetime", "typing"}
"""What the bridge may import of the heavy things: messages are JSON, and json needs re."""


@pytest.fixture
def made(owned: Box) -> Box:
    """A vault of its own, without an owner."""
    return owned.init()


@pytest.fixture(params=[MODERN, LEGACY])
def era(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def request(method: str, ident: object = 1, **params: Any) -> bytes:
    return (
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": ident,
                "method": method,
                "params": params | {"_meta": ENVELOPE},
            }
        ).encode()
        + b"\n"
    )


def follow(client: Stdio, uri: str) -> int:
    if client.era == MODERN:
        ident = client.ask(
            "subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}}
        )
        assert client.read()["method"] == "notifications/subscriptions/acknowledged"
        return ident
    client.rpc("resources/subscribe", {"uri": uri})
    return 0


def leave(client: Stdio, uri: str, ident: int) -> None:
    if client.era == MODERN:
        client.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ident}}
        )
    else:
        client.rpc("resources/unsubscribe", {"uri": uri})


def test_it_imports_next_to_nothing(box: Box, tmp_path: Path) -> None:
    box.ok("list")
    trace = tmp_path / "modules"
    done = box("mcp", stdin=request("tools/list"), entry=TRACED.replace("TRACE", repr(str(trace))))
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["result"]["tools"]
    loaded = set(trace.read_text().splitlines())
    assert not (loaded & HEAVY) - NEEDED


@pytest.mark.slow
def test_what_was_asked_before_the_input_ended_is_answered(made: Box) -> None:
    """As people try a server by hand; the owner is started for it."""
    lines = b"".join(
        request("tools/call", n, name="remember", arguments={"text": f"Buoy {n} is green."})
        for n in range(5)
    )
    done = made("mcp", stdin=lines)
    assert done.returncode == 0, done
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [0, 1, 2, 3, 4]
    assert len(made.json("list")["results"]) == 5


def test_the_handshake_by_hand(made: Box) -> None:
    hello = json.dumps(
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": HELLO}
    ).encode()
    ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    listed = b'{"jsonrpc":"2.0","id":"b","method":"tools/list"}'
    done = made("mcp", stdin=b"\n".join([hello, b"", ready, listed]))  # no newline at the end
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["id"], first["result"]["protocolVersion"]) == ("a", LEGACY)
    assert (second["id"], len(second["result"]["tools"])) == ("b", 10)


@pytest.mark.slow
def test_after_a_kill_the_next_call_finds_another_owner(made: Box, era: str) -> None:
    with Stdio(made.argv("mcp"), made.env, era) as client:
        kept = client.tool("remember", text="The spare key hangs in the shed.")["_meta"][MEMORIES][
            0
        ]
        pid = made.pid
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not command_line(pid), 5)
        time.sleep(0.3)  # its files are closed a little later
        ident = client.ask("tools/call", {"name": "recall_specific", "arguments": {"ids": [kept]}})
        first = client.read()
        assert first["id"] == ident  # nothing of the repeated handshake shows
        assert "spare key" in json.dumps(first)
        assert made.pid != pid


@pytest.mark.slow
def test_a_call_that_an_owner_takes_with_it_is_answered(made: Box) -> None:
    with Stdio(made.argv("mcp"), made.env, LEGACY) as client:
        client.tool("flagged")
        pid = made.pid
        os.kill(pid, signal.SIGSTOP)
        idents = {client.ask("tools/call", {"name": "flagged", "arguments": {}}) for _ in range(3)}
        time.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        for _ in range(3):
            found = client.read()
            idents.remove(found["id"])
            assert found["error"]["code"] == -32000
            assert "whether this change was made is not known" in found["error"]["message"]
        assert not idents
        assert client.tool("flagged")["content"]


@pytest.fixture
def held(made: Box) -> Iterator[OwnerLock]:
    """The vault is in other hands: an owner that is started has to wait for it."""
    made.numbers["git.wait"] = 300.0
    lock = OwnerLock(Path(locations.state_dir(str(made.vault))))
    lock.acquire(1, "a test")
    yield lock
    lock.release()


@pytest.mark.slow
def test_handshake_and_lists_are_answered_while_there_is_no_owner(
    made: Box, held: OwnerLock, era: str
) -> None:
    with Stdio(made.argv("mcp"), made.env, era) as client:
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            assert client.rpc(method)["result"]
        listed = client.rpc("tools/list")["result"]
        token = {
            "name": "remember",
            "arguments": {"text": "The cellar key is under the pot."},
            "_meta": {"progressToken": "p"},
        }
        ident = client.ask("tools/call", token)
        progress = [client.read(), client.read()]
        assert {one["method"] for one in progress} == {"notifications/progress"}
        assert 0 < progress[0]["params"]["progress"] < progress[1]["params"]["progress"] < 1
        assert "is being started" in progress[0]["params"]["message"]
        assert not made.record
        held.release()
        assert client.answer(ident)["result"]["_meta"][MEMORIES]
        assert client.rpc("tools/list")["result"] == listed
    assert len(made.json("list")["results"]) == 1


@pytest.mark.slow
def test_a_call_that_is_withdrawn_before_there_is_an_owner_is_never_made(
    made: Box, held: OwnerLock
) -> None:
    with Stdio(made.argv("mcp"), made.env, MODERN) as client:
        ident = client.ask(
            "tools/call",
            {
                "name": "remember",
                "arguments": {"text": "Never mind."},
                "_meta": {"progressToken": 1},
            },
        )
        assert client.read()["method"] == "notifications/progress"
        client.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ident}}
        )
        client.rpc("tools/list")  # the bridge has read both
        held.release()
        assert client.tool("flagged")["content"]
    assert made.json("list")["results"] == []


@pytest.mark.slow
def test_a_call_that_waits_too_long_learns_what_for(
    made: Box, held: OwnerLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    answered, heard = threading.Event(), []

    def hear(line: bytes) -> None:
        heard.append(json.loads(line))
        answered.set()

    client = bridge.Bridge(str(made.vault), hear, patience=0.2)
    client.take(request("tools/call", 3, name="flagged", arguments={}))
    assert answered.wait(60)
    assert heard[0]["id"] == 3
    assert heard[0]["result"]["isError"]
    assert (
        "is being started. Nothing was changed. Call it again"
        in heard[0]["result"]["content"][0]["text"]
    )
    client.finish()  # does not wait for the owner
    assert not made.record
    held.release()
    assert made.pid  # the one that was started for it, and ends with the box


@pytest.mark.slow
def test_an_owner_of_a_newer_version_is_used_not_ended(made: Box) -> None:
    """The package was updated while the client was running."""
    with Stdio(made.argv("mcp"), made.env, LEGACY) as client:
        client.tool("flagged")
        made.ok("stop")
        newer = made.start(
            "serve", entry=OTHER_VERSION, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually(lambda: made.record.get("version") == "99.0", 20)
        assert client.tool("flagged")["content"]
        assert newer.poll() is None
        assert made.record["pid"] == newer.pid


@pytest.mark.slow
def test_an_open_bridge_does_not_keep_an_idle_owner(made: Box) -> None:
    made.env["ONEIRO_OWNER_IDLE"] = "2"
    with Stdio(made.argv("mcp"), made.env, LEGACY) as client:
        client.tool("flagged")
        pid = int(made.record["pid"])
        eventually(lambda: not command_line(pid), 15)
        assert client.tool("flagged")["content"]


@pytest.mark.slow
def test_what_a_client_follows_keeps_the_owner_and_outlives_it(made: Box, era: str) -> None:
    row = made.remember("The lighthouse is white.")
    made.ok("stop")
    made.env["ONEIRO_OWNER_IDLE"] = "2"
    uri, path = f"memory://{row['id']}", made.vault / row["path"]
    with Stdio(made.argv("mcp"), made.env, era) as client:
        ident = follow(client, uri)
        pid = int(made.record["pid"])
        time.sleep(4)
        assert command_line(pid)
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)
        client.tool("flagged")
        path.write_text(path.read_text() + "It was red before.\n")
        heard = client.read()
        assert (
            heard["method"] == "notifications/resources/updated"
        )  # and no second acknowledgement before it
        assert heard["params"]["uri"] == uri
        leave(client, uri, ident)
        pid = int(made.record["pid"])
        eventually(lambda: not command_line(pid), 15)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--vault", "/nonexistent/vault", "mcp"], 5),
        (["--no-daemon", "mcp"], 2),
        (["mcp", "--nonsense"], 2),
        (["mcp", "x"], 2),
    ],
)
def test_what_cannot_be_is_said_on_standard_error(made: Box, args: list[str], code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from oneiro_vault.cli.main import main; "
                               "sys.exit(main())", *args],
        env=made.env | {"ONEIRO_VAULT": str(made.vault)}, input=request("tools/list"),
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr


def test_the_long_way_speaks_the_same(made: Box) -> None:
    """With options that need the whole command line."""
    done = made("-v", "mcp", stdin=request("tools/list"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["result"]["tools"]
    assert done.stderr == b""


def test_without_an_owner_each_request_learns_why(made: Box) -> None:
    made.env["ONEIRO_OWNER_START"] = "false"
    quiet = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    call = request("tools/call", 7, name="flagged", arguments={})
    done = made("mcp", stdin=request("prompts/get", "a", name="orient") + quiet + b"{]\n\n" + call)
    found = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert found["a"]["error"]["code"] == -32000
    assert "oneiro serve" in found["a"]["error"]["message"]
    assert found[None]["error"]["code"] == -32700
    assert found[7]["result"]["isError"]  # which a model reads
    assert "oneiro serve" in found[7]["result"]["content"][0]["text"]
    assert b"oneiro mcp: no owner process runs" in done.stderr


@pytest.mark.slow
def test_a_suspended_owner_is_named(made: Box) -> None:
    pid = made.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        done = made("mcp", stdin=request("tools/call", name="flagged", arguments={}))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert f"process {pid}) is suspended" in json.loads(done.stdout)["result"]["content"][0]["text"]


@pytest.mark.slow
def test_many_bridges_at_once_share_one_owner(made: Box) -> None:
    clients = [Stdio(made.argv("mcp"), made.env, MODERN if n % 2 else LEGACY) for n in range(6)]
    try:
        for client in clients:
            client.__enter__()
        asked = [
            client.ask("tools/call", {"name": "flagged", "arguments": {}}) for client in clients
        ]
        for client, ident in zip(clients, asked, strict=True):
            assert client.answer(ident)["result"]["content"]
    finally:
        for client in clients:
            client.__exit__()
    assert made.log.count(" listens, ") == 1


@pytest.mark.slow
def test_a_client_that_is_killed_leaves_the_owner_alone(made: Box) -> None:
    with Stdio(made.argv("mcp"), made.env) as client:
        client.tool("flagged")
        pid = int(made.record["pid"])
        client.child.terminate()
        client.child.wait(5)
    assert command_line(pid)
    assert made.json("list")["results"] == []


def pieces(*parts: bytes) -> Iterator[bytes | None]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for part in parts:
            os.write(writer, part)
        os._exit(0)
    os.close(writer)
    try:
        yield from bridge.lines(reader)
    finally:
        os.close(reader)
        os.waitpid(child, 0)


def test_lines_arrive_whole_however_they_are_cut() -> None:
    assert list(pieces(b"a\nb", b"c\n", b"\n", b"d")) == [b"a", b"bc", b"", b"d"]
    long = b"x" * 70_000
    assert list(pieces(long, long + b"\nz\n")) == [long + long, b"z"]
