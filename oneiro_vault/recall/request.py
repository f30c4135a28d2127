"""A question to recall, a row of its answer, and what is known of a memory's use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from oneiro_vault import answers
from oneiro_vault.core.memory import LIVE
from oneiro_vault.index.base import Filters, Row

EVER: Final = (*LIVE, "superseded")
"""Statuses that answer a question about what was."""


class Ledger(Protocol):
    """What is known of a memory's use at one moment."""

    @property
    def now(self) -> float:
        """Epoch seconds."""
        ...

    @property
    def faded(self) -> float:
        """Strength below which a memory leaves automatic loads."""
        ...

    def last(self, row: Row) -> float | None:
        """When it was last used on purpose, else created (epoch seconds)."""
        ...

    def days(self, row: Row) -> int:
        """On how many days it was used on purpose."""
        ...

    def strength(self, row: Row) -> float:
        """How much of it is left, 0-1."""
        ...

    def doubted(self, row: Row) -> bool:
        """Was it said to be wrong?"""
        ...


@dataclass(frozen=True)
class Asked:
    """One question: its text, how many rows, which notes may answer, and whether it is an automatic
    load (`passive`).

    An automatic load brings nothing that has faded, and no orientation: that is loaded anyway.
    `without`: handles of notes that are to be left out as if they were not there; `only`: the keys
    of those that may answer, whatever their status. `captures`: may captured conversations answer,
    too? `history`: what was replaced answers as well, and stands in order before what replaced it.
    `alike`: what is most like the text, in that order: neither the newest first nor what was made
    of others behind them.
    """

    query: str
    k: int
    filters: Filters = field(default_factory=Filters)
    passive: bool = False
    without: frozenset[str] = frozenset()
    only: frozenset[int] | None = None
    captures: bool = True
    history: bool = False
    alike: bool = False


@dataclass(frozen=True)
class Found:
    """A row of the answer: the note, its score 0-1, and the parts that add up to it.

    `heir`: the handle of what replaced it, or replaced what was made of it and stands in this
    answer; `newer`: of a row before it that says the same of a later day. `dated`: its day is one
    that the question names. `replaced`: what it replaced, where that fits the question better.
    """

    row: Row
    score: float
    why: answers.RowWhy
    heir: str = ""
    newer: str = ""
    dated: bool = False
    replaced: Row | None = None
