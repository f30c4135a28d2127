"""The page's own server: a port of this machine alone, opened when `oneiro ui` asks for it, in the
owner's loop and threads, gone with the owner."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from oneiro_vault.app import App
from oneiro_vault.daemon import protocol
from oneiro_vault.daemon.asgi import OURS, Pools, QuietServer, bound, http_server, params_of
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.errors import InvalidInput, OneiroError, OwnerProblem
from oneiro_vault.web.guard import CODE_SECONDS, Guard, Sessions

GRACE: Final = 1
"""Seconds a request under way gets when the owner ends; an open stream of events would take any."""


class PageDoor:
    """`oneiro ui` knocks at `/ui` on the owner's socket; all but the constructor is for the
    loop."""

    def __init__(self, app: App, life: Life, pools: Pools) -> None:
        self.app, self.life, self.pools = app, life, pools
        self.sessions = Sessions()
        self.port = 0
        self._server: QuietServer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        """Where the owner's own app serves it."""
        return [Route("/ui", self.open, methods=["POST"])]

    async def open(self, request: Request) -> Response:
        """A link that opens the page once, within a minute."""
        if not request.scope.get(OURS):
            return JSONResponse({"error": "not allowed"}, protocol.STRANGER)
        try:
            wanted = params_of(await request.body()).get("port", 0)
            if not (isinstance(wanted, int) and 0 <= wanted < 65_536):
                raise InvalidInput("a port is a whole number below 65,536")
            async with self._opening:  # of two that knock at once, one opens
                await self._listen(wanted)
        except OneiroError as error:
            return JSONResponse(error.to_dict(), error.http_status)
        code = self.sessions.new_code()
        base = f"http://127.0.0.1:{self.port}"
        found = {"schema": 1, "url": f"{base}/ui/login#{code}", "base": base}
        return JSONResponse({**found, "seconds": int(CODE_SECONDS)})

    async def close(self) -> None:
        """End it with everything that is open."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving

    async def _listen(self, port: int) -> None:
        if self._serving is not None and not self._serving.done():
            if port not in (0, self.port):
                hint = f"Leave --port out, or `oneiro stop` first. It is at port {self.port}."
                raise OwnerProblem("the page is open at another port", hint=hint)
            return
        try:
            place = bound("127.0.0.1", port, 128)
        except OSError as error:
            raise OwnerProblem(
                f"the page cannot be opened at port {port}: {error.strerror}",
                kept="Nothing was started.",
                hint="Leave --port out: a free one is found.",
            ) from error
        self.port = place.getsockname()[1]
        asgi = await asyncio.get_running_loop().run_in_executor(None, self._make)
        self._server = http_server(asgi, GRACE, proxy_headers=False, server_header=False)
        self._serving = asyncio.create_task(self._server.serve(sockets=[place]))

    def _make(self) -> Guard:
        return build(self.app, self.life, self.pools, self.sessions, self.port)


def build(app: App, life: Life, pools: Pools, sessions: Sessions, port: int) -> Guard:
    """Every page behind the guard."""
    guard = Guard(Starlette(), sessions, life, port)
    guard.inner = shown(app, life, pools, guard)
    return guard


def shown(app: App, life: Life, pools: Pools, guard: Guard | None = None) -> Starlette:
    """Every page; without a guard for whoever may only look, and is let in by somebody else."""
    from oneiro_vault.web import entrance, pages
    from oneiro_vault.web.page import Site

    own = [*entrance.ROUTES, Route("/ui/events", pages.Events(app, life).stream)]
    own += entrance.Entrance(guard).routes() if guard else []
    site = Site(app, pools, app.house.root.name, guard is None)
    return Starlette(routes=[*own, *pages.routes(site)])
