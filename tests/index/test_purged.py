"""What a screen refuses leaves the index at once and does not enter it again, by its id, its bytes
or its words; and what a veil takes out of a note does not enter it at all."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from oneiro_vault.core.text.equality import fingerprint
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


class Words:
    """A veil over the words it is told."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def rules(self) -> str:
        return fingerprint("", "", " ".join(self.words)) if self.words else ""

    def shown(self, data: bytes) -> bytes:
        for word in self.words:
            data = data.replace(word.encode(), b"[gone]")
        return data


def test_what_is_veiled_is_found_by_its_other_words_and_stays_the_same_note(
    vault: Notes, open_index: Open
) -> None:
    vault.put("a.md", "The gate opens with swordfish on Mondays.\n")
    vault.put("b.md", "Kim sails.\n")
    index = open_index(veil=Words("swordfish"))
    index.refresh()
    assert found(index, "Mondays") == ["a.md"]
    row = index.by_path("a.md")
    assert row is not None
    data = (vault.root / "a.md").read_bytes()
    assert (row.blob, row.size) == (blob_id(data), len(data))
    assert row.description == "The gate opens with [gone] on Mondays."
    assert b"swordfish" not in b"".join(
        file.read_bytes() for file in index.folder.rglob("*") if file.is_file()
    )
    assert index.refresh().changed == 0, "it is not read again and again"


def test_other_rules_hold_for_what_was_indexed_before(vault: Notes, open_index: Open) -> None:
    vault.put("a.md", "The gate opens with swordfish.\n")
    veil = Words()
    index = open_index(veil=veil)
    index.refresh()
    assert found(index, "swordfish") == ["a.md"]
    for words, expected in ((("swordfish",), []), (("gate",), ["a.md"]), ((), ["a.md"])):
        veil.words = words
        index.refresh(set())
        assert found(index, "swordfish") == expected
