"""One memory: what it says, why it is believed, since when, how strongly, and what it said on any
day before."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from starlette.responses import Response

from oneiro_vault import answers
from oneiro_vault.core.markdown.word_diff import changes
from oneiro_vault.errors import NotFound, OneiroError
from oneiro_vault.web.notes import body_html
from oneiro_vault.web.page import Handler, Page
from oneiro_vault.web.views import wording

VERSIONS: Final = 40
_DONE: Final[Mapping[str, str]] = {
    "edited": "Saved. The words from before stay in the history below.",
    "corrected": "Noted. This is what holds now; what it replaced says so.",
    "proposed": "It changed at the same moment: yours waits here as a proposal, neither is lost.",
    "restored": "It is back, word for word.",
    "undone": "Taken back. The history keeps both.",
    "useful": "Noted: it helped. It fades later now.",
    "wrong": "Noted: it is wrong. It is given to no model unasked, and stands behind all others.",
    "ratified": "Ratified: it is yours now. No loop and no model changes it.",
    "unratified": "It is no longer ratified.",
    "same": "Nothing was different, so nothing was saved.",
}
"""What a page says after something was done."""
_META: Final[Mapping[str, Any]] = {
    "title": "", "created": "", "flags": (), "about": (), "tags": (), "project": "",
    "valid_from": "", "valid_until": "", "confidence": None, "core": False,
}  # fmt: skip
"""What a note may leave out."""
SANDBOX: Final = "default-src 'none'; sandbox"


async def memory(page: Page) -> Response:
    """A memory with its grounds, its strength and where it was used; its history follows."""
    ident = page.named("id")
    if page.as_of:
        return await _then(page, ident, await _moment(page, ident))
    try:
        shown = await page.ops.show(id=ident, passive=True)
    except NotFound as error:
        return await _gone(page, ident, error)
    handle = shown["id"]
    below, above, strength, usage, grounds = await asyncio.gather(
        page.ops.levels(id=handle),
        page.ops.levels(id=handle, up=True),
        page.ops.strength(id=handle),
        page.ops.usage(id=handle),
        page.ops.grounds(ids=[handle]),
    )
    return page.html(
        "memory/memory.html",
        memory=shown,
        meta={**_META, **shown["meta"]},
        body=await asyncio.to_thread(_body, _without(shown), handle, shown["images"]),
        below=below["levels"],
        above=[one for one in above["levels"] if one["depth"] == 1],
        further=sum(one["depth"] > 1 for one in above["levels"]),
        strength=strength,
        curve=curve(strength, [one["when"][:10] for one in usage["uses"]]),
        usage=usage,
        lines=_lines(grounds["results"][0]),
        links=_links(shown, {one["id"] for one in (*below["levels"], *above["levels"])}),
        heir=_heir(shown),
        done=_DONE.get(page.asked("done"), ""),
        commit=page.asked("commit"),
    )


def _body(text: str, ident: str, pictures: Sequence[answers.Picture] = ()) -> Any:
    """A megabyte of links takes seconds: on a thread, or nobody else is answered meanwhile."""
    there = [one["sha256"] for one in pictures if one["present"]]
    return body_html(text, ident, there)


def _without(shown: answers.Shown) -> str:
    """What it says without a heading that is its title: that stands above."""
    first, _, rest = shown["body"].lstrip().partition("\n")
    same = first.startswith("#") and first.strip("# \t\r") == shown["meta"].get("title")
    return rest if same else shown["body"]


def _lines(found: answers.Grounded) -> list[answers.Line]:
    """Line by line only where that says more than the list of sources does."""
    lines = [one for one in found["lines"] if one["grounds"]]
    return lines if len(found["sources"]) > 1 and lines else []


def _heir(shown: answers.Shown) -> answers.Linked | None:
    return next((one for one in shown["links"] if one["relation"] == "superseded_by"), None)


_LINEAGE: Final = frozenset({"derived_from", "superseded_by", "supersedes"})


def _links(shown: answers.Shown, told: Collection[str]) -> dict[str, list[answers.Linked]]:
    """What it speaks of and what speaks of it, without its lineage, which is `told` already."""
    return {
        name: [one for one in found if one["relation"] not in _LINEAGE and one["id"] not in told]
        for name, found in (("out", shown["links"]), ("in", shown["backlinks"]))
    }


# -- the past


async def _wordings(page: Page, ident: str, limit: int) -> answers.Versions:
    """Every wording. Raises NotFound where a memory was forgotten and whoever asks is not the
    person, as a model that may read is told nothing of it."""
    found = await page.ops.versions(id=ident, limit=limit)
    if page.site.reads_only and found["versions"] and not found["versions"][0]["there"]:
        raise NotFound(f"there is no memory {ident}")
    return found


async def _gone(page: Page, ident: str, error: NotFound) -> Response:
    """A forgotten memory: what it said last, and the way back."""
    try:
        found = await _wordings(page, ident, VERSIONS)
    except OneiroError:
        raise error from None
    last = next((one for one in found["versions"] if one["there"]), None)
    if last is None or found["path"]:
        raise error
    return page.html(
        "memory/gone.html",
        found=found,
        last=last,
        gone=found["versions"][0],
        body=await asyncio.to_thread(_body, last["body"], found["id"]),
        done=_DONE.get(page.asked("done"), ""),
    )


async def _moment(page: Page, ident: str) -> str:
    """The day that is asked for, or the moment of the commit: what came by then was believed."""
    with suppress(ValueError):
        return date.fromisoformat(page.at[:10]).isoformat()
    shown = await page.ops.show(id=ident, as_of=page.at, passive=True)
    return shown["as_of"]["when"][:19]


def _by(versions: Sequence[answers.Version], moment: str) -> list[answers.Version]:
    """Those that had come by a day or a moment."""
    return [one for one in versions if one["when"] and one["when"][: len(moment)] <= moment]


async def _then(page: Page, ident: str, moment: str) -> Response:
    """As it was; where it was not yet there, what was believed instead."""
    found = await _wordings(page, ident, 200)
    come = _by(found["versions"], moment)
    then = come[0] if come else None
    there = bool(then and then["there"])
    others = [one for one in found["chain"] if one["id"] != found["id"] and _held(one, moment[:10])]
    return page.html(
        "memory/then.html",
        found=found,
        then=then if there else None,
        forgotten=then if not there else None,
        first=found["versions"][-1] if found["versions"] else None,
        now=found["versions"][0] if found["versions"] else None,
        other=None if there or not others else others[-1],
        body=await asyncio.to_thread(_body, then["body"], found["id"]) if then and there else "",
        changes=await asyncio.to_thread(_since, found, then),
    )


def _held(one: answers.Held, day: str) -> bool:
    known = max((one["since"] or "")[:10], (one["learned"] or "")[:10])
    return known <= day and (not one["until"] or day < one["until"][:10])


def _since(found: answers.Versions, then: answers.Version | None) -> list[tuple[str, str]]:
    now = found["versions"][0] if found["versions"] else None
    if not then or not now or not (then["there"] and now["there"]):
        return []
    return changes(then["body"].strip(), now["body"].strip())


async def history(page: Page) -> Response:
    """Every wording, each with what differs from the one before; with `from` and `to` any two of
    them."""
    found = await _wordings(page, page.named("id"), page.number("n", VERSIONS, 1, 200))
    if page.as_of:
        moment = await _moment(page, page.named("id"))
        found["versions"] = _by(found["versions"], moment)
    told = await asyncio.to_thread(_steps, found["versions"])
    return page.html(
        "memory/history.html",
        found=found,
        versions=told,
        count=len(told),
        compared=await asyncio.to_thread(_compared, page, found["versions"]),
    )


def _steps(versions: Sequence[answers.Version]) -> list[Mapping[str, Any]]:
    pairs = zip(versions, [*versions[1:], None], strict=True)
    return [{**one, "changes": _told(one, before)} for one, before in pairs]


def _told(one: answers.Version, before: answers.Version | None) -> list[tuple[str, str]]:
    if before is None or not one["words"]:
        return []
    return wording.in_brief(changes(before["body"].strip(), one["body"].strip()))


def _compared(page: Page, versions: Sequence[answers.Version]) -> Mapping[str, Any] | None:
    """Two versions by the start of their commits ("now": what is on disk alone)."""
    by_name = {one["commit"][:10] or "now": one for one in reversed(versions)}
    first, last = by_name.get(page.asked("from")), by_name.get(page.asked("to"))
    if not first or not last:
        return None
    if list(by_name.values()).index(first) > list(by_name.values()).index(last):
        first, last = last, first
    return {
        "from": first,
        "to": last,
        "changes": changes(first["body"].strip(), last["body"].strip()),
    }


# -- pictures


async def picture(page: Page) -> Response:
    """A picture that a memory shows, by what its bytes are: never SVG, never HTML."""
    size = "full" if page.asked("size") == "full" else "recall"
    found = await page.ops.image(id=page.named("id"), sha256=page.named("sha"), size=size)
    headers = {"Content-Security-Policy": SANDBOX, "Cache-Control": "private, max-age=3600"}
    return Response(base64.b64decode(found["data"]), media_type=found["mime"], headers=headers)


def address(ident: str, done: str = "", commit: str | None = None) -> str:
    """Of a memory's page, where it says what was `done` and offers to take it back."""
    query = f"?done={done}" + (f"&commit={commit}" if commit else "") if done else ""
    return f"/ui/memory/{quote(ident, safe='')}{query}"


READS: Final[dict[str, Handler]] = {
    "/ui/memory/{id}": memory,
    "/ui/memory/{id}/history": history,
    "/ui/picture/{id}/{sha}": picture,
}


WIDTH: Final = 280
HEIGHT: Final = 96
_TOP: Final = 8
_FLOOR: Final = HEIGHT - 8


class Curve(NamedTuple):
    """`past` and `ahead` as the points of two lines; `floor`: where a memory counts as faded;
    `now`: where today is; `uses`: (x, y, day) of each use."""

    past: str
    ahead: str
    floor: float
    now: float
    level: float
    uses: list[tuple[float, float, str]]
    first: str
    last: str


def curve(found: Mapping[str, Any], days: Sequence[str] = ()) -> Curve:
    """Of an answer of `strength`, and the days (ISO) on which it was used."""
    points = found["points"]
    first, last = (_seconds(points[at]["when"]) for at in (0, -1))
    span = max(last - first, 1.0)

    def x(moment: float) -> float:
        return round(WIDTH * min(max(moment - first, 0.0), span) / span, 1)

    placed = [(x(_seconds(one["when"])), _y(one["strength"]), one["ahead"]) for one in points]
    past = [(at, y) for at, y, ahead in placed if not ahead]
    coming = [*past[-1:], *((at, y) for at, y, ahead in placed if ahead)]
    dated = [(noon, day) for day in days if (noon := _noon(day)) is not None]
    marks = [(x(noon), day) for noon, day in dated if first <= noon <= last]
    return Curve(
        _line(past), _line(coming), _y(found["threshold"]), past[-1][0] if past else 0.0,
        _y(found["strength"]), [(at, _near(placed, at), day) for at, day in marks],
        str(points[0]["when"])[:10], str(points[-1]["when"])[:10],
    )  # fmt: skip


def _near(placed: Sequence[tuple[float, float, bool]], at: float) -> float:
    return min(placed, key=lambda one: abs(one[0] - at))[1]


def _line(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{at:g},{y:g}" for at, y in points)


def _y(strength: float) -> float:
    return round(_FLOOR - (_FLOOR - _TOP) * min(max(strength, 0.0), 1.0), 1)


def _noon(day: str) -> float | None:
    """None for what a pulled ledger says that is no day."""
    try:
        return _seconds(f"{day}T12:00:00+00:00")
    except ValueError:
        return None


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
