"""A request to the owner that lasts: pieces of its body go out on one thread while pieces of the
answer come in on another."""

from __future__ import annotations

from oneiro_vault.daemon import client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneiro_vault.daemon.client import Waiting


class Duplex(client.Line):
    """An open POST. It names no version: the owner at the other end may be newer than we are."""

    def __init__(self, owner: dict[str, str], target: str, waiting: Waiting | None = None) -> None:
        """Raises client.UnreachedError; RefusedError carries the status."""
        super().__init__(owner, waiting=waiting)
        head = (
            f"POST {target} HTTP/1.1\r\nHost: oneiro\r\nTransfer-Encoding: chunked\r\n"
            f"{self._head_start}\r\n"
        )
        self._write(head.encode("latin-1"))
        status = self._head()
        if status != 200:
            raise client.RefusedError(status, b"".join(self.chunks()))
        self._socket.settimeout(None)

    def put(self, data: bytes) -> None:
        """A piece of the body. Raises OSError: then not all of it arrived."""
        self._socket.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """The body is complete; the answer may go on. Raises OSError."""
        self._socket.sendall(b"0\r\n\r\n")

    def lines(self) -> Iterator[bytes]:
        """Whole non-empty lines of the answer, until the owner ends it or is gone."""
        parts: list[bytes] = []
        try:
            for chunk in self.chunks():
                *whole, rest = chunk.split(b"\n")
                for line in whole:
                    text = b"".join((*parts, line))
                    parts.clear()
                    if text:
                        yield text
                parts.append(rest)
        except (
            client.UnreachedError,
            ValueError,
        ):  # ValueError: cut in the middle of a chunk's size
            return
