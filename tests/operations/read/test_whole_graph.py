"""The whole graph: every note and edge, in places that do not jump."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.time.strength import DAY
from oneiro_vault.errors import InvalidInput
from oneiro_vault.index.store import GRAPH
from tests.operations.conftest import QUICK, Call, stored
from tests.operations.past import life


def filled(call: Call) -> dict[str, str]:
    """Two people, a ship, and what is said of them."""
    return {
        "mara": stored(call, "# Mara\n\nA person.", title="Mara", type="entity", kind="person"),
        "ivo": stored(call, "# Ivo\n\nA person.", title="Ivo", type="entity", kind="person"),
        "sails": stored(call, "Mara sails.\n\n- works_on [[Petrel]]", about=["Mara"]),
        "knows": stored(call, "Mara knows him.\n\n- knows [[Ivo]]", about=["Mara"]),
        "tale": stored(call, "It rained on [[Ivo]].", type="episodic", created="2024-05-01"),
        "alone": stored(call, "The lamp is green."),
    }


def edges(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    numbers = found["edges"]
    return {
        (found["names"][a], found["relations"][r], found["names"][b])
        for a, b, r in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True)
    }


def test_an_empty_vault(call: Call) -> None:
    found = call("whole_graph", wait=10.0)
    assert (found["refs"], found["edges"], found["total"], found["placed"]) == ([], [], 0, True)


def test_every_note_and_every_edge(call: Call) -> None:
    ids = filled(call)
    found = call("whole_graph", wait=10.0)
    assert set(ids.values()) < set(found["refs"])
    assert found["total"] == len(found["refs"]) == 7
    assert found["placed"]
    assert len(found["x"]) == len(found["y"]) == 7
    said = edges(found)
    assert {("Mara", "works_on", "Petrel"), ("Mara", "knows", "Ivo")} <= said
    assert dict(zip(found["names"], found["types_of"], strict=True))["Petrel"] == "name"
    assert found["unlinked"] == 1
    assert found["parts"] == 1
    assert found["unread"] == 0
    assert sum(found["degrees"]) == 2 * len(found["edges"]) // 3


def test_what_is_left_out_moves_nothing(call: Call) -> None:
    ids = filled(call)
    every = call("whole_graph", wait=10.0)
    where = dict(zip(every["refs"], zip(every["x"], every["y"], strict=True), strict=True))
    some = call("whole_graph", type="entity")
    assert set(some["refs"]) == {ids["mara"], ids["ivo"]}
    assert edges(some) == {("Mara", "knows", "Ivo")}
    assert some["total"] == 7
    for ref, x, y in zip(some["refs"], some["x"], some["y"], strict=True):
        assert where[ref] == (x, y)
    assert ids["tale"] not in call("whole_graph", without=["episodic"])["refs"]
    assert call("whole_graph", until="2024-12")["refs"] == [ids["tale"]]
    assert ids["tale"] not in call("whole_graph", since="2025-01")["refs"]
    assert call("whole_graph", type="nonsense")["refs"] == []


def test_places_outlive_the_owner_and_do_not_jump(root: Path) -> None:
    with App.open(root, QUICK) as app:
        call: Call = lambda op, **params: app.call(op, params)  # noqa: E731  # shorter than a function
        filled(call)
        before = call("whole_graph", wait=10.0)
        assert (app.house.index.folder / GRAPH).exists()
        folder = app.house.index.folder
    with App.open(root, QUICK) as app:
        call = lambda op, **params: app.call(op, params)  # noqa: E731  # shorter than a function
        stored(call, "Mara has a dog.", about=["Mara"])
        after = call("whole_graph", wait=10.0)
        width = max(before["x"]) - min(before["x"]) + max(before["y"]) - min(before["y"])
        there = dict(zip(after["refs"], zip(after["x"], after["y"], strict=True), strict=True))
        for ref, x, y in zip(before["refs"], before["x"], before["y"], strict=True):
            assert abs(there[ref][0] - x) + abs(there[ref][1] - y) < 0.35 * width
        (folder / GRAPH).write_bytes(b"no such thing")
    with App.open(root, QUICK) as app:
        assert app.call("whole_graph", {"wait": 10.0})["placed"]


def test_what_was_linked_with_nothing_moves_to_its_neighbours(call: Call) -> None:
    filled(call)
    for number in range(30):
        stored(call, f"Nothing in particular, {number}.")
    loose = stored(call, "Said of nobody yet.")
    before = call("whole_graph", wait=10.0)
    stored(call, f"It belongs to [[{loose}]] and [[Ivo]].")
    after = call("whole_graph", wait=10.0)

    def away(found: dict[str, Any]) -> float:
        at = dict(zip(found["names"], zip(found["x"], found["y"], strict=True), strict=True))
        here, there = at["Said of nobody yet."], at["Ivo"]
        return float(abs(here[0] - there[0]) + abs(here[1] - there[1]))

    assert away(after) < away(before) / 1.5


def test_names_go_with_what_is_scrubbed(app: App, call: Call) -> None:
    filled(call)
    call("whole_graph", wait=10.0)
    file = app.house.index.folder / GRAPH
    assert file.exists()
    app.house.index.scrub()
    assert not file.exists()
    assert call("whole_graph", wait=10.0)["placed"]


def test_as_it_was(root: Path) -> None:
    with life(root) as lived:
        first = lived.remember("Mara sails.\n\n- works_on [[Petrel]]", about=["Mara"])
        lived.day = 10
        later = lived.remember("Ivo came.", about=["Ivo"])
        lived("forget", id=first)
        then = datetime.fromtimestamp(lived.app.house.clock() - 5 * DAY, UTC).date().isoformat()
        found = lived("whole_graph", as_of=then, wait=10.0)
        assert first in found["refs"]
        assert later not in found["refs"]
        assert first not in lived("whole_graph")["refs"]
        assert found["as_of"]["asked"] == then


def test_around_one_with_places(call: Call) -> None:
    filled(call)
    found = call("graph", name="Mara", depth=2, places=True)
    assert (found["nodes"][0]["x"], found["nodes"][0]["y"]) == (0.0, 0.0)
    spots = {(node["x"], node["y"]) for node in found["nodes"]}
    assert len(spots) == len(found["nodes"]) > 3
    assert "x" not in call("graph", name="Mara")["nodes"][0]


@pytest.mark.parametrize(
    "bad", [{"wait": -1.0}, {"wait": 99.0}, {"since": "soonish"}, {"project": "\ud800"}]
)
def test_odd_values(call: Call, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        call("whole_graph", **bad)


def test_what_was_forgotten_is_no_name(call: Call) -> None:
    plan = stored(call, "Paint it red.", title="The lighthouse plan")
    mara = stored(call, "A painter.", title="Mara", type="entity")
    told = stored(call, "See [[The lighthouse plan]].", derived_from=[plan], about=["Mara"])
    for one in (plan, mara):
        call("forget", id=one)
    found = call("whole_graph")
    assert set(found["names"]) == {"See [[The lighthouse plan]].", "Mara"}, "one is about her still"
    assert [one["name"] for one in call("graph", name=told)["nodes"]][1:] == ["Mara"]
    new = call("correct", id=told, text="See the other plan.")["id"]
    found = call("whole_graph")
    assert set(found["refs"]) == {new, "name:mara"}, "what it replaced is no name either"
