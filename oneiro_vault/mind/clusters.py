"""Groups of memories that may be one: nearest pairs first, every member near every other, at most eight.

Union-find over pairs alone chains: a is like b, b like c, and at 0.85 a transitive blob of 26 unlike notes came out of the seed's store.
Here two groups join only if all their members are near each other, so a chain falls into its tight parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
BLOCK: Final = 1024
"""Rows compared at once: a block of 10,000 columns is 40 MB."""
MOST_PAIRS: Final = 2_000_000
"""Pairs that are kept; the nearest ones when there are more."""


def pairs(vectors: Vectors, threshold: float, block: int = BLOCK) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """All pairs (i < j) with cosine >= `threshold`, nearest first: (n x 2 positions, n cosines). Rows of `vectors` have length 1."""
    found: list[npt.NDArray[np.int64]] = []
    near: list[npt.NDArray[np.float32]] = []
    kept = 0
    for start in range(0, len(vectors), block):
        scores = vectors[start : start + block] @ vectors[start:].T  # the triangle above the diagonal is enough
        rows, columns = np.nonzero(scores >= threshold)
        above = columns > rows
        rows, columns = rows[above], columns[above]
        found.append(np.stack((rows + start, columns + start), axis=1))
        near.append(scores[rows, columns])
        kept += len(rows)
        if kept > 2 * MOST_PAIRS:
            found, near = _nearest(found, near)
            kept = MOST_PAIRS
    found, near = _nearest(found, near)
    return found[0], near[0]


def _nearest(
    found: list[npt.NDArray[np.int64]], near: list[npt.NDArray[np.float32]]
) -> tuple[list[npt.NDArray[np.int64]], list[npt.NDArray[np.float32]]]:
    if not found:
        return [np.zeros((0, 2), np.int64)], [np.zeros(0, np.float32)]
    positions, scores = np.concatenate(found), np.concatenate(near)
    order = np.argsort(-scores, kind="stable")[:MOST_PAIRS]
    return [positions[order]], [scores[order]]


def clusters(vectors: Vectors, threshold: float, largest: int = 8, slack: float = 0.0) -> list[list[int]]:
    """Disjoint groups of 2 to `largest` positions, largest first. Any two members have a cosine of at least `threshold - slack`."""
    positions, _ = pairs(vectors, threshold)
    group: dict[int, list[int]] = {}
    for i, j in positions.tolist():
        mine, other = group.get(i, [i]), group.get(j, [j])
        if mine is other or len(mine) + len(other) > largest:
            continue
        if len(mine) + len(other) > 2 and float((vectors[mine] @ vectors[other].T).min()) < threshold - slack:
            continue
        joined = mine + other
        for member in joined:
            group[member] = joined
    distinct = {id(members): sorted(members) for members in group.values()}
    return sorted(distinct.values(), key=lambda members: (-len(members), members))


def normal(vectors: Sequence[Sequence[float]] | Vectors) -> Vectors:
    """Rows of length 1; a row of zeros stays one."""
    array = np.asarray(vectors, dtype=np.float32)
    length = np.linalg.norm(array, axis=1, keepdims=True)
    divided: Vectors = np.divide(array, length, out=np.zeros_like(array), where=length > 0)
    return divided
