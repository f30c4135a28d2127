"""The index follows what is written."""

from __future__ import annotations

from collections.abc import Iterable

from oneiro_vault.app import App
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.vault.change import Operation, Write


class Asked(Indexing):
    """Says what the index was asked to look at."""

    paths: frozenset[str] = frozenset()

    def refresh(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        super().refresh(self.paths)


def test_it_looks_at_the_notes_alone_and_not_through_the_vault_for_a_picture(app: App) -> None:
    asked = Asked(app.house.vault, app.house.index, owner=True)
    picture = "attachments/ab/picture.png"
    changes = [Write("a.md", b"The boat is green."), Write(picture, b"\x89PNG")]
    receipt = asked.apply(changes, Operation("remember", "a boat"))
    assert picture in receipt.written
    assert asked.paths == {"a.md"}
    assert app.house.index.by_path("a.md") is not None
