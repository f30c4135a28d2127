"""Flags, the questions only a person can answer; and Health: is everything as it should be, and if
not, what to do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from starlette.responses import Response

from oneiro_vault import __version__, answers
from oneiro_vault.core.memory import ids_in
from oneiro_vault.web.page import Handler, Page

MOST: Final = 50
"""Questions on one page, unless more are asked for."""
_MONTH: Final = "30 days ago"
_LEVELS: Final = ("error", "warning", "info")


class Asked(NamedTuple):
    """A flagged memory, its own words, and the others that its question names."""

    row: answers.FlaggedRow
    words: str
    others: list[answers.FullMemory]


async def flags(page: Page, notice: str = "") -> Response:
    """Every memory with an open question, and what it is about."""
    most = page.number("n", MOST, 1, 10_000)
    found = await page.ops.flagged(limit=most)
    rows = await _asked(page, found["results"])
    return page.html(
        "care/flags.html",
        notice=notice,
        rows=rows,
        total=found["total"],
        left=found["total"] - len(rows),
    )


async def _asked(page: Page, rows: list[answers.FlaggedRow]) -> list[Asked]:
    named = {row["id"]: _named(row) for row in rows}
    every = dict.fromkeys([*named, *(one for ids in named.values() for one in ids)])
    found = (await page.ops.get(ids=list(every)))["memories"] if every else []
    known = {one["id"]: one for one in found}
    return [
        Asked(
            row,
            known[row["id"]]["body"] if row["id"] in known else "",
            [known[one] for one in named[row["id"]] if one in known],
        )
        for row in rows
    ]


def _named(row: answers.FlaggedRow) -> list[str]:
    return [one for one in ids_in(row["question"]) if one != row["id"]]


async def resolve(page: Page) -> Response:
    """The question is answered: the flags go, the words stay."""
    fields = await page.form()
    done = await page.ops.resolve(id=fields.get("id", ""), reason=fields.get("reason", "").strip())
    return await _after(page, f"Answered: {done['title']}")


async def keep(page: Page) -> Response:
    """Of two that cannot both be true one holds; the other is forgotten (and can be restored)."""
    fields = await page.form()
    kept, gone = fields.get("keep", ""), fields.get("forget", "")
    await page.ops.show(id=kept)
    forgotten = await page.ops.forget(id=gone, reason=f"{kept} holds instead")
    await page.ops.resolve(id=kept, reason=f"{gone} was forgotten")
    return await _after(
        page, f"Forgotten: {forgotten['title']} (`oneiro {forgotten['back']}` brings it back)"
    )


async def _after(page: Page, notice: str) -> Response:
    return await flags(page, notice) if page.fragment else page.see("/ui/flags")


# -- health


async def health(page: Page) -> Response:
    """How the vault, its index, the nights and the copies are."""
    found, schedule, runs, flagged, review = await asyncio.gather(
        page.ops.status(),
        page.ops.schedule(),
        page.ops.runs(since=_MONTH, limit=10_000),
        page.ops.flagged(limit=1),
        page.ops.review(),
    )
    return page.html(
        "care/health.html",
        now=found,
        schedule=schedule,
        troubles=list(_troubles(found)),
        tokens=sum(run["tokens"] for run in runs["runs"]),
        spent=sum(run["spent"] for run in runs["runs"]),
        nights=len({run["night"] for run in runs["runs"]}),
        flagged=flagged["total"],
        proposals=review["total"],
        process=os.getpid(),
        version=__version__,
    )


def _troubles(found: answers.Status) -> Iterator[str]:
    """What needs a person, in sentences."""
    whole = (found["degraded"], found["busy"], found["gone"], found["rewritten"], found["language"])
    yield from filter(None, whole)
    yield from found["loosened"]
    yield from (f"{one['path']} cannot be read: {one['reason']}" for one in found["unreadable"])
    yield from (f"{path}: its frontmatter cannot be read" for path in found["broken"])
    yield from (f"{one['path']} is not committed: {one['reason']}" for one in found["held"])
    yield from filter(None, (found["sync"]["problem"], found["dreams"]["judge"]["problem"]))
    yield from filter(None, (found["dreaming"]["problem"],))


async def examined(page: Page) -> Response:
    """What `doctor` finds; it reads every note, so it is asked for by itself."""
    return _findings(page, await page.ops.doctor())


async def mend(page: Page) -> Response:
    """Mend what is safe to mend."""
    found = await page.ops.doctor(fix=True)
    return _findings(page, found) if page.fragment else page.see("/ui/health/doctor")


def _findings(page: Page, found: answers.Diagnosis) -> Response:
    told = [one for one in found["problems"] if not one.get("verbose")]
    told.sort(key=lambda one: (one["fixed"], _LEVELS.index(one["level"])))
    return page.html(
        "care/doctor.html",
        found=told,
        versions=found["versions"],
    )


READS: Final[dict[str, Handler]] = {
    "/ui/flags": flags,
    "/ui/health": health,
    "/ui/health/doctor": examined,
}
WRITES: Final[dict[str, Handler]] = {
    "/ui/flags/resolve": resolve,
    "/ui/flags/keep": keep,
    "/ui/health/mend": mend,
}
