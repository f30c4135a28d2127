from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.vault.vault import Vault
from tests.vault import support


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def vault(root: Path) -> Vault:
    return support.make(root)
