"""The vault as one run sees it: every note of HEAD that has an id, with what the ledger and the
index know of it; and what a question would find after decisions that have not happened yet.

Memories that would be gone are left out of the real search. New and changed ones are put into its
rows where their own words and meaning place them, each row measured by the same yardstick.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np

from oneiro_vault.classify import names
from oneiro_vault.classify.spans import own_words
from oneiro_vault.core import memory as memories
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.text.query import analyse, tokens
from oneiro_vault.errors import EmbedderProblem, OneiroError
from oneiro_vault.index.base import Filters, Row, Vectors
from oneiro_vault.index.keyword import chunk_rows
from oneiro_vault.mind.base import Named, Note, Snapshot
from oneiro_vault.mind.recall_gate import TOP, View
from oneiro_vault.operations import proposals
from oneiro_vault.operations.runtime import House, Remembered
from oneiro_vault.recall.request import Asked, Found
from oneiro_vault.recall.search import Search
from oneiro_vault.settings.definitions import FIXED
from oneiro_vault.sync.remote_lease import withdrawn
from oneiro_vault.vault.history.undo import undecided
from oneiro_vault.vault.worktree.files import digest

KNOWLEDGE: Final = ("semantic", "procedure", "principle", "entity")
"""Types that new knowledge is compared with."""
LONGEST: Final = 2000
"""Characters of a text that is searched for."""
REAL: Final = 5
"""Real questions that are kept of one memory, the latest."""


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
    answered: Callable[[str], bool] = _never,
    waited: Callable[[str], bool] = _never,
    failed: Callable[[str], bool] = _never,
    *,
    free: bool = True,
    connected: bool = False,
) -> Picture:
    """The vault at HEAD, without what cannot be read, has no id or has another note's. Of a
    question's id: `answered` before by this run's judge, `waited`: left open, `failed`: no use;
    `free`: does asking again what is open cost nobody anything; `connected`: does the connected
    model answer?"""
    house.indexing.converge()
    head = house.vault.head()
    read = _read(house, head)
    known = house.uses.remembered()
    children = _children(read)
    edited = _edited(house) if head else {}
    notes = {
        ident: _note(memory, data, known, children.get(ident, ()), edited.get(memory.path, 0.0))
        for ident, (memory, data, _) in read.items()
    }
    runs = house.vault.history.runs() if head else []
    gone = withdrawn(house.vault.history) if any(entry.fence for entry in runs) else set()
    gone |= undecided(house.vault.repo, house.vault.history) if runs else set()
    decided = {
        entry.decision for entry in runs if entry.decision and not gone & {entry.commit, entry.run}
    }
    verdicts = proposals.verdicts(house.vault)
    waiting = [
        one
        for one in proposals.waiting(house.vault, decided | verdicts.keys())
        if not proposals.stale(house.vault, house.index, one)
    ]
    snapshot = Snapshot(
        now=house.clock(),
        notes=notes,
        settings={name: house.settings[name] for name in (*house.settings, *FIXED)},
        candidates=partial(_candidates, house, known, notes),
        vectors=partial(_vectors, house, notes, cache(partial(_rows, house, notes))),
        near=house.index.near,
        named=partial(_named, house),
        known=answered,
        waited=waited,
        failed=failed,
        free=free,
        connected=connected,
        settled=frozenset(decided | verdicts.keys() | {one.id for one in waiting}),
        forgotten=house.uses.forgotten(),
        declined=frozenset(
            decision for decision, said in verdicts.items() if said == proposals.REJECTED
        ),
        history=tuple(entry for entry in runs if entry.decision),
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
    found: dict[str, dict[str, tuple[Memory, bytes, str]]] = defaultdict(dict)
    for path, blob in house.vault.listing(head).items() if head else ():
        data = house.vault.repo.data(blob)
        try:
            memory = memories.parse(path, data)
        except OneiroError:
            continue
        if memory.id:
            found[memory.id][path] = memory, data, blob
    return {ident: paths[memories.by_name(ident, paths)[0]] for ident, paths in found.items()}


def _edited(house: House) -> dict[str, float]:
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
    left = known.left(memory.type, last or memory.when(), memory.timestamp, days)
    wrong = use is not None and use.doubted
    return Note(memory, digest(data), left, days, last, tuple(children), edited, wrong)


def _children(read: Mapping[str, tuple[Memory, bytes, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for ident, (memory, _, _) in read.items():
        # a profile quotes its sources and stands for none of them
        for source in memory.derived_from if memory.type != memories.ENTITY else ():
            found.setdefault(source, []).append(ident)
    return found


def _asked(house: House) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for event in house.vault.ledger.events():
        if event.get("e") == "use" and isinstance(query := event.get("q"), str) and query.strip():
            known = found.setdefault(str(event.get("id", "")), [])
            found[str(event.get("id", ""))] = [*(one for one in known if one != query), query][
                -REAL:
            ]
    return found


def _candidates(
    house: House, known: Remembered, notes: Mapping[str, Note], text: str, k: int
) -> list[str]:
    text = " ".join(text.split())[:LONGEST]
    if not text or k < 1:
        return []
    vector, _ = house.vectors.query(text, wait=True, asks=False)
    asked = Asked(text, k, Filters(type=KNOWLEDGE, status="active"), alike=True)
    found = Search(house.index, known, house.weights).run(asked, vector)
    ids = [one.row.id for one in found]
    return [ident for ident in ids if ident in notes and notes[ident].active][:k]


def _rows(house: House, notes: Mapping[str, Note]) -> dict[str, Row]:
    return {row.id: row for row in house.index.list(limit=10_000_000) if row.id in notes}


def _vectors(
    house: House,
    notes: Mapping[str, Note],
    every: Callable[[], Mapping[str, Row]],
    ids: Sequence[str],
) -> tuple[list[str], Vectors]:
    """`every`: the rows of the notes, looked up once a run: some loops ask for each note."""
    rows = every()
    wanted = [one for one in ids if one in rows and rows[one].sha256 == notes[one].sha256]
    try:
        if house.index.pending()[0]:
            house.vectors.await_model(lambda *_: None)
            house.index.open_vectors()
            house.index.embed()
        found = house.index.vectors([rows[ident].key for ident in wanted])
    except OneiroError:
        found = {}
    have = [ident for ident in wanted if rows[ident].key in found]
    empty = np.zeros((0, 1), np.float32)
    return have, np.stack([found[rows[ident].key] for ident in have]) if have else empty


NAMES: Final = "names.json"
"""Beside the index: sha256 of a note -> the names in it. Finding them again takes milliseconds a
sentence."""


def _named(house: House, notes: Sequence[Note]) -> dict[str, list[Named]]:
    place = house.index.folder / NAMES
    found: dict[str, list[Named]] = {}
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(place.read_text("utf-8"))
        told = kept["names"] if kept["trained with"] == names.version() else {}
        found = {sha: [Named(*one) for one in some] for sha, some in told.items()}
    new = [note for note in notes if note.sha256 not in found]
    with suppress(EmbedderProblem):  # without the packaged model, what a note is said to be about
        tagged = names.find([own_words(note.memory) for note in new])
        for note, some in zip(new, tagged, strict=True):
            found[note.sha256] = [
                Named(one.text, one.kind, round(one.likely, 2), round(one.sure, 2)) for one in some
            ]
    wanted = {note.sha256 for note in notes}
    found = {sha: some for sha, some in found.items() if sha in wanted}
    if new:
        with suppress(OSError):  # a disk that is full: they are found again
            place.write_text(json.dumps({"trained with": names.version(), "names": found}), "utf-8")
    return {note.id: found.get(note.sha256, []) for note in notes}


class Finder:
    """Answers the recall gate's probes for one run. Without a model: by words alone."""

    def __init__(self, house: House) -> None:
        self._house, self._known = house, house.uses.remembered()
        self._questions: dict[str, Vectors | None] = {}
        self._texts: dict[tuple[str, str], Vectors | None] = {}

    def __call__(self, query: str, view: View) -> list[str]:
        """Ids of the first rows, best first."""
        if query not in self._questions:
            self._questions[query] = self._house.vectors.query(query, wait=True)[0]
        vector = self._questions[query]
        hidden = view.gone | {ident for ident in view.changed if not ident.startswith("new:")}
        search = Search(self._house.index, self._known, self._house.weights)
        rows = search.run(Asked(query, TOP, without=hidden), vector)
        return (
            self._placed(query, vector, rows, view)[:TOP]
            if view.changed
            else [one.row.handle for one in rows]
        )

    def _placed(
        self, query: str, vector: Vectors | None, rows: list[Found], view: View
    ) -> list[str]:
        words = set(analyse(query).words)
        found = [one.row for one in rows]
        keys = [row.key for row in found]
        near = self._house.index.cosines(vector, keys) if vector is not None and keys else {}
        bodies = self._house.index.bodies(keys)
        order = [
            (
                row.handle,
                _score(
                    words, f"{row.title} {bodies.get(row.key, '')}", near.get(row.key, (0.0,))[0]
                ),
            )
            for row in found
        ]
        for ident, (title, body) in view.changed.items():
            mine = _score(words, f"{title} {body}", self._cosine(vector, title, body))
            if mine <= 0:
                continue
            place = next(
                (position for position, (_, other) in enumerate(order) if other < mine), len(order)
            )
            order.insert(place, (ident, mine))
        return [ident for ident, _ in order]

    def _cosine(self, vector: Vectors | None, title: str, body: str) -> float:
        if vector is None:
            return 0.0
        if (title, body) not in self._texts:
            self._texts[title, body] = self._encoded(title, body)
        held = self._texts[title, body]
        return (
            0.0
            if held is None or held.shape[1] != vector.shape[0]
            else float(np.max(held @ vector))
        )

    def _encoded(self, title: str, body: str) -> Vectors | None:
        found = parser.parse(body)
        pieces = chunk_rows.chunk(body, title=title, sections=found.sections, items=found.items)
        try:
            return (
                self._house.vectors.embedder.encode([piece.text for piece in pieces[:16]])
                if pieces
                else None
            )
        except OneiroError:
            return None


def _score(words: set[str], text: str, cosine: float) -> float:
    have = set(tokens(text[:20_000])) if words else set()
    return 0.5 * max(0.0, cosine) + 0.5 * (len(words & have) / len(words) if words else 0.0)
