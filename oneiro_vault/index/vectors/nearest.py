"""From chunks that are near to notes that are near."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from oneiro_vault.index.base import Hit
from oneiro_vault.index.keyword import tie_breaks


def pairs(db: sqlite3.Connection, keys: Collection[int]) -> list[tuple[str, int, str]]:
    """(text hash, note, kind) of every chunk of these notes."""
    query = "SELECT hash, note, kind FROM chunks WHERE note IN (SELECT value FROM json_each(?))"
    return db.execute(query, (json.dumps(list(keys)),)).fetchall()


def places(db: sqlite3.Connection, keys: Collection[int]) -> list[tuple[str, int, int, int]]:
    """(text hash, note, start, end) of every piece of those of these notes that are cut into
    pieces."""
    query = """SELECT hash, note, start, "end" FROM chunks
               WHERE note IN (SELECT value FROM json_each(?)) AND kind = 'window' ORDER BY note,
               start, "end" """
    return db.execute(query, (json.dumps(list(keys)),)).fetchall()


def of_hashes(
    db: sqlite3.Connection, near: Mapping[str, float], allowed: Collection[int] | None
) -> list[Hit]:
    """The notes that hold these texts; a text no note holds any more is nobody's."""
    query = "SELECT hash, note, kind FROM chunks WHERE hash IN (SELECT value FROM json_each(?))"
    found = db.execute(query, (json.dumps(list(near)),))
    return best((pair for pair in found if allowed is None or pair[1] in allowed), near)


def best(found: Iterable[tuple[str, int, str]], cosines: Mapping[str, float]) -> list[Hit]:
    """The nearest chunk per note and kind, nearest first."""
    kept = by_kind(found, cosines)
    hits = [
        Hit(key, cosine, name, kind)
        for kind, of_kind in kept.items()
        for key, (cosine, name) in of_kind.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.cosine, hit.key, hit.kind))


def by_kind(
    found: Iterable[tuple[str, int, str]], cosines: Mapping[str, float]
) -> dict[str, dict[int, tuple[float, str]]]:
    """`own` and `context` -> note -> (cosine, text hash) of its nearest chunk of that kind."""
    kept: dict[str, dict[int, tuple[float, str]]] = {"own": {}, "context": {}}
    for name, key, kind in found:
        cosine = cosines.get(name)
        if cosine is None:
            continue
        of_kind = kept["context" if kind == "context" else "own"]
        held = of_kind.get(key)
        if held is None or cosine > held[0] or (cosine == held[0] and name < held[1]):
            of_kind[key] = cosine, name
    return kept


def first(db: sqlite3.Connection, hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The first `limit` of each kind."""
    found: list[Hit] = []
    for kind in ("own", "context"):
        these = [hit for hit in hits if hit.kind == kind]
        found += tie_breaks.first(
            these,
            limit,
            lambda hit: hit.cosine,
            lambda hit: hit.key,
            lambda keys: tie_breaks.of_notes(db, keys),
        )
    return sorted(found, key=lambda hit: (-hit.cosine, hit.key, hit.kind))
