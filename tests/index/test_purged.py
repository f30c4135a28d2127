"""What a screen refuses leaves the index at once and does not enter it again, by its id, its bytes
or its words."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from oneiro_vault.core.memory import fingerprint
from oneiro_vault.core.tree_diff import blob_id
from oneiro_vault.index.store import Index
from tests.index.conftest import Notes
from tests.index.test_refresh import found

Open = Callable[..., Index]
NOTE = "---\nid: {}\ntype: semantic\ntitle: Keys\n---\nKim has the keys.\n"


class Marks:
    """A screen that refuses what it is told to."""

    def __init__(self) -> None:
        self.refused: tuple[set[str], set[str], set[str]] = (set(), set(), set())

    def stamp(self) -> str:
        return ",".join(sorted(mark for marks in self.refused for mark in marks))

    def marks(self) -> tuple[Collection[str], Collection[str], Collection[str]]:
        return self.refused

    def why(self, ident: str, blob: str, words: str) -> str:
        return (
            "gone"
            if any(
                mark in marks
                for mark, marks in zip((ident, blob, words), self.refused, strict=True)
            )
            else ""
        )


@pytest.mark.parametrize("which", [0, 1, 2], ids=["id", "bytes", "words"])
def test_it_leaves_and_stays_away(vault: Notes, open_index: Open, which: int) -> None:
    screen, text = Marks(), NOTE.format("00000000abcd")
    index = open_index(screen=screen)
    vault.put("a.md", text)
    vault.put("b.md", "Kim sails.\n")
    index.refresh()
    assert found(index, "keys") == ["a.md"]
    data = (vault.root / "a.md").read_bytes()
    screen.refused[which].add(
        ("00000000abcd", blob_id(data), fingerprint("semantic", "Keys", "Kim has the keys.\n"))[
            which
        ]
    )
    assert index.unscreened()
    done = index.refresh(set())
    assert done.removed == ("a.md",)
    assert not index.unscreened()
    assert index.unreadable() == [("a.md", "gone")]
    (vault.root / "c.md").write_bytes(data)
    index.refresh()
    assert found(index, "keys") == []
    assert found(index, "sails") == ["b.md"]
    assert [path for path, _ in index.unreadable()] == ["a.md", "c.md"]
    index.rebuild()
    assert found(index, "keys") == []


def test_nothing_refused_costs_no_look(vault: Notes, open_index: Open) -> None:
    index = open_index(screen=Marks())
    vault.put("a.md", NOTE.format("00000000abcd"))
    index.refresh()
    assert not index.unscreened()
    assert found(index, "keys") == ["a.md"]


def test_what_is_veiled_is_handed_out_without_it(vault: Notes, open_index: Open) -> None:
    vault.put("a.md", "The gate opens with swordfish on Mondays.\n")
    index = open_index(veil=lambda text: text.replace("swordfish", "[gone]"))
    index.refresh()
    assert found(index, "Mondays") == ["a.md"]
    row = index.by_path("a.md")
    assert row is not None
    shown = "The gate opens with [gone] on Mondays."
    assert row.description == shown
    assert index.body(row.key).strip() == index.bodies([row.key])[row.key].strip() == shown
    data = (vault.root / "a.md").read_bytes()
    assert (row.blob, row.size) == (blob_id(data), len(data))
