"""Groups of memories that may be one: nearest pairs first, every member near every other, at most
eight.

Union-find over pairs alone chains: a is like b, b like c, and at 0.85 a transitive blob of 26
unlike notes came out of the seed's store. Here two groups join only if all their members are near
each other, so a chain falls into its tight parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
BLOCK: Final = 1024
"""Rows compared at once: a block of 10,000 columns is 40 MB."""
ENOUGH: Final = 2
"""Neighbours of one memory that are looked at, as a multiple of the largest group: a store that
says the same all over has millions."""


def pairs(
    vectors: Vectors, threshold: float, most: int = 0, block: int = BLOCK
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Pairs (i < j) with cosine >= `threshold`, nearest first: (n x 2 positions, n cosines). Rows
    of `vectors` have length 1.

    All of them, or (`most` > 0) for each i its `most` nearest j.
    """
    found: list[npt.NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
    near: list[npt.NDArray[np.float32]] = [np.zeros(0, np.float32)]
    for start in range(0, len(vectors), block):
        scores = (
            vectors[start : start + block] @ vectors[start:].T
        )  # the triangle above the diagonal is enough
        scores[:, : len(scores)][np.tri(len(scores), dtype=bool)] = -2.0
        if most:
            _thin(scores, threshold, most)
        rows, columns = np.nonzero(scores >= threshold)
        found.append(np.stack((rows + start, columns + start), axis=1))
        near.append(scores[rows, columns])
    positions, cosines = np.concatenate(found), np.concatenate(near)
    order = np.argsort(-cosines, kind="stable")
    return positions[order], cosines[order]


def _thin(scores: Vectors, threshold: float, most: int) -> None:
    """Leave the `most` nearest of each row."""
    crowded = np.flatnonzero(np.count_nonzero(scores >= threshold, axis=1) > most)
    if len(crowded):
        rows = scores[crowded]
        far = np.argpartition(rows, -most, axis=1)[:, :-most]
        np.put_along_axis(rows, far, -2.0, axis=1)
        scores[crowded] = rows


def clusters(
    vectors: Vectors, threshold: float, largest: int = 8, slack: float = 0.0
) -> list[list[int]]:
    """Disjoint groups of 2 to `largest` positions, largest first. Any two members have a cosine of
    at least `threshold - slack`."""
    positions, _ = pairs(vectors, threshold, ENOUGH * largest)
    group: dict[int, list[int]] = {}
    apart: set[tuple[int, int, int, int]] = set()
    for i, j in positions.tolist():
        mine, other = group.get(i) or [i], group.get(j) or [j]
        if mine is other or len(mine) + len(other) > largest:
            continue
        if len(mine) + len(other) > 2:
            # two groups that were found apart stay so until one of them grows: most pairs of a
            # crowded store lie between such
            known = (mine[0], len(mine), other[0], len(other))
            if known in apart:
                continue
            if float((vectors[mine] @ vectors[other].T).min()) < threshold - slack:
                apart |= {known, known[2:] + known[:2]}
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
