"""Which state of the vault a question is put to: the living one, or what was believed at an earlier
moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter.salvage import BROKEN
from oneiro_vault.core.time.date_ranges import Range
from oneiro_vault.core.time.validity import Held, spans
from oneiro_vault.errors import (
    AmbiguousId,
    EmbedderProblem,
    InvalidInput,
    NotFound,
    OneiroError,
    shown,
)
from oneiro_vault.index.base import Row
from oneiro_vault.index.historic import Earlier
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.operations.history import revisions
from oneiro_vault.operations.history.revisions import Moment, iso
from oneiro_vault.operations.runtime import SOON, House, Progress, Remembered, Use, quiet
from oneiro_vault.recall.current_first import holds
from oneiro_vault.recall.request import LIVE
from oneiro_vault.vault.history.snapshot import Tree


@dataclass
class View:
    """An index, what the ledger knew at that moment, and the moment itself (None: now)."""

    house: House
    index: Answers
    known: Remembered
    behind: int = 0
    moment: Moment | None = None
    held: Mapping[int, Held] = field(default_factory=dict)

    def vector(self, query: str, wait: bool, progress: Progress) -> tuple[Any, str | None]:
        """The question as a vector, and why the answer is less than it could be."""
        return self.house.query_vector(query, wait=wait, progress=progress)

    def row(self, ident: str) -> Row:
        """The one note that an id or a unique prefix means."""
        return self.house.resolve(ident)

    def holding(self, start: float | None, end: float | None) -> tuple[frozenset[int], int]:
        """The notes that held at any time of [start, end), and how many are left out that do not
        say since when they hold."""
        self.held = spans(self.index.claims())
        late = sum(
            not one.stated and one.since is not None and end is not None and one.since >= end
            for one in self.held.values()
        )
        return frozenset(key for key, one in self.held.items() if one.within(start, end)), late

    def of(self, row: Row) -> answers.RowState:
        """What a reader must know of a row besides what it says."""
        found = self.state(row)
        if self.held:
            one = self.held[row.key]
            found["valid"] = {
                "from": _day(one.since),
                "until": _day(one.until),
                "stated": one.stated,
            }
        elif row.status in LIVE and (when := holds(row, self.known.now)):
            found["valid"] = {
                "from": row.valid_from or None,
                "until": row.valid_until or None,
                "stated": True,
                "now": when,
            }
        return found

    def told(self, valid_at: str | None, valid: Range | None, late: int) -> answers.Spoken:
        """Which moments an answer speaks of: `as_of` with commit and date, `valid_at` with how many
        it left out as not known for then."""
        said: answers.Spoken = {}
        if self.moment:
            said["as_of"] = self.moment.data()
        if valid is not None:
            said["valid_at"] = {
                "asked": valid_at,
                "from": _day(valid[0]),
                "until": _day(valid[1]),
                "undated": late,
            }
        return said

    def state(self, row: Row) -> answers.RowState:
        """Its status, has it faded, is its file gone while the brake holds, is only a part of it
        readable."""
        gone = self.moment is None and row.path in self.house.held
        broken = not BROKEN.isdisjoint(row.problems)
        return {
            "status": row.status,
            "faded": self.known.strength(row) < self.known.faded,
            "gone": gone,
            "broken": broken,
        }


def _day(moment: float | None) -> str | None:
    return None if moment is None else iso(moment)


@dataclass
class Past(View):
    """The vault as it was at a moment."""

    index: Earlier

    def vector(self, query: str, wait: bool, progress: Progress) -> tuple[Any, str | None]:
        """Vectors of then are today's of the same texts, if there are any; a few that are missing
        are computed when one may wait."""
        try:
            if not wait and not self.house.index.warm():
                self.house.embedder.wake()
                return None, "embedder warming"
            if wait:
                self.house.await_model(progress)
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
        """See View. Raises NotFound that says when it was learned, or forgotten, if it was not
        there then."""
        wanted = ident.strip().lower()
        if len(wanted) < 4 or not wanted.isalnum():
            raise InvalidInput(
                f"{shown(ident)} is not an id",
                hint="An id is 12 letters and digits; at least 4 of them are needed.",
            )
        rows = self.index.get(wanted)
        if len(rows) > 1:
            which = "; ".join(f"{row.handle} ({row.path})" for row in rows[:8])
            raise AmbiguousId(
                f"{shown(ident)} fits {len(rows)} memories of then: {which}",
                hint="Give more characters.",
            )
        if not rows:
            raise self._absent(wanted)
        return rows[0]

    def _absent(self, wanted: str) -> NotFound:
        assert self.moment is not None
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
                hint=f"Its last change before was on {iso(earlier[0].when)[:10]}.",
            )
        return NotFound(
            f"{shown(wanted)} was not known yet at {asked}",
            hint=f"It was learned on {iso(entries[-1].when)[:10]}.",
        )

    def state(self, row: Row) -> answers.RowState:
        """Also what became of it since: `same`, `revised`, its status today if that is another, or
        `forgotten`."""
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
        """Blob ids of all that is there today."""
        return frozenset(self.house.vault.listing().values())


@contextmanager
def view(house: House, as_of: str | None, progress: Progress = quiet) -> Iterator[View]:
    """The vault now, or as it was at a moment. Raises what `moments.believed` raises, and
    IndexProblem."""
    behind = house.converge()
    if as_of is None:
        yield View(house, house.index, house.remembered(), behind)
        return
    moment = revisions.believed(house, as_of)
    tree = Tree(house.vault.repo, moment.point.commit)
    known = replace(house.remembered(), uses=_uses(house, moment.until), now=moment.until)
    with house.index.earlier.opened(moment.point.tree, tree, tree.blobs, progress) as earlier:
        yield Past(house, earlier, known, 0, moment)


def _uses(house: House, until: float) -> dict[str, Use]:
    """What had been used by then."""
    found: dict[str, Use] = {}
    for event in house.vault.events():
        moment = memories.epoch(str(event.get("t", "")))
        if event.get("e") == "use" and moment is not None and moment < until:
            found.setdefault(str(event.get("id", "")), Use()).add(str(event["t"]))
    return found
