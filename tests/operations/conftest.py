"""A vault with the hash embedder, open in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.copies import new_vault

Call = Callable[..., dict[str, Any]]
QUICK = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A fresh vault."""
    return new_vault(tmp_path / "vault")


@pytest.fixture
def app(root: Path) -> Iterator[App]:
    """It, open."""
    with App.open(root, QUICK) as found:
        yield found


@pytest.fixture
def call(app: App) -> Call:
    """`call("recall", query="…")`."""
    return lambda op, **params: app.call(op, params)


def stored(call: Call, text: str, **keys: Any) -> str:
    """Remember one text and return its id."""
    found: str = call("remember", items=[{"text": text, **keys}])["results"][0]["id"]
    return found


def hits(call: Call, query: str, **params: Any) -> list[str]:
    """Ids a recall returns, best first."""
    return [row["id"] for row in call("recall", query=query, **params)["results"]]
