"""A vault whose clock a test moves: what was known on which day."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oneiro_vault.app import App
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.vault.change import Operation, Write
from oneiro_vault.vault.worktree.files import digest
from tests.operations.conftest import QUICK

DAY = 86_400.0


class Life:
    """An open vault on `day`, counted from a day soon after its first commit."""

    def __init__(self, root: Path) -> None:
        self.day = 0.0
        self._start = time.time() + 2 * DAY
        self.app = App.open(root, QUICK, clock=lambda: self._start + self.day * DAY)
        self.root = root

    def __call__(self, op: str, **params: Any) -> dict[str, Any]:
        return self.app.call(op, params)

    def remember(self, text: str, **keys: Any) -> str:
        return self.several({"text": text, **keys})[0]

    def several(self, *items: dict[str, Any]) -> list[str]:
        """The ids of memories stored together."""
        return [row["id"] for row in self("remember", items=list(items))["results"]]

    def change(self, ident: str, op: str, reason: str = "", text: str = "", **keys: object) -> None:
        """What a loop would do to a note."""
        row = self.app.house.indexing.resolve(ident)
        data = self.app.house.vault.read(row.path)
        new = yaml_block.encode(yaml_block.edit(yaml_block.decode(data), keys)) + text.encode()
        done = Operation(
            op, row.title, "dream", (ident,), reason, run="r1", judge="offline", loop="consolidate"
        )
        self.app.house.vault.apply([Write(row.path, new, digest(data))], done)
        self.app.house.indexing.refresh([row.path])

    def said(self, query: str, **params: Any) -> list[str]:
        """The lines of a recall that fit."""
        return [
            row["snippet"]
            for row in self("recall", query=query, **params)["results"]
            if not row["weak"]
        ]


@contextmanager
def life(root: Path) -> Iterator[Life]:
    """An open one."""
    found = Life(root)
    with found.app:
        yield found
