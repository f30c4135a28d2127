"""What Chroma writes to disk is vectors, and nothing else this process had in its memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOUR = """
import sys
from pathlib import Path
import numpy as np
from oneiro_vault.index.vectors import ChromaShelf
shelf = ChromaShelf(Path(sys.argv[1]))
for number in range(4):
    shelf.store(f"store-{number}").add(["a", "b"], np.eye(2, 256, dtype=np.float32))
shelf.close()
"""


def test_fresh_files_of_chroma_hold_nothing_of_this_process(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FOUR, str(tmp_path / "chroma")], check=True, timeout=120)
    files = [path for name in ("length.bin", "data_level0.bin") for path in tmp_path.rglob(name)]
    assert len(files) == 8
    assert {sum(map(bool, path.read_bytes())) for path in files} == {0}
