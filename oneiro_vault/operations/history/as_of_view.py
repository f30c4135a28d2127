"""What was believed at a moment that somebody names: "3 weeks ago", 2026-03-05, a commit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core import memory as memories
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.core.time.date_ranges import Range
from oneiro_vault.errors import (
    BeforeHistory,
    EmbedderProblem,
    InvalidInput,
    NotFound,
    OneiroError,
    shown,
)
from oneiro_vault.index.base import Row
from oneiro_vault.index.historic import Earlier
from oneiro_vault.operations.indexing import SOON, several
from oneiro_vault.operations.runtime import DOUBT, House, Use, View
from oneiro_vault.vault.history import snapshot
from oneiro_vault.vault.history.snapshot import Point, Tree
from oneiro_vault.vault.vault import Vault


@dataclass(frozen=True)
class Moment:
    """`asked`: in whose words; `until`: up to when (epoch seconds); `point`: the commit that was
    the latest then."""

    asked: str
    until: float
    point: Point

    def data(self) -> answers.Moment:
        """For an answer."""
        title = ": ".join(filter(None, (self.point.op, self.point.title)))
        return {
            "asked": self.asked,
            "until": dates.iso(self.until),
            "commit": self.point.commit,
            "when": dates.iso(self.point.when),
            "title": title,
            "disordered": self.point.disordered,
        }


@dataclass
class Past(View):
    """The vault as it was at a moment."""

    index: Earlier
    moment: Moment = field(kw_only=True)

    @property
    def past(self) -> bool:
        """It is."""
        return True

    def told(self, valid_at: str | None, valid: Range | None, late: int) -> answers.Spoken:
        """Also the moment itself."""
        return {"as_of": self.moment.data(), **super().told(valid_at, valid, late)}

    def vector(self, query: str, wait: bool, progress: Progress) -> tuple[Any, str | None]:
        """Vectors of then are today's of the same texts, if there are any; a few that are missing
        are computed when one may wait."""
        try:
            if not wait and not self.house.index.warm():
                self.house.vectors.embedder.wake()
                return None, "embedder warming"
            if wait:
                self.house.vectors.await_model(progress)
                self.index.embed(SOON)
            vector = self.house.index.query(query)
            missing, every = self.index.without_vector()
        except OneiroError as error:
            return None, f"{error}. {error.hint}" if isinstance(error, EmbedderProblem) else str(
                error
            )
        return (
            vector,
            f"{missing} of {every} passages of that time have no vector any more: they are found "
            f"by words"
            if missing
            else None,
        )

    def row(self, ident: str) -> Row:
        """Raises NotFound that says when it was learned, or forgotten."""
        wanted = ident.strip().lower()
        if len(wanted) < 4 or not wanted.isalnum():
            raise InvalidInput(
                f"{shown(ident)} is not an id",
                hint="An id is 12 letters and digits; at least 4 of them are needed.",
            )
        rows = self.index.get(wanted)
        if len(rows) > 1:
            raise several(ident, rows, "memories of then", "Give more characters.")
        if not rows:
            raise self._absent(wanted)
        return rows[0]

    def _absent(self, wanted: str) -> NotFound:
        entries = self.house.vault.history.names(wanted)
        asked = shown(self.moment.asked)
        if not entries:
            return NotFound(
                f"no memory had the id {shown(wanted)} at {asked}",
                hint=f"`oneiro recall --as-of {asked} QUERY` shows ids.",
            )
        earlier = [entry for entry in entries if entry.when < self.moment.until]
        if earlier:
            how = "already forgotten" if earlier[0].op == "forget" else "not there any more"
            return NotFound(
                f"{shown(wanted)} was {how} at {asked}",
                hint=f"Its last change before was on {dates.iso(earlier[0].when)[:10]}.",
            )
        return NotFound(
            f"{shown(wanted)} was not known yet at {asked}",
            hint=f"It was learned on {dates.iso(entries[-1].when)[:10]}.",
        )

    def state(self, row: Row) -> answers.RowState:
        """Also what became of it since: `same`, `revised`, `forgotten`, or its other status
        today."""
        living = self.house.index.get(row.handle)
        today = living[0] if living else None
        if (
            today is None
        ):  # a note without an id is known by its name alone, and may have another one today
            now = "same" if not row.id and row.blob in self._contents else "forgotten"
        else:
            now = (
                today.status
                if today.status != row.status
                else "same"
                if today.blob == row.blob
                else "revised"
            )
        return {**super().state(row), "now": now}

    @cached_property
    def _contents(self) -> frozenset[str]:
        return frozenset(self.house.vault.listing().values())


@contextmanager
def view(house: House, as_of: str, progress: Progress = quiet) -> Iterator[Past]:
    """The vault as it was at a moment. Raises what `believed` raises, and IndexProblem."""
    house.indexing.converge()
    moment = believed(house.vault, house.clock(), as_of)
    tree = Tree(house.vault.repo, moment.point.commit)
    known = replace(house.uses.remembered(), uses=_uses(house, moment.until), now=moment.until)
    with house.index.earlier.opened(moment.point.tree, tree, tree.blobs, progress) as earlier:
        yield Past(house, earlier, known, moment=moment)


def _uses(house: House, until: float) -> dict[str, Use]:
    found: dict[str, Use] = {}
    for event in house.vault.ledger.events():
        moment = memories.epoch(str(event.get("t", "")))
        if event.get("e") in ("use", DOUBT) and moment is not None and moment < until:
            found.setdefault(str(event.get("id", "")), Use()).heard(event)
    return found


def span(now: float, text: str) -> dates.Range:
    """[from, to) of the moment that a text names, in epoch seconds."""
    _textual(text)
    return dates.parse_moment(text, dates.local(now))


def find(vault: Vault, now: float, text: str) -> Moment:
    """The commit that a name or a date means: the last one that had come by its end on the
    first-parent history. Raises InvalidInput for what is neither, lies in the future, or has no
    end; NotFound for a date before the first commit."""
    _textual(text)
    repo, name = vault.repo, text.strip()
    if (snapshot.looks_like_id(name) or name.startswith(("HEAD", "@"))) and (
        point := snapshot.named(repo, name)
    ):
        return Moment(text, float(point.when), point)
    try:
        until = _until(now, text)
    except InvalidInput:
        with suppress(ValueError):
            if point := snapshot.named(repo, name):
                return Moment(text, float(point.when), point)
        raise
    found = snapshot.at(repo, math.ceil(until) - 1, math.floor(now))
    if found is None:
        raise _before_all(vault, text)
    return Moment(text, until, found)


def believed(vault: Vault, now: float, text: str) -> Moment:
    """`find` among commits of our own history: what waits on a branch nobody believes yet. Raises
    also InvalidInput for a commit that is not in it."""
    moment, repo = find(vault, now, text), vault.repo
    if not repo.contains(moment.point.commit, repo.tip()):
        raise InvalidInput(
            f"{shown(text)} is not in the history of this vault: what it says was never believed "
            f"here",
            hint="`oneiro diff HEAD BRANCH` shows what it would change.",
        )
    return moment


def _textual(text: str) -> None:
    if not text.strip() or "\0" in text or not text.isprintable():
        raise InvalidInput(
            f"{text!a:.60} is not a time that can be understood",
            hint='Write it like 2026-03-05 or "3 weeks ago".',
        )


def _until(now: float, text: str) -> float:
    start, end = span(now, text)
    if end is None:
        raise InvalidInput(
            f"{shown(text)} has no end, so it is not one moment",
            hint="Name a day, such as 2026-03-05.",
        )
    if (start is None and end > now) or (start is not None and start > now):
        raise InvalidInput(
            f"{shown(text)} lies in the future: nobody knows yet what will be believed then",
            hint="Name a day of the past.",
        )
    return min(end, math.floor(now) + 1.0)


def _before_all(vault: Vault, text: str) -> NotFound:
    first = vault.log.first()
    if first is None:
        return NotFound(
            "nothing was ever committed here", hint="`oneiro remember` begins a history."
        )
    began = dates.iso(first.when)[:16].replace("T", " ")
    whole = not vault.repo.shallow
    return BeforeHistory(
        f"nothing was known at {shown(text)}: the history of this vault begins on {began}",
        hint="Name a later day. What is dated by then stands in `oneiro list --until DATE`, and in "
        "the Timeline of the page."
        if whole
        else "This clone holds only the end of it; `git fetch --unshallow` brings the rest.",
    )
