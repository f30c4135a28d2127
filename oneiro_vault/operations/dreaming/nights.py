"""What two machines dreamt in one night, once it has met here: doubles become one, and of memories that replaced each other one stays.

A sync with leases lets one of two runs give way before anything is joined. A plain `git pull` asks nobody, and without leases neither does
a sync: so whoever of us comes first looks at what came in (an owner, a sync, the next dream), and mends it by a rule that gives the same
bytes on every machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from oneiro_vault.core.change import Operation, Write
from oneiro_vault.errors import GitProblem
from oneiro_vault.operations.house import House
from oneiro_vault.vault import history, proposals

if TYPE_CHECKING:
    from oneiro_vault.index.base import Row
    from oneiro_vault.mind.base import Set
    from oneiro_vault.vault.history import Entry

_SEEN: Final = "met"
"""File with the tip up to which this was looked at."""
_FEW: Final = 500
"""Commits that are looked at one by one; with more of them something of another machine's is believed to be there."""
_EVERY: Final = 10_000_000
_LOOP: Final = "nights"
DOUBLE: Final = "two machines made it in one night, of the same memories"
CIRCLE: Final = "two machines replaced these by each other in one night"


def settle(house: House) -> list[str]:
    """Mend what came in since the last look; the commits that did. Raises what `Vault.apply` does: then it is looked at again."""
    place, tip = house.vault.folder / _SEEN, house.vault.head()
    with suppress(OSError, ValueError, GitProblem):
        if place.read_text().strip() == tip or not _foreign(house, place.read_text().strip(), tip):
            _note(house, tip)
            return []
    if not tip or house.wrong or proposals.reviewing_here(house.vault):
        return []
    made = [*_circles(house), *_doubles(house)]
    _note(house, house.vault.head())
    return made


def _note(house: House, tip: str) -> None:
    place = house.vault.folder / _SEEN
    with suppress(OSError):  # the next look is a longer one
        if not place.exists() or place.read_text() != tip:
            temp = place.with_suffix(f".{os.getpid()}")
            temp.write_text(tip)
            temp.replace(place)


def _foreign(house: House, seen: str, tip: str) -> bool:
    """Did anything come in between that was not made here, one after the other?"""
    repo, device = house.vault.repo, house.vault.ledger.device
    for _ in range(_FEW):
        if tip == seen:
            return False
        parents = repo.parents(tip)
        if len(parents) != 1 or history.trailers(repo.message(tip)).get("Device", [device]) != [device]:
            return True
        tip = parents[0]
    return True


def _rows(house: House) -> list[Row]:
    house.converge()
    return [row for row in house.index.list(limit=_EVERY) if row.id]


# -- circles ------------------------------------------------------------------------------------------------------------------------------


def _circles(house: House) -> Iterator[str]:
    from oneiro_vault.sync import circles
    from oneiro_vault.sync.words import Contents

    rows = {row.id: row for row in _rows(house) if row.status == "superseded" and row.superseded_by}
    replaced = {ident: row.superseded_by for ident, row in rows.items()}
    for ident in circles.broken(replaced):
        row, contents = rows[ident], Contents(house.vault.repo)
        data, known = house.load(row)
        before = next(
            (blob for blob in house.vault.past.versions({row.path})[row.path] if not contents.superseded_by(row.path, blob)[0]), ""
        )
        new = contents.data(contents.reinstated(contents.keep(data), before))
        yield from _commit(house, [(row, data, new)], known.title, CIRCLE, [ident, *_round(ident, replaced)])


def _round(start: str, replaced: dict[str, str]) -> Iterator[str]:
    at = replaced[start]
    while at != start:
        yield at
        at = replaced[at]


# -- doubles ------------------------------------------------------------------------------------------------------------------------------


def _doubles(house: House) -> Iterator[str]:
    from oneiro_vault.mind import doubles

    for rows in _alike(_rows(house)):
        stories = _Stories(house, rows)
        for keeper, *others in doubles.groups(stories.notes, stories.apart, stories.touched):
            changes = [stories.changed(edit) for edit in doubles.joined(keeper, others)]
            yield from _commit(house, changes, keeper.memory.title, DOUBLE, [keeper.id, *(other.id for other in others)])


def _alike(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows among which there may be doubles, without their words."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        if row.source == "dream" and row.status == "active" and row.derived_from:
            found.setdefault(row.type if row.type == "orientation" else (row.type, frozenset(row.derived_from)), []).append(row)
    return [group for group in found.values() if len(group) > 1]


class _Stories:
    """Notes that may be doubles, and how each came to be."""

    def __init__(self, house: House, rows: Sequence[Row]) -> None:
        from oneiro_vault.mind.base import Note

        self._house = house
        self._rows = {row.id: row for row in rows}
        self._data: dict[str, bytes] = {}
        self.notes: list[Note] = []
        for row in rows:
            self._data[row.id], memory = house.load(row)
            self.notes.append(Note(memory, row.sha256))
        self._of = cache(self._read)

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
        from oneiro_vault.core import frontmatter

        data = self._data[edit.id]
        return self._rows[edit.id], data, frontmatter.encode(frontmatter.edit(frontmatter.decode(data), dict(edit.changes)))


def _commit(house: House, changes: Sequence[tuple[Row, bytes, bytes]], title: str, why: str, ids: Sequence[str]) -> Iterator[str]:
    """One decision, at most once: what a person took back stays taken back."""
    from oneiro_vault.mind.base import keyed

    decision = keyed(_LOOP, " ".join([why, *sorted(ids)]))
    if any(entry.decision == decision for entry in house.vault.history.decisions(house.vault.head())):
        return
    writes = [Write(row.path, new, sha256(data).hexdigest()) for row, data, new in changes if new != data]
    receipt = house.vault.apply(writes, Operation("merge", title, "dream", tuple(ids), why, decision=decision))
    house.refresh([write.path for write in writes])
    yield receipt.commit
