"""A small store answers exactly, in step with what is stored; a large one, or one that is not all
at hand, leaves it to Chroma."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from oneiro_vault.index.base import Vectors
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.store import Index
from oneiro_vault.index.vectors import vector_cache as lanes
from oneiro_vault.index.vectors.vector_cache import Lane
from tests.index.conftest import Notes

Open: TypeAlias = Callable[..., Index]


class Cold(HashEmbedder):
    """Its process has ended."""

    def warm(self) -> bool:
        return False


def words(number: int) -> str:
    return " ".join(f"w{(number * step) % 97}" for step in (3, 5, 7, 11, 13))


def opened(vault: Notes, open_index: Open, count: int) -> tuple[Index, Lane]:
    for number in range(count):
        vault.put(f"{number:03}.md", words(number))
    index = open_index(vectors="chroma")
    index.refresh()
    index.embed()
    serving = index._semantic._serving
    assert serving is not None
    return index, serving


def exactly(index: Index, lane: Lane, vector: Vectors) -> dict[str, float]:
    """Every cosine, from the cache of vectors."""
    return index._semantic.cache.cosines(lane.embedder.name, lane.store.ids(), vector)


def agrees(index: Index, lane: Lane) -> None:
    vector = index.query("w3 w5 w9 w40")
    found = lane.search(vector, 20)
    exact = exactly(index, lane, vector)
    assert [cosine for _, cosine in found] == pytest.approx(
        sorted(exact.values(), reverse=True)[:20], abs=1e-6
    )
    assert lane.cosines(exact, vector) == pytest.approx(exact, abs=1e-6)
    assert {name for name, _ in lane.search(vector, 10_000)} == lane.store.ids()


def test_it_stays_in_step_with_what_is_stored(vault: Notes, open_index: Open) -> None:
    index, lane = opened(vault, open_index, 90)
    agrees(index, lane)
    copy = lane._copied()
    assert copy is not None
    vault.put("new.md", "w3 w5 w9 something new")
    vault.put("004.md", "w40 w3 another text")
    vault.drop("007.md")
    index.refresh()
    index.embed()
    assert lane._copied() is copy
    assert copy.ids() == lane.store.ids()
    assert copy.count() == 90
    agrees(index, lane)


def test_what_is_too_much_is_left_to_chroma(vault: Notes, open_index: Open) -> None:
    """While it grows, too. One more than fits is already too much."""
    index, lane = opened(vault, open_index, 40)
    lane._most = 41
    assert lane._copied() is not None
    for number in (40, 41):
        vault.put(f"{number:03}.md", words(number))
        index.refresh()
        index.embed()
    assert lane._copied() is None
    agrees(index, lane)
    again = Lane(
        lane.embedder,
        lane.name,
        lane.label,
        lane.store,
        index._semantic.cache,
        index._semantic._reading,
        index._semantic._writing,
    )
    again._most = 41
    assert again._copied() is None
    assert lanes.EXACT // (4 * 384) == 65_536


def test_without_the_cache_chroma_answers(vault: Notes, open_index: Open) -> None:
    index, lane = opened(vault, open_index, 40)
    cache = index._semantic.cache
    cache.forget(lane.embedder.name, keep=sorted(lane.store.ids())[:-1])
    vector = index.query("w3 w5")
    assert lane._copied() is None
    assert len(lane.search(vector, 50)) == 40


def test_a_list_that_is_behind_is_not_believed_but_waited_for(
    vault: Notes, open_index: Open
) -> None:
    _, lane = opened(vault, open_index, 40)
    name = "f" * 32
    vector = np.ones((1, lane.embedder.dimension), np.float32) / np.sqrt(
        lane.embedder.dimension, dtype=np.float32
    )
    lane.store.add([name], vector)
    assert lane._copied() is None
    lane.store.delete([name])
    assert lane._copied() is not None


def test_it_lets_go_when_no_question_can_be_asked(vault: Notes, open_index: Open) -> None:
    index, lane = opened(vault, open_index, 40)
    agrees(index, lane)
    index.rest()
    assert lane._copy is not None
    lane.embedder = Cold()
    index.rest()
    assert lane._copy is None
    agrees(index, lane)


@pytest.mark.parametrize("while_up", [True, False])
def test_a_cache_that_was_lost_alone_is_noticed_and_its_vectors_computed_again(
    vault: Notes, open_index: Open, while_up: bool
) -> None:
    index, lane = opened(vault, open_index, 40)
    vector = index.query("w3 w5 w9 w40")
    before = index.search_vectors(vector, 10)
    wanted = exactly(index, lane, vector)
    if not while_up:
        index.close()
    for file in index.folder.glob("embeddings.db*"):
        file.unlink()
    if not while_up:
        index = open_index(vectors="chroma")
        index.refresh()
        assert index.open_vectors()
    else:
        assert not index.canaries()
    assert index.pending()[0] == 40
    assert "40 passages" in str(index.degraded())
    assert index.embed() == 40
    assert index.pending()[0] == 0
    assert index.canaries()
    serving = index._semantic._serving
    assert serving is not None
    assert exactly(index, serving, vector) == pytest.approx(wanted, abs=1e-6)
    assert [(hit.key, hit.kind) for hit in index.search_vectors(vector, 10)] == [
        (hit.key, hit.kind) for hit in before
    ]


def test_what_neither_the_cache_nor_the_store_has_is_computed(
    vault: Notes, open_index: Open
) -> None:
    index, lane = opened(vault, open_index, 40)
    cache = index._semantic.cache
    gone = sorted(lane.store.ids())[:3]
    cache.forget(lane.embedder.name, keep=sorted(lane.store.ids())[3:])
    lane.store.delete(gone)
    index._semantic._settle_files()  # as if it had never been there
    assert not index.canaries()
    assert index.embed() == 3
    assert index.pending()[0] == 0
    agrees(index, lane)
