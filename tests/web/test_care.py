"""Questions for a person, answered; and how the vault is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.web.kit import Visitor, visitor
from tests.web.nights import lived
from tests.web.test_dreams import fields, said


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    folder = tmp_path_factory.mktemp("c")
    made = Box(folder, sealed(folder)).init()
    try:
        lived(made)
        yield made
        made("stop")
    finally:
        made.close()


@pytest.fixture(scope="module")
def reader(dreamt: Box) -> Visitor:
    return visitor(dreamt)


def test_health_says_what_is_and_what_waits(reader: Visitor) -> None:
    page = reader.get("/ui/health")
    assert page.status == 200
    assert "Everything is as it should be." in page.text
    assert ">1 is open</a>" in page.text
    assert "2 nights" in page.text
    assert re.search(r"\b[1-9],\d{3} tokens\b", page.text)  # as long as what was asked


@pytest.mark.slow
def test_the_doctor_says_what_to_do(reader: Visitor, dreamt: Box) -> None:
    assert "Nothing is wrong" in reader.part("/ui/health/doctor").text
    note = next((dreamt.vault / "semantic").rglob("*.md"))
    whole = note.read_bytes()
    note.write_bytes(b"---\ntitle: [\n---\n")
    found = reader.part("/ui/health/doctor").text
    assert 'class="card finding' in found
    assert note.name in found
    note.write_bytes(whole)


def test_mending_shows_what_is_left(reader: Visitor) -> None:
    assert reader.post("/ui/health/mend", {}, HX_Request="true").status == 200
    assert reader.post("/ui/health/mend", {}).status == 303


def test_of_two_one_holds(reader: Visitor, dreamt: Box) -> None:
    page = reader.get("/ui/flags").text
    assert "1 question is open" in page
    assert "The kitchen tap drips in winter." in page
    this, other = fields(page, "/ui/flags/keep")
    assert this["keep"] == other["forget"]
    answer = reader.post("/ui/flags/keep", other, HX_Request="true")
    assert "Forgotten: The kitchen tap drips in summer only." in said(answer)
    assert "No question is open" in answer.text
    kept = dreamt.json("show", other["keep"])
    assert "flags" not in kept["meta"]
    assert dreamt("show", other["forget"]).returncode != 0 or "forgotten" in dreamt.ok(
        "show", other["forget"]
    )


@pytest.mark.slow
def test_both_hold(other: Box) -> None:
    lived(other)
    reader = visitor(other)
    (this,) = fields(reader.get("/ui/flags").text, "/ui/flags/resolve")
    answer = reader.post("/ui/flags/resolve", {**this, "reason": "two <taps>"})
    assert (answer.status, answer.headers["location"]) == (303, "/ui/flags")
    assert "No question is open" in reader.get("/ui/flags").text
    assert "two <taps>" in other.ok("log")


def test_nothing_is_asked_of_an_empty_vault(person: Visitor) -> None:
    assert "No question is open" in person.get("/ui/flags").text
    assert person.post("/ui/flags/resolve", {"id": "none"}).status == 404
    assert person.post("/ui/flags/keep", {"keep": "none", "forget": "other"}).status == 404
