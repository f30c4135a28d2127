"""A vault with memories that say the same, open in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.operations.dream.support import OTHERS, SETTINGS, TWINS, fill, judged


@pytest.fixture
def app(root: Path) -> Iterator[App]:
    """It, open, with two pairs of memories that say the same and a judge that merges whatever it is
    shown."""
    with App.open(root, Settings(SETTINGS)) as found:
        fill(found, *TWINS, *OTHERS)
        judged(found)
        yield found
