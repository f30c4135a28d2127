"""One vault with a warm owner for a whole module; tests that change the machine make their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box, Lone
from tests.conftest import sealed


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    folder = tmp_path_factory.mktemp("m")
    made = Box(folder, sealed(folder))
    try:
        yield made.init()
    finally:
        made.close()


@pytest.fixture
def fresh(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A machine of its own, whose commands are run in this process and start no owner."""
    made = Lone(tmp_path, sealed_env)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def owned(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A machine of its own, with real processes and an owner as soon as there is a vault."""
    made = Box(tmp_path, sealed_env)
    try:
        yield made
    finally:
        made.close()
