"""An owner that has not opened its vault yet says so at its socket, to whoever asks; and it can be
stopped."""

from __future__ import annotations

import json
import secrets
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from oneiro_vault.daemon import protocol
from oneiro_vault.daemon.listen import Listener

_POLL = 0.05


@contextmanager
def opening(
    listener: Listener, about: Mapping[str, Any], stop: Callable[[], None]
) -> Iterator[None]:
    """Answer at a bound socket until the block ends; what comes after that waits for whoever serves
    it next.

    `about` is what `/status` says besides; `stop` is called after the answer to `/stop`.
    """
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
    """Over a socket that somebody else has bound and will go on with."""

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
    """One request, of which only the head is read."""

    server: _Server
    timeout = 5

    def do_GET(self) -> None:
        """`/status`."""
        if not self._ours():
            self._say(protocol.STRANGER, {"error": "not allowed"})
        elif self.path == "/status":
            self._say(200, {**self.server.about, "opening": protocol.OPENING})
        else:
            self._say(protocol.NOT_YET, {"opening": protocol.OPENING})

    def do_POST(self) -> None:
        """`/stop`; all else has to wait."""
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
