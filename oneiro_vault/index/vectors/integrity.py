"""Is the vector store what it seems? The file `vectors.json` says which folder is in use and
whether it was closed in order; and canary vectors must be found, in a child process first, since a
damaged Chroma can take the process down with it. `python -m oneiro_vault.index.vectors.integrity
FOLDER STORE` is that child: canaries on stdin, exit status 0 if they are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from oneiro_vault.errors import IndexProblem
from oneiro_vault.index.base import Vectors, VectorStore
from oneiro_vault.index.embed import frames

POINTER: Final = "vectors.json"
"""Which folder of vectors is in use, which store in it answers, and was it closed in order?"""
CANARIES: Final = 24

_ENOUGH: Final = 0.9
"""Share of the canaries that must be found: the search is approximate, but a vector finds
itself."""
_NEAR: Final = 10
_SAME: Final = 0.999
_PATIENCE: Final = 120.0


@dataclass(frozen=True)
class Pointer:
    """`folder` holds the store `serving` of `model`; `closed` is the folder's fingerprint if it was
    closed in order, else None, and `count` how many vectors were listed then."""

    folder: str
    serving: str
    model: str
    dimension: int
    closed: object = None
    count: int = -1


def read_pointer(place: Path) -> Pointer | None:
    """The pointer in a folder; None if there is none or it makes no sense."""
    try:
        found = Pointer(**json.loads((place / POINTER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    texts = (found.folder, found.serving, found.model)
    sensible = (
        all(isinstance(text, str) for text in texts)
        and isinstance(found.dimension, int)
        and found.folder.startswith("chroma-")
    )
    return found if sensible and "/" not in found.folder else None


def label(place: Path, model: str) -> str:
    """How the index's list of stored vectors names the store of this model, if it is the one that
    serves, else an empty string."""
    found = read_pointer(place)
    return f"{found.folder}/{found.serving}" if found is not None and found.model == model else ""


def write_pointer(place: Path, pointer: Pointer) -> None:
    """Put it there whole, or leave the old one."""
    temp = place / f"{POINTER}.tmp"
    temp.write_text(json.dumps(asdict(pointer)), encoding="utf-8")
    temp.replace(place / POINTER)


def forget_pointer(place: Path) -> None:
    """Nothing is in use any more."""
    (place / POINTER).unlink(missing_ok=True)


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
            frames.send(stream, (list(names), vectors))
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

    canaries = frames.receive(sys.stdin.buffer)
    if canaries is None:
        return 1
    names, vectors = canaries
    try:
        shelf = ChromaShelf(Path(sys.argv[1]))
        if sys.argv[2] not in shelf.names():
            return 1
        store = shelf.store(sys.argv[2])
        if not names:
            names, vectors = store.sample(CANARIES)
        sound = finds(store, names, vectors)
        shelf.close()
    except IndexProblem:
        return 1
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
