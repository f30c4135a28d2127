"""The file `vectors.json`: which folder of vectors is in use, which store in it answers, and
whether it was closed in order."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

NAME: Final = "vectors.json"


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


def read(place: Path) -> Pointer | None:
    """The pointer in a folder; None if there is none or it makes no sense."""
    try:
        found = Pointer(**json.loads((place / NAME).read_text(encoding="utf-8")))
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
    found = read(place)
    return f"{found.folder}/{found.serving}" if found is not None and found.model == model else ""


def write(place: Path, pointer: Pointer) -> None:
    """Put it there whole, or leave the old one."""
    temp = place / f"{NAME}.tmp"
    temp.write_text(json.dumps(asdict(pointer)), encoding="utf-8")
    temp.replace(place / NAME)


def forget(place: Path) -> None:
    """Nothing is in use any more."""
    (place / NAME).unlink(missing_ok=True)
