"""A machine with a vault and no owner yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    made = Box(tmp_path, sealed_env)
    try:
        yield made.init()
    finally:
        made.close()
