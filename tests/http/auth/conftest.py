"""A clock that is moved by hand, and folders for the files of an access."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.http.auth.json_store import Store


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "access" / "things.json")
