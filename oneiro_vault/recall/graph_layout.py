"""Where the nodes of a graph are drawn: forces for what is linked, rings around it for what is not.

Every node pushes every other away and edges pull their ends together; the push of all others comes
from a grid by convolution, so a step costs little more for 5,000 nodes than for 500. The same graph
always gets the same places; places that are known are moved little. `Places` keeps those of a
vault's graph in the folder of its index, computed beside the answers.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from oneiro_vault.index.store import GRAPH

LOG = logging.getLogger("oneiro.graph")

Points: TypeAlias = npt.NDArray[np.float64]
"""One row a node: x, y. An edge that pulls alone is about 1 long."""
Pairs: TypeAlias = npt.NDArray[np.int64]
"""One row an edge: the numbers of its two nodes."""
Flags: TypeAlias = npt.NDArray[np.bool_]
_MOST: Final = 4
"""Graphs whose places are remembered."""
_UNFINISHED: Final = ".new"

STEPS: Final = (120, 220)
"""For hundreds of nodes, for thousands."""
REFINE: Final = 20
"""Steps for a graph of which most places are known."""
_KNOWN: Final = 0.6
"""Share of the places of linked nodes that must be known for that."""
_CELLS: Final = (48, 96)
"""Of the grid, along each side: for hundreds of nodes, for thousands."""
_EXACT: Final = 100
"""Nodes up to which every push is counted one by one."""
_GOLDEN: Final = math.pi * (3 - math.sqrt(5))
_SEED: Final = 20_260_305
_GAP: Final = 1.6
"""Between unlinked nodes, and between parts of the graph."""
_PULL: Final = 1.0
_PUSH: Final = 1.0
_CENTRE: Final = 0.02


def places(count: int, edges: Pairs, known: Points | None = None) -> Points:
    """A place for each of `count` nodes. `known`: where they were, NaN for new ones, which begin at
    the mean of their neighbours; then all move only a little."""
    if not count:
        return np.zeros((0, 2))
    links = _simple(edges)
    parts = components(count, links)
    linked = np.unique(links)
    fresh = known is None or not len(linked) or np.isnan(known[linked, 0]).mean() > 1 - _KNOWN
    start = np.full((count, 2), np.nan) if fresh or known is None else known.copy()
    sizes = np.bincount(parts, minlength=1)
    found = np.full((count, 2), np.nan)
    order = np.argsort(-sizes, kind="stable")
    members = _members(parts, len(sizes))
    packed: list[tuple[npt.NDArray[np.int64], Points, float]] = []
    of_edge = parts[links[:, 0]] if len(links) else np.zeros(0, np.int64)
    by_part = _members(of_edge, len(sizes))
    local = np.zeros(count, np.int64)
    for part in order[sizes[order] > 1]:
        here = members[part]
        local[here] = np.arange(len(here))
        inner = local[links[by_part[part]]]
        at = _part(len(here), inner, start[here])
        if fresh:
            at = at - at.mean(axis=0)
            packed.append((here, at, float(np.hypot(*at.T).max())))
        else:
            found[here] = at
    if fresh:
        _pack(found, packed)
    _ring(found, start, members, order[sizes[order] == 1])
    return found


def components(count: int, links: Pairs) -> npt.NDArray[np.int64]:
    """The number of the part that each node is in; parts are numbered in the order of their first
    nodes."""
    label = np.arange(count, dtype=np.int64)
    while len(links):
        low = np.minimum(label[links[:, 0]], label[links[:, 1]])
        before = label.copy()
        np.minimum.at(label, links[:, 0], low)
        np.minimum.at(label, links[:, 1], low)
        label = label[label]
        if np.array_equal(label, before):
            break
    return np.unique(label, return_inverse=True)[1].astype(np.int64)


def _simple(edges: Pairs) -> Pairs:
    """Each pair once, no node with itself."""
    pairs = np.sort(np.asarray(edges, np.int64).reshape(-1, 2), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(pairs, axis=0) if len(pairs) else pairs


def _members(labels: npt.NDArray[np.int64], count: int) -> list[npt.NDArray[np.int64]]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])


def _part(count: int, links: Pairs, start: Points) -> Points:
    """The places within one connected part."""
    if count == 2 and np.isnan(start).any():
        return np.array([[-0.5, 0.0], [0.5, 0.0]])
    degree = np.bincount(links.ravel(), minlength=count).astype(float)
    if np.isnan(start).all():
        at, steps, heat = (
            _sunflower(np.argsort(np.argsort(-degree, kind="stable"))),
            STEPS[count > 1_000],
            0.15,
        )
    else:
        at, steps, heat = _filled(start, links), REFINE, 0.01
    return _settle(at, links, degree, steps, heat)


def _sunflower(rank: npt.NDArray[np.int64]) -> Points:
    """The first in the middle, evenly spread."""
    radius, angle = np.sqrt(rank + 0.5), rank * _GOLDEN
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _filled(start: Points, links: Pairs) -> Points:
    """New nodes at the mean of the neighbours that have a place, step by step outwards."""
    at = start.copy()
    random = np.random.default_rng(_SEED)
    while (new := np.isnan(at[:, 0])).any():
        both = np.concatenate([links, links[:, ::-1]])
        useful = both[new[both[:, 0]] & ~new[both[:, 1]]]
        if not len(useful):
            at[new] = np.nanmean(start, axis=0) + random.normal(size=(int(new.sum()), 2))
            break
        total, number = np.zeros_like(at), np.zeros(len(at))
        np.add.at(total, useful[:, 0], at[useful[:, 1]])
        np.add.at(number, useful[:, 0], 1)
        reached = number > 0
        nudge = random.normal(scale=0.4, size=(int(reached.sum()), 2))
        at[reached] = total[reached] / number[reached, None] + nudge
    return at


def _settle(
    at: Points, links: Pairs, degree: npt.NDArray[np.float64], steps: int, heat: float
) -> Points:
    """Let the forces move all nodes, ever less: by at most `heat` of the width at first."""
    mass = 1 + np.sqrt(degree)
    weight = _PULL / np.sqrt(np.minimum(degree[links[:, 0]], degree[links[:, 1]]))
    for step in range(steps):
        force = _PUSH * mass[:, None] * _push(at, mass)
        span = at[links[:, 1]] - at[links[:, 0]]
        pull = span * weight[:, None]
        np.add.at(force, links[:, 0], pull)
        np.add.at(force, links[:, 1], -pull)
        force -= _CENTRE * mass[:, None] * (at - at.mean(axis=0))
        length = np.hypot(*force.T) + 1e-9
        most = heat * (np.ptp(at, axis=0).max() + 1) * (1 - step / steps) ** 1.5 + 1e-3
        at = at + force * (np.minimum(length, most) / length)[:, None]
    return _unstacked(at)


def _unstacked(at: Points) -> Points:
    """Nodes with the same neighbours come to lie on each other, which the coarse grid does not
    notice: those in one small cell are spread around their middle."""
    size = 0.6 * float(np.ptp(at, axis=0).max()) / math.sqrt(len(at)) + 1e-9
    cell = np.floor((at - at.min(axis=0)) / size).astype(np.int64)
    _, which = np.unique(cell[:, 0] * (1 << 31) + cell[:, 1], return_inverse=True)
    number = np.bincount(which)
    order = np.argsort(which, kind="stable")
    rank = np.empty(len(at), np.int64)
    rank[order] = np.arange(len(at)) - np.repeat(np.cumsum(number) - number, number)
    middle = np.zeros((len(number), 2))
    np.add.at(middle, which, at)
    crowded = number[which] > 1
    spread = (middle / number[:, None])[which] + 0.45 * size * _sunflower(rank)
    return np.where(crowded[:, None], spread, at)


def _push(at: Points, mass: npt.NDArray[np.float64]) -> Points:
    """What pushes each node: of every other its mass over the distance. Exact for few."""
    if len(at) <= _EXACT:
        apart = at[:, None] - at[None]
        square = (apart**2).sum(axis=2) + 0.01
        return np.asarray((apart * (mass[None] / square)[:, :, None]).sum(axis=1))
    cells = _CELLS[len(at) > 1_000]
    low = at.min(axis=0)
    size = float(np.ptp(at, axis=0).max()) / (cells - 2) + 1e-9
    cell = (at - low) / size
    corner = np.minimum(cell.astype(np.int64), cells - 2)
    part = cell - corner
    grid = np.zeros((cells, cells))
    shares = []
    for dx in (0, 1):
        for dy in (0, 1):
            share = np.abs(1 - dx - part[:, 0]) * np.abs(1 - dy - part[:, 1])
            shares.append((corner[:, 0] + dx, corner[:, 1] + dy, share))
            np.add.at(grid, shares[-1][:2], share * mass)
    field = _convolved(grid, size)
    return np.asarray(sum(share[:, None] * field[row, column] for row, column, share in shares))


@lru_cache(maxsize=4)
def _kernels(cells: int) -> tuple[npt.NDArray[np.complex128], ...]:
    """How a mass in one cell pushes along x and y, cell by cell, transformed; for cells of size
    1."""
    width = 2 * cells
    away = (np.arange(width) + cells) % width - cells
    x, y = np.broadcast_arrays(away[:, None], away[None, :])
    square = x**2 + y**2 + 0.36
    return np.fft.rfft2(x / square), np.fft.rfft2(y / square)


def _convolved(grid: npt.NDArray[np.float64], size: float) -> npt.NDArray[np.float64]:
    """The push at each point of a grid of masses."""
    cells = len(grid)
    width = (2 * cells, 2 * cells)
    spread = np.fft.rfft2(grid, width)
    found = [np.fft.irfft2(spread * one, width)[:cells, :cells] for one in _kernels(cells)]
    return np.stack(found, axis=2) / size


def _pack(found: Points, parts: list[tuple[npt.NDArray[np.int64], Points, float]]) -> None:
    """The largest part in the middle, the others on rings around it."""
    edge, angle, widest = 0.0, 0.0, 0.0
    for number, (here, at, radius) in enumerate(parts):
        if number == 0:
            found[here], edge = at, radius + _GAP
            continue
        if widest == 0.0 or angle > 2 * math.pi:
            edge, angle, widest = edge + 2 * widest + (_GAP if widest else 0.0), 0.0, radius
        middle = edge + widest
        wide = 2 * math.asin(min(1.0, (radius + _GAP / 2) / middle))
        turn = angle + wide / 2
        found[here] = at + middle * np.array([math.cos(turn), math.sin(turn)])
        angle += wide


def _ring(
    found: Points,
    start: Points,
    members: list[npt.NDArray[np.int64]],
    alone: npt.NDArray[np.int64],
) -> None:
    """Unlinked nodes around all others; those that have a place keep it."""
    single = np.array([members[part][0] for part in alone], np.int64)
    placed = found[~np.isnan(found[:, 0])]
    reach = float(np.hypot(*placed.T).max()) if len(placed) else 0.0
    gap = max(_GAP, 1.5 * reach / math.sqrt(len(placed) + 1))
    rank = np.arange(len(single)) + 0.5
    radius = np.sqrt((reach + gap) ** 2 * bool(len(placed)) + gap**2 * rank / 2)
    found[single] = np.column_stack(
        [radius * np.cos(rank * _GOLDEN), radius * np.sin(rank * _GOLDEN)]
    )
    kept = single[~np.isnan(start[single, 0])] if len(single) else single
    found[kept] = start[kept]


class Places:
    """Asked from any thread; one computes at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / GRAPH
        self._lock = threading.Lock()
        self._done: dict[str, Points] = {}
        self._known: dict[str, tuple[float, float, bool]] | None = None
        self._work: threading.Thread | None = None

    def of(self, refs: Sequence[str], edges: Pairs, wait: float, living: bool) -> Points | None:
        """Where each node is; None if that is not known after `wait` seconds: it is being found
        out. `living`: this is the graph of today, by which others are drawn."""
        state = sha256("\0".join(refs).encode("utf-8", "replace") + edges.tobytes()).hexdigest()
        with self._lock:
            if state in self._done:
                return self._done[state]
            if self._work is None or not self._work.is_alive():
                given = (state, list(refs), edges, living)
                self._work = threading.Thread(
                    target=self._find, args=given, name="oneiro-graph", daemon=True
                )
                self._work.start()
            work = self._work
        work.join(wait)
        with self._lock:
            return self._done.get(state)

    def _find(self, state: str, refs: list[str], edges: Pairs, living: bool) -> None:
        try:
            linked = np.bincount(edges.ravel(), minlength=len(refs)) > 0
            found = places(len(refs), edges, self._where(refs, linked))
            with self._lock:
                self._done = {**dict(list(self._done.items())[1 - _MOST :]), state: found}
                if living:
                    self._known = _known(refs, found, linked)
            if living:
                self._keep(refs, found, linked)
        except Exception:  # a thread of its own: nobody would hear of it
            LOG.exception("the graph could not be laid out")

    def _where(self, refs: Sequence[str], linked: Flags) -> Points:
        """The places that are known; one that was found while a node was linked with nothing says
        nothing of where it belongs now."""
        held = self._held()
        at = np.full((len(refs), 2), np.nan)
        for number, ref in enumerate(refs):
            x, y, was_linked = held.get(ref, (0.0, 0.0, None))
            if was_linked == linked[number]:
                at[number] = x, y
        return at

    def _held(self) -> dict[str, tuple[float, float, bool]]:
        if self._known is None:
            self._known = {}
            with (
                suppress(OSError, ValueError, KeyError, EOFError),
                np.load(self._file, allow_pickle=False) as kept,
            ):
                refs = [str(ref) for ref in kept["refs"]]
                self._known = _known(refs, kept["at"].reshape(-1, 2), kept["linked"])
        return self._known

    def _keep(self, refs: list[str], found: Points, linked: Flags) -> None:
        fresh = self._file.with_name(self._file.name + _UNFINISHED)
        with suppress(OSError):  # a full disk, or a folder that is gone: it is found out again
            with fresh.open("wb") as file:
                np.savez_compressed(
                    file, refs=np.array(refs), at=found.astype(np.float32), linked=linked
                )
            fresh.replace(self._file)


def _known(refs: Sequence[str], at: Points, linked: Flags) -> dict[str, tuple[float, float, bool]]:
    return {
        ref: (float(x), float(y), bool(flag))
        for ref, (x, y), flag in zip(refs, at.tolist(), linked.tolist(), strict=True)
    }
