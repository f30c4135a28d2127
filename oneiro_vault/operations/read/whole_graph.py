"""Everything that is connected in the vault, as one picture: what the notes state, where each node
is drawn, and how much of it there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from oneiro_vault import answers
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import InvalidInput
from oneiro_vault.index.base import Node
from oneiro_vault.index.keyword.edge_rows import StatedBy
from oneiro_vault.operations.history import as_of_view
from oneiro_vault.operations.read.graph import spelled
from oneiro_vault.operations.read.recall_show import REPORT, check_text, many, opened
from oneiro_vault.operations.runtime import House, View
from oneiro_vault.recall.graph_layout import Pairs, Points, components
from oneiro_vault.recall.graph_places import Places
from oneiro_vault.recall.graph_walk import Graph, Ref
from oneiro_vault.recall.request import EVER, LIVE

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
    ever: bool = False,
    as_of: str | None = None,
    wait: float = 0.0,
) -> answers.WholeGraph:
    """All notes but the reports of dreams, and names that no note has (of type `name`), with all
    edges between them: of these types, or `without` some; of a project; of this time. What is left
    out moves nothing: places are those of the whole, known after at most `wait` seconds or not yet
    (ask again). `ever`: also what was replaced or has ended. Not a use of any. Raises InvalidInput,
    NotFound for an `as_of` before the history."""
    if not 0 <= wait <= LONGEST:
        raise InvalidInput(f"wait is from 0 to {LONGEST:.0f} seconds")
    kinds, others = many(type or ()), many(without or ())
    check_text(*kinds, *others, project, since, until)
    first = _day(as_of_view.span(house, since)[0] if since else None, "")
    after = _day(as_of_view.span(house, until)[1] if until else None, "~")
    with opened(house, as_of) as view:
        drawn = house.drawn = house.drawn or Drawn(house)
        whole = _whole(drawn, view, ever, house.forgotten())
        living = not ever and not view.past
        at = drawn.places.of(whole.refs, whole.edges, wait, living)
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
        answer = _answer(whole, kept, at, view.index.unread())
        return {**answer, **view.told(None, None, 0)}


def _day(moment: float | None, otherwise: str) -> str:
    return otherwise if moment is None else dates.iso(moment)[:10]


def _whole(drawn: Drawn, view: View, ever: bool, forgotten: Collection[str]) -> Whole:
    now = dates.iso(view.known.now)
    # by the hour: what a note says ends by the clock
    key = (view.index.state(), view.past, ever, now[:13])
    found = drawn.wholes.get(key)
    if found is None:
        speaking = StatedBy((*EVER, "archived") if ever else LIVE, "" if ever else now)
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


def _answer(
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
