"""The way in: the page that spends a one-time code, and the page's own files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from oneiro_vault.web import templating
from oneiro_vault.web.guard import SESSION_SECONDS

if TYPE_CHECKING:
    from oneiro_vault.web.guard import Guard

FOR_EVER: Final = "public, max-age=31536000, immutable"
_THEMES: Final = ("light", "dark")


def login_form(failed: bool, *, network: bool) -> Response:
    """The page at which somebody comes in, by a code of this machine or over a `network`; `failed`:
    what they gave was none."""
    shown = {"failed": failed, "network": network}
    return HTMLResponse(templating.rendered("frame/login.html", shown))


@dataclass
class Entrance:
    """`guard` knows the cookie's name and the sessions."""

    guard: Guard

    def routes(self) -> list[BaseRoute]:
        """All of them can be asked without a session but the last."""
        return [
            Route("/ui/login", self.login),
            Route("/ui/session", self.enter, methods=["POST"]),
            Route("/ui/leave", self.leave, methods=["POST"]),
        ]

    async def login(self, request: Request) -> Response:
        """The code stands behind the # of the address, which no server and no log ever sees; a
        script posts it, or a person types it."""
        return login_form("spent" in request.query_params, network=False)

    async def enter(self, request: Request) -> Response:
        """A code for a session."""
        fields = await request.form()
        session = self.guard.sessions.spend(str(fields.get("code", "")).strip())
        if session is None:
            return RedirectResponse("/ui/login?spent", 303)
        answer = RedirectResponse("/ui/", 303)
        answer.set_cookie(
            self.guard.cookie,
            session,
            max_age=int(SESSION_SECONDS),
            path="/",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def leave(self, request: Request) -> Response:
        """End the session."""
        self.guard.sessions.end(self.guard.session(request.headers))
        answer = RedirectResponse("/ui/login", 303)
        answer.delete_cookie(self.guard.cookie, path="/")
        return answer


async def theme(request: Request) -> Response:
    """Light, dark, or as the system has it; back to where the person was."""
    fields = await request.form()
    chosen, back = str(fields.get("theme", "")), str(fields.get("back", ""))
    answer = RedirectResponse(back if back.startswith("/ui/") else "/ui/", 303)
    if chosen in _THEMES:
        answer.set_cookie("oneiro-theme", chosen, max_age=31_536_000, samesite="strict")
    else:
        answer.delete_cookie("oneiro-theme")
    return answer


async def static(request: Request) -> Response:
    """A style sheet, a script, a picture of our own; for ever, as its address has its hash."""
    name = str(request.path_params["name"])
    kind = templating.TYPES.get(name.rpartition(".")[2])
    try:
        if kind is None or request.url.path != templating.address(name):
            raise FileNotFoundError(name)
        body = templating.asset(name)
    except (OSError, ValueError):
        return PlainTextResponse("There is no such file.", 404)
    return Response(body, headers={"Content-Type": kind, "Cache-Control": FOR_EVER})


async def icon(_request: Request) -> Response:
    """Browsers ask for it unasked."""
    return Response(templating.asset("icon.svg"), headers={"Content-Type": templating.TYPES["svg"]})


async def home(_request: Request) -> Response:
    """To the first page."""
    return RedirectResponse("/ui/", 303)


ROUTES: Final[list[BaseRoute]] = [
    Route("/ui/static/{mark}/{name}", static),
    Route("/ui/theme", theme, methods=["POST"]),
    Route("/favicon.ico", icon),
    Route("/", home),
    Route("/ui", home),
]
"""Of everybody, however they came in; all but the theme can be asked without a session."""
