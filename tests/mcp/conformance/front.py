"""An owner's socket on a TCP port of this machine, byte for byte, for programs that know only TCP.
For tests only."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType


class Front:
    """`with Front(socket) as port`."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._port = 0

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self.place)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    def __enter__(self) -> int:
        self._thread.start()
        assert self._ready.wait(10)
        return self._port

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Everything from one end to the other."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
