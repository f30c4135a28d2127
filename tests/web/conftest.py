"""One owner with a page for all tests that change nothing of another's notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.web.kit import Visitor, visitor


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A machine with a vault whose words are embedded by the hash model."""
    folder = tmp_path_factory.mktemp("w")
    made = Box(folder, sealed(folder)).init()
    try:
        yield made
        made("stop")
    finally:
        made.close()


@pytest.fixture(scope="module")
def person(box: Box) -> Visitor:
    """Somebody who came by the link."""
    return visitor(box)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Box]:
    """A vault for a test that changes it."""
    made = Box(tmp_path, sealed(tmp_path)).init()
    try:
        yield made
        made("stop")
    finally:
        made.close()
