"""What waits to become memories: captures, and what a conversation left behind, until their
frontmatter says that they were encoded."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from oneiro_vault.core.conversation.captures import ENCODED, OWN, REFLECTION, SOURCE, TYPE
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.errors import OneiroError
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.operations.runtime import House

_MOST: Final = 10_000_000
_KNOWN: WeakKeyDictionary[Index, dict[str, bool]] = WeakKeyDictionary()
"""sha256 of a file -> is it encoded? Reading thousands of notes again for every count would cost
seconds."""


def waiting(house: House) -> list[Row]:
    """Episodes that wait, oldest first, by the index as it is."""
    asked: tuple[dict[str, str], ...] = ({"source": SOURCE}, {"tag": REFLECTION}, {"tag": OWN})
    live = {
        row.key: row
        for where in asked
        for row in house.index.list(type=TYPE, status="active", limit=_MOST, **where)
    }
    rows = [row for row in live.values() if not _encoded(house, row)]
    return sorted(rows, key=lambda row: (row.when or 0.0, row.path))


def _encoded(house: House, row: Row) -> bool:
    known = _KNOWN.setdefault(house.index, {})
    if row.sha256 not in known:
        try:
            known[row.sha256] = (
                ENCODED in yaml_block.read(yaml_block.decode(house.vault.read(row.path)))[0]
            )
        except OneiroError:
            return True  # nobody can encode what cannot be read; `status` lists it
    return known[row.sha256]
