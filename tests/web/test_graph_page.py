"""Graph by HTTP: the lists that say what the pictures show, and what they are drawn from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.web.kit import Visitor, visitor


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A person before a vault in which a few are linked."""
    folder: Path = tmp_path_factory.mktemp("g")
    box = Box(folder, sealed(folder)).init()
    lines = [
        {"text": "A <i>person</i>.", "title": "Mara <b>Ostberg</b>", "type": "entity"},
        {"text": "Mara sails.\n\n- works_on [[Petrel]]", "about": ["Mara <b>Ostberg</b>"]},
        {"text": "It rained on [[Petrel]].", "type": "episodic"},
        {"text": "The lamp is green."},
    ]
    try:
        given = "\n".join(map(json.dumps, lines)).encode()
        box.ok("remember", "--from-jsonl", "-", stdin=given)
        yield visitor(box)
        box("stop")
    finally:
        box.close()


def drawn(person: Visitor, query: str) -> dict[str, list[str]]:
    answer = person.get(f"/ui/graph/data?{query}")
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, list[str]] = json.loads(answer.text)
    return found


def test_an_empty_vault(person: Visitor) -> None:
    assert "Nothing is linked yet" in person.get("/ui/graph").text
    assert "Nothing is linked yet" in person.get("/ui/graph?show=all").text


def test_around_one(harbour: Visitor) -> None:
    shown = harbour.get("/ui/graph?of=Petrel").text
    assert "works on" in shown or "has contributor" in shown
    assert "Mara &lt;b&gt;Ostberg&lt;/b&gt;" in shown
    assert "<b>Ostberg" not in shown
    found = drawn(harbour, "of=Petrel")
    assert found["names"][0] == "Petrel"
    assert len(found["x"]) == len(found["refs"]) == len(found["hops"])


def test_it_begins_somewhere(harbour: Visitor) -> None:
    assert "One step away" in harbour.get("/ui/graph").text


def test_the_whole_leaves_episodes_out_until_they_are_asked_for(harbour: Visitor) -> None:
    assert "It rained" not in harbour.get("/ui/graph?show=all").text
    assert "It rained" in harbour.get("/ui/graph?show=all&types=all").text
    assert "episodic" not in drawn(harbour, "show=all")["types_of"]
    assert "episodic" in drawn(harbour, "show=all&types=all")["types_of"]
    assert set(drawn(harbour, "show=all&types=entity")["types_of"]) == {"entity"}
    assert "Nothing of that" in harbour.get("/ui/graph?show=all&types=none").text


@pytest.mark.parametrize(
    "query",
    [
        "of=%00", "of=nobody-has-heard-of", "of=%3Cscript%3E", "of=x&depth=99", "of=Petrel&most=-1",
        "show=all&types=%3Cscript%3E", "show=all&since=soonish", "show=all&part=99999",
        "show=all&project=%ED%A0%80", "of=" + "x" * 3000,
    ],
)  # fmt: skip
def test_odd_addresses(harbour: Visitor, query: str) -> None:
    for page in ("/ui/graph", "/ui/graph/data"):
        answer = harbour.get(f"{page}?{query}")
        assert answer.status < 500, answer.text
        assert "<script>" not in answer.text
