"""What two machines dreamt at once, when it has met here: doubles become one, and of memories that
replaced each other one stays.

A sync with leases lets one of two runs give way before anything is joined. A plain `git pull` asks
nobody, and without leases neither does a sync: so whoever of us comes first looks at what came in
(an owner, a sync, the next dream), and mends it by a rule that gives the same bytes on every
machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from oneiro_vault.errors import DiskProblem, GitProblem, LockTimeout, OneiroError, RepositoryBusy
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.history import commit_log, proposal_branches
from oneiro_vault.vault.write import disk

if TYPE_CHECKING:
    from oneiro_vault.index.base import Row
    from oneiro_vault.mind.base import Note, Set
    from oneiro_vault.vault.history.commit_log import Entry

AGAIN: Final = 600.0
"""Seconds after which what could not be mended is tried again, when nothing comes in before."""
_SEEN: Final = "met"
"""File with the tip up to which this was looked at and, when not all of it could be mended, from
when on to try again (epoch seconds)."""
_FEW: Final = 500
"""Commits that are looked at one by one; with more of them something of another machine's is
believed to be there."""
_EVERY: Final = 10_000_000
_AT_ONCE: Final = 1000
"""Notes whose words are in memory at the same time."""
_LOOP: Final = "nights"
_WHY: Final = {
    "double": "two machines made it of the same memories",
    "circle": "two machines replaced these by each other",
}
_HOPELESS: Final = (DiskProblem, LockTimeout, RepositoryBusy)
"""What stands in the way of one stands in the way of all."""


def settle(house: House) -> list[str]:
    """Mend what came in since the last look; the commits that did.

    What cannot be mended holds up nothing else; the first error is raised at the end, and all of it
    is tried again when something comes in, or after `AGAIN` seconds. In the middle of a merge, a
    rebase or a review nothing is looked at, and nothing is noted.
    """
    tip = house.vault.head()  # what comes in during the look was not looked at
    seen, retry = _noted(house)
    if not retry or 0 < retry - house.clock() <= AGAIN:
        with suppress(GitProblem):
            if not _foreign(house, seen, tip):
                _note(house, tip, retry)
                return []
    if not tip or house.wrong or not _ready(house) or house.converge():
        return []  # or some of it is not indexed yet
    look = _Look(house)
    try:
        look.circles()
        look.doubles()
    except OneiroError as error:
        look.failed = error
    _note(house, tip, house.clock() + AGAIN if look.failed else 0.0)
    if look.failed:
        raise look.failed
    return look.made


def _ready(house: House) -> bool:
    with suppress(RepositoryBusy):
        house.vault.repo.check_ready()
        return not proposal_branches.reviewing_here(house.vault)
    return False


def _noted(house: House) -> tuple[str, float]:
    """The tip seen last ("" = none), and when to try again what failed (0 = nothing did)."""
    with suppress(OSError, ValueError):
        seen, *retry = (house.vault.folder / _SEEN).read_text().split()
        return seen, float(retry[0]) if retry else 0.0
    return "", 0.0


def _note(house: House, tip: str, retry: float) -> None:
    place, text = house.vault.folder / _SEEN, f"{tip} {retry}" if retry else tip
    with suppress(DiskProblem, OSError):  # the next look is a longer one
        if not place.exists() or place.read_text() != text:
            disk.note("Noting what was looked at", place, text)


def _foreign(house: House, seen: str, tip: str) -> bool:
    """Did anything come in between that was not made here, one after the other? Raises
    GitProblem."""
    repo, device = house.vault.repo, house.vault.ledger.device
    if not seen:
        return bool(tip) and len(_devices(house, tip)) > 1
    for _ in range(_FEW):
        if tip == seen:
            return False
        parents = repo.parents(tip)
        if len(parents) != 1 or commit_log.trailers(repo.message(tip)).get("Device", [device]) != [
            device
        ]:
            return True
        tip = parents[0]
    return True


def _devices(house: House, tip: str) -> set[str]:
    """Every machine that ever made a commit: where it was only one, nothing can have been made
    twice."""
    layout = "--format=%(trailers:key=Oneiro-Device,valueonly)"
    return {
        name
        for line in house.vault.repo.commands.text("log", layout, tip).splitlines()
        if (name := line.strip())
    }


class _Look:
    """One look at everything; `made`: the commits of it; `failed`: the first thing that could not
    be done."""

    def __init__(self, house: House) -> None:
        self._house = house
        self.made: list[str] = []
        self.failed: OneiroError | None = None

    @contextmanager
    def _trying(self) -> Iterator[None]:
        try:
            yield
        except _HOPELESS:
            raise
        except OneiroError as error:
            self.failed = self.failed or error

    def _rows(self) -> list[Row]:
        return [row for row in self._house.index.list(limit=_EVERY) if row.id]

    # -- circles
    # ----------------------------------------------------------------------------------------------

    def circles(self) -> None:
        """Memories that replaced each other: one of them is in force again. Raises what would stop
        all of it."""
        from oneiro_vault.sync import cycles

        rows = {
            row.id: row for row in self._rows() if row.status == "superseded" and row.superseded_by
        }
        replaced = {ident: row.superseded_by for ident, row in rows.items()}
        for ident in cycles.broken(replaced):
            with self._trying():
                self._reinstate(rows[ident], [ident, *_round(ident, replaced)])

    def _reinstate(self, row: Row, ids: Sequence[str]) -> None:
        from oneiro_vault.sync.blobs import Contents

        contents, vault = Contents(self._house.vault.repo), self._house.vault
        data, known = self._house.load(row)
        versions = vault.past.versions({row.path}).get(row.path, [])
        before = next(
            (blob for blob in versions if not contents.superseded_by(row.path, blob)[0]), ""
        )
        new = contents.data(contents.reinstated(contents.keep(data), before))
        self._commit([(row, data, new)], known.title, "circle", ids)

    # -- doubles
    # ----------------------------------------------------------------------------------------------

    def doubles(self) -> None:
        """What was made twice: one of each stays. Raises what would stop all of it."""
        from oneiro_vault.mind.grounding import night_duplicates

        stories = _Stories(self._house)
        for row in _alike(self._house, self._rows()):
            with self._trying():
                stories.add(row)
        for keeper, *others in night_duplicates.groups(
            stories.notes, stories.apart, stories.touched
        ):
            with self._trying():
                changes = [
                    stories.changed(edit) for edit in night_duplicates.joined(keeper, others)
                ]
                self._commit(
                    changes,
                    keeper.memory.title,
                    "double",
                    [keeper.id, *(other.id for other in others)],
                )

    def _commit(
        self, changes: Sequence[tuple[Row, bytes, bytes]], title: str, what: str, ids: Sequence[str]
    ) -> None:
        """One decision, at most once: what a person took back stays taken back."""
        from oneiro_vault.mind.base import keyed

        decision = keyed(_LOOP, " ".join([what, *sorted(ids)]))
        if decision in self._decided:
            return
        writes = [
            Write(row.path, new, sha256(data).hexdigest())
            for row, data, new in changes
            if new != data
        ]
        receipt = self._house.vault.apply(
            writes, Operation("merge", title, "dream", tuple(ids), _WHY[what], decision=decision)
        )
        self.made.append(receipt.commit)
        self._house.refresh([write.path for write in writes])

    @cached_property
    def _decided(self) -> frozenset[str]:
        vault = self._house.vault
        return frozenset(entry.decision for entry in vault.history.decisions(vault.head()))


def _round(start: str, replaced: dict[str, str]) -> Iterator[str]:
    at = replaced[start]
    while at != start:
        yield at
        at = replaced[at]


def _alike(house: House, rows: Iterable[Row]) -> list[Row]:
    """Rows among which there may be doubles. Words are looked at only where notes share an origin,
    and not all of them at once."""
    from oneiro_vault.mind.grounding import night_duplicates

    made = [
        row for row in rows if row.source == "dream" and row.status == "active" and row.derived_from
    ]
    near = list(
        {
            row.key: row for group in night_duplicates.sharing(made, lambda _: "") for row in group
        }.values()
    )
    said: dict[int, str] = {}
    for start in range(0, len(near), _AT_ONCE):
        bodies = house.index.bodies([row.key for row in near[start : start + _AT_ONCE]])
        said |= {
            key: sha256(" ".join(body.split()).encode("utf-8", "surrogatepass")).hexdigest()
            for key, body in bodies.items()
        }
    return list(
        {
            row.key: row
            for group in night_duplicates.sharing(near, lambda row: said.get(row.key, ""))
            for row in group
        }.values()
    )


class _Stories:
    """Notes that may be doubles, and how each came to be."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._rows: dict[str, Row] = {}
        self._data: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self._of = cache(self._read)

    def add(self, row: Row) -> None:
        """One more of them. Raises OneiroError when it cannot be read."""
        from oneiro_vault.mind.base import Note

        data, memory = self._house.load(row)
        self._rows[row.id], self._data[row.id] = row, data
        self.notes.append(Note(memory, row.sha256))

    def _read(self, ident: str) -> list[Entry]:
        """Its commits, newest first, without those that only joined two histories."""
        found = self._house.vault.history.of(ident, self._rows[ident].path)
        return [entry for entry in found if len(self._house.vault.repo.parents(entry.commit)) < 2]

    def _maker(self, ident: str) -> str:
        """The machine that made it, "" when nobody knows."""
        return next((entry.device for entry in reversed(self._of(ident)) if entry.device), "")

    def apart(self, one: str, other: str) -> bool:
        """Did two machines make these?"""
        return "" != self._maker(one) != self._maker(other) != ""

    def touched(self, ident: str) -> bool:
        """Did a person change it? What they accepted in a review is still a loop's wording."""
        return any(entry.by_person and not entry.decision for entry in self._of(ident))

    def changed(self, edit: Set) -> tuple[Row, bytes, bytes]:
        """A note with an edit: where it is, its bytes before and after."""
        from oneiro_vault.core.frontmatter import yaml_block

        data = self._data[edit.id]
        return (
            self._rows[edit.id],
            data,
            yaml_block.encode(yaml_block.edit(yaml_block.decode(data), dict(edit.changes))),
        )
