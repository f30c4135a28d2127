"""Which of several equals come in at the end of a list: an index of the same files, made anew, has
other keys and must choose the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, TypeVar

_T = TypeVar("_T")

Places: TypeAlias = Callable[[Collection[int]], Mapping[int, tuple[object, ...]]]
"""key -> what tells it from any other, the same in every index of the same files; asked only when
there are equals to choose from."""


def first(
    ranked: Sequence[_T],
    limit: int,
    score: Callable[[_T], float],
    key: Callable[[_T], int],
    places: Places,
) -> list[_T]:
    """The first `limit` of a list that is best first; of those that equal the last one, the first
    by place."""
    if len(ranked) <= limit or score(ranked[limit - 1]) != score(ranked[limit]):
        return list(ranked[:limit])
    least = score(ranked[limit])
    better = [one for one in ranked[:limit] if score(one) > least]
    equal = [one for one in ranked[len(better) :] if score(one) == least]
    placed = places({key(one) for one in equal})
    return better + sorted(equal, key=lambda one: placed.get(key(one), ()))[: limit - len(better)]


def of_notes(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, tuple[object, ...]]:
    """Note -> (path,)."""
    query = "SELECT key, path FROM notes WHERE key IN (SELECT value FROM json_each(?))"
    return {key: (path,) for key, path in db.execute(query, (json.dumps(list(keys)),))}


def of_passages(db: sqlite3.Connection, keys: Collection[int]) -> dict[int, tuple[object, ...]]:
    """Passage -> (its note's path, where it begins)."""
    query = """SELECT passages.key, path, start FROM passages JOIN notes ON notes.key = note
               WHERE passages.key IN (SELECT value FROM json_each(?))"""
    return {key: (path, start) for key, path, start in db.execute(query, (json.dumps(list(keys)),))}
