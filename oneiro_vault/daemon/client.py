"""The thin client: HTTP over the owner's socket with nothing but the C socket, because imports are
what a short command costs."""

# pathlib imports re and urllib: 8 ms on a path that has 20.
# ruff: noqa: PTH123

from __future__ import annotations

import _socket  # `socket` itself imports selectors and enum: 7 ms
import time

from oneiro_vault.daemon import protocol
from oneiro_vault.settings import locations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, NoReturn, Protocol

    class Waiting(Protocol):
        """Called while there is nothing to read; with what the owner does, where it says that."""

        def __call__(self, doing: str | None = None) -> None:
            """A moment has passed; None: the owner is doing what it did."""


FIRST = 2.0
"""Seconds until the first sign of an owner that is stopped (one that is only slow gets SILENCE)."""
SILENCE = 20.0
"""Seconds without a sign of life (one a second from a living owner) until a client gives up."""
_STEP = 0.1


class UnreachedError(Exception):
    """No owner took the request on: nothing was changed."""


class SilentError(UnreachedError):
    """A process holds the socket but does not answer; nothing was changed."""


class RefusedError(UnreachedError):
    """The owner answered before looking at the request: see `status` and `body`."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"the owner answered {status}")
        self.status = status
        self.body = body


class BrokenError(Exception):
    """The owner vanished while it worked on the request: what it changed is not known."""


class FaultError(Exception):
    """The owner met something nobody expected; the whole story is in its log."""


def owner_of(root: str) -> dict[str, str]:
    """What the owner last said about itself (socket, pid, version, log, tools); {} without a
    record."""
    try:
        with open(locations.record_file(root), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    except OSError:
        return {}
    if "\\" in text:
        import json

        try:
            found = {name: str(value) for name, value in json.loads(text).items()}
        except (ValueError, AttributeError):
            return {}
    else:
        names = ("socket", "pid", "version", "log", "token", "http", "tools")
        found = {name: _field(text, name) for name in names}
    return {} if found.get("token") and not held(locations.lock_file(root)) else found


def _field(text: str, name: str) -> str:
    """One value of our own flat JSON, without importing json (7 ms)."""
    rest = text.partition(f'"{name}": ')[2]
    if rest.startswith('"'):
        return rest[1:].partition('"')[0]
    return rest.partition(",")[0].partition("}")[0]


def held(path: str) -> bool:
    """Does an owner live? A port that a dead one left may be anybody's by now."""
    import fcntl

    try:
        file = open(path, "rb")  # noqa: SIM115  # the caller closes it
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        file.close()
    return False


class Line:
    """One connection for one request. `waiting` is called ten times a second while nothing
    comes."""

    def __init__(
        self, owner: dict[str, str], first: float = FIRST, waiting: Waiting | None = None
    ) -> None:
        self._pid = int(owner.get("pid") or 0)
        self._first = first
        self._waiting = waiting
        self._buffer = b""
        self._taken = False
        self.headers: dict[bytes, bytes] = {}
        place, token = owner.get("socket", ""), owner.get("token", "")
        self._head_start = f"Authorization: Bearer {token}\r\n" if token else ""
        if token:
            host, _, port = place.rpartition(":")
            self._open(_socket.AF_INET, (host, int(port or 0)))
        else:
            self._open(getattr(_socket, "AF_UNIX", -1), place)

    def _open(self, family: int, address: Any) -> None:
        end = time.monotonic() + self._first
        try:
            self._socket = _socket.socket(family, _socket.SOCK_STREAM)
        except OSError as error:
            raise UnreachedError(f"no way to {address}: {error.strerror}") from None
        self._socket.settimeout(_STEP if family != _socket.AF_INET else self._first)
        while True:
            try:
                self._socket.connect(address)
                self._socket.settimeout(_STEP)
                return
            except (BlockingIOError, TimeoutError):  # its queue of waiting clients is full
                if time.monotonic() > end:
                    self.close()
                    raise SilentError("the owner's queue is full") from None
                time.sleep(0.01)
            except OSError as error:
                self.close()
                raise UnreachedError(f"{address}: {error.strerror}") from None

    def send(
        self, method: str, target: str, body: bytes = b"", accept: str = "*/*", more: str = ""
    ) -> int:
        """Send a request (`more`: whole header lines); returns the HTTP status of the answer."""
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: oneiro\r\nConnection: close\r\nAccept: "
            f"{accept}\r\n{self._head_start}"
        )
        head += (
            f"{protocol.VERSION_HEADER}: {protocol.version()}\r\nContent-Length: {len(body)}\r\n"
            f"{more}"
        )
        self._write(
            (head + ("Expect: 100-continue\r\n" if body else "") + "\r\n").encode("latin-1")
        )
        status = self._head()
        if body and status == 100:
            self._taken = True
            self._write(body)
            return self._head()
        if status != 200:
            raise RefusedError(status, b"".join(self.chunks()))
        return status

    def tell(self, target: str, body: bytes) -> None:
        """Post a request whose answer nobody waits for, and hang up."""
        head = f"POST {target} HTTP/1.1\r\nHost: oneiro\r\nConnection: close\r\n{self._head_start}"
        head += (
            f"{protocol.VERSION_HEADER}: {protocol.version()}\r\nContent-Length: {len(body)}\r\n"
            f"\r\n"
        )
        self._write(head.encode("latin-1") + body)
        self.close()

    def chunks(self) -> Iterator[bytes]:
        """The body of the answer as it arrives."""
        try:
            if self.headers.get(b"transfer-encoding") == b"chunked":
                yield from self._chunked()
            else:
                yield self._exactly(int(self.headers.get(b"content-length", b"0")))
        finally:
            self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _chunked(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n").partition(b";")[0], 16):
            yield self._exactly(size + 2)[:-2]

    def _head(self) -> int:
        first, *rest = self._until(b"\r\n\r\n").split(b"\r\n")
        pairs = (line.partition(b":") for line in rest)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return int(first.split(b" ", 2)[1])

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._buffer += self._more()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        parts = [self._buffer]
        have = len(self._buffer)
        while have < size:
            parts.append(self._more())
            have += len(parts[-1])
        data = b"".join(parts)
        self._buffer = data[size:]
        return data[:size]

    def _write(self, data: bytes) -> None:
        self._socket.settimeout(SILENCE)
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._fail(f"the connection broke ({error})")
        self._socket.settimeout(_STEP)

    def _more(self) -> bytes:
        quiet = 0.0
        while True:
            try:
                data = self._socket.recv(65536)
            except TimeoutError:
                quiet += _STEP
                if self._waiting is not None:
                    self._waiting()
                if quiet >= SILENCE or (quiet >= self._first and locations.stopped(self._pid)):
                    self._fail(f"no answer for {quiet:.0f} seconds", SilentError)
                continue
            except OSError as error:
                self._fail(f"the connection broke ({error})")
            if not data:
                self._fail("the owner hung up")
            return data

    def _fail(self, text: str, kind: type[UnreachedError] = UnreachedError) -> NoReturn:
        self.close()
        raise BrokenError(text) if self._taken else kind(text)


def run_cli(
    owner: dict[str, str], request: protocol.Request, waiting: Waiting | None = None
) -> tuple[int, bytes, bytes]:
    """Have the owner run a command: (exit code, output, errors)."""
    line = Line(owner, waiting=waiting)
    line.send("POST", "/cli", request.pack())
    parts: list[bytes] = []
    for chunk in line.chunks():
        if not parts and chunk.startswith(protocol.BEAT):
            if waiting is not None:
                waiting(chunk[1:].decode("utf-8", "replace").strip())
        else:
            parts.append(chunk)
    try:
        return protocol.unpack_answer(b"".join(parts))
    except ValueError as error:
        raise BrokenError(str(error)) from None


def call(
    owner: dict[str, str],
    op: str,
    params: Mapping[str, Any],
    progress: Callable[[str, int, int], None] | None = None,
    waiting: Waiting | None = None,
) -> Any:
    """One operation in the owner. Raises OneiroError, or UnreachedError, BrokenError for the way
    there."""
    import json
    import os

    from oneiro_vault.errors import from_dict

    line = Line(owner, waiting=waiting)
    env = protocol.pack_surroundings(protocol.surroundings(os.environ))
    line.send(
        "POST",
        f"/api/{op}",
        json.dumps(params).encode(),
        protocol.NDJSON,
        f"{protocol.SURROUNDINGS_HEADER}: {env}\r\n",
    )
    for text in _lines(line.chunks()):
        message = json.loads(text)
        if "doing" in message:
            if waiting is not None:
                waiting(message["doing"])
        elif "progress" not in message:
            if "error" in message and message["error"]["error"] == "Unexpected":
                raise FaultError(message["error"]["message"])
            if "error" in message:
                raise from_dict(message["error"])
            return message["result"]
        elif progress is not None:
            progress(*message["progress"])
    raise BrokenError("the answer stopped short")


def ask(
    owner: dict[str, str], target: str, params: Mapping[str, Any], waiting: Waiting | None = None
) -> Any:
    """One JSON question that is no operation. Raises OneiroError, UnreachedError, BrokenError."""
    import json

    from oneiro_vault.errors import from_dict

    line = Line(owner, waiting=waiting)
    try:
        line.send("POST", target, json.dumps(params).encode())
        answer = json.loads(b"".join(line.chunks()))
    except RefusedError as error:
        answer = json.loads(error.body)
    if "error" in answer:
        raise from_dict(answer)
    return answer


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def status(
    owner: dict[str, str], first: float = FIRST, waiting: Waiting | None = None
) -> Mapping[str, Any]:
    """The handshake: pid, version, folder; `opening`: what an owner does first. Raises
    UnreachedError."""
    import json

    line = Line(owner, first, waiting)
    line.send("GET", "/status")
    answer: Mapping[str, Any] = json.loads(b"".join(line.chunks()))
    return answer


def stop(owner: dict[str, str]) -> None:
    """Ask the owner to end; it answers before it does. Raises UnreachedError."""
    line = Line(owner)
    line.send("POST", "/stop")
    b"".join(line.chunks())
