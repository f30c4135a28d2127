"""Faults of what the vault rests on that are known by version, and what we do about each. Data only; `doctor` names those that are here.

An entry stands here when its range was published or measured by us, and goes when no version that can be installed has the fault.
(A git that is too old for what we ask of it is refused by name before any of this: `vault.commands`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Fault:
    """`name` as in `upkeep.versions`, `first` to `last` (both have it), `level` as in `doctor`, what is wrong and what we do about it."""

    name: str
    first: tuple[int, ...]
    last: tuple[int, ...]
    level: str
    text: str

    @property
    def code(self) -> str:
        """How `doctor` calls the finding."""
        return f"{self.name}-version"


FAULTS: Final = (
    Fault(
        "sqlite", (3, 7, 0), (3, 51, 2), "info",
        "has a known rare fault with two writing connections; the index uses one and can be rebuilt",
    ),
    Fault(
        "chromadb", (1, 5, 9), (1, 5, 9), "info",
        "loses vectors when two processes open it, and opens a damaged store as if it were whole; "
        "one process owns it here, and looks again and again whether it still finds what it holds",
    ),
    Fault(
        "mcp", (2, 3, 0), (2, 3, 0), "info",
        "answers nothing to a line that is no JSON and takes one of any length; they are refused here before it sees them",
    ),
)  # fmt: skip
"""SQLite: the WAL-reset bug, published with 3.51.3. The others were measured."""
HARMLESS: Final = frozenset(fault.code for fault in FAULTS if fault.level == "info")
"""What a person hears of with -v only: it is so as long as that version is installed, and nothing has to be done."""
