"""Dreams: what each night changed and why, how to take it back, and what waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from oneiro_vault import answers
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError, StaleMemory
from oneiro_vault.web.page import Handler, Page
from oneiro_vault.web.templating import count

NIGHTS: Final = 400
"""Runs that the list of nights looks at, unless more are asked for."""
DOES: Final[Mapping[str, str]] = {
    "encode": "makes memories of conversations",
    "consolidate": "makes one memory of several that say the same",
    "split": "takes apart memories that say several things",
    "synthesize": "draws a conclusion from several memories",
    "entities": "keeps a profile of people, projects and things",
    "distil": "writes what every conversation begins with",
    "whittle": "shortens what every conversation begins with",
    "dialectic": "asks you where memories disagree",
    "decay": "lets fade what nobody needed",
    "night": "looked at everything",
}
"""What each loop is for, in words for who never heard of it."""


class Night(NamedTuple):
    """The runs of one night, newest first; `did`: what they decided, in words, "" for nothing."""

    runs: list[answers.PastRun]
    did: str

    @property
    def began(self) -> str:
        """ISO time."""
        return self.runs[0]["night"]

    @property
    def name(self) -> str:
        """A run that stands for it."""
        return self.runs[0]["run"]

    @property
    def acting(self) -> list[answers.PastRun]:
        """The runs that decided something, in the order in which they ran."""
        return [run for run in reversed(self.runs) if run["decisions"]]

    @property
    def standing(self) -> int:
        """Decisions that were not taken back."""
        return sum(not one["undone"] for run in self.runs for one in run["decisions"])


def _nights(runs: Sequence[answers.PastRun]) -> list[Night]:
    groups = (list(group) for _, group in groupby(runs, key=lambda run: run["night"]))
    return [Night(group, _did(group)) for group in groups]


def _did(runs: Sequence[answers.PastRun]) -> str:
    done = Counter(one["did"].lower() for run in runs for one in run["decisions"])
    return ", ".join(f"{number} {what}" for what, number in done.most_common())


# -- nights


async def nights(page: Page, notice: str = "") -> Response:
    """The last night that changed something, whole, and the others in a line each."""
    most = page.number("n", NIGHTS, 1, 100_000)
    found = await page.ops.runs(limit=most)
    last = await page.ops.runs(night="last", changes=True, limit=1000)
    waiting = (await page.ops.review())["total"]
    every, shown = _nights(found["runs"]), _nights(last["runs"])
    return _shown(
        page,
        notice,
        night=shown[0] if shown else None,
        newest=every[0] if every else None,
        others=[one for one in every if not shown or one.began != shown[0].began],
        left=found["total"] - len(found["runs"]),
        total=found["total"],
        waiting=waiting,
        alone=False,
    )


async def night(page: Page) -> Response:
    """One night, by one of its runs."""
    return await _one(page, page.named("run"))


async def _one(page: Page, run: str, notice: str = "") -> Response:
    found = await page.ops.runs(night=run, changes=True, limit=1000)
    if not found["runs"]:
        raise NotFound("there is no such night", hint="The nights are listed under Dreams.")
    made = _nights(found["runs"])[0]
    return _shown(
        page, notice, night=made, newest=made, others=[], left=0, total=0, waiting=0, alone=True
    )


def _shown(page: Page, notice: str, **context: Any) -> Response:
    return page.html("dreams/nights.html", notice=notice, does=DOES, **context)


async def take_back(page: Page) -> Response:
    """Undo a decision (`commit`), a run, or all runs of a night; or undo that again."""
    fields = await page.form()
    at = fields.get("at", "")
    if fields.keys() & {"run", "night"}:
        runs = await _meant(page, fields)
        said = [_undone(await page.ops.undo(run=run)) for run in runs]
        notice = " ".join(said) or "Nothing of it is left to take back."
    else:
        notice = _undone(await page.ops.undo(commit=fields.get("commit")))
    if not page.fragment:
        return page.see(f"/ui/dreams/night/{at}" if at else "/ui/dreams")
    return await (_one(page, at, notice) if at else nights(page, notice))


async def _meant(page: Page, fields: Mapping[str, str]) -> list[str]:
    if run := fields.get("run", ""):
        return [run]
    if not (of := fields.get("night", "")):
        return []
    found = (await page.ops.runs(night=of, limit=1000))["runs"]
    return [row["run"] for row in found if any(not one["undone"] for one in row["decisions"])]


def _undone(found: answers.Undone) -> str:
    notes = count(len(found["paths"]), "note is", "notes are")
    left = " ".join(f"{one['path']} stays: {one['why']}." for one in found["left"])
    return f"Taken back: {notes} as before. {left}".strip()


# -- proposals


async def proposals(page: Page, notice: str = "") -> Response:
    """What waits for a person, each with its words before and after."""
    found = await page.ops.review()
    kinds = Counter((row["loop"], row["op"]) for row in found["proposals"])
    return page.html(
        "dreams/review.html",
        notice=notice,
        rows=[_card(row, kinds[row["loop"], row["op"]]) for row in found["proposals"]],
        total=found["total"],
        does=DOES,
    )


class Card(NamedTuple):
    """A proposal as it is shown; `alike`: how many of its kind wait; `body` is what can be edited,
    of the note at `path` ("" where nothing can), which had the mark `base`; `trouble` stands in
    the way of what the person just tried."""

    row: answers.Proposal
    alike: int
    path: str
    body: str
    base: str
    trouble: OneiroError | None = None


def _card(row: answers.Proposal, alike: int = 1) -> Card:
    text = _text(row)
    return Card(row, alike, row["editable"] or "", text[_head(text) :].strip("\n"), _mark(text))


def _text(row: answers.Proposal) -> str:
    found = (one["text"] for one in row["changes"] if one["path"] == row["editable"])
    return next(found, "")


def _head(text: str) -> int:
    block = yaml_block.find_block(text)
    return block.end if block else 0


def _mark(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def accept(page: Page) -> Response:
    """Let a proposal happen, as it is or with other words; or all of its kind."""
    fields = await page.form()
    row = await _waiting(page, fields.get("id", ""))
    if "alike" in fields:
        return await _accept_alike(page, row)
    try:
        edited = _edited(row, fields) if "body" in fields else None
        found = await page.ops.review_accept(ids=[row["id"]], edited=edited)
        if found["stale"]:
            raise StaleMemory(found["stale"][0]["why"], kept="The note stays as it is.")
    except OneiroError as error:
        return _refused(page, row, fields, error)
    commit = found["accepted"][0]["commit"] if found["accepted"] else None
    return _settled(page, row, "accepted", commit=commit)


async def _accept_alike(page: Page, row: answers.Proposal) -> Response:
    rows = (await page.ops.review())["proposals"]
    alike = [one["id"] for one in rows if (one["loop"], one["op"]) == (row["loop"], row["op"])]
    found = await page.ops.review_accept(ids=alike)
    notice = f"{count(len(found['accepted']), 'proposal is', 'proposals are')} in force."
    if found["stale"]:
        notice += f" {count(len(found['stale']), 'no longer fits', 'no longer fit')}."
    return await proposals(page, notice) if page.fragment else page.see("/ui/dreams/review")


async def reject(page: Page) -> Response:
    """A proposal shall not happen, now or again."""
    fields = await page.form()
    row = await _waiting(page, fields.get("id", ""))
    reason = fields.get("reason", "").strip()
    await page.ops.review_reject(ids=[row["id"]], reason=reason)
    return _settled(page, row, "rejected", reason=reason)


async def _waiting(page: Page, ident: str) -> answers.Proposal:
    found = (await page.ops.review())["proposals"]
    row = next((row for row in found if row["id"] == ident), None)
    if row is None:
        hint = "Somebody has decided about it, or it was withdrawn; look at the list anew."
        raise NotFound("this proposal does not wait any more", kept="Nothing was done.", hint=hint)
    return row


def _edited(row: answers.Proposal, fields: Mapping[str, str]) -> dict[str, str]:
    text = _text(row)
    if fields.get("base") != _mark(text):
        hint = "Yours stand in the field; what is proposed now stands above it."
        raise StaleMemory(
            "the proposal changed while you wrote", kept="Nothing is lost.", hint=hint
        )
    if not fields["body"].strip():
        raise InvalidInput("there are no words left", hint="Reject it, if nothing of it holds.")
    return {row["editable"] or "": f"{text[: _head(text)]}{fields['body'].strip()}\n"}


def _refused(
    page: Page, row: answers.Proposal, fields: Mapping[str, str], error: OneiroError
) -> Response:
    card = _card(row)
    card = card._replace(body=fields.get("body", card.body), trouble=error)
    if page.fragment:
        return page.html("dreams/card.html", card=card, does=DOES)
    status = error.http_status
    return page.html("dreams/review.html", status, rows=[card], total=1, does=DOES)


def _settled(
    page: Page,
    row: answers.Proposal,
    what: str,
    commit: str | None = None,
    reason: str = "",
) -> Response:
    if not page.fragment:
        return page.see("/ui/dreams/review")
    return page.html("dreams/settled.html", row=row, what=what, commit=commit, reason=reason)


async def dream(page: Page) -> Response:
    """Run the loops now."""
    found = await page.ops.dream()
    said = [run["title"] for run in found["runs"] if run["decisions"]]
    notice = "; ".join(said) or found["note"] or "Nothing had to be changed."
    return await nights(page, notice) if page.fragment else page.see("/ui/dreams")


READS: Final[dict[str, Handler]] = {
    "/ui/dreams": nights,
    "/ui/dreams/night/{run}": night,
    "/ui/dreams/review": proposals,
}
WRITES: Final[dict[str, Handler]] = {
    "/ui/dreams/undo": take_back,
    "/ui/dreams/accept": accept,
    "/ui/dreams/reject": reject,
    "/ui/dreams/dream": dream,
}
