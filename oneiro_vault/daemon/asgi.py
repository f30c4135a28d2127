"""The owner's ASGI app: the JSON API, the thin client's command line, status and stop, and the MCP
server, made at the first request (a second and 25 MB), run in the owner's loop and threads."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from oneiro_vault.answers import Json
from oneiro_vault.api import Progress
from oneiro_vault.daemon import protocol
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import InvalidInput, OneiroError, OwnerProblem

if TYPE_CHECKING:
    from oneiro_vault.app import App
    from oneiro_vault.mcp.transports import Receive, Send, Served

log = logging.getLogger("oneiro.owner")
BEAT_SECONDS = 1.0
OURS = "oneiro.ours"
"""Key of an ASGI scope: did the request come from our own user's process?"""
_LONGEST_HEAD = 1 << 20
"""Bytes of a request's head; a PATH of 100 KB has been seen."""
_PROGRESS_EVERY = 0.05
Line = Mapping[str, Any]
"""Progress, or what came of an operation, as it goes over the wire."""


CliRunner = Callable[[protocol.Request], tuple[int, bytes, bytes]]
"""Runs a command line inside the owner: exit code (or ELSEWHERE), output, errors. Never raises."""


class CancelledError(Exception):
    """Nobody waits for this answer any more."""


class Pools:
    """Threads for App calls: reads, writes and endless streams cannot take each other's."""

    def __init__(self) -> None:
        self._pools = {
            name: ThreadPoolExecutor(size, f"oneiro-{name}")
            for name, size in (("read", 16), ("write", 8), ("watch", 32))
        }

    def of(self, op: str) -> ThreadPoolExecutor:
        """The pool for an operation or command."""
        kind = "read" if op in protocol.READS else "write"
        return self._pools["watch" if op == "watch" else kind]

    def close(self) -> None:
        """Wait for running calls; those in the queue never start."""
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)


@dataclass
class Desk:
    """Answers requests with one App."""

    app: App
    life: Life
    run_cli: CliRunner
    pools: Pools

    async def status(self, _request: HttpRequest) -> Response:
        """Who this owner is; does not touch the vault."""
        life = self.life
        found = {
            "schema": protocol.SCHEMA,
            "pid": os.getpid(),
            "version": protocol.version(),
            "vault": str(life.root),
            "folder": life.folder,
            "started": life.started,
            "idle": round(life.idle, 3),
            "leaving": life.stopping.is_set(),
            "doing": protocol.doing(*self.app.doing()),
        }
        return JSONResponse(found)

    async def stop(self, _request: HttpRequest) -> Response:
        """End after this answer."""
        self.life.end("it was asked to stop")
        return JSONResponse({"schema": protocol.SCHEMA, "stopping": os.getpid()})

    async def api(self, request: HttpRequest) -> Response:
        """One operation; streamed with progress when the client accepts NDJSON. Without a name it
        is `capture`, for a program on this machine: never a person's own word."""
        op = request.path_params.get("op", "")
        try:
            params, env = params_of(await request.body()), _surroundings(request)
        except InvalidInput as error:
            return JSONResponse(error.to_dict(), error.http_status)
        if not op:
            op, params["actor"] = "capture", "capture"
        elif protocol.NDJSON in request.headers.get("accept", ""):
            return StreamingResponse(self._stream(op, params, env), media_type=protocol.NDJSON)
        return await self.plain(op, params, env)

    async def plain(
        self, op: str, params: Mapping[str, Any], env: Mapping[str, str] | None = None
    ) -> Response:
        """One operation as one JSON object: its answer, or the error with its status."""
        answer = await asyncio.get_running_loop().run_in_executor(
            self.pools.of(op), self._answer, op, params, None, env
        )
        if "error" in answer:
            return JSONResponse(answer["error"], answer["status"])
        return JSONResponse(answer["result"])

    async def cli(self, request: HttpRequest) -> Response:
        """One command line, run here for a client that imports nothing."""
        if not request.scope.get(OURS):
            return JSONResponse({"error": "not allowed"}, protocol.STRANGER)
        try:
            command = protocol.Request.unpack(await request.body())
        except ValueError as error:
            return JSONResponse(InvalidInput(f"not a command line: {error}").to_dict(), 400)
        return StreamingResponse(self._command(command), media_type="application/octet-stream")

    async def _command(self, command: protocol.Request) -> AsyncIterator[bytes]:
        name = next((word for word in command.argv if word in protocol.HOT), "")
        running = asyncio.get_running_loop().run_in_executor(
            self.pools.of(name), self.run_cli, command
        )
        yield self._beat()
        while not (await asyncio.wait({running}, timeout=BEAT_SECONDS))[0]:
            yield self._beat()
        yield protocol.pack_answer(*running.result())

    def _beat(self) -> bytes:
        return b"%b%b\n" % (protocol.BEAT, protocol.doing(*self.app.doing()).encode())

    def _answer(
        self,
        op: str,
        params: Mapping[str, Any],
        progress: Progress | None,
        env: Mapping[str, str] | None,
    ) -> Line:
        started = time.monotonic()
        try:
            return {"result": self.app.call(op, params, progress, env)}
        except OneiroError as error:
            return {"error": error.to_dict(), "status": error.http_status}
        except CancelledError:
            return {"error": OneiroError("nobody waited for the answer").to_dict(), "status": 499}
        except Exception as error:
            log.exception("%s failed", op)
            told = OneiroError(f"{type(error).__name__} in {op}").to_dict()
            return {"error": told | {"error": "Unexpected"}, "status": 500}
        finally:
            log.debug("%s took %.1f ms", op, 1000 * (time.monotonic() - started))

    async def _stream(
        self, op: str, params: Mapping[str, Any], env: Mapping[str, str] | None
    ) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[Line] = asyncio.Queue()
        left = threading.Event()

        def post(line: Line) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lines.put_nowait, line)

        report = _Reporter(post, lambda: _abandoned(op, left, self.life))
        self.pools.of(op).submit(lambda: post(self._answer(op, params, report, env)))
        try:
            yield b"\n"
            while True:
                try:
                    line = await asyncio.wait_for(lines.get(), BEAT_SECONDS)
                except TimeoutError:
                    doing = protocol.doing(*self.app.doing())
                    yield json.dumps({"doing": doing}).encode() + b"\n" if doing else b"\n"
                    continue
                yield json.dumps(line).encode() + b"\n"
                if "progress" not in line:
                    return
        finally:
            left.set()


def _abandoned(op: str, left: threading.Event, life: Life) -> bool:
    """A read nobody waits for may be cut short; a write runs to its end, or to that of a step."""
    may = op in protocol.READS or op in protocol.ENDLESS
    return may and (left.is_set() or life.stopping.is_set())


class _Reporter:
    """A progress callback that thins out counted steps and passes events (total 0) as they are."""

    def __init__(self, post: Callable[[Line], None], cancelled: Callable[[], bool]) -> None:
        self._post, self._cancelled = post, cancelled
        self._next = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._cancelled():
            raise CancelledError
        now = time.monotonic()
        if stage and (total == 0 or done >= total or now >= self._next):
            self._next = now + _PROGRESS_EVERY
            self._post({"progress": [stage, done, total]})


def params_of(body: bytes) -> Json:
    """The parameters of an operation. Raises InvalidInput for a body that is no JSON object."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the request is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput("the request is not a JSON object")
    return found


def _surroundings(request: HttpRequest) -> dict[str, str] | None:
    """The environment of a caller proved to be of our user: programs are looked for on its PATH."""
    packed = request.headers.get(protocol.SURROUNDINGS_HEADER) if request.scope.get(OURS) else None
    try:
        return None if packed is None else protocol.unpack_surroundings(packed)
    except ValueError as error:
        raise InvalidInput(f"{protocol.SURROUNDINGS_HEADER} makes no sense: {error}") from error


@dataclass
class Gate:
    """In front of everything: counts requests, turns strangers and other versions away, ends an
    owner whose files are gone. A Unix socket proves the user; on a loopback port `token` does."""

    inner: ASGIApp
    life: Life
    token: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"authorization", b"")
        if self.token and not secrets.compare_digest(given, b"Bearer " + self.token.encode()):
            await JSONResponse({"error": "not allowed"}, protocol.STRANGER)(scope, receive, send)
            return
        scope[OURS] = bool(self.token) or scope.get("client") is None
        bridge = scope["path"] == protocol.BRIDGE  # which counts while it has work for us
        with nullcontext() if bridge else self.life.request():
            refusal = None if scope["path"] in ("/status", "/stop") else self._refusal(headers)
            await (refusal or self.inner)(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> Response | None:
        if not self.life.examine():
            return JSONResponse({"leaving": self.life.reason}, protocol.LEAVING)
        theirs = headers.get(protocol.VERSION_HEADER.encode())
        if theirs is not None and theirs.decode("latin-1") != protocol.version():
            return JSONResponse({"version": protocol.version()}, protocol.OTHER_VERSION)
        return None


def build(
    app: App,
    life: Life,
    run_cli: CliRunner,
    pools: Pools | None = None,
    routes: Sequence[BaseRoute] = (),
    token: str = "",
) -> Starlette:
    """The whole ASGI app of an owner. `routes`: further faces; `token`: where the listener proves
    nothing."""
    desk = Desk(app, life, run_cli, pools or Pools())
    own = [
        Route("/status", desk.status),
        Route("/stop", desk.stop, methods=["POST"]),
        Route("/cli", desk.cli, methods=["POST"]),
        Route("/api/{op}", desk.api, methods=["POST"]),
        Route("/capture", desk.api, methods=["POST"]),
    ]
    asgi = Starlette(routes=[*own, *routes])
    asgi.add_middleware(Gate, life=life, token=token)
    return asgi


@dataclass
class _Whole:
    """What makes Starlette hand a path over as it is."""

    asgi: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.asgi(scope, receive, send)


class QuietServer(uvicorn.Server):
    """uvicorn without its signal handling, which raises the signal again before we could clean
    up."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the owner."""
        yield


def bound(host: str, port: int, backlog: int) -> socket.socket:
    """A listening socket. Its protocol is named, because asyncio turns off the wait for more bytes
    (40 ms an answer) only for a socket known to be TCP. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(backlog)
    except OSError:
        made.close()
        raise
    return made


def http_server(asgi: ASGIApp, grace: int, **more: Any) -> QuietServer:
    """A server that gives requests under way `grace` seconds when it ends. `more`: as
    `uvicorn.Config` takes it."""
    usual: Json = {
        "loop": "asyncio",
        "ws": "none",
        "lifespan": "off",
        "log_config": None,
        "access_log": False,
        "timeout_graceful_shutdown": grace,
        "date_header": False,
        "h11_max_incomplete_event_size": _LONGEST_HEAD,
    }
    return QuietServer(uvicorn.Config(asgi, **usual | more))


FAREWELL = 2.0
"""Seconds that calls under way get when the owner ends, before the streams of their clients are
closed."""


class McpDoor:
    """`http` and `lines` are ASGI apps; `sets` are further tools. All but the constructor is for
    the loop."""

    def __init__(self, app: App, life: Life, pools: Pools, sets: Sequence[str] = ()) -> None:
        self.app, self.life, self.pools, self.sets = app, life, pools, sets
        self._opening: asyncio.Task[Served] | None = None
        self._running: asyncio.Task[None] | None = None
        self._end: asyncio.Event | None = None
        self._under_way = 0

    def routes(self) -> list[BaseRoute]:
        """Where the owner's own app serves it."""
        return [Route(protocol.BRIDGE, _Whole(self.lines)), Route("/mcp", _Whole(self.http))]

    async def http(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Streamable HTTP. Who asks is in the scope (`core.principal.SCOPE`)."""
        await (await self._served()).http(scope, receive, send)

    async def lines(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """What `oneiro mcp` speaks; only the requests that come over it keep the owner."""
        with self.life.request():
            served = await self._served()
        await served.lines(scope, receive, send)

    async def call(self, op: str, params: Mapping[str, Any], progress: Progress) -> Json:
        """One operation on a thread. When nobody waits any more a read is cut short, a write is
        not."""
        left = threading.Event()

        def report(stage: str, done: int, total: int) -> None:
            if _abandoned(op, left, self.life):
                raise CancelledError
            progress(stage, done, total)

        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self.pools.of(op), self.app.call, op, dict(params), report
            )
        except (CancelledError, RuntimeError) as error:
            if self.life.stopping.is_set() or isinstance(error, CancelledError):
                raise OwnerProblem(
                    "the owner of the vault is ending",
                    kept="Nothing was changed.",
                    hint="Call it again.",
                ) from None
            raise
        finally:
            self._under_way -= 1
            left.set()

    async def close(self) -> None:
        """Let calls under way finish for a moment, then end every session."""
        for _ in range(int(FAREWELL / 0.02)):
            if self._under_way:
                await asyncio.sleep(0.02)
        if self._opening is not None:
            self._opening.cancel()
        if self._end is not None:
            self._end.set()
        if self._running is not None:
            with suppress(Exception):
                await self._running

    async def _served(self) -> Served:
        opening = self._opening
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(opening)

    async def _open(self) -> Served:
        served = await asyncio.get_running_loop().run_in_executor(None, self._make)
        self._end, ready = asyncio.Event(), asyncio.Event()
        self._running = asyncio.create_task(self._run(served, self._end, ready))
        await ready.wait()
        return served

    def _make(self) -> Served:
        from oneiro_vault.mcp.request_context import Samplers
        from oneiro_vault.mcp.server import build
        from oneiro_vault.mcp.transports import Served

        logging.getLogger("mcp").setLevel(logging.WARNING)
        # session ids stay out of the log
        logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.ERROR)
        samplers = Samplers()
        self.app.sample_with(samplers.ask)
        server = build(
            self.call,
            listen=self.app.listen,
            hold=self.life.request,
            sets=self.sets,
            samplers=samplers,
        )
        return Served(server)

    async def _run(self, served: Served, end: asyncio.Event, ready: asyncio.Event) -> None:
        """Sessions begin and end in one task, as their scopes must."""
        async with served.running():
            ready.set()
            await end.wait()
