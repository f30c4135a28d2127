"""Short notes of eight lives, with a question each, and questions of general knowledge."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def pairs() -> list[list[tuple[str, str]]]:
    """For each life its (note, question)."""
    found: list[list[tuple[str, str]]] = []
    for line in (_HERE / "domains.txt").read_text(encoding="utf-8").splitlines():
        note, divided, question = line.partition("|")
        if divided:
            found[-1].append((note, question))
        else:
            found.append([])
    return found


def general() -> list[str]:
    """Questions that none of the notes answers."""
    return (_HERE / "unrelated.txt").read_text(encoding="utf-8").splitlines()
