"""Who and what is connected with somebody or something, as the notes state it; what a memory was
made of, down to the raw words, or became part of; and everything that is connected, as one
picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from oneiro_vault import answers
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.taxonomy import inverse
from oneiro_vault.core.memory import LIVE, captured
from oneiro_vault.core.text.query import spellings
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput, NotFound, shown
from oneiro_vault.index.base import Node, Row
from oneiro_vault.index.keyword.edge_rows import UNTYPED, StatedBy
from oneiro_vault.operations.history import as_of_view
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.read.recall_show import (
    REPORT,
    check_text,
    check_whole,
    many,
    meant,
    opened,
)
from oneiro_vault.operations.runtime import House, View
from oneiro_vault.recall import graph_layout
from oneiro_vault.recall.graph_layout import Pairs, Places, Points, components
from oneiro_vault.recall.graph_walk import Graph, Ref, Walk, wanted
from oneiro_vault.recall.request import EVER

DEEPEST: Final = 6
MOST: Final = 2_000
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
    asked = many(relation)
    check_text(name, to, *asked)
    steps = (1 if to is None else 4) if depth is None else depth
    check_whole("depth", steps, 1, DEEPEST)
    check_whole("limit", limit, 1, MOST)
    with opened(house, as_of) as view:
        statuses = (*EVER, "archived") if ever else LIVE
        speaking = StatedBy(statuses, "" if ever else dates.iso(view.known.now))
        found = Graph(view.index, speaking, house.uses.forgotten())
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
    ref = meant(view, found, name)
    if ref is None:
        raise NotFound(
            f"nothing here is about {shown(name)}",
            hint="Give it as the notes write it, or an id; `oneiro recall` finds notes by meaning.",
        )
    return ref


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
    house.indexing.converge()
    row = house.indexing.resolve(id)
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
    """The turns of a capture that a memory rests on."""
    names = [str(one) for one in house.indexing.load(fact)[1].extra.get(turns.KEY) or ()]
    _, known, _ = served(house.indexing, capture)
    return "\n".join(turns.named(known, names))[:_WORDS]


NAME: Final = "name"
"""Type of a node that is a name without a note."""
LONGEST: Final = 30.0
"""Seconds that may be waited for places."""
_KEPT: Final = 3


@dataclass(frozen=True)
class Whole:
    """The graph of one state of an index. `edges`: numbers of nodes; `names`: of each edge's
    relation, by its number."""

    nodes: tuple[Node, ...]
    edges: Pairs
    relation: Sequence[int]
    names: tuple[str, ...]

    @property
    def refs(self) -> list[str]:
        """What each node is called in an answer."""
        return [one.handle for one in self.nodes]


class Drawn:
    """What was drawn lately: graphs by their state, and their places."""

    def __init__(self, house: House) -> None:
        self.places = Places(house.index.folder)
        self.wholes: dict[object, Whole] = {}


def whole_graph(
    house: House,
    type: str | Sequence[str] = (),
    without: str | Sequence[str] = (),
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    wait: float = 0.0,
) -> answers.WholeGraph:
    """All notes but the reports of dreams, and names that no note has (of type `name`), with all
    edges between them: of these types, or `without` some; of a project; of this time. What is left
    out moves nothing: places are those of the whole, known after at most `wait` seconds or not yet
    (ask again). Not a use of any. Raises InvalidInput, NotFound for an `as_of` before the
    history."""
    if not 0 <= wait <= LONGEST:
        raise InvalidInput(f"wait is from 0 to {LONGEST:.0f} seconds")
    kinds, others = many(type or ()), many(without or ())
    check_text(*kinds, *others, project, since, until)
    first = _day(as_of_view.span(house.clock(), since)[0] if since else None, "")
    after = _day(as_of_view.span(house.clock(), until)[1] if until else None, "~")
    with opened(house, as_of) as view:
        drawn = house.drawn = house.drawn or Drawn(house)
        whole = _whole(drawn, view, house.uses.forgotten())
        at = drawn.places.of(whole.refs, whole.edges, wait, not view.past)
        kept = _kept(
            whole,
            lambda one: (
                (not kinds or one.type in kinds)
                and one.type not in others
                and (
                    one.type == NAME
                    or (project in (None, "", one.project) and first <= one.created[:10] < after)
                )
            ),
        )
        answer = _pictured(whole, kept, at, view.index.unread())
        return {**answer, **view.told(None, None, 0)}


def _day(moment: float | None, otherwise: str) -> str:
    return otherwise if moment is None else dates.iso(moment)[:10]


def _whole(drawn: Drawn, view: View, forgotten: Collection[str]) -> Whole:
    now = dates.iso(view.known.now)
    # by the hour: what a note says ends by the clock
    key = (view.index.state(), view.past, now[:13])
    found = drawn.wholes.get(key)
    if found is None:
        speaking = StatedBy(LIVE, now)
        found = _read(view, speaking, forgotten)
        drawn.wholes = {**dict([*drawn.wholes.items()][1 - _KEPT :]), key: found}
    return found


def _read(view: View, speaking: StatedBy, forgotten: Collection[str]) -> Whole:
    notes = [one for one in view.index.nodes(speaking.statuses) if one.type != REPORT]
    number: dict[Ref, int] = {one.key: at for at, one in enumerate(notes)}
    ties = Graph(view.index, speaking, forgotten).around([one.key for one in notes])
    by: dict[str, int] = {}
    for tie in ties:
        for end in (tie.source, tie.target):
            if isinstance(end, str):
                by[end] = min(by.get(end, tie.by), tie.by)
    written = spelled(view, by.keys(), view.index.rows(set(by.values())), ())
    for name in sorted(by):
        number[name] = len(number)
    nodes = [*notes, *(_named(name, written[name]) for name in sorted(by))]
    names = sorted({tie.relation for tie in ties})
    relation = {name: at for at, name in enumerate(names)}
    edges = sorted(
        {
            (number[tie.source], number[tie.target], relation[tie.relation])
            for tie in ties
            if tie.source in number and tie.target in number
        }
    )
    pairs = np.array(edges, np.int64).reshape(-1, 3)
    return Whole(tuple(nodes), pairs[:, :2], pairs[:, 2].tolist(), tuple(names))


def _named(name: str, written: str) -> Node:
    return Node(0, f"name:{name}", written, NAME, "", "", "", "")


def _kept(whole: Whole, wanted: Callable[[Node], bool]) -> npt.NDArray[np.bool_]:
    """Which nodes are shown; a name only where something that is linked to it is."""
    kept = np.array([wanted(one) for one in whole.nodes], bool)
    named = np.array([one.type == NAME for one in whole.nodes], bool)
    near = np.zeros(len(kept), bool)
    for here, there in (whole.edges.T, whole.edges.T[::-1]) if len(whole.edges) else ():
        near[here[kept[there] & ~named[there]]] = True
    return kept & (~named | near)


def _pictured(
    whole: Whole, kept: npt.NDArray[np.bool_], at: Points | None, unread: int
) -> answers.WholeGraph:
    nodes = [one for one, shown in zip(whole.nodes, kept.tolist(), strict=True) if shown]
    place = np.cumsum(kept) - 1
    inside = kept[whole.edges].all(axis=1)
    edges = place[whole.edges[inside]]
    degrees = np.bincount(edges.ravel(), minlength=len(nodes))
    parts = components(len(nodes), edges)
    relation = np.array(whole.relation, np.int64)[inside]
    x, y = ([], []) if at is None else np.round(at[kept], 2).T.tolist() or ([], [])
    return {
        "schema": 1,
        "refs": [one.handle for one in nodes],
        "names": [one.title for one in nodes],
        "types_of": [one.type for one in nodes],
        "kinds": [one.kind for one in nodes],
        "created": [one.created[:10] for one in nodes],
        "degrees": degrees.tolist(),
        "x": x,
        "y": y,
        "placed": at is not None,
        "edges": np.column_stack([edges, relation]).ravel().tolist(),
        "relations": list(whole.names),
        "types": dict(Counter(one.type for one in whole.nodes).most_common()),
        "projects": dict(Counter(one.project for one in whole.nodes if one.project).most_common()),
        "total": len(whole.nodes),
        "parts": int((np.bincount(parts) > 1).sum()) if len(nodes) else 0,
        "unlinked": int((degrees == 0).sum()),
        "unread": unread,
    }
