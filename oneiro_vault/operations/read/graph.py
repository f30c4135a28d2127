"""Who and what is connected with somebody or something, as the notes state it; and what a memory
was made of, down to the raw words, or became part of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from oneiro_vault import answers
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.taxonomy import inverse
from oneiro_vault.core.memory import captured
from oneiro_vault.core.text.query import spellings
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound, shown
from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword.edge_rows import UNTYPED, StatedBy
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.read.recall_show import check_text, opened
from oneiro_vault.operations.runtime import House, View
from oneiro_vault.recall import graph_layout
from oneiro_vault.recall.graph_walk import Graph, Ref, Walk, wanted
from oneiro_vault.recall.request import EVER, LIVE

DEEPEST: Final = 6
MOST: Final = 2_000
_CHOICES: Final = 8
_WORDS: Final = 600
"""Characters of raw words that are shown."""


def graph(
    house: House,
    name: str,
    to: str | None = None,
    depth: int | None = None,
    relation: str | Sequence[str] = (),
    limit: int = 60,
    ever: bool = False,
    as_of: str | None = None,
    places: bool = False,
) -> answers.Graphed:
    """What is connected with a person or thing (a name, an alias, a title, an id), up to `depth`
    steps away (1, at most 6); with `to`, the shortest way there, up to 4 steps.

    `relation`: only these (`works_for`, in either direction), or categories of them (`social`).
    `ever`: also what was replaced or has ended. `as_of`: as it was believed then.
    `places`: also where to draw each, the first in the middle. Raises NotFound for what the vault
    has never heard of, AmbiguousId where several have the name.
    """
    asked = (relation,) if isinstance(relation, str) else tuple(relation)
    check_text(name, to, *asked)
    steps = (1 if to is None else 4) if depth is None else depth
    if not 1 <= steps <= DEEPEST or not 1 <= limit <= MOST:
        raise InvalidInput(f"depth is from 1 to {DEEPEST}, limit from 1 to {MOST}")
    with opened(house, as_of) as view:
        statuses = (*EVER, "archived") if ever else LIVE
        speaking = StatedBy(statuses, "" if ever else dates.iso(view.known.now))
        found = Graph(view.index, speaking, house.forgotten())
        start = _one(view, found, name)
        if to is None:
            walk = found.walk(start, steps, limit, wanted(asked))
        else:
            walk = _way(found, start, _one(view, found, to), steps, asked, name, to)
        answer = _answer(view, walk, (name, to or ""))
        if places:
            _place(answer)
        return {**answer, **view.told(None, None, 0)}


def _one(view: View, found: Graph, name: str) -> Ref:
    meant = found.meant(name)
    if not meant:
        raise NotFound(
            f"nothing here is about {shown(name)}",
            hint="Give it as the notes write it, or an id; `oneiro recall` finds notes by meaning.",
        )
    if len(meant) > 1:
        rows = view.index.rows([ref for ref in meant if isinstance(ref, int)])
        which = "; ".join(f"{row.title} ({row.handle})" for row in [*rows.values()][:_CHOICES])
        raise AmbiguousId(
            f"{shown(name)} may mean {len(meant)} different ones: {which}",
            hint="Give the id, or a name that only one of them has.",
        )
    return meant[0]


def _way(
    found: Graph, start: Ref, end: Ref, steps: int, asked: Sequence[str], name: str, to: str
) -> Walk:
    walk = found.way(start, end, steps, wanted(asked))
    if walk is None:
        raise NotFound(
            f"no way of {steps} steps or fewer leads from {shown(name)} to {shown(to)}",
            hint="A greater --depth looks further.",
        )
    return walk


def _answer(view: View, walk: Walk, asked: Sequence[str]) -> answers.Graphed:
    keys = {ref for ref in walk.hops if isinstance(ref, int)} | {tie.by for tie in walk.ties}
    rows = view.index.rows(keys)
    names = spelled(view, {ref for ref in walk.hops if isinstance(ref, str)}, rows, asked)
    edges: dict[tuple[str, str, str], answers.GraphEdge] = {}
    for tie in walk.ties:
        ends = _ref(tie.source, rows), tie.relation, _ref(tie.target, rows)
        edges.setdefault(ends, _edge(*ends, rows[tie.by]))
    return {
        "schema": 1,
        "nodes": [_node(ref, hops, rows, names) for ref, hops in walk.hops.items()],
        "edges": list(edges.values()),
        "left": walk.left,
    }


def _place(answer: answers.Graphed) -> None:
    number = {one["ref"]: at for at, one in enumerate(answer["nodes"])}
    pairs = [(number[one["source"]], number[one["target"]]) for one in answer["edges"]]
    at = graph_layout.places(len(number), np.array(pairs, np.int64).reshape(-1, 2))
    for node, (x, y) in zip(answer["nodes"], (at - at[0]).tolist(), strict=True):
        node["x"], node["y"] = round(x, 2), round(y, 2)


def _ref(ref: Ref, rows: dict[int, Row]) -> str:
    return rows[ref].handle if isinstance(ref, int) else f"name:{ref}"


def _node(ref: Ref, hops: int, rows: dict[int, Row], names: dict[str, str]) -> answers.GraphNode:
    if isinstance(ref, str):
        return {
            "ref": _ref(ref, rows), "id": None, "name": names[ref], "type": "name", "kind": "",
            "path": None, "status": "", "hops": hops,
        }  # fmt: skip
    row = rows[ref]
    return {
        "ref": row.handle, "id": row.handle, "name": row.title, "type": row.type,
        "kind": row.kind, "path": row.path, "status": row.status, "hops": hops,
    }  # fmt: skip


def _edge(source: str, relation: str, target: str, by: Row) -> answers.GraphEdge:
    since = by.valid_from or ("" if relation in UNTYPED else by.created)
    return {
        "source": source,
        "relation": relation,
        "target": target,
        "inverse": inverse(relation),
        "since": since[:10] or None,
        "until": by.valid_until[:10] or None,
        "by": by.handle,
    }


def spelled(
    view: View, names: Collection[str], rows: dict[int, Row], asked: Sequence[str]
) -> dict[str, str]:
    """Folded name -> as a note writes it, or as it was asked for."""
    left = set(names)
    found = {name: name for name in names}
    written = [name for row in rows.values() for name in row.about]
    if left:
        for body in view.index.bodies(rows.keys()).values():
            for link in parser.parse(body).links:
                written += [link.target, link.subject]
    for one in (*written, *asked):
        for name in left.intersection(spellings(one)):
            found[name] = " ".join(one.split())
            left.discard(name)
    return found


def levels(house: House, id: str, up: bool = False) -> answers.Levels:
    """From a memory down to what it was made of, and so on to the raw words of conversations; or
    `up` to what was made of it: facts, insights, orientation. Nearest first; not a use."""
    house.converge()
    row = house.resolve(id)
    found: list[answers.Level] = []
    seen, frontier = {row.key}, [row]
    while frontier and len(found) < MOST:
        nearer = {one.key: one for one in frontier}
        pairs = {
            (edge.target, edge.source) if up else (edge.source, edge.target)
            for edge in house.index.neighbours(nearer.keys(), ("derived_from",))
        }
        steps = {there: here for here, there in pairs if here in nearer and there not in seen}
        rows = house.index.rows(steps.keys())
        frontier = sorted(rows.values(), key=lambda one: (one.when or 0.0, one.path))
        seen |= rows.keys()
        depth = found[-1]["depth"] + 1 if found else 1
        found += [_level(house, one, nearer[steps[one.key]], depth, up) for one in frontier]
    return {"schema": 1, "id": row.handle, "title": row.title, "levels": found}


def _level(house: House, row: Row, of: Row, depth: int, up: bool) -> answers.Level:
    return {
        "id": row.handle,
        "title": row.title,
        "type": row.type,
        "level": row.level,
        "created": row.created,
        "status": row.status,
        "depth": depth,
        "of": of.handle,
        "words": "" if up or not captured(row) else _raw(house, row, of),
    }


def _raw(house: House, capture: Row, fact: Row) -> str:
    """The words of a capture that a memory rests on."""
    named = [str(one) for one in house.load(fact)[1].extra.get(turns.KEY) or ()]
    _, known, _ = served(house, capture)
    said = [known.body[one.start : one.end].strip() for one in turns.named(known, named)]
    return "\n".join(said)[:_WORDS]
