"""How a client's file was before us, and what is wrong with one that cannot be edited."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


class Trouble(ValueError):  # noqa: N818  # named after what happened
    """The text cannot be edited; `line` and `column` from 1."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(what)
        self.line, self.column = line, column


@dataclass
class Trace:
    """How a file was before us. `text` is all of it when it held nothing (None: it did not exist);
    `made` are containers we added, `empty` what stood in containers that had no element, `glue` the
    line ends put before a TOML table.
    """

    existed: bool = True
    text: str | None = None
    made: list[str] = field(default_factory=list)
    empty: dict[str, str] = field(default_factory=dict)
    glue: str | None = None
    folders: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)
