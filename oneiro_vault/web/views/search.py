"""Search as you type, with the reasons for each rank; and where a link leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import Response

from oneiro_vault.core.text.query import analyse
from oneiro_vault.errors import BeforeHistory, OneiroError
from oneiro_vault.web.notes import words_html
from oneiro_vault.web.page import Handler, Page
from oneiro_vault.web.templating import plain
from oneiro_vault.web.views import wording

FIRST: Final = 20
MOST: Final = 200
_PLAIN: Final[Mapping[str, Any]] = {"standing": "", "replaced_by": None, "weak": False, "now": ""}
"""What a row of a list does not say."""
_FILTERS: Final = ("type", "status", "tag", "project", "since", "until")


async def search(page: Page) -> Response:
    """Rows that answer a question, best first; without one, the latest."""
    query = page.asked("q").strip()
    filters = {name: value for name in _FILTERS if (value := page.asked(name).strip())}
    count = page.number("k", FIRST, 1, MOST)
    error: OneiroError | None = None
    found: Mapping[str, Any] = {"rows": [], "found": {"degraded": None}}
    try:
        found = await (_asked(page, query, filters, count) if query else _latest(page, filters))
    except OneiroError as wrong:
        if isinstance(wrong, BeforeHistory) and not page.fragment:
            raise
        error = wrong
    return page.html(
        "search.html",
        query=query,
        filters=dict.fromkeys(_FILTERS, "") | filters,
        filtered=bool(filters),
        count=count,
        here=urlencode({"q": query, **filters, "k": count}),
        more=urlencode({"q": query, **filters, "k": min(MOST, count + 40)}),
        error=error,
        rows=found["rows"],
        found=found["found"],
    )


async def _asked(page: Page, query: str, filters: dict[str, str], count: int) -> Mapping[str, Any]:
    found = await page.ops.recall(
        query=query,
        k=count,
        type=filters.get("type", ()),
        tag=filters.get("tag", ()),
        status=filters.get("status", ()),
        project=filters.get("project"),
        since=filters.get("since"),
        until=filters.get("until"),
        as_of=page.as_of,
        explain=True,
        fast=True,
        noted=False,
    )
    words = analyse(query).words
    best = max((row["score"] for row in found["results"]), default=0.0)
    rows = [
        {
            **_PLAIN,
            **row,
            **_headed(row, row["snippet"] or row["description"], words),
            "bar": wording.bar(row["why"], best),
            "parts": wording.parts(row["why"]),
        }
        for row in found["results"]
    ]
    rows.sort(key=lambda row: row["weak"])
    return {"rows": rows, "found": found}


async def _latest(page: Page, filters: dict[str, str]) -> Mapping[str, Any]:
    found = await page.ops.list(
        limit=FIRST,
        type=filters.get("type", ()),
        tag=filters.get("tag"),
        status=filters.get("status", ()),
        project=filters.get("project"),
        since=filters.get("since"),
        until=filters.get("until"),
    )
    rows = [{**_PLAIN, **row, **_headed(row, row["description"])} for row in found["results"]]
    return {"rows": rows, "found": found}


def _headed(row: Mapping[str, Any], line: str, words: Sequence[str] = ()) -> Mapping[str, Any]:
    """The title and a line below it; a title that was cut off that line is the whole of it."""
    title = plain(row["title"] or row["id"])
    if line.startswith(title.rstrip("… ")):
        title, line = line, ""
    return {"heading": words_html(title, words), "shown": words_html(plain(line), words)}


async def go(page: Page) -> Response:
    """To the note that a link means; where it may mean several, or none, the person chooses."""
    target, source = page.asked("to"), page.asked("from")
    with suppress(OneiroError):
        found = (await page.ops.follow(to=target, source=source or None))["results"]
        if len(found) == 1:
            return page.see(f"/ui/memory/{found[0]['id']}")
        if found:
            shown = [await page.ops.show(id=one["id"], passive=True) for one in found]
            return page.html("several.html", target=target, found=shown)
    return page.see("/ui/search?" + urlencode({"q": target}))


READS: Final[dict[str, Handler]] = {"/ui/search": search, "/ui/go": go}
