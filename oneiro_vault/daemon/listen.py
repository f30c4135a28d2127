"""Where an owner listens: a Unix socket that only its user can reach, else a port of the loopback
device and a token; and what it answers there while it has not opened its vault yet."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from oneiro_vault.daemon import protocol
from oneiro_vault.errors import OwnerProblem
from oneiro_vault.settings import locations

log = logging.getLogger("oneiro.owner")
LOOPBACK = "127.0.0.1"
_POLL = 0.05


@dataclass(frozen=True)
class Listener:
    """A bound socket, not listening yet. `place`: a path, or host:port, which also takes the
    `token`."""

    socket: socket.socket
    place: str
    token: str = ""

    @property
    def files(self) -> list[Path]:
        """What must stay for it to be reachable."""
        return [] if self.token else [Path(self.place)]


@contextmanager
def listening(paths: Sequence[str]) -> Iterator[Listener]:
    """Listen at the first of the paths that can have a socket, else on a loopback port. For the
    holder of the owner lock: a stale socket goes. Raises OwnerProblem for a folder that is not ours
    alone."""
    sockets = map(_bound, map(Path, paths)) if hasattr(socket, "AF_UNIX") else ()
    bound = next(filter(None, sockets), None)
    if bound is None:
        # with the protocol named, asyncio sends small answers at once (TCP_NODELAY); without, each
        # may wait 40 ms for an acknowledgement
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
            listener.bind((LOOPBACK, 0))
            yield Listener(
                listener, f"{LOOPBACK}:{listener.getsockname()[1]}", secrets.token_hex(32)
            )
        return
    listener, path = bound
    mine = path.lstat()
    try:
        yield Listener(listener, str(path))
    finally:
        listener.close()
        with suppress(OSError):
            if os.path.samestat(path.lstat(), mine):
                path.unlink()


def _bound(path: Path) -> tuple[socket.socket, Path] | None:
    """A socket at the path; None where there cannot be one: too long a path, a file system without
    sockets."""
    private_folder(path.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        log.warning("no socket at %s: %s", path, error)
        return None
    finally:
        os.umask(before)
    return listener, path


def private_folder(folder: Path) -> None:
    """Make sure that nobody else can put a socket here. Raises OwnerProblem."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        text, kept = f"{folder} belongs to somebody else", "Nothing was changed."
        hint = "Set XDG_RUNTIME_DIR to a folder of your own."
        raise OwnerProblem(text, kept=kept, hint=hint)
    if folder == Path(locations.runtime_dir()):
        folder.chmod(0o700)


@contextmanager
def opening(
    listener: Listener, about: Mapping[str, Any], stop: Callable[[], None]
) -> Iterator[None]:
    """Answer at a bound socket until the block ends; what comes then waits for whoever serves it
    next. `about`: what `/status` says besides; `stop` is called after the answer to `/stop`."""
    listener.socket.listen(protocol.BACKLOG)
    server = _Server(listener, about, stop)
    thread = threading.Thread(
        target=server.serve_forever, args=(_POLL,), name="opening", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, listener: Listener, about: Mapping[str, Any], stop: Callable[[], None]
    ) -> None:
        super().__init__(("", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener.socket
        self.token, self.about, self.stop = listener.token, about, stop

    def handle_error(self, *_: object) -> None:
        """Who hangs up early wants no answer."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5

    def do_GET(self) -> None:
        if not self._ours():
            self._say(protocol.STRANGER, {"error": "not allowed"})
        elif self.path == "/status":
            self._say(200, {**self.server.about, "opening": protocol.OPENING})
        else:
            self._say(protocol.NOT_YET, {"opening": protocol.OPENING})

    def do_POST(self) -> None:
        if self._ours() and self.path == "/stop":
            self._say(200, {"schema": protocol.SCHEMA, "stopping": self.server.about["pid"]})
            self.server.stop()
        else:
            self.do_GET()

    def _ours(self) -> bool:
        token = self.server.token
        return not token or secrets.compare_digest(
            self.headers.get("authorization", "").encode(), b"Bearer " + token.encode()
        )

    def _say(self, status: int, data: Mapping[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """The log is for what is worth reading."""
