"""The owner process: take the lock, open the vault, listen, live, and leave nothing behind."""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import logging
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneiro_vault.answers import Json
from oneiro_vault.daemon import protocol, spawn
from oneiro_vault.daemon.asgi import (
    CliRunner,
    Desk,
    McpDoor,
    Pools,
    QuietServer,
    build,
    http_server,
)
from oneiro_vault.daemon.lifetime import Guard, Life, SettingsWatch, identity
from oneiro_vault.daemon.listen import Listener, listening, opening
from oneiro_vault.daemon.owner_lock import OwnerLock
from oneiro_vault.errors import DiskProblem, LockTimeout, OwnerProblem
from oneiro_vault.settings import locations
from oneiro_vault.settings.definitions import Settings
from oneiro_vault.web.page_server import PageDoor

if TYPE_CHECKING:
    from oneiro_vault.app import App
    from oneiro_vault.http.listen_tcp import Network

log = logging.getLogger("oneiro.owner")
TICK = 0.5
_LOG_BYTES = 1_000_000
GRACE = 3
"""Seconds requests under way get to finish when the owner ends."""
PURPOSE = "owner"
"""What an owner that listens on no network writes into its lock."""
LAST_WORD = 5.0
"""Seconds after which an ending owner is gone, whatever still hangs."""
_KEPT_LOGS = 3
_ARENA_MAX = -8


@dataclass
class Owner:
    """What an owner is made of. `tell` gets {"opening": pid}, then {"ready": pid} or {"error": …}.
    With a `network` it listens on TCP as well, and does not end because nobody asks."""

    root: Path
    index: Path
    settings: Settings
    open_app: Callable[[], App]
    run_cli: Callable[[App, Mapping[str, Any]], CliRunner]
    tell: Callable[[Mapping[str, Any]], None] = lambda _message: None
    wait: float = 10.0
    routes: Sequence[Any] = ()
    network: Network | None = None

    def serve(self) -> str:
        """Own the vault until there is a reason to end, which is returned. Raises OneiroError."""
        _share_heaps()
        lock = OwnerLock(Path(locations.state_dir(str(self.root))))
        self._acquire(lock)
        try:
            self.tell({"opening": os.getpid()})
            return self._with_lock(lock)
        finally:
            lock.release()

    def _acquire(self, lock: OwnerLock) -> None:
        """Raises LockTimeout after `wait` seconds, and as soon as another owner serves."""
        began = time.monotonic()
        while True:
            left = max(began + self.wait - time.monotonic(), 0.0)
            try:
                return lock.acquire(
                    min(left, TICK), PURPOSE if self.network is None else "oneiro serve --http"
                )
            except LockTimeout:
                if left <= TICK or (self.network is None and spawn.serves(self.root)):
                    raise lock.held(time.monotonic() - began) from None

    def _with_lock(self, lock: OwnerLock) -> str:
        network = self.network
        beyond = network.listening() if network else nullcontext(None)
        with (
            marker(self.index) as mark,
            listening(locations.socket_paths(str(self.index))) as listener,
            beyond as door,
        ):
            record = self._record(listener)
            if network and door:
                record["http"] = network.url(door)
            about = {name: record[name] for name in ("schema", "pid", "version", "vault")}
            about["folder"] = identity(self.root)
            try:
                with opening(listener, about, lambda: self._leave_unopened(lock)):
                    _heed_signals(_raise)
                    lock.publish(record)
                    app = self.open_app()
            except _Ended as ended:
                return str(ended)
            guard = Guard(lock.path, mark, *listener.files)
            watch = SettingsWatch(self.root, self.settings, app.misset, app.reread)
            idle = math.inf if network else self.settings["owner.idle"]
            life = Life(self.root, idle, guard.lost, app.busy, watch.changed)
            pools = Pools()
            try:
                _heed_signals(life.end)
                app.start()
                run_cli = self.run_cli(app, record)
                models = McpDoor(app, life, pools, self.settings["mcp.tools"].split())
                page = PageDoor(app, life, pools)
                routes = [*models.routes(), *page.routes(), *self.routes]
                own = build(app, life, run_cli, pools, routes, listener.token)
                servers = {listener.socket: http_server(own, GRACE)}
                if network and door:
                    other = network.app(Desk(app, life, run_cli, pools), life, routes)
                    servers[door] = network.server(other, GRACE)
                asyncio.run(self._live(servers, life, record, [models, page]))
            finally:
                last_word()
                life.end("it failed")
                pools.close()
                _close(app)
        log.info("ended: %s", life.reason)
        return life.reason

    def _leave_unopened(self, lock: OwnerLock) -> None:
        """End at once, however long opening takes: until now there is nothing that a kill could
        harm."""
        stopped = OwnerProblem(
            "the owner was stopped before it had opened the vault",
            kept="Nothing was changed.",
            hint="Try again.",
        )
        self.tell({"error": stopped.to_dict()})
        log.info("ended: it was asked to stop")
        with suppress(OSError):
            lock.record.unlink()
        os._exit(0)

    def _record(self, listener: Listener) -> Json:
        return {
            "schema": protocol.SCHEMA,
            "pid": os.getpid(),
            "version": protocol.version(),
            "socket": listener.place,
            "token": listener.token,
            "vault": str(self.root),
            "log": locations.log_file(str(self.index)),
            "tools": self.settings["mcp.tools"],
        }

    async def _live(
        self,
        servers: Mapping[socket.socket, QuietServer],
        life: Life,
        record: Mapping[str, Any],
        doors: Sequence[McpDoor | PageDoor],
    ) -> None:
        serving = [
            asyncio.create_task(server.serve(sockets=[place])) for place, server in servers.items()
        ]
        self.tell({"ready": os.getpid()} | ({"http": record["http"]} if "http" in record else {}))
        about = os.getpid(), self.root, protocol.version(), record["socket"]
        log.info("owner %s of %s listens, version %s, at %s", *about)
        await self._until_the_end(life, serving)
        log.info("ends: %s", life.reason)  # closing may take longer than the last word waits
        last_word()
        for server in servers.values():
            server.should_exit = True
        for one in doors:
            await one.close()
        await asyncio.gather(*serving)

    async def _until_the_end(self, life: Life, serving: Sequence[asyncio.Task[None]]) -> None:
        while life.examine() and not any(task.done() for task in serving):
            rotate(Path(locations.log_file(str(self.index))), _LOG_BYTES)
            for _ in range(10):  # a stop is seen sooner than everything else
                if not life.stopping.is_set():
                    await asyncio.sleep(TICK / 10)


class _Ended(BaseException):
    """A signal came while the vault was being opened; nothing has been done yet."""


def _raise(reason: str) -> None:
    raise _Ended(reason)


def _heed_signals(end: Callable[[str], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: end(f"it got {signal.Signals(got).name}"))


def _close(app: App) -> None:
    """Close the App even when its folder is gone: an owner that ends must end."""
    try:
        app.close()
    except Exception:
        log.exception("closing the vault failed")


def _share_heaps() -> None:
    """Two heaps for all threads, each of which would keep what it freed in its own: 20 MB."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


@contextmanager
def marker(index: Path) -> Iterator[Path]:
    """A file in the index folder that goes when the folder is deleted; open, so its inode stays its
    own."""
    path = index / "owner"
    try:
        if not index.is_dir():
            index.mkdir(parents=True, mode=0o700)
        path.unlink(missing_ok=True)
        file = path.open("xb", buffering=0)
        try:
            file.write(b"%d\n" % os.getpid())
        except OSError:
            file.close()
            raise
    except OSError as error:
        raise DiskProblem(
            f"the index folder {index} cannot be used: {error.strerror}",
            kept="The notes are untouched.",
            hint="Make room on its disk or make it writable, or choose another with the setting "
            "index.dir.",
        ) from error
    with file:
        try:
            yield path
        finally:
            with suppress(OSError):
                if os.path.samestat(path.stat(), os.fstat(file.fileno())):
                    path.unlink()


def last_word() -> None:
    """From now on the process has LAST_WORD seconds to live."""
    said = any(thread.name == "last word" for thread in threading.enumerate())
    if said or threading.current_thread() is not threading.main_thread():
        return
    timer = threading.Timer(LAST_WORD, _leave)
    timer.name, timer.daemon = "last word", True
    timer.start()


def _leave() -> None:
    log.warning("something still hung after %s seconds", LAST_WORD)
    os._exit(75)


def rotate(path: Path, limit: int) -> None:
    """Keep the log, to which our standard output and error lead, below `limit` bytes."""
    try:
        if path.stat().st_size < limit or not os.path.samestat(path.stat(), os.fstat(2)):
            return
        for number in range(_KEPT_LOGS, 0, -1):
            older = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number}"))
        fresh = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(fresh, 1)
        os.dup2(fresh, 2)
        os.close(fresh)
    except OSError:
        return


def write_log() -> None:
    """Send what the owner and its parts report to standard error."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    with suppress(ValueError, OSError):
        faulthandler.enable()
