"""Graph: what lies around one person, thing or memory, and the whole vault as a second picture;
beside each picture a list that says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from oneiro_vault.web.page import ROWS, Handler, Page

NEAR: Final = (60, 300, 1_500)
"""Nodes around one: so many, and more when asked for."""
QUIET: Final = ("episodic",)
"""Types that are left out until somebody asks for them: they would cover all others."""
WAIT: Final = 1.5
"""Seconds that a request waits for the places of the whole; the list is there meanwhile."""


async def graph(page: Page) -> Response:
    """The page: one of the two pictures."""
    return await (_whole_page(page) if page.asked("show") == "all" else _near_page(page))


async def data(page: Page) -> Response:
    """What a picture is drawn from."""
    if page.asked("show") == "all":
        found = await _whole(page, WAIT)
        return JSONResponse({**found, "hops": [], "schema": 1})
    return JSONResponse(_columns(await _near(page, page.asked("of"))))


# -- around one


async def _near_page(page: Page) -> Response:
    of = page.asked("of").strip()
    start = of or await _busiest(page)
    found = await _near(page, start) if start else None
    return page.html(
        "graph.html",
        whole=None,
        found=found,
        of=of,
        start=found["nodes"][0] if found else None,
        depth=_depth(page),
        steps=_steps(found) if found else [],
        more=next((most for most in NEAR if found and len(found["nodes"]) < most), 0),
        query=page.query(of=_asked(found["nodes"][0]["ref"]) if found else ""),
    )


async def _near(page: Page, name: str) -> Any:
    return await page.ops.graph(
        name=name,
        depth=_depth(page),
        limit=page.number("most", NEAR[0], NEAR[0], NEAR[-1]),
        ever=page.asked("ever") == "1",
        as_of=page.as_of,
        places=True,
    )


def _depth(page: Page) -> int:
    return page.number("depth", 1, 1, 3)


async def _busiest(page: Page) -> str:
    """Whom or what most is said of, to begin with; "" in an empty vault."""
    found = await page.ops.whole_graph(as_of=page.as_of)
    known = [
        (degree, kind == "entity", ref)
        for degree, kind, ref in zip(
            found["degrees"], found["types_of"], found["refs"], strict=True
        )
    ]
    return _asked(max(known, key=lambda one: one[:2])[2]) if known else ""


def _asked(ref: str) -> str:
    """How a node is asked for."""
    return ref.removeprefix("name:")


def _steps(found: Mapping[str, Any]) -> list[tuple[int, list[tuple[Any, list[Any]]]]]:
    """(steps away, [(node, the edges that lead nearer or to its like)])."""
    nodes = {one["ref"]: one for one in found["nodes"]}
    edges: dict[str, list[Any]] = {ref: [] for ref in nodes}
    for edge in found["edges"]:
        ends = (edge["source"], edge["target"])
        far, near = sorted(ends, key=lambda ref: -nodes[ref]["hops"])
        said = {**edge, "source": nodes[ends[0]], "target": nodes[ends[1]]}
        edges[far].append({**said, "near": nodes[near]})
    away: dict[int, list[tuple[Any, list[Any]]]] = {}
    for ref, node in nodes.items():
        if node["hops"]:
            away.setdefault(node["hops"], []).append((node, edges[ref]))
    return sorted(away.items())


def _columns(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """As `whole_graph` answers."""
    nodes, edges = found["nodes"], found["edges"]
    number = {one["ref"]: at for at, one in enumerate(nodes)}
    relations = sorted({one["relation"] for one in edges})
    degrees = [0] * len(nodes)
    flat: list[int] = []
    for edge in edges:
        here, there = number[edge["source"]], number[edge["target"]]
        degrees[here] += 1
        degrees[there] += 1
        flat += [here, there, relations.index(edge["relation"])]
    return {
        "schema": 1,
        "refs": [one["ref"] for one in nodes],
        "names": [one["name"] for one in nodes],
        "types_of": [one["type"] for one in nodes],
        "kinds": [one["kind"] for one in nodes],
        "created": [""] * len(nodes),
        "degrees": degrees,
        "x": [one["x"] for one in nodes],
        "y": [one["y"] for one in nodes],
        "hops": [one["hops"] for one in nodes],
        "placed": True,
        "edges": flat,
        "relations": relations,
    }


# -- the whole vault


async def _whole_page(page: Page) -> Response:
    behind = page.part * ROWS
    found = await _whole(page, 0.0)
    order = sorted(range(len(found["refs"])), key=lambda at: (-found["degrees"][at], at))
    return page.html(
        "graph.html",
        whole=found,
        found=None,
        of="",
        start=None,
        rows=[_row(found, at) for at in order[behind : behind + ROWS]],
        shown=_shown(found, page),
        behind=behind,
        query=page.query(),
    )


async def _whole(page: Page, wait: float) -> Any:
    chosen = _chosen(page)
    return await page.ops.whole_graph(
        type=chosen.get("type", ()),
        without=chosen.get("without", ()),
        project=page.asked("project"),
        since=page.asked("since"),
        until=page.asked("until"),
        as_of=page.as_of,
        wait=wait,
    )


def _chosen(page: Page) -> dict[str, Sequence[str]]:
    asked = page.asked("types")
    if asked == "all":
        return {}
    return {"type": asked.split(",")} if asked else {"without": QUIET}


def _shown(found: Mapping[str, Any], page: Page) -> list[tuple[str, int, bool, str]]:
    """(type, how many there are, is it shown, the query with that turned round)."""
    chosen = _chosen(page)
    every = list(found["types"])
    now = [
        kind
        for kind in every
        if kind not in chosen.get("without", ())
        and ("type" not in chosen or kind in chosen["type"])
    ]
    rows = []
    for kind in every:
        then = [one for one in every if (one in now) != (one == kind)]
        query = page.query(types="all" if then == every else ",".join(then) or "none")
        rows.append((kind, found["types"][kind], kind in now, query))
    return rows


def _row(found: Mapping[str, Any], at: int) -> Mapping[str, Any]:
    ref = found["refs"][at]
    return {
        "ref": ref,
        "id": None if ref.startswith("name:") else ref,
        "asked": _asked(ref),
        "name": found["names"][at],
        "type": found["types_of"][at],
        "kind": found["kinds"][at],
        "created": found["created"][at],
        "degree": found["degrees"][at],
    }


READS: Final[dict[str, Handler]] = {"/ui/graph": graph, "/ui/graph/data": data}
