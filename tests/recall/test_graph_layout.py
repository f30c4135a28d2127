"""Places of nodes: always the same, linked ones near each other, nobody on top of another."""

from __future__ import annotations

import time

import numpy as np
import pytest

from oneiro_vault.recall.graph_layout import Pairs, Points, components, places


def cliques(number: int, size: int) -> Pairs:
    """That many groups in which all are linked, in a chain."""
    pairs = []
    for group in range(number):
        here = range(group * size, group * size + size)
        pairs += [(a, b) for a in here for b in here if a < b]
        pairs += [(group * size, group * size - size)] if group else []
    return np.array(pairs, np.int64)


def random_graph(nodes: int, edges: int) -> Pairs:
    """A few hubs, many leaves."""
    random = np.random.default_rng(5)
    here = random.integers(0, nodes, edges)
    there = np.minimum(random.exponential(nodes / 12, edges).astype(np.int64), nodes - 1)
    return np.column_stack([here, there])


def apart(at: Points, pairs: Pairs) -> float:
    """Mean length of an edge."""
    return float(np.hypot(*(at[pairs[:, 0]] - at[pairs[:, 1]]).T).mean())


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_few_nodes_without_edges(count: int) -> None:
    at = places(count, np.zeros((0, 2), np.int64))
    assert at.shape == (count, 2)
    assert np.isfinite(at).all()
    assert len({tuple(row) for row in at.round(6).tolist()}) == count


def test_odd_edges_are_no_trouble() -> None:
    at = places(3, np.array([[0, 0], [0, 1], [1, 0], [0, 1]], np.int64))
    assert np.isfinite(at).all()


def test_the_same_graph_has_the_same_places() -> None:
    edges = cliques(6, 8)
    assert np.array_equal(places(60, edges), places(60, edges))


def test_groups_stand_together() -> None:
    edges = cliques(5, 10)
    at = places(50, edges)
    group = np.arange(50) // 10
    middle = np.array([at[group == one].mean(axis=0) for one in range(5)])
    own = np.hypot(*(at - middle[group]).T).mean()
    other = np.hypot(*(middle[:, None] - middle[None]).T)
    assert own < other[other > 0].min() / 1.5


def test_parts_and_unlinked_nodes_lie_around_the_largest() -> None:
    edges = np.concatenate([cliques(1, 20), cliques(1, 5) + 20, [[25, 26]]])
    at = places(40, edges)
    reach = np.hypot(*(at[:20] - at[:20].mean(axis=0)).T).max()
    away = np.hypot(*(at[20:] - at[:20].mean(axis=0)).T)
    assert (away > reach).all()
    assert away.max() < 8 * reach


def test_nodes_with_the_same_neighbours_do_not_lie_on_each_other() -> None:
    leaves = np.arange(2, 402)
    edges = np.concatenate([np.column_stack([leaves, leaves % 2]), [[0, 1]]])
    at = places(402, edges)
    far = np.hypot(*np.transpose(at[:, None] - at[None], (2, 0, 1)))
    np.fill_diagonal(far, np.inf)
    usual = np.ptp(at, axis=0).max() / np.sqrt(402)
    assert (far.min(axis=1) < 0.02 * usual).mean() < 0.1  # of every fourth it was so


def test_a_new_node_begins_beside_its_neighbours_and_the_others_stay() -> None:
    edges = cliques(5, 10)
    known = np.vstack([places(50, edges), [[np.nan, np.nan]]])
    more = np.concatenate([edges, [[50, 3], [50, 4], [50, 5]]])
    at = places(51, more, known)
    width = float(np.ptp(known[:50], axis=0).max())
    assert np.hypot(*(at[:50] - known[:50]).T).mean() < 0.1 * width
    assert np.hypot(*(at[50] - at[3:6].mean(axis=0))) < 0.25 * width


def test_new_nodes_linked_only_with_new_ones() -> None:
    edges = cliques(3, 10)
    known = np.vstack([places(30, edges), np.full((6, 2), np.nan)])
    more = np.concatenate([edges, [[30, 31], [31, 32], [3, 33], [33, 34]]])
    at = places(36, more, known)
    assert np.isfinite(at).all()
    assert len({tuple(row) for row in at.round(6).tolist()}) == 36


def test_parts_are_numbered_by_their_first_nodes() -> None:
    assert components(6, np.array([[0, 3], [4, 5]], np.int64)).tolist() == [0, 1, 2, 0, 3, 3]
    path = np.column_stack([np.arange(499), np.arange(1, 500)])[::-1]
    assert set(components(500, path).tolist()) == {0}


@pytest.mark.slow
def test_five_thousand_nodes_take_seconds() -> None:
    edges = random_graph(5_000, 20_000)
    began = time.perf_counter()
    at = places(5_000, edges)
    assert time.perf_counter() - began < 20
    shuffled = np.random.default_rng(1).permutation(at)
    assert apart(at, edges) < 0.6 * apart(shuffled, edges)
