"""The raw HTTP client against a socket that says exactly what a test wants it to say."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.daemon import client
from oneiro_vault.daemon.protocol import Request, Terminal
from oneiro_vault.settings import locations
from tests.box import patient

Script = Callable[[socket.socket], None]
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


class Peer:
    """Accepts one connection and plays a script on it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "s"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._thread: threading.Thread | None = None

    def plays(self, script: Script, pid: int = 0) -> dict[str, str]:
        def run() -> None:
            connection, _ = self._listener.accept()
            with connection:
                script(connection)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        return {"socket": str(self.path), "pid": str(pid), "version": "x"}

    def close(self) -> None:
        self._listener.close()
        if self._thread is not None:
            self._thread.join(patient(5))


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    made = Peer(tmp_path)
    yield made
    made.close()


def says(*parts: bytes, pause: float = 0.0) -> Script:
    """Read the request, then send the parts."""

    def play(connection: socket.socket) -> None:
        connection.recv(65536)
        for number, part in enumerate(parts):
            connection.sendall(part)
            if part == CONTINUE:
                connection.recv(65536)
            elif number + 1 < len(parts):
                time.sleep(pause)

    return play


def test_an_answer_of_known_length(peer: Peer) -> None:
    assert client.status(peer.plays(says(OK + b'Content-Length: 9\r\n\r\n{"pid":4}')))["pid"] == 4


def test_an_answer_in_pieces_that_fit_nowhere(peer: Peer) -> None:
    whole = OK + b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"pi\r\n5;x=y\r\nd":7}\r\n0\r\n\r\n'
    pieces = [whole[at : at + 3] for at in range(0, len(whole), 3)]
    assert client.status(peer.plays(says(*pieces, pause=0.001)))["pid"] == 7


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(client.UnreachedError, match="No such file"):
        client.status({"socket": str(tmp_path / "none")})


def test_a_stale_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
    with pytest.raises(client.UnreachedError, match="refused"):
        client.status({"socket": str(tmp_path / "s")})


def test_hung_up_before_the_body_was_wanted_changed_nothing(peer: Peer) -> None:
    with pytest.raises(client.UnreachedError):
        client.call(peer.plays(says()), "remember", {})


def test_hung_up_before_the_request_was_sent_changed_nothing(tmp_path: Path) -> None:
    """The owner was killed between the connection and our first word."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    line = client.Line({"socket": str(tmp_path / "s")})
    listener.accept()[0].close()
    listener.close()
    with pytest.raises(client.UnreachedError, match="the connection broke"):
        line.send("POST", "/api/remember", b"{}")


def test_refused_before_the_body_was_wanted_changed_nothing(peer: Peer) -> None:
    with pytest.raises(client.RefusedError) as caught:
        client.call(
            peer.plays(says(b"HTTP/1.1 426 No\r\nContent-Length: 2\r\n\r\n{}")), "remember", {}
        )
    assert (caught.value.status, caught.value.body) == (426, b"{}")


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n0\r\n\r\n",
    ],
)
def test_hung_up_after_it_took_the_body_is_another_thing(peer: Peer, rest: bytes) -> None:
    with pytest.raises(client.BrokenError):
        client.call(peer.plays(says(CONTINUE, rest)), "remember", {})


def test_half_a_command_answer(peer: Peer) -> None:
    with pytest.raises(client.BrokenError):
        client.run_cli(
            peer.plays(says(CONTINUE, OK + b"Content-Length: 2\r\n\r\n..")),
            Request(["list"], "/", {}, Terminal()),
        )


@pytest.fixture
def suspended() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    os.kill(process.pid, signal.SIGSTOP)
    yield process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_a_suspended_owner_is_given_up_after_the_first_wait(peer: Peer, suspended: int) -> None:
    done = threading.Event()
    owner = peer.plays(lambda _connection: print(done.wait(10)), pid=suspended)
    started = time.monotonic()
    waits: list[int] = []
    line = client.Line(owner, first=0.4, waiting=lambda _doing=None: waits.append(1))
    with pytest.raises(client.SilentError):
        line.send("GET", "/status")
    done.set()
    assert 0.3 < time.monotonic() - started < patient(2)
    assert len(waits) >= 3
    assert locations.stopped(suspended)


def test_a_slow_owner_is_waited_for(peer: Peer) -> None:
    def slow(connection: socket.socket) -> None:
        connection.recv(65536)
        time.sleep(0.6)
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n{}")

    assert client.status(peer.plays(slow, pid=os.getpid()), first=0.2) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '{"pid": 12, "version": "1", "socket": "/a b", "log": "l"}',
            {
                "pid": "12",
                "version": "1",
                "socket": "/a b",
                "log": "l",
                "token": "",
                "http": "",
                "tools": "",
            },
        ),
        ('{"pid": 12, "socket": "/\\"q\\""}', {"pid": "12", "socket": '/"q"'}),
        (
            "{}",
            {
                "pid": "",
                "version": "",
                "socket": "",
                "log": "",
                "token": "",
                "http": "",
                "tools": "",
            },
        ),
        ("not json \\", {}),
        ("[1, \\", {}),
    ],
)
def test_the_record(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    path = Path(locations.record_file(str(tmp_path)))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert client.owner_of(str(tmp_path)) == expected


def test_no_record(tmp_path: Path) -> None:
    assert client.owner_of(str(tmp_path)) == {}
