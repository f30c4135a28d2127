"""An export of any size takes the memory of a small one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.importers import giant

SCRIPT = """
import re, sys
from pathlib import Path
from oneiro_vault.app import App
from tests.operations.conftest import QUICK
with App.open(Path(sys.argv[1]), QUICK) as app:
    found = app.call("import_", {"path": sys.argv[2]})
# the kernel's ru_maxrss is inherited from whoever started the process
most = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(found["conversations"]["new"], int(most[1]) // 1024)
"""


def peak(root: Path, folder: Path, megabytes: int) -> int:
    """Megabytes that importing so much JSON took at most, in a process of its own."""
    path = folder / "giant.zip"
    count = giant.write(path, megabytes)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root), str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    new, most = map(int, done.stdout.split())
    assert new == count
    return most


@pytest.mark.slow
def test_forty_megabytes(root: Path, tmp_path: Path) -> None:
    assert peak(root, tmp_path, 40) < 250


@pytest.mark.drill
@pytest.mark.timeout(7200)
def test_two_gigabytes(root: Path, tmp_path: Path) -> None:
    assert peak(root, tmp_path, 2048) < 500
