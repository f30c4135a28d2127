"""A machine with a vault and no owner yet. The vault is made once and copied: only the owner's own life is tested here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.conftest import sealed


@pytest.fixture(scope="session")
def empty_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault nobody has opened yet."""
    folder = tmp_path_factory.mktemp("t")
    made = Box(folder, sealed(folder)).init("--no-daemon").vault
    shutil.rmtree(made / ".oneiro")
    return made


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str], empty_vault: Path) -> Iterator[Box]:
    made = Box(tmp_path, sealed_env)
    shutil.copytree(empty_vault, made.vault, symlinks=True)
    try:
        yield made
    finally:
        made.close()
