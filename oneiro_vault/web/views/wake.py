"""Wake: exactly what a session is given now."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from oneiro_vault.web.page import Handler, Page


async def wake(page: Page) -> Response:
    """The orientation as a model reads it, its blocks, and what is recent."""
    found = await page.ops.orient(project=page.asked("project"))
    return page.html("wake.html", found=found)


READS: Final[dict[str, Handler]] = {"/ui/": wake}
WRITES: Final[dict[str, Handler]] = {}
