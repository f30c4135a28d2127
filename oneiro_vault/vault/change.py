"""What a writer wants, as data: `Change`s and one `Operation`, which `Vault.apply` turns into one
commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from oneiro_vault.errors import OneiroError

OPS: Final = frozenset(
    "remember reframe revise link supersede merge split distil whittle synthesize forget restore "
    "flag resolve ratify import adopt edit ledger sync".split()
)
"""The closed set of operations a commit of ours can carry (trailer `Oneiro-Op`)."""


@dataclass(frozen=True)
class Write:
    """Put `data` (the whole file) at `path` (vault-relative, POSIX).

    `base`: sha256 of the bytes the writer read, None when the file must not exist yet. `proposal`:
    another note (path, data) to commit instead if the disk no longer holds `base`: a machine's
    change never overwrites a person's words. Without one, a mismatch refuses the whole operation.
    """

    path: str
    data: bytes
    base: str | None = None
    proposal: tuple[str, bytes] | None = None


@dataclass(frozen=True)
class Remove:
    """Take the file at `path` out of the tree; `base` as in `Write`. Its bytes stay in history."""

    path: str
    base: str


Change: TypeAlias = Write | Remove


@dataclass(frozen=True)
class Operation:
    """Why a commit exists: its subject `<op>: <title>` and its `Oneiro-*` trailers.

    `memories` are ids; `actor` is `user`, `model`, `capture`, `dream` or `import:<name>`. Of a
    loop's work: `run`, `loop`, the `judge` it rests on, `decision`, the id by which it is done at
    most once, and `fence`, the number of its lease (0: none).
    """

    op: str
    title: str
    actor: str = "user"
    memories: tuple[str, ...] = ()
    reason: str = ""
    run: str = ""
    judge: str = ""
    loop: str = ""
    decision: str = ""
    fence: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for an `op` that is not of `OPS`, before anybody takes a lock for it."""
        if self.op not in OPS:
            raise ValueError(f"{self.op!r} is not an operation")


@dataclass(frozen=True)
class Receipt:
    """What `Vault.apply` made durable.

    `commit`: the new tip ("" when nothing differed). `written`: path -> sha256. `proposals`: path
    wanted -> path of the pending note that holds the words instead. `refused`: position of a change
    -> why it cannot be made; with one refused, none was.
    """

    commit: str
    written: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    proposals: dict[str, str] = field(default_factory=dict)
    refused: dict[int, OneiroError] = field(default_factory=dict)
