"""An index of an earlier tree says exactly what one made from that tree alone would say, however it
was made."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.core.tree_diff import Refused, Stat, blob_id, committed
from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors
from oneiro_vault.index.embed.embedders import HashEmbedder
from oneiro_vault.index.historic import KEPT, Earlier
from oneiro_vault.index.store import Index
from tests.index.conftest import Notes
from tests.index.contents import content

Open = Callable[..., Index]


class TreeOf:
    """Notes in memory as a tree."""

    def __init__(self, **texts: str) -> None:
        self.files = {f"{name}.md": text.encode() for name, text in texts.items()}
        self.blobs = {path: blob_id(data) for path, data in self.files.items()}
        self.reads: list[str] = []

    def scan(self) -> Iterator[Stat | Refused]:
        yield from (committed(path, len(data), blob_id(data)) for path, data in self.files.items())

    def stat(self, path: str) -> Stat | Refused | None:
        return next((one for one in self.scan() if one.path == path), None)

    def read(self, path: str, limit: int) -> bytes:
        self.reads.append(path)
        return self.files[path][: limit + 1]


def said(earlier: Earlier) -> object:
    return earlier._ask(content)


@pytest.fixture
def index(vault: Notes, open_index: Open) -> Index:
    for name in "abcdfg":
        vault.put(
            f"{name}.md",
            f"Note {name} about harbours.\n",
            session="s",
            type="episodic",
            created=f"2024-01-0{ord(name) - 96}",
        )
    (vault.root / "broken.md").write_bytes(b"\xff\xfe\0")
    index = open_index()
    index.refresh()
    index.embed()
    return index


def living(vault: Notes) -> dict[str, str]:
    return {path.stem: path.read_text() for path in vault.root.glob("[a-g].md")}


def test_a_copy_with_the_difference_is_what_a_new_one_would_be(
    vault: Notes, index: Index, open_index: Open, tmp_path: Path
) -> None:
    texts = living(vault)
    texts["a"] = texts["a"].replace("harbours", "lighthouses")
    del texts["b"]
    tree = TreeOf(**texts, e="Another note.")
    with index.earlier.opened("1" * 40, tree, tree.blobs) as found:
        assert sorted(tree.reads) == ["a.md", "e.md"], "what today's index has is not read again"
        copied = said(found)
        assert {row.path for row in found.list()} == {f"{name}.md" for name in "acdefg"}
        assert found.list(status="pending") == []
    (vault.root / "sub").mkdir()
    lone = Index.open(tmp_path / "lone", tree, HashEmbedder(), vectors="ram")
    with lone.earlier.opened("1" * 40, tree, tree.blobs) as fresh:
        assert said(fresh) == copied
    lone.close()


def test_a_tree_that_shares_little_is_read_whole(index: Index) -> None:
    tree = TreeOf(x="One.", y="Two.")
    with index.earlier.opened("2" * 40, tree, tree.blobs) as found:
        assert found.count() == 2
    assert sorted(tree.reads) == ["x.md", "y.md"]
    again = TreeOf(x="One.", y="Two.")
    with index.earlier.opened("2" * 40, again, again.blobs):
        assert again.reads == []


def test_vectors_are_those_of_the_same_texts_today(vault: Notes, index: Index) -> None:
    tree = TreeOf(**living(vault) | {"e": "Quartz and granite."})
    with index.earlier.opened("3" * 40, tree, tree.blobs) as found:
        missing, every = found.without_vector()
        assert 0 < missing < every
        question: Vectors = index.query("granite")
        assert "e.md" not in {
            found.rows([hit.key])[hit.key].path for hit in found.search_vectors(question, 10)
        }
        found.embed(0)
        assert found.without_vector()[0] == missing, "more than may be waited for"
        found.embed(10)
        assert found.without_vector()[0] == 0
        best = found.search_vectors(question, 10)[0]
        assert found.rows([best.key])[best.key].path == "e.md"
        assert found.search_vectors(question, 10, []) == []


def test_only_the_last_few_are_kept_and_scrubbing_takes_all(index: Index) -> None:
    tree = TreeOf(x="One.")
    for number in range(KEPT + 2):
        with index.earlier.opened(f"{number}" * 40, tree, tree.blobs):
            pass
    folder = index.folder / "earlier"
    left = folder / "dead.new"
    left.mkdir()
    assert len(list(folder.iterdir())) == KEPT + 1
    with index.earlier.opened("7" * 40, tree, tree.blobs):
        pass
    assert not left.exists()
    index.scrub()
    assert not folder.exists()


def test_a_damaged_one_is_made_again(index: Index) -> None:
    tree = TreeOf(x="One.", y="Two.")
    with index.earlier.opened("8" * 40, tree, tree.blobs) as found:
        assert found.count() == 2
    file = index.folder / "earlier" / ("8" * 20) / "index.db"
    file.write_bytes(file.read_bytes()[:5000] + b"\0" * 4000)
    try:
        with index.earlier.opened("8" * 40, tree, tree.blobs) as found:
            found.list()
    except IndexProblem:
        pass
    with index.earlier.opened("8" * 40, tree, tree.blobs) as found:
        assert {row.path for row in found.list()} == {"x.md", "y.md"}


def test_a_folder_that_cannot_be_made_is_said(index: Index) -> None:
    shutil.rmtree(index.folder / "earlier", ignore_errors=True)
    (index.folder / "earlier").write_text("in the way")
    tree = TreeOf(x="One.")
    with (
        pytest.raises(IndexProblem, match="what was known then cannot be indexed"),
        index.earlier.opened("9" * 40, tree, tree.blobs),
    ):
        pass
