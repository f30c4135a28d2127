"""Is the vector store what it seems? Canary vectors must be found, in a child process first, since
a damaged Chroma can take the process down with it. `python -m oneiro_vault.index.vectors.integrity
FOLDER STORE` is that child: canaries on stdin, exit status 0 if they are found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors, VectorStore
from oneiro_vault.index.embed import frames

CANARIES: Final = 24

_ENOUGH: Final = 0.9
"""Share of the canaries that must be found: the search is approximate, but a vector finds
itself."""
_NEAR: Final = 10
_SAME: Final = 0.999
_PATIENCE: Final = 120.0


def finds(store: VectorStore, names: Sequence[str], vectors: Vectors) -> bool:
    """Does the store find these vectors by themselves? Raises IndexProblem if it cannot even
    search."""
    found = 0
    for name, vector in zip(names, vectors, strict=True):
        near = store.search(vector, _NEAR)
        found += any(other == name for other, _ in near) or (bool(near) and near[-1][1] > _SAME)
    return found >= _ENOUGH * len(names)


def probe(folder: Path, store: str, names: Sequence[str], vectors: Vectors) -> bool:
    """Open the folder in a child process and let it look for the canaries there."""
    child = subprocess.Popen(
        [sys.executable, "-m", "oneiro_vault.index.vectors.integrity", str(folder), store],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=frames.environment(),
    )  # fmt: skip
    try:
        assert child.stdin is not None
        with child.stdin as stream:
            frames.send(
                stream,
                {"names": list(names), "dimension": vectors.shape[1]},
                vectors.astype(np.float32).tobytes(),
            )
        return child.wait(_PATIENCE) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def fingerprint(folder: Path) -> list[list[object]]:
    """Name, size and time of every file: equal means that nothing wrote there."""
    found: list[list[object]] = []
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            stat = path.stat()
            found.append([path.relative_to(folder).as_posix(), stat.st_size, stat.st_mtime_ns])
    return sorted(found, key=str)


def main() -> int:
    """The child: 0 sound, 1 not."""
    from oneiro_vault.index.vectors.backends import ChromaShelf

    frame = frames.receive(sys.stdin.buffer)
    if frame is None:
        return 1
    header, payload = frame
    vectors = np.frombuffer(payload, dtype=np.float32).reshape(-1, max(1, header["dimension"]))
    try:
        shelf = ChromaShelf(Path(sys.argv[1]))
        if sys.argv[2] not in shelf.names():
            return 1
        store = shelf.store(sys.argv[2])
        names = header["names"]
        if not names:
            names, vectors = store.sample(CANARIES)
        sound = finds(store, names, vectors)
        shelf.close()
    except IndexProblem:
        return 1
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
