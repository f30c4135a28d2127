"""One request of a page: what was asked, the operations as the person, and the answer as HTML;
with `?at=2026-03-05` in its address as the vault was on that day, which links keep."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from oneiro_vault.api import AsyncCalls, Progress
from oneiro_vault.app import OPS, App
from oneiro_vault.daemon.asgi import Pools
from oneiro_vault.errors import BeforeHistory, InvalidInput, OneiroError
from oneiro_vault.web import templating
from oneiro_vault.web.guard import LARGEST

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
            "travel": Travel(self.at, self._travels, self.request.query_params),
        }

        def draw() -> Response:
            text = templating.rendered(template, {**shared, **context}, block)
            if notice and self.fragment:
                said = Markup('<p hx-swap-oob="innerHTML:#notice">{}</p>').format(notice)
                text += str(said)
            return HTMLResponse(kept(text, self.at), status, {"Vary": "HX-Request"})

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
                raise read_only()
            return await drawn(await handler(page))
        except OneiroError as error:
            return await drawn(page.trouble(error))
        except Exception:
            LOG.exception("the page %s failed", request.url.path)
            hint = "What happened is in the owner's log (`oneiro status -v` names it)."
            return await drawn(page.trouble(OneiroError("this page could not be shown", hint=hint)))

    return answer


AT: Final = "at"
_TAG: Final = re.compile(r"<[a-z]+\b[^<>]*>")
_ADDRESS: Final = re.compile(r'(?<= )(href|action|hx-get)="([^"]*)"')
_OURS: Final = re.compile(r"\?|/ui/(?!static/|events|session|theme|leave)")
"""How the address of a page begins."""
_NOW: Final = "data-now"
"""Of an element whose address is not to be changed."""


@dataclass(frozen=True)
class Travel:
    """What the frame of a page shows of it. `at`: as it was asked for, "" for today; `possible`:
    can this page show the past?; `query`: of the address."""

    at: str
    possible: bool
    query: Mapping[str, str]

    @property
    def day(self) -> str:
        """`at` if it is a day (YYYY-MM-DD), else ""."""
        day = _day(self.at)
        return day.isoformat() if day else ""

    @property
    def fields(self) -> dict[str, str]:
        """What else is asked for: a form for another day sends it along."""
        return {name: value for name, value in self.query.items() if name not in (AT, "part")}

    @property
    def today(self) -> str:
        """The query without it."""
        return f"?{urlencode(self.fields)}"

    @property
    def latest(self) -> str:
        """The last day that can be asked for."""
        return this_day().isoformat()

    def beside(self, days: int) -> str:
        """The query so many days later; "" where there is no such day to look at."""
        day = _day(self.at)
        try:
            there = day + timedelta(days=days) if day else None
        except OverflowError:  # the calendar ends there
            return ""
        if there is None or there > this_day():
            return ""
        return f"?{urlencode({**self.fields, AT: there.isoformat()})}"


def this_day() -> date:
    """Where the vault's owner is."""
    return datetime.now().astimezone().date()


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_only() -> OneiroError:
    """What a form of a page of the past is answered."""
    return InvalidInput(
        "this is how the vault was: it cannot be changed there",
        kept="Nothing was changed.",
        hint="Go back to today, and do it there.",
    )


def kept(html: str, at: str) -> str:
    """A page whose links and searches lead to pages of the same moment."""
    if not at:
        return html
    field = f'<input type="hidden" name="{AT}" value="{escape(at)}">'

    def with_moment(found: re.Match[str]) -> str:
        tag = found[0]
        if _NOW in tag:
            return tag
        tag = _ADDRESS.sub(lambda one: _with(one, at), tag)
        return tag + field if tag.startswith("<form") and 'method="get"' in tag else tag

    return _TAG.sub(with_moment, html)


def _with(found: re.Match[str], at: str) -> str:
    address, _, fragment = found[2].partition("#")
    if not _OURS.match(address) or re.search(rf"[?;&]{AT}=", address):
        return found[0]
    path, _, query = address.partition("?")
    query = "&amp;".join(filter(None, (query, f"{AT}={quote(at)}")))
    return f'{found[1]}="{path}?{query}{"#" if fragment else ""}{fragment}"'
