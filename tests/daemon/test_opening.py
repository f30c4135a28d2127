"""An owner whose vault takes long to open: it says so, is waited for, and can be stopped. The vault
is opened when a file appears."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.daemon import client, spawn
from oneiro_vault.daemon.listen import Listener, listening, opening
from oneiro_vault.errors import OwnerProblem
from oneiro_vault.settings import locations
from tests.box import Box, command_line, eventually
from tests.mcp.raw import Stdio

SLOW = """
import os, sys, time
from oneiro_vault.app import App
at_once = App.open
def slowly(*args, **more):
    while more.get("owner") and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.02)
    return at_once(*args, **more)
App.open = slowly
from oneiro_vault.cli.main import main
sys.exit(main())
"""


class Slow:
    """A vault whose owner is opening it until `open` is called."""

    def __init__(self, box: Box) -> None:
        self.box, self.gate = box, box.folder / "gate"
        box.env["GATE"] = str(self.gate)
        self.owner = box.start(
            "serve", entry=SLOW, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        eventually(lambda: box.record, 20)

    def open(self) -> None:
        self.gate.touch()


@pytest.fixture
def slow(box: Box) -> Slow:
    return Slow(box)


def lines(command: subprocess.Popen[bytes]) -> Iterator[str]:
    assert command.stderr is not None
    return (line.decode() for line in command.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv", [["remember", "The sauna is hot."], ["recall", "--fast", "sauna"], ["status"]]
)
def test_a_command_says_what_the_owner_does_and_waits(slow: Slow, argv: list[str]) -> None:
    command = slow.box.start(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert next(lines(command)) == "oneiro: the owner is opening the vault …\n"
    slow.open()
    assert command.wait(60) == 0
    assert int(slow.box.record["pid"]) == slow.owner.pid


def test_stop_stops_an_owner_that_is_still_opening(slow: Slow) -> None:
    assert f"Stopped process {slow.owner.pid}" in slow.box.ok("stop")
    assert slow.owner.wait(10) == 0
    assert slow.box.record == {}
    assert not slow.gate.exists()


@pytest.mark.slow
def test_who_waits_for_an_owner_that_is_stopped_starts_another(slow: Slow) -> None:
    command = slow.box.start(
        "remember", "The sauna is hot.", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert "opening" in next(lines(command))
    slow.box.ok("stop")
    assert command.wait(60) == 0
    assert slow.box.pid != slow.owner.pid


def test_the_limit_names_what_the_owner_does(slow: Slow) -> None:
    heard: list[str] = []
    with pytest.raises(OwnerProblem, match="the owner is opening the vault still") as caught:
        spawn.ensure(slow.box.vault, slow.box.vault / ".oneiro", waiting=heard.append, limit=0.5)
    assert "It goes on with that" in caught.value.hint
    assert set(heard) == {"the owner is opening the vault"}
    assert slow.owner.poll() is None


def test_a_prompt_hook_is_silent_and_starts_no_other(slow: Slow) -> None:
    event = json.dumps(
        {"cwd": str(slow.box.vault), "session_id": "s", "prompt": "Is the sauna hot?"}
    ).encode()
    done = slow.box("hook", "UserPromptSubmit", stdin=event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert command_line(slow.owner.pid)
    assert not Path(locations.state_dir(str(slow.box.vault)), "woken").exists()


@pytest.mark.slow
def test_the_bridge_tells_a_call_what_it_waits_for(slow: Slow) -> None:
    with Stdio(slow.box.argv("mcp"), slow.box.env) as bridge:
        assert bridge.rpc("tools/list")["result"]["tools"]
        ident = bridge.ask(
            "tools/call", {"name": "flagged", "arguments": {}, "_meta": {"progressToken": 1}}
        )
        while "opening the vault" not in (heard := bridge.read())["params"]["message"]:
            assert heard["method"] == "notifications/progress"
        slow.open()
        assert bridge.answer(ident)["result"]["content"]


@pytest.fixture(params=["socket", "port"])
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listener]:
    with listening([str(tmp_path / "socket")] if request.param == "socket" else []) as found:
        yield found


def test_what_it_answers(listener: Listener) -> None:
    stopped: list[bool] = []
    about = {"schema": 1, "pid": 7, "version": "1", "vault": "/v", "folder": [1, 2]}
    owner = {"socket": listener.place, "token": listener.token, "pid": "7"}
    with opening(listener, about, lambda: stopped.append(True)):
        assert client.status(owner) == about | {"opening": "opening the vault"}
        with pytest.raises(client.RefusedError) as caught:
            client.call(owner, "recall", {"query": "x"})
        assert caught.value.status == 503
        if listener.token:
            with pytest.raises(client.RefusedError) as caught:
                client.status(owner | {"token": "wrong"})
            assert caught.value.status == 401
            with pytest.raises(client.RefusedError):
                client.stop(owner | {"token": "wrong"})
        assert not stopped
        client.stop(owner)
        eventually(lambda: stopped, 5)
    assert listener.socket.fileno() >= 0  # the next one takes it over
