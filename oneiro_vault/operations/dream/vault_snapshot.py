"""The vault as one run sees it: every note of HEAD that has an id, with what the ledger and the
index know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.time import strength as curve
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Filters
from oneiro_vault.mind.base import Note, Snapshot, Vectors
from oneiro_vault.operations import proposed
from oneiro_vault.operations.runtime import House, Remembered
from oneiro_vault.recall import request as searching
from oneiro_vault.recall.search import Search
from oneiro_vault.settings.definitions import FIXED
from oneiro_vault.sync.remote_lease import withdrawn
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.worktree.files import digest

KNOWLEDGE: Final = ("semantic", "procedure", "principle", "entity")
"""Types that new knowledge is compared with."""
LONGEST: Final = 2000
"""Characters of a text that is searched for."""
REAL: Final = 5
"""Real questions that are kept of one memory, the latest."""


Asked = Callable[[str], bool]
"""Question id -> is it so?"""


def _never(_question: str) -> bool:
    return False


@dataclass(frozen=True)
class Picture:
    """A snapshot; where its notes lay: id -> (path, git's id of the bytes); and what people asked
    when they found them."""

    snapshot: Snapshot
    places: Mapping[str, tuple[str, str]]
    asked: Mapping[str, Sequence[str]]
    head: str
    waiting: frozenset[str] = frozenset()
    """Paths that a proposal would change which waits for a person's review."""


def take(
    house: House,
    answered: Asked = _never,
    waited: Asked = _never,
    failed: Asked = _never,
    *,
    free: bool = True,
) -> Picture:
    """The vault at HEAD. What cannot be read, has no id or shares one is left out: no loop may
    touch it.

    `answered`: has this run's judge answered the question with this id before? `waited`: did it
    leave it open? `failed`: was its answer of no use? `free`: does it cost nobody anything to ask
    again what it left open?
    """
    house.converge()
    head = house.vault.head()
    read = _read(house, head)
    known = house.remembered()
    children = _children(read)
    edited = _edited(house) if head else {}
    notes = {
        ident: _note(memory, data, known, children.get(ident, ()), edited.get(memory.path, 0.0))
        for ident, (memory, data, _) in read.items()
    }
    runs = house.vault.history.runs() if head else []
    gone = withdrawn(house.vault.history) if any(entry.fence for entry in runs) else set()
    decided = {
        entry.decision for entry in runs if entry.decision and not gone & {entry.commit, entry.run}
    }
    verdicts = proposed.verdicts(house)
    waiting = [
        one
        for one in proposed.waiting(house, decided | verdicts.keys())
        if not proposed.stale(house, one)
    ]
    snapshot = Snapshot(
        now=house.clock(),
        notes=notes,
        settings={name: house.settings[name] for name in (*house.settings, *FIXED)},
        candidates=_Candidates(house, known, notes),
        vectors=_Vectors(house, notes),
        known=answered,
        waited=waited,
        failed=failed,
        free=free,
        settled=frozenset(decided | verdicts.keys() | {one.id for one in waiting}),
        forgotten=house.forgotten(),
        declined=frozenset(
            decision for decision, said in verdicts.items() if said == proposed.REJECTED
        ),
        history=tuple(_past(entry) for entry in runs if entry.decision),
    )
    places = {ident: (memory.path, blob) for ident, (memory, _, blob) in read.items()}
    return Picture(
        snapshot,
        places,
        _asked(house),
        head,
        frozenset(path for one in waiting for path in one.files),
    )


def _read(house: House, head: str) -> dict[str, tuple[Memory, bytes, str]]:
    found: dict[str, tuple[Memory, bytes, str]] = {}
    twice: Counter[str] = Counter()
    for path, blob in house.vault.listing(head).items() if head else ():
        data = house.vault.repo.data(blob)
        try:
            memory = memories.parse(path, data)
        except OneiroError:
            continue
        if memory.id:
            twice[memory.id] += 1
            found[memory.id] = memory, data, blob
    return {ident: one for ident, one in found.items() if twice[ident] == 1}


def _edited(house: House) -> dict[str, float]:
    """Path -> when a person last changed that file by hand (epoch seconds)."""
    return {
        path: entry.when
        for entry in reversed(house.vault.history.lately("edit", 0.0))
        for path in entry.paths
    }


def _note(
    memory: Memory, data: bytes, known: Remembered, children: Iterable[str], edited: float
) -> Note:
    use = known.uses.get(memory.id)
    days, last = (len(use.days), use.last) if use else (0, None)
    moments = [
        moment
        for moment in (last or memory.when(), memories.epoch(memory.timestamp))
        if moment is not None
    ]
    last_known = max(moments, default=None)
    left = curve.strength(memory.type, last_known, known.now, days, base=known.base)
    return Note(memory, digest(data), left, days, last, tuple(children), edited)


def _children(read: Mapping[str, tuple[Memory, bytes, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ident, (memory, _, _) in read.items():
        for source in memory.derived_from:
            found.setdefault(source, []).append(ident)
    return found


def _past(entry: Entry) -> dict[str, Any]:
    return {
        "loop": entry.loop, "op": entry.op, "memories": entry.memories, "when": entry.when,
        "reason": entry.reason,
        "run": entry.run, "decision": entry.decision, "title": entry.title, "device": entry.device,
    }  # fmt: skip


def _asked(house: House) -> dict[str, list[str]]:
    """What was asked when a memory was found and then looked at, by memory."""
    found: dict[str, list[str]] = {}
    for event in house.vault.events():
        if event.get("e") == "use" and isinstance(query := event.get("q"), str) and query.strip():
            known = found.setdefault(str(event.get("id", "")), [])
            found[str(event.get("id", ""))] = [*(one for one in known if one != query), query][
                -REAL:
            ]
    return found


class _Candidates:
    """(text, k) -> ids of active knowledge, best first."""

    def __init__(self, house: House, known: Remembered, notes: Mapping[str, Note]) -> None:
        self._house, self._known, self._notes = house, known, notes

    def __call__(self, text: str, k: int) -> list[str]:
        text = " ".join(text.split())[:LONGEST]
        if not text or k < 1:
            return []
        vector, _ = self._house.query_vector(text, wait=True)
        search = Search(self._house.index, self._known, self._house.weights)
        found = search.run(
            searching.Asked(text, k, Filters(type=KNOWLEDGE, status="active"), alike=True), vector
        )
        ids = [one.row.id for one in found]
        return [ident for ident in ids if ident in self._notes and self._notes[ident].active][:k]


class _Vectors:
    """ids -> (those with a vector, the vectors)."""

    def __init__(self, house: House, notes: Mapping[str, Note]) -> None:
        self._house, self._notes = house, notes

    def __call__(self, ids: Sequence[str]) -> tuple[list[str], Vectors]:
        house = self._house
        rows = {row.id: row for row in house.index.list(limit=10_000_000) if row.id in self._notes}
        wanted = [
            ident
            for ident in ids
            if ident in rows and rows[ident].sha256 == self._notes[ident].sha256
        ]
        try:
            if house.index.pending()[0]:
                house.await_model(lambda *_: None)
                house.index.open_vectors()
                house.index.embed()
            found = house.index.vectors([rows[ident].key for ident in wanted])
        except OneiroError:
            return [], np.zeros((0, 1), np.float32)
        have = [ident for ident in wanted if rows[ident].key in found]
        return have, np.stack([found[rows[ident].key] for ident in have]) if have else np.zeros(
            (0, 1), np.float32
        )
