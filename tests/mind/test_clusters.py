"""Groups are tight, disjoint, small, and the same as a slow look at every pair would find."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.mind.clusters import clusters, normal, pairs


def around(*angles: float) -> npt.NDArray[np.float32]:
    """Unit vectors in the plane, by degrees."""
    radians = np.radians(angles)
    return np.stack((np.cos(radians), np.sin(radians)), axis=1).astype(np.float32)


def test_near_ones_are_together_and_far_ones_alone() -> None:
    assert clusters(around(0, 5, 90, 93, 200), 0.99) == [[0, 1], [2, 3]]


def test_a_chain_falls_into_its_tight_parts() -> None:
    chain = around(*range(0, 200, 10))  # neighbours are near (.985), the ends are opposite
    found = clusters(chain, 0.98)
    assert found
    assert all((chain[group] @ chain[group].T).min() >= 0.98 for group in found)


@pytest.mark.parametrize("largest", [2, 3, 8])
def test_no_group_is_larger_than_asked(largest: int) -> None:
    found = clusters(around(*[0.01 * n for n in range(30)]), 0.9, largest)
    assert max(map(len, found)) == largest
    assert sum(map(len, found)) <= 30


def test_largest_first() -> None:
    assert [len(group) for group in clusters(around(0, 1, 90, 91, 92, 180, 181), 0.99)] == [3, 2, 2]


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_compare(count: int) -> None:
    assert clusters(around(*range(count)).reshape(count, 2), 0.5) == []


def test_zeros_are_near_nothing() -> None:
    assert clusters(normal(np.zeros((3, 4), np.float32)), 0.5) == []


@given(
    st.lists(st.integers(0, 359), min_size=2, max_size=40),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.integers(1, 7),
)
def test_pairs_are_all_pairs(angles: list[int], threshold: float, block: int) -> None:
    vectors = around(*angles)
    found, scores = pairs(vectors, threshold, block=block)
    every = {
        (i, j)
        for i in range(len(angles))
        for j in range(i + 1, len(angles))
        if float(vectors[i] @ vectors[j]) >= threshold + 1e-5
    }
    assert every <= set(map(tuple, found.tolist()))
    assert list(scores) == sorted(scores, reverse=True)


@given(st.lists(st.integers(0, 359), min_size=2, max_size=40), st.integers(1, 5), st.integers(1, 7))
def test_of_a_crowded_store_the_nearest_are_looked_at(
    angles: list[int], most: int, block: int
) -> None:
    vectors = around(*angles)
    found, scores = pairs(vectors, 0.51, most, block)
    every, cosines = pairs(vectors, 0.51)
    assert set(map(tuple, found.tolist())) <= set(map(tuple, every.tolist()))
    for i in range(len(angles)):
        wanted = sorted(cosines[every[:, 0] == i], reverse=True)[:most]
        assert sorted(scores[found[:, 0] == i], reverse=True) == pytest.approx(wanted, abs=1e-5)


@given(st.lists(st.integers(0, 359), max_size=40), st.sampled_from([0.5, 0.9, 0.99]))
def test_groups_are_disjoint_and_tight(angles: list[int], threshold: float) -> None:
    vectors = around(*angles).reshape(len(angles), 2)
    found = clusters(vectors, threshold)
    members = [member for group in found for member in group]
    assert len(members) == len(set(members))
    assert all(
        2 <= len(group) <= 8 and (vectors[group] @ vectors[group].T).min() >= threshold - 1e-5
        for group in found
    )
