"""Where an owner listens: a socket where there can be one, else a loopback port that only holders
of its token get past."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from oneiro_vault.daemon import client, protocol
from oneiro_vault.daemon.listen import listening, private_folder
from oneiro_vault.errors import OwnerProblem
from oneiro_vault.settings import locations
from tests.box import ENTRY, Box, eventually

NO_UNIX = (
    f"import _socket, sys; del _socket.AF_UNIX, _socket.socketpair; sys.modules.pop('socket', "
    f"None)\n{ENTRY}"
)
"""A platform without Unix sockets, as Python sees it."""


@pytest.fixture
def ported(box: Box) -> Box:
    """A vault whose owner found no place for a Unix socket."""
    box.numbers["git.wait"] = 1.0
    box.start("serve", entry=NO_UNIX, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: box.record, 15)
    return box


def test_the_first_path_that_takes_a_socket(tmp_path: Path) -> None:
    paths = [str(tmp_path / ("long" * 30)), str(tmp_path / "run" / "s")]
    with listening(paths) as found:
        assert (found.place, found.token, found.files) == (paths[1], "", [Path(paths[1])])
        assert stat.S_IMODE(Path(paths[1]).stat().st_mode) == 0o600
    assert not Path(paths[1]).exists()


def test_a_stale_socket_is_replaced_and_somebody_elses_is_left(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    with listening([str(path)]) as found:
        assert found.place == str(path)
        path.unlink()
        path.write_text("mine")
    assert path.read_text() == "mine"


def test_small_answers_on_a_port_are_not_held_back() -> None:
    """Nagle's algorithm against a client's delayed acknowledgement costs 40 ms an answer."""

    async def answering() -> int:
        found: list[int] = []

        def met(_: object, writer: asyncio.StreamWriter) -> None:
            found.append(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            )
            writer.close()

        with listening([]) as listener:
            async with await asyncio.start_server(met, sock=listener.socket.dup()):
                reader, writer = await asyncio.open_connection(*listener.socket.getsockname())
                await reader.read()
                writer.close()
        return found[0]

    assert asyncio.run(answering()) == 1


def test_no_path_takes_one(tmp_path: Path) -> None:
    with listening([str(tmp_path / ("long" * 30))]) as one, listening([]) as other:
        assert one.socket.getsockname()[0] == other.socket.getsockname()[0] == "127.0.0.1"
        assert one.place == f"127.0.0.1:{one.socket.getsockname()[1]}"
        assert one.files == []
        assert len(one.token) == 64
        assert one.token != other.token


def test_a_runtime_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path)
    with pytest.raises(OwnerProblem, match="belongs to somebody else"):
        private_folder(tmp_path / "run")


@pytest.mark.slow
def test_commands_go_through_the_port(ported: Box) -> None:
    kept = ported.remember("The spare key hangs in the shed.")
    assert ported.json("recall", "spare key")["results"][0]["id"] == kept["id"]
    assert ported.json("remember", "-", stdin=b"From standard input.")["results"]
    assert ported.json("status")["owner"]["pid"] == ported.pid
    record = Path(locations.record_file(str(ported.vault)))
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert ported.record["socket"].startswith("127.0.0.1:")
    pid = ported.pid
    assert f"process {pid}" in ported.ok("stop")
    assert ported.record == {}


def asked(box: Box, path: str, token: str | None) -> int:
    """The HTTP status of a request by whoever found the port."""
    host, port = box.record["socket"].split(":")
    line = http.client.HTTPConnection(host, int(port), timeout=5)
    body = (
        protocol.Request(
            ["--vault", str(box.vault), "forget", "x"], "/", {}, protocol.Terminal()
        ).pack()
        if path == "/cli"
        else b"{}"
    )
    line.request(
        "GET" if path == "/status" else "POST",
        path,
        body,
        {} if token is None else {"Authorization": token},
    )
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status


@pytest.mark.slow
def test_a_stranger_gets_nothing(ported: Box) -> None:
    ported.ok("list")  # waits for an owner that is still opening the vault
    right = ported.record["token"]
    for path in ("/status", "/stop", "/cli", "/api/list"):
        for token in (
            None,
            "",
            "Bearer ",
            f"Bearer {right[:-1]}",
            f"Bearer {'0' * 64}",
            right,
            f"Bearer {right} "[:-2],
        ):
            assert asked(ported, path, token) == protocol.STRANGER
    assert asked(ported, "/api/list", f"Bearer {right}") == 200
    record = Path(locations.record_file(str(ported.vault)))
    record.write_text(json.dumps(ported.record | {"token": "0" * 64}))
    done = ported("remember", "Not with this token.")
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    record.write_text(json.dumps(ported.record | {"token": right}))
    assert ported.json("list")["results"] == []


@pytest.mark.slow
def test_a_port_that_is_somebody_elses_by_now_hears_nothing(ported: Box) -> None:
    place = ported.record["socket"]
    os.kill(ported.pid, signal.SIGKILL)
    heard: list[bytes] = []
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        eventually(lambda: client.owner_of(str(ported.vault)) == {}, 5)
        other.bind(("127.0.0.1", int(place.rpartition(":")[2])))
        other.listen()
        other.settimeout(30)

        def listen() -> None:
            line, _ = other.accept()
            heard.append(line.recv(1000))

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        assert ported.remember("A secret.")
        assert ported.record["socket"].startswith("/")
        assert heard == []
        with socket.create_connection(other.getsockname()) as last:
            last.sendall(b"x")
        thread.join(10)
    assert heard == [b"x"]
