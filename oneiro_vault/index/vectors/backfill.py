"""The work of filling a vector store: which texts wait, the most wanted first, and how fast it
goes."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

from oneiro_vault.index.keyword import chunk_rows, note_rows

BATCH: Final = 64
"""Texts per call of the embedder."""
FRAME: Final = 32 * BATCH
"""Texts that are taken together from those that wait and then sorted by length, so that a batch
needs little padding."""
_NOTES: Final = 200
_RECENT: Final = 20.0
"""Seconds of work over which its pace is measured."""

_WANTED: Final = f"""
WITH linked AS (SELECT n.note, count(*) AS links FROM edges e JOIN names n ON n.name = e.target AND
n.role IN {note_rows.TARGETS} GROUP BY 1),
     placed AS (SELECT key, min(row_number() OVER (ORDER BY "when" IS NULL, "when" DESC, path),
                                row_number() OVER (ORDER BY links IS NULL, links DESC, "when" IS
                                NULL, "when" DESC, path)) AS place
                FROM notes LEFT JOIN linked ON linked.note = key)
SELECT hash, min(CASE kind WHEN 'note' THEN 0 WHEN 'context' THEN 1 ELSE 2 END), min(place)
FROM chunks JOIN placed ON key = note WHERE hash IN (SELECT value FROM json_each(?)) GROUP BY
hash"""
"""(hash, tier, place) of texts: each note's first before any other; within a tier by the note's
place among the newest or among those that most notes link to, whichever is better."""


class Pace:
    """How fast work goes, over its last seconds. May be read from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, int]] = deque()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work goes on."""
        self._steps = deque([(self._clock(), 0)])
        try:
            yield
        finally:
            self._steps = deque()

    def add(self, count: int) -> None:
        """So many more are done."""
        now = self._clock()
        self._steps.append((now, count))
        while len(self._steps) > 2 and self._steps[1][0] < now - _RECENT:
            self._steps.popleft()

    def rate(self) -> float:
        """How many a second; 0 while none is done."""
        steps = list(self._steps)
        done = sum(count for _, count in steps[1:])
        return done / max(self._clock() - steps[0][0], 1e-6) if done else 0.0


class Backlog:
    """Texts that wait for a vector, on disk rather than in memory: the most wanted first, each
    frame longest first; what is added meanwhile goes in front of its tier. `total` counts all that
    were ever added."""

    def __init__(self, db: sqlite3.Connection, missing: Collection[str]) -> None:
        self._temp = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._temp.execute(
            "CREATE TABLE texts (hash TEXT PRIMARY KEY, tier INTEGER, round INTEGER, place "
            "INTEGER, words TEXT)"
        )
        self._temp.execute(
            "CREATE INDEX waiting ON texts (tier, round DESC, place, hash) WHERE words IS NOT NULL"
        )
        self._round = self.total = 0
        self.add(db, missing)

    def __enter__(self) -> Backlog:
        return self

    def __exit__(self, *exc: object) -> None:
        self._temp.close()

    def add(self, db: sqlite3.Connection, missing: Collection[str]) -> None:
        """Take in what is missing now and was not added before."""
        fresh = {*missing} - {name for (name,) in self._temp.execute("SELECT hash FROM texts")}
        if not fresh:
            return
        self._round += 1
        wanted = {
            name: (tier, self._round, place)
            for name, tier, place in db.execute(_WANTED, (json.dumps([*fresh]),))
        }
        self._temp.execute("BEGIN")
        for name, words in _texts(db, wanted.keys()):
            self.total += self._temp.execute(
                "INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?, ?)", (name, *wanted[name], words)
            ).rowcount
        self._temp.execute("COMMIT")

    def __iter__(self) -> Iterator[tuple[list[str], list[str]]]:
        """Batches of (hashes, texts); what was handed out is taken for done."""
        first = (
            "SELECT tier, round FROM texts WHERE words IS NOT NULL ORDER BY tier, round DESC "
            "LIMIT 1"
        )
        query = (
            f"SELECT hash, words FROM texts WHERE words IS NOT NULL AND (tier, round) = ({first}) "
            f"ORDER BY place, hash LIMIT ?"
        )
        while frame := self._temp.execute(query, (FRAME,)).fetchall():
            frame.sort(key=lambda text: (-len(text[1]), text[0]))
            chosen = self._round
            for start in range(0, len(frame), BATCH):
                if self._round != chosen:
                    break
                names, texts = map(list, zip(*frame[start : start + BATCH], strict=True))
                self._temp.execute(
                    "UPDATE texts SET words = NULL WHERE hash IN (SELECT value FROM json_each(?))",
                    (json.dumps(names),),
                )
                yield names, texts


def _texts(db: sqlite3.Connection, missing: Collection[str]) -> Iterator[tuple[str, str]]:
    query = (
        "SELECT DISTINCT note, kind = 'context' FROM chunks WHERE hash IN (SELECT value FROM "
        "json_each(?))"
    )
    found = db.execute(query, (json.dumps(list(missing)),)).fetchall()
    yield from _own_texts(db, [key for key, context in found if not context], missing)
    yield from _context_texts(db, [key for key, context in found if context], missing)


def _own_texts(
    db: sqlite3.Connection, keys: list[int], missing: Collection[str]
) -> Iterator[tuple[str, str]]:
    for start in range(0, len(keys), _NOTES):
        for found in chunk_rows.of(db, keys[start : start + _NOTES]):
            for chunk in found.chunks:
                name = note_rows.text_hash(chunk.text)
                if name in missing:
                    yield name, chunk.text


def _context_texts(
    db: sqlite3.Connection, keys: list[int], missing: Collection[str]
) -> Iterator[tuple[str, str]]:
    query = (
        "SELECT DISTINCT session FROM notes WHERE session != '' AND key IN (SELECT value FROM "
        "json_each(?))"
    )
    for (session,) in db.execute(query, (json.dumps(keys),)).fetchall():
        for words in chunk_rows.contexts(
            chunk_rows.turns(db, session), chunk_rows.CONTEXT_VECTOR_SPAN
        ):
            name = note_rows.text_hash(words) if words else ""
            if name in missing:
                yield name, words
