"""A whole machine for a drill: a sealed vault, its owner on demand, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A fresh vault behind the command line."""
    made = Box(tmp_path, sealed_env)
    try:
        yield made.init()
    finally:
        made.close()
