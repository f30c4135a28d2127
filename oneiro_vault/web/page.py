"""One request of a page: what was asked, the operations as the person, and the answer as HTML."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from oneiro_vault.api import AsyncCalls, Progress
from oneiro_vault.app import OPS, App
from oneiro_vault.daemon.asgi import Pools
from oneiro_vault.errors import BeforeHistory, InvalidInput, OneiroError
from oneiro_vault.web import templating, travel
from oneiro_vault.web.guard import LARGEST
from oneiro_vault.web.travel import AT

_LOOKS: Final = "schedule"
"""It only looks, where nothing is to begin."""
KEPT: Final = "Nothing was changed."
LOG = logging.getLogger("oneiro.web")
NAVIGATION: Final = (
    ("/ui/", "Wake", "g w"),
    ("/ui/search", "Search", "g s"),
    ("/ui/timeline", "Timeline", "g t"),
    ("/ui/graph", "Graph", "g g"),
    ("/ui/fading", "Fading", "g f"),
    ("/ui/dreams", "Dreams", "g d"),
    ("/ui/flags", "Flags", "g l"),
    ("/ui/health", "Health", "g h"),
)
"""Address, name and key of each page."""
PART: Final = "part"
"""In a query: which part of a list is shown."""
ROWS: Final = 50
"""Rows of one part of a list."""


@dataclass
class Site:
    """What all pages share: the vault's operations and the threads they run on."""

    app: App
    pools: Pools
    name: str
    reads_only: bool = False
    """For whoever may only look."""

    async def call(
        self, op: str, params: Mapping[str, Any], progress: Progress | None = None
    ) -> Any:
        """One operation on a thread. Raises InvalidInput for a change where nothing may be."""
        looks = OPS[op].reads_only or (op == _LOOKS and not params)
        if self.reads_only and (OPS[op].local or not looks):
            hint = "`oneiro ui` on the vault's own machine does."
            raise InvalidInput("over a network this is not done", kept=KEPT, hint=hint)
        given = {name: value for name, value in params.items() if value not in (None, (), [])}
        return await asyncio.get_running_loop().run_in_executor(
            self.pools.of(op), self.app.call, op, given, progress
        )


class Undrawn(Response):
    """An answer whose template is still to be filled in, which may take seconds: not in the loop
    that hears everybody."""

    def __init__(self, draw: Callable[[], Response]) -> None:
        super().__init__()
        self.draw = draw


async def drawn(found: Response) -> Response:
    """The answer as it goes out."""
    return await asyncio.to_thread(found.draw) if isinstance(found, Undrawn) else found


class Page:
    """`ops` are the vault's operations, carried out for the person who opened the page."""

    def __init__(self, request: Request, site: Site) -> None:
        self.request, self.site = request, site
        self.ops = AsyncCalls(site.call)
        self._travels = False

    @property
    def fragment(self) -> bool:
        """Does the browser want a part of the page (htmx) and not the whole?"""
        headers = self.request.headers
        return "hx-request" in headers and "hx-boosted" not in headers

    @property
    def path(self) -> str:
        """The address, without its query."""
        return self.request.url.path

    @property
    def at(self) -> str:
        """The day (or the commit) as of which the person wants to see the vault, "" for today."""
        return self.request.query_params.get(AT, "").strip()

    @property
    def as_of(self) -> str | None:
        """The same as operations take it."""
        return self.asked(AT).strip() or None

    def query(self, **changed: object) -> str:
        """The address's query with these values instead, "" for none; a page of a list begins
        anew."""
        kept = {name: value for name, value in self.request.query_params.items() if name != PART}
        found = {**kept, **{name: str(value or "") for name, value in changed.items()}}
        text = urlencode({name: value for name, value in found.items() if value})
        return f"?{text}" if text else "?"

    def asked(self, name: str, default: str = "") -> str:
        """A value of the query. A page that asks for `at` can show the past; of one that does not,
        the person is told that it shows today."""
        self._travels = self._travels or name == AT
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number of the query, within bounds."""
        text = self.asked(name)
        found = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else default
        return max(least, min(most, found))

    @property
    def part(self) -> int:
        """Which part of a list is asked for, from 0."""
        return self.number(PART, 0, 0, 10**6)

    def named(self, name: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[name])

    async def form(self) -> dict[str, str]:
        """The fields of a form. Raises InvalidInput for a file among them, and for what is no
        form."""
        try:  # one field may be as long as the guard lets a form be: a note is one field
            fields = await self.request.form(max_part_size=LARGEST)
        except HTTPException as error:
            raise InvalidInput(f"this form cannot be read: {error.detail}", kept=KEPT) from error
        if any(not isinstance(value, str) for value in fields.values()):
            raise InvalidInput("a form of this page has no files", kept=KEPT)
        return {name: str(value).replace("\r\n", "\n") for name, value in fields.items()}

    def html(
        self, template: str, status: int = 200, notice: str = "", block: str = "", **context: object
    ) -> Response:
        """A page. Where the browser wants a part of it: its block `part` alone, if it has one, and
        the open page says `notice` for a while. With `block` that one alone, whoever asks."""
        block = block or ("part" if self.fragment else "")
        shared = {
            "page": self,
            "path": self.path,
            "vault": self.site.name,
            "navigation": NAVIGATION,
            "theme": self._theme(),
            "reader": self.site.reads_only,
            "travel": travel.Travel(self.at, self._travels, self.request.query_params),
        }

        def draw() -> Response:
            text = templating.rendered(template, {**shared, **context}, block)
            if notice and self.fragment:
                said = Markup('<p hx-swap-oob="innerHTML:#notice">{}</p>').format(notice)
                text += str(said)
            return HTMLResponse(travel.kept(text, self.at), status, {"Vary": "HX-Request"})

        return Undrawn(draw)

    def see(self, address: str) -> Response:
        """Go on at another address, after something was done; `address` is one of ours."""
        if self.fragment:
            return Response(headers={"HX-Location": address})
        return RedirectResponse(address, 303)

    def trouble(self, error: OneiroError) -> Response:
        """One of our errors for the person who reads it. htmx shows only what succeeded."""
        if isinstance(error, BeforeHistory) and self.at and not self.fragment:
            return self.html("frame/before.html", error=error)
        status = 200 if self.fragment else error.http_status
        return self.html("frame/error.html", status, error=error)

    def _theme(self) -> str:
        chosen = self.request.cookies.get("oneiro-theme", "")
        return chosen if chosen in ("light", "dark") else "light dark"


Handler = Callable[[Page], Awaitable[Response]]


def endpoint(site: Site, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """A handler of pages as Starlette wants it; nobody sees a traceback."""

    async def answer(request: Request) -> Response:
        page = Page(request, site)
        try:
            if request.method == "POST" and page.at:
                raise travel.read_only()
            return await drawn(await handler(page))
        except OneiroError as error:
            return await drawn(page.trouble(error))
        except Exception:
            LOG.exception("the page %s failed", request.url.path)
            hint = "What happened is in the owner's log (`oneiro status -v` names it)."
            return await drawn(page.trouble(OneiroError("this page could not be shown", hint=hint)))

    return answer
