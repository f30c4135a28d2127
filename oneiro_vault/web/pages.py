"""The table of pages: which module answers which address."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from oneiro_vault.errors import NotFound
from oneiro_vault.web.page import Handler, Page, Site, endpoint
from oneiro_vault.web.views import (
    care,
    dreams,
    graph_page,
    memory,
    memory_changes,
    search,
    time_pages,
    wake,
)

READS: Final[dict[str, Handler]] = {
    **wake.READS,
    **search.READS,
    **memory.READS,
    **memory_changes.READS,
    **time_pages.READS,
    **graph_page.READS,
    **dreams.READS,
    **care.READS,
}
"""Address -> what answers a GET; it changes nothing."""
WRITES: Final[dict[str, Handler]] = {
    **wake.WRITES,
    **memory_changes.WRITES,
    **time_pages.WRITES,
    **graph_page.WRITES,
    **dreams.WRITES,
    **care.WRITES,
}
"""Address -> what answers a POST."""


async def nowhere(page: Page) -> Response:
    """An address that leads to no page."""
    hint = "The pages are in the menu."
    return page.trouble(NotFound("there is no such page", hint=hint))


def routes(site: Site) -> list[BaseRoute]:
    """All pages, and what is said where there is none."""
    reads = [Route(path, endpoint(site, handler)) for path, handler in READS.items()]
    writes = [
        Route(path, endpoint(site, handler), methods=["POST"])
        for path, handler in (WRITES if not site.reads_only else {}).items()
    ]
    rest = Route("/{rest:path}", endpoint(site, nowhere), methods=["GET", "POST"])
    return [*reads, *writes, rest]
