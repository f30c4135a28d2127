"""What was learned, asked before a decision: principles, precedents and how they ended; a lesson
filed; one principle to turn over; which of them had any influence; and the numbers behind the
charts of it all."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import Final, TypeAlias

import numpy as np

from oneiro_vault import answers
from oneiro_vault.api import Progress, quiet
from oneiro_vault.core.memory import OVER, captured
from oneiro_vault.errors import InvalidInput, NotFound
from oneiro_vault.index.base import Filters, Row, Vectors
from oneiro_vault.index.store import Index
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read.recall_show import (
    REPORT,
    check_few,
    check_text,
    check_whole,
    many,
)
from oneiro_vault.operations.remember import write
from oneiro_vault.operations.runtime import DOUBT, USEFUL, House, Remembered, Uses
from oneiro_vault.recall import result_lines
from oneiro_vault.recall.relevance import weigh
from oneiro_vault.recall.request import Asked
from oneiro_vault.recall.search import Search
from oneiro_vault.vault.vault import Vault

PRINCIPLE: Final = "principle"
LEARNING: Final = "learning"
"""The kind of a principle that is a lesson: what a model or a person learned from a case."""
MOST: Final = 20
MOST_NAMED: Final = 100
KINDS: Final = ("looked", "found", "useful", "wrong")
"""What can be said of a use: somebody looked, a question had found it, what they said of it."""
Days: TypeAlias = dict[str, Counter[str]]
"""`uses`, or a kind of use -> day (YYYY-MM-DD) -> how often."""
LOOKED: Final = ("shown", "fetched")
"""Why a use is a look."""
_LEAST: Final = 0.05
"""What has to speak for a principle or precedent (`relevance.weigh`): it is asked for, and a
distant one may be what is needed."""
_CASES: Final = ("action", "decision", "incident", "outcome")
"""Kinds of events, and of facts, that are cases."""
_WELL: Final = ("It worked out well and everybody is happy with it.", "A success: keep doing it.")
_BADLY: Final = ("It went wrong, failed and had to be undone.", "A mistake that cost us a lot.")
_EITHER: Final = 0.02
"""Difference of cosines from which an outcome is nearer to one than to the other."""


def consult(
    house: House,
    decision: str,
    context: str | None = None,
    concept: str | Sequence[str] = (),
    limit: int = 3,
    progress: Progress = quiet,
) -> answers.Consulted:
    """What bears on a decision: principles and lessons, cases that went well and cases that did
    not, each with what became of it. `concept`: only what has these tags. Decides nothing."""
    check_text(decision, context, *many(concept))
    if not decision.strip():
        raise InvalidInput("there is no decision", hint='Try `oneiro consult "ship on a Friday?"`.')
    check_whole("limit", limit, 1, MOST)
    house.indexing.converge()
    query = " ".join(filter(None, (decision.strip(), (context or "").strip())))
    vector, degraded = house.vectors.query(query, wait=True, progress=progress)
    tags = many(concept)
    principles = _found(house, query, vector, Filters(type=PRINCIPLE, tag=tags or None), limit)
    cases = [
        row
        for row in _found(house, query, vector, Filters(type=("episodic", "semantic")), 4 * MOST)
        if row.outcome or row.kind in _CASES
    ]
    ended = _ended(house, cases) if vector is not None else {}
    well = [row for row in cases if ended.get(row.key, "open") != "badly"][:limit]
    badly = [row for row in cases if ended.get(row.key) == "badly"][:limit]
    everything = [*principles, *well, *badly]
    words = result_lines.show(house.index, query, vector, [(row, 1.0) for row in everything], True)
    said = {row.key: one.snippet for row, one in zip(everything, words, strict=True)}
    return {
        "schema": 1,
        "principles": [_cited(house, row, said[row.key], "") for row in principles],
        "precedents": [_cited(house, row, said[row.key], ended.get(row.key, "")) for row in well],
        "counter": [_cited(house, row, said[row.key], "badly") for row in badly],
        "degraded": degraded,
    }


def _found(
    house: House, query: str, vector: Vectors | None, filters: Filters, most: int
) -> list[Row]:
    search = Search(house.index, house.uses.remembered(), house.weights)
    asked = Asked(query, max(most, MOST), filters, captures=False)
    rows = [one.row for one in search.run(asked, vector) if not captured(one.row)]
    weights = weigh(house.index, query, vector, rows)
    fitting = [row for weight, row in zip(weights, rows, strict=True) if weight >= _LEAST]
    return (fitting if vector is not None else rows)[:most]


def _ended(house: House, rows: Sequence[Row]) -> dict[int, str]:
    """Key -> `well` or `badly`, by what its outcome is nearer to; `open` where nothing tells."""
    told = [row for row in rows if row.outcome]
    if not told:
        return {}
    encode = house.vectors.embedder.encode
    outcomes, good, bad = (encode(some) for some in ([r.outcome for r in told], _WELL, _BADLY))
    apart = np.max(outcomes @ good.T, axis=1) - np.max(outcomes @ bad.T, axis=1)
    return {
        row.key: "open" if abs(one) < _EITHER else "well" if one > 0 else "badly"
        for row, one in zip(told, apart.tolist(), strict=True)
    }


def _cited(house: House, row: Row, words: str, ended: str) -> answers.Cited:
    later = [one for one in house.index.links_to(row.key) if one["relation"] != "mentions"]
    return {
        "id": row.handle,
        "title": row.title,
        "kind": row.kind,
        "created": row.created,
        "words": words or row.description,
        "outcome": row.outcome,
        "ended": ended,
        "trust": row.trust,
        "then": [{"id": one["id"], "title": one["title"]} for one in later[:3]],
    }


def learn(
    house: House,
    text: str,
    title: str | None = None,
    concepts: Sequence[str] = (),
    about: Sequence[str] = (),
    actor: str = "user",
) -> answers.Remembered:
    """File a lesson: a principle of the kind `learning`, with concepts as tags; it does not
    fade."""
    item = {
        "text": text,
        "type": PRINCIPLE,
        "kind": LEARNING,
        "title": title,
        "tags": list(concepts),
        "about": list(about),
    }
    return write.remember(house, [{k: v for k, v in item.items() if v not in (None, [])}], actor)


def ponder(house: House, concept: str | None = None) -> answers.Pondered:
    """One principle or lesson worth a thought today: the less it was looked at, the likelier; the
    same all day. Not a use. Raises NotFound where there is none."""
    check_text(concept)
    house.indexing.converge()
    rows = house.index.list(type=PRINCIPLE, status="active", tag=concept or None, limit=10_000)
    known = house.uses.remembered()
    rows = sorted((row for row in rows if not known.doubted(row)), key=lambda row: row.handle)
    if not rows:
        raise NotFound(
            "there is no principle to turn over",
            hint='`oneiro learn "…"` files a lesson; principles are notes of type `principle`.',
        )
    draw = random.Random(house.now()[:10])
    row = draw.choices(rows, [1 / (1 + known.days(one)) for one in rows])[0]
    return {
        "schema": 1,
        "id": row.handle,
        "title": row.title,
        "created": row.created,
        "body": house.index.body(row.key).strip(),
        "uses": known.days(row),
        "of": len(rows),
    }


def influence(house: House, ids: Sequence[str] = ()) -> answers.Influence:
    """How often each principle or lesson, or each of these memories, was looked at, by month and by
    day, and called useful or wrong; the most used first."""
    house.indexing.converge()
    named = many(ids)
    check_few(named, MOST_NAMED)
    rows = [house.indexing.resolve(one) for one in named] or house.index.list(
        type=PRINCIPLE, limit=10_000
    )
    known = {row.handle: row for row in rows if row.id or named}
    used = used_on(house.vault)
    found = [influencing(row, used.get(ident, _never())) for ident, row in known.items()]
    return {"schema": 1, "results": sorted(found, key=lambda one: (-one["uses"], one["title"]))}


def used_on(vault: Vault) -> dict[str, Days]:
    """Id -> how the memory was used and judged."""
    found: dict[str, Days] = {}
    for event in vault.ledger.events():
        ident, day = str(event.get("id", "")), _day(event)
        for kind in _kinds(event) if day else ():
            found.setdefault(ident, _never())[kind][day] += 1
    return found


def _never() -> Days:
    return {kind: Counter() for kind in ("uses", *KINDS)}


def _day(event: answers.Json) -> str:
    """The day of an event of the ledger, "" where a pulled line says none."""
    try:
        return date.fromisoformat(str(event.get("t", ""))[:10]).isoformat()
    except ValueError:
        return ""


def _kinds(event: answers.Json) -> list[str]:
    """What an event counts as."""
    if event.get("e") == DOUBT:
        return ["wrong"]
    if event.get("e") != "use":
        return []
    why = event.get("why")
    looked = ["looked", *(["found"] if event.get("q") else [])] if why in LOOKED else []
    return ["uses", *looked, *(["useful"] if why == USEFUL else [])]


def influencing(row: Row, days: Days) -> answers.Influencing:
    """What `influence` says of one memory."""
    months: Counter[str] = Counter()
    for day, number in days["uses"].items():
        months[day[:7]] += number
    return {
        "id": row.handle,
        "title": row.title,
        "uses": days["uses"].total(),
        "useful": days["useful"].total(),
        "wrong": days["wrong"].total(),
        "months": dict(sorted(months.items())),
        "days": {kind: dict(sorted(days[kind].items())) for kind in KINDS},
    }


STEPS: Final = 10
_PLOTTED: Final = 8
"""Of the most used memories."""


def plots(indexing: Indexing, uses: Uses, /) -> answers.Plots:
    """What `stats --plot` and the page draw. Not a use."""
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
        "influence": _most_used(rows, used),
        "nights": _nights(index),
    }


def _most_used(rows: list[Row], used: dict[str, Days]) -> list[answers.Influencing]:
    found = [influencing(row, used[row.id]) for row in rows if row.id in used]
    found = [one for one in found if one["uses"] or one["wrong"]]
    return sorted(found, key=lambda one: (-one["uses"], one["title"], one["id"]))[:_PLOTTED]


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
        if row.status in OVER:
            continue
        if math.isinf(known.stability(row)):
            lasting += 1
        else:
            left = known.strength(row)
            counts[min(STEPS - 1, int(left * STEPS))] += 1
            faded += left < known.faded
    return {"strengths": counts, "lasting": lasting, "faded": faded}


def _nights(index: Index) -> list[answers.Night]:
    from oneiro_vault.mind.report import costs_of  # loaded only where a chart is drawn

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
