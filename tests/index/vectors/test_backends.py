"""The same promises for every vector store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors
from oneiro_vault.index.vectors import backends
from oneiro_vault.index.vectors.backends import ChromaShelf, Pointer, RamShelf, Shelf, store_name


@pytest.fixture(params=["ram", "chroma"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    made: Shelf = RamShelf() if request.param == "ram" else ChromaShelf(tmp_path / "chroma")
    yield made
    made.close()


def unit(count: int, dimension: int = 16, seed: int = 0) -> Vectors:
    found = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def test_a_vector_finds_itself_first(shelf: Shelf) -> None:
    store = shelf.store("notes")
    given = unit(50)
    store.add([f"id{i}" for i in range(50)], given)
    found = store.search(given[7], 5)
    assert found[0][0] == "id7"
    assert found[0][1] == pytest.approx(1, abs=1e-5)
    assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)
    assert found[1][1] == pytest.approx(float(np.sort(given @ given[7])[-2]), abs=1e-5)


def test_adding_again_replaces(shelf: Shelf) -> None:
    store = shelf.store("notes")
    given = unit(2)
    store.add(["x"], given[:1])
    store.add(["x"], given[1:])
    assert store.count() == 1
    assert store.search(given[1], 1)[0][1] == pytest.approx(1, abs=1e-5)


def test_deleting_forgets_and_ignores_what_is_not_there(shelf: Shelf) -> None:
    store = shelf.store("notes")
    store.add(["x", "y"], unit(2))
    store.delete(["x", "nobody"])
    assert store.ids() == {"y"}


def test_an_empty_store_finds_nothing(shelf: Shelf) -> None:
    assert shelf.store("notes").search(unit(1)[0], 3) == []


def test_asking_for_more_than_there_is(shelf: Shelf) -> None:
    store = shelf.store("notes")
    store.add(["x", "y"], unit(2))
    assert len(store.search(unit(1)[0], 50)) == 2


def test_stores_on_a_shelf_are_apart(shelf: Shelf) -> None:
    shelf.store("one").add(["x"], unit(1, 8))
    shelf.store("two").add(["y"], unit(1, 16))
    assert shelf.names() == ["one", "two"]
    assert shelf.store("one").ids() == {"x"}
    shelf.drop("one")
    shelf.drop("never there")
    assert shelf.names() == ["two"]


@pytest.mark.parametrize(
    "wrong",
    [np.full((1, 16), np.nan, np.float32), np.ones(16, np.float32), np.ones((2, 16), np.float32)],
)
def test_bad_vectors_are_refused(shelf: Shelf, wrong: Vectors) -> None:
    with pytest.raises(IndexProblem):
        shelf.store("notes").add(["x"], wrong)


def test_more_than_one_batch(shelf: Shelf) -> None:
    store = shelf.store("notes")
    many = backends._BATCH + 10
    store.add([f"{i}" for i in range(many)], unit(many, 4))
    assert store.count() == many
    store.delete([f"{i}" for i in range(many - 1)])
    assert store.ids() == {str(many - 1)}


def test_chroma_keeps_what_it_was_given(tmp_path: Path) -> None:
    given = unit(20)
    first = ChromaShelf(tmp_path)
    first.store("notes").add([str(i) for i in range(20)], given)
    first.close()
    again = ChromaShelf(tmp_path)
    assert again.store("notes").search(given[3], 1)[0][0] == "3"
    again.close()


FOUND = """
import sys
from pathlib import Path
import numpy as np
from oneiro_vault.index.vectors.backends import ChromaShelf
shelf = ChromaShelf(Path(sys.argv[1]))
for number in range(4):
    shelf.store(f"store-{number}").add(["a", "b"], np.eye(2, 256, dtype=np.float32))
shelf.close()
"""


@pytest.mark.slow
def test_fresh_files_of_chroma_hold_nothing_of_this_process(tmp_path: Path) -> None:
    """In a process of its own, whose memory has something to give away."""
    subprocess.run([sys.executable, "-c", FOUND, str(tmp_path / "chroma")], check=True, timeout=120)
    files = [path for name in ("length.bin", "data_level0.bin") for path in tmp_path.rglob(name)]
    assert len(files) == 8
    assert {sum(map(bool, path.read_bytes())) for path in files} == {0}


def test_files_with_vectors_are_left_as_they_are(tmp_path: Path) -> None:
    shelf = ChromaShelf(tmp_path / "chroma")
    shelf.store("notes").add([str(i) for i in range(2_100)], unit(2_100))
    (header,) = tmp_path.rglob("header.bin")
    assert int.from_bytes(header.read_bytes()[20:28], "little") > 0
    again = shelf.store("notes")
    again.add(["more"], unit(2_101)[-1:])
    assert again.search(unit(2_100)[7], 1)[0][0] == "7"
    shelf.close()
    reopened = ChromaShelf(tmp_path / "chroma")
    assert reopened.store("notes").search(unit(2_100)[7], 1)[0][0] == "7"
    reopened.close()


def test_another_dimension_is_refused_by_chroma(tmp_path: Path) -> None:
    shelf = ChromaShelf(tmp_path)
    shelf.store("notes").add(["x"], unit(1, 8))
    with pytest.raises(IndexProblem, match="cannot store vectors"):
        shelf.store("notes").add(["y"], unit(1, 16))
    with pytest.raises(IndexProblem, match="cannot search"):
        shelf.store("notes").search(unit(1, 16)[0], 1)
    shelf.close()


def test_a_damaged_database_is_an_index_problem(tmp_path: Path) -> None:
    shelf = ChromaShelf(tmp_path / "c")
    shelf.store("notes").add(["x"], unit(1, 8))
    shelf.close()
    (tmp_path / "c" / "chroma.sqlite3").write_bytes(b"garbage" * 1000)
    with pytest.raises(IndexProblem, match="cannot be opened"):
        ChromaShelf(tmp_path / "c").names()


def test_names_of_stores_tell_models_apart() -> None:
    names = {
        store_name("a", 384),
        store_name("a", 768),
        store_name("b", 384),
        store_name("a/b", 384),
        store_name("a-b", 384),
    }
    assert len(names) == 5
    assert all(3 <= len(store_name(model, 8)) <= 100 for model in ("", "Ä/ö", "x" * 500))


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    given = Pointer("chroma-1", "store", "model", 8, [["a", 1, 2]])
    backends.write_pointer(tmp_path, given)
    assert backends.read_pointer(tmp_path) == given
    assert [path.name for path in tmp_path.iterdir()] == [backends.POINTER]
    backends.forget_pointer(tmp_path)
    backends.forget_pointer(tmp_path)
    assert backends.read_pointer(tmp_path) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "garbage",
        '{"folder": "chroma-../../x", "serving": "s", "model": "m", "dimension": 1}',
        '{"folder": "/etc", "serving": "s", "model": "m", "dimension": 1}',
        '{"folder": "chroma-1", "serving": 5, "model": "m", "dimension": 1}',
        '{"folder": "chroma-1", "serving": "s", "model": "m", "dimension": "x"}',
        '{"folder": "chroma-1", "serving": "s", "model": "m", "dimension": 1, "more": 2}',
    ],
)
def test_what_makes_no_sense_is_no_pointer(tmp_path: Path, content: str) -> None:
    (tmp_path / backends.POINTER).write_text(content)
    assert backends.read_pointer(tmp_path) is None
