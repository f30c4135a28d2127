"""Who works where with whom: what notes state, walked from both ends, as of any day."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from oneiro_vault import answers
from oneiro_vault.app import App
from oneiro_vault.core.markdown import diagrams
from oneiro_vault.errors import AmbiguousId, InvalidInput, NotFound
from tests.operations.conftest import Call, stored

ITEMS: list[dict[str, Any]] = [
    {
        "type": "entity", "kind": "person", "title": "Peter Novak", "aliases": ["Pete"],
        "text": "Writes articles.\n\n- works_for [[WOBS]]\n- works_on [[Anderson order]]",
    },
    {
        "type": "entity", "kind": "organization", "title": "WOBS",
        "aliases": ["Wolf of Blog Street"], "text": "Link building.",
    },
    {"type": "entity", "kind": "project", "title": "Anderson order", "text": "Twelve articles."},
    {
        "title": "Dana started at WOBS", "about": ["Dana Reyes"], "valid_from": "2026-03-01",
        "text": "She leads the editors.\n\n- works_for [[Wolf of Blog Street]]",
    },
    {
        "title": "Who sits where", "text": "- [[Dana Reyes]] manages [[Peter Novak]]\n"
        "- [[Dana Reyes]] and [[WOBS]]\n",
    },
    {"title": "Peter hands in on Tuesdays", "about": ["Peter Novak"], "text": "Eight articles."},
]  # fmt: skip


@pytest.fixture
def vault(call: Call) -> Call:
    call("remember", items=ITEMS)
    return call


def edges(found: dict[str, Any]) -> set[tuple[str, str, str]]:
    names = {node["ref"]: node["name"] for node in found["nodes"]}
    return {(names[e["source"]], e["relation"], names[e["target"]]) for e in found["edges"]}


def test_a_person_by_any_name(vault: Call) -> None:
    for name in ("Peter Novak", "pete", "Peter", "PETER NOVAK"):
        found = edges(vault("graph", name=name))
        assert ("Peter Novak", "works_for", "WOBS") in found
        assert ("Dana Reyes", "manages", "Peter Novak") in found
        assert ("Peter hands in on Tuesdays", "about", "Peter Novak") in found


def test_a_memory_about_one_person_speaks_for_that_person(vault: Call) -> None:
    found = vault("graph", name="WOBS", relation="employs")
    assert edges(found) == {
        ("Peter Novak", "works_for", "WOBS"),
        ("Dana Reyes", "works_for", "WOBS"),
    }
    since = {node["name"]: None for node in found["nodes"]}
    names = {node["ref"]: node["name"] for node in found["nodes"]}
    since |= {names[edge["source"]]: edge["since"] for edge in found["edges"]}
    assert since["Dana Reyes"] == "2026-03-01"
    assert next(n for n in found["nodes"] if n["name"] == "Dana Reyes")["id"] is None
    assert {edge["inverse"] for edge in found["edges"]} == {"employs"}


def test_categories_depth_and_limit(vault: Call) -> None:
    near = vault("graph", name="Anderson order", relation=["project"])
    assert edges(near) == {("Peter Novak", "works_on", "Anderson order")}
    far = vault("graph", name="Anderson order", depth=2, relation=["project", "organizational"])
    assert ("Dana Reyes", "manages", "Peter Novak") in edges(far)
    few = vault("graph", name="Peter", limit=2)
    assert len(few["nodes"]) == 2
    assert few["left"] > 0
    assert edges(few) <= {
        ("Peter Novak", "works_for", "WOBS"),
        ("Peter Novak", "works_on", "Anderson order"),
        ("Dana Reyes", "manages", "Peter Novak"),
    }, "what is typed goes before what is merely about somebody"


def test_the_way_between_two(vault: Call) -> None:
    found = vault("graph", name="Dana Reyes", to="Anderson order")
    assert edges(found) == {
        ("Dana Reyes", "manages", "Peter Novak"),
        ("Peter Novak", "works_on", "Anderson order"),
    }
    assert [node["hops"] for node in found["nodes"]] == [0, 1, 2]
    stored(vault, "Nobody knows.", type="entity", title="Lighthouse")
    with pytest.raises(NotFound, match="no way of 4 steps"):
        vault("graph", name="Dana Reyes", to="Lighthouse")


def test_two_of_one_name_are_asked_about_never_guessed(vault: Call) -> None:
    other = stored(vault, "Paints.", type="entity", kind="person", title="Peter Okafor")
    with pytest.raises(AmbiguousId, match="may mean 2 different ones: Peter"):
        vault("graph", name="Peter")
    stored(vault, "- works_for [[Peter]]", type="entity", title="Studio")
    assert edges(vault("graph", name=other)) == set(), "a mere Peter is neither of the two"
    assert edges(vault("graph", name="Studio")) == {("Studio", "works_for", "Peter")}


def test_what_ended_or_was_replaced_is_there_when_asked_for(vault: Call) -> None:
    stored(
        vault, "- works_for [[Acme]]", about=["Peter Novak"], title="Peter was at Acme",
        valid_from="2024-01-01", valid_until="2025-06-01",
    )  # fmt: skip
    assert "Acme" not in {end for edge in edges(vault("graph", name="Peter")) for end in edge}
    found = vault("graph", name="Peter", ever=True, relation="works_for")
    assert ("Peter Novak", "works_for", "Acme") in edges(found)
    assert "2025-06-01" in {edge["until"] for edge in found["edges"]}


def test_as_of_an_earlier_commit(vault: Call, app: App) -> None:
    then = app.house.vault.repo.tip()
    row = next(row for row in vault("list")["results"] if row["title"] == "Peter Novak")
    vault("reframe", id=row["id"], text="Writes.\n\n- works_for [[Acme]]")
    assert ("Peter Novak", "works_for", "Acme") in edges(vault("graph", name="Peter"))
    found = vault("graph", name="Peter", as_of=then)
    assert ("Peter Novak", "works_for", "WOBS") in edges(found)
    assert found["as_of"]["commit"] == then


def test_bad_input(vault: Call) -> None:
    with pytest.raises(NotFound, match="nothing here is about"):
        vault("graph", name="Nobody")
    for wrong in ({"depth": 0}, {"depth": 7}, {"limit": 0}):
        with pytest.raises(InvalidInput):
            vault("graph", name="Peter", **wrong)


def test_a_name_that_no_note_has_is_spelled_as_it_was_written(vault: Call) -> None:
    stored(vault, "- uses [[Größe Tool]]", type="entity", title="Editors")
    found = vault("graph", name="Editors")
    assert [n["name"] for n in found["nodes"]] == ["Editors", "Größe Tool"]
    assert edges(vault("graph", name="größe tool")) == {("Editors", "uses", "Größe Tool")}


def test_drawings(vault: Call) -> None:
    hostile = stored(vault, "Bad.", type="entity", title='A "quoted" <b> & [x] | name')
    stored(vault, f"- owns [[{hostile}]]", type="entity", title="Owner")
    found = cast("answers.Graphed", vault("graph", name="Owner"))
    flow, dot = diagrams.mermaid(found), diagrams.dot(found)
    assert flow.startswith("flowchart LR\n")
    assert "-->|owns|" in flow
    assert "&quot;quoted&quot; &lt;b&gt;" in flow
    assert '\\"quoted\\"' in dot
    assert dot.count("->") == 1


def test_a_canvas_is_what_json_canvas_1_0_says(vault: Call, root: Path) -> None:
    found = cast("answers.Graphed", vault("graph", name="Peter", depth=3))
    drawn = json.loads(diagrams.canvas(found))
    check_canvas(drawn)
    files = {node["file"] for node in drawn["nodes"] if node["type"] == "file"}
    assert files
    assert all((root / file).is_file() for file in files)
    spots = [(node["x"], node["y"]) for node in drawn["nodes"]]
    assert len(set(spots)) == len(spots)


def check_canvas(drawn: dict[str, Any]) -> None:
    """The rules of jsoncanvas.org/spec/1.0 for what is used of it."""
    assert set(drawn) <= {"nodes", "edges"}
    ids = [node["id"] for node in drawn["nodes"]] + [edge["id"] for edge in drawn["edges"]]
    assert len(set(ids)) == len(ids)
    for node in drawn["nodes"]:
        assert all(isinstance(node[key], int) for key in ("x", "y", "width", "height"))
        own = {"file": {"file"}, "text": {"text"}}[node["type"]]
        assert set(node) == {"id", "type", "x", "y", "width", "height"} | own
    sides = {"top", "right", "bottom", "left"}
    for edge in drawn["edges"]:
        assert {edge["fromNode"], edge["toNode"]} <= {node["id"] for node in drawn["nodes"]}
        assert {edge["fromSide"], edge["toSide"]} <= sides
        assert set(edge) == {"id", "fromNode", "toNode", "fromSide", "toSide", "label"}


def test_down_to_the_raw_words_and_up_again(call: Call) -> None:
    said = "User: Hi there.\n\nUser: I moved to Graz in May and I am a nurse.\n"
    capture = call("capture", text=said, kind="session", session="s1")["id"]
    fact = stored(call, "The person moved to Graz.", derived_from=[capture])
    insight = stored(call, "The person lives in Austria.", derived_from=[fact], level=1)
    down = call("levels", id=insight)["levels"]
    assert [(one["id"], one["depth"], one["of"]) for one in down] == [
        (fact, 1, insight),
        (capture, 2, fact),
    ]
    up = call("levels", id=capture, up=True)["levels"]
    assert [(one["id"], one["depth"]) for one in up] == [(fact, 1), (insight, 2)]
    assert call("levels", id=insight, up=True)["levels"] == []


def test_the_words_of_a_capture_that_a_fact_rests_on(call: Call) -> None:
    said = "User: Hi there.\n\nUser: I moved to Graz in May and I work as a nurse there.\n"
    call("capture", text=said, kind="session", session="s1")
    call("dream", loops=["encode"], judge="offline")
    fact = next(row for row in call("list", type="semantic")["results"])
    (raw,) = call("levels", id=fact["id"])["levels"]
    assert "I moved to Graz in May" in raw["words"]
    assert "Hi there" not in raw["words"]


@pytest.mark.parametrize(
    "link",
    [
        "[[Shared bucket]]", "[[shared BUCKET]]", "[[infra/Shared bucket]]",
        "[[infra/Shared bucket.md]]", "[[Shared bucket#Access]]", "[[Shared bucket#^abc123]]",
        "[[Shared bucket|where it is kept]]", "![[Shared bucket]]", "[it](infra/Shared%20bucket.md)",
        "[it](<infra/Shared bucket.md#Access>)", "[[The S3]]", "| [[Shared bucket\\|it]] | x |",
    ],
)  # fmt: skip
def test_links_lead_where_obsidian_leads(call: Call, root: Path, link: str) -> None:
    """By file name, path, heading, block, label and embed; an alias leads there, too."""
    (root / "infra").mkdir()
    text = "---\naliases: [The S3]\n---\n# Access\n\nKeys. ^abc123\n"
    (root / "infra" / "Shared bucket.md").write_text(text)
    (root / "other.md").write_text("# Elsewhere\n\n[[Shared]] is not it.\n")
    (root / "from.md").write_text(f"# From\n\nSee {link}.\n")
    found = call("graph", name="From")
    assert ("From", "mentions", "Access") in edges(found)
    assert len(found["edges"]) == 1
