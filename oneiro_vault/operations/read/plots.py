"""The numbers behind the charts: how the memory grew, how strong it is, how it is used, what its
nights cost."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from oneiro_vault import answers
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.index.base import Row
from oneiro_vault.index.store import Index
from oneiro_vault.mind.report import costs_of
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read.recall_show import REPORT
from oneiro_vault.operations.read.wisdom import KINDS, Days, influencing, used_on
from oneiro_vault.operations.runtime import Remembered, Uses

STEPS: Final = 10
MOST: Final = 40
"""Memories whose influence is told."""


def plots(indexing: Indexing, uses: Uses, /, limit: int = 8) -> answers.Plots:
    """What `stats --plot` and the page draw; `limit`: of the most used memories. Not a use.
    Raises InvalidInput."""
    if not 1 <= limit <= MOST:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST}, not {shown(limit)}")
    index = indexing.index
    indexing.converge()
    rows = index.list(without=REPORT, limit=10_000_000)
    used = used_on(indexing.vault)
    every = {kind: Counter[str]() for kind in KINDS}
    for days in used.values():
        for kind in KINDS:
            every[kind].update(days[kind])
    strong = _strengths(uses.remembered(), rows)
    return {
        "schema": 1,
        "growth": _growth(rows),
        "strengths": strong["strengths"],
        "lasting": strong["lasting"],
        "faded": strong["faded"],
        "uses": {kind: dict(sorted(every[kind].items())) for kind in KINDS},
        "influence": _most_used(rows, used, limit),
        "nights": _nights(index),
    }


def _most_used(rows: list[Row], used: dict[str, Days], limit: int) -> list[answers.Influencing]:
    found = [influencing(row, used[row.id]) for row in rows if row.id in used]
    found = [one for one in found if one["uses"] or one["wrong"]]
    return sorted(found, key=lambda one: (-one["uses"], one["title"], one["id"]))[:limit]


def _growth(rows: list[Row]) -> dict[str, dict[str, int]]:
    """By the day on which it came in, which may be long after it happened."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        day = (row.timestamp or row.created)[:10]
        if day:
            found.setdefault(row.type, Counter())[day] += 1
    return {name: dict(sorted(days.items())) for name, days in sorted(found.items())}


def _strengths(known: Remembered, rows: list[Row]) -> answers.Strengths:
    counts, lasting, faded = [0] * STEPS, 0, 0
    for row in rows:
        if row.status in ("superseded", "archived"):
            continue
        if math.isinf(known.stability(row)):
            lasting += 1
        else:
            left = known.strength(row)
            counts[min(STEPS - 1, int(left * STEPS))] += 1
            faded += left < known.faded
    return {"strengths": counts, "lasting": lasting, "faded": faded}


def _nights(index: Index) -> list[answers.Night]:
    found: list[answers.Night] = []
    rows = index.list(type=REPORT, limit=10_000)
    bodies = index.bodies([row.key for row in rows])
    for row in sorted(rows, key=lambda row: (row.when or 0.0, row.path)):
        asked, tokens_in, tokens_out, cost = costs_of(bodies.get(row.key, ""))
        if row.created:
            found.append(
                {
                    "day": row.created[:10], "run": row.handle, "title": row.title,
                    "questions": asked, "tokens_in": tokens_in, "tokens_out": tokens_out,
                    "cost": round(cost, 4), "path": row.path,
                }
            )  # fmt: skip
    return found
