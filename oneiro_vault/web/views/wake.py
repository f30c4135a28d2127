"""Wake: exactly what a session is given now, each line with what it rests on, and what a prompt
would bring along."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import Response

from oneiro_vault.web.page import Handler, Page

RECENT: Final = 8


async def wake(page: Page) -> Response:
    """The orientation line by line, how full it is, what is new, and what a typed prompt gets."""
    project = page.asked("project")
    found, latest, prompted = await asyncio.gather(
        page.ops.wake(project=project or None, as_of=page.as_of),
        page.ops.orient(n=RECENT, project=project or None),
        _prompted(page),
    )
    return page.html(
        "wake.html",
        found=found,
        recent=latest["recent"],
        flagged=latest["flagged"],
        segments=_segments(found),
        project=project,
        prompt=page.asked("prompt"),
        added=prompted,
    )


async def prompted(page: Page) -> Response:
    """What the hook would add to a prompt, as a part of the page or, without a script, in it."""
    if not page.fragment:
        return await wake(page)
    return page.html(
        "wake.html", block="added", prompt=page.asked("prompt"), added=await _prompted(page)
    )


async def _prompted(page: Page) -> Mapping[str, Any] | None:
    prompt = page.asked("prompt").strip()
    if not prompt:
        return None
    found = await page.ops.inject(prompt=prompt, project=page.asked("project") or None)
    ids = list(found["ids"])
    rows = await asyncio.gather(*(page.ops.show(id=one, passive=True) for one in ids))
    return {**found, "memories": rows}


def _segments(found: Any) -> Sequence[Mapping[str, Any]]:
    """The blocks that fit, as stretches of the budget in thousandths."""
    made, at = [], 0
    for number, block in enumerate(one for one in found["blocks"] if one["included"]):
        width = round(1_000 * block["units"] / found["limit"])
        made.append({"start": at, "width": width, "number": number, "block": block})
        at += width
    return made


READS: Final[dict[str, Handler]] = {"/ui/": wake, "/ui/wake/prompt": prompted}
