"""What the nights changed, taking it back, and deciding about what they propose."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.conftest import sealed
from tests.web.kit import Answer, Visitor, visitor
from tests.web.nights import lived


def machine(folder: Path, review: bool) -> Iterator[Box]:
    """One with a vault that has dreamt."""
    made = Box(folder, sealed(folder)).init()
    try:
        lived(made, review=review)
        yield made
        made("stop")
    finally:
        made.close()


@pytest.fixture(scope="module")
def dreamt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    yield from machine(tmp_path_factory.mktemp("d"), review=False)


@pytest.fixture(scope="module")
def proposing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    yield from machine(tmp_path_factory.mktemp("p"), review=True)


@pytest.fixture(scope="module")
def reader(dreamt: Box) -> Visitor:
    return visitor(dreamt)


@pytest.fixture(scope="module")
def judge(proposing: Box) -> Visitor:
    return visitor(proposing)


def fields(page: str, action: str) -> list[dict[str, str]]:
    """The hidden fields of every form that goes to an address."""
    forms = re.findall(rf'<form[^>]+action="{action}".*?</form>', page, re.S)
    pattern = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
    return [{name: html.unescape(value) for name, value in pattern.findall(one)} for one in forms]


def said(answer: Answer) -> str:
    """What the open page says for a while."""
    found = re.search(r'hx-swap-oob="innerHTML:#notice">([^<]*)<', answer.text)
    return html.unescape(found[1]) if found else ""


def proposal(judge: Visitor, title: str) -> dict[str, str]:
    """The id, and the mark of the words, of a proposal that waits."""
    page = judge.get("/ui/dreams/review").text
    card = next(part for part in page.split('<li class="card')[1:] if f">{title}</strong>" in part)
    found: dict[str, str] = {}
    for form in fields(card, "/ui/dreams/accept"):
        found |= form
    return found


def test_the_last_night_is_told_whole(reader: Visitor) -> None:
    page = reader.get("/ui/dreams").text
    assert "Last night" in page
    assert "2 remembered, 1 merged, 1 revised, 1 superseded, 1 linked." in page
    assert "<ins> and open it at nine</ins>" in page
    assert "both say when the shed is locked" in page
    assert re.search(r"recall found \d+ of \d+ before", page)
    assert re.search(r"[\d,]+ tokens in, \d+ out", page)
    assert "/ui/dreams/night/" in page.split("Other nights")[1]


@pytest.mark.slow
def test_a_decision_is_taken_back_and_put_back(reader: Visitor, dreamt: Box) -> None:
    def held() -> str:
        return dreamt.ok("recall", "--type", "semantic", "mast shed")

    page = reader.part("/ui/dreams").text
    card = next(one for one in page.split("<li ") if "I lock the mast shed at six." in one)
    assert "open it at nine" in held()
    (back,) = fields(card, "/ui/dreams/undo")
    answer = reader.post("/ui/dreams/undo", back, HX_Request="true")
    assert "1 note is as before" in said(answer)
    assert "open it at nine" not in held()
    card = next(one for one in answer.text.split("<li ") if "I lock the mast shed at six." in one)
    assert "taken back" in card
    assert "Put back" in card, card
    (again,) = fields(card, "/ui/dreams/undo")
    assert again["commit"] != back["commit"]
    answer = reader.post("/ui/dreams/undo", again)
    assert (answer.status, answer.headers["location"]) == (303, "/ui/dreams")
    assert "open it at nine" in held()


def test_a_whole_night_is_taken_back(reader: Visitor, dreamt: Box) -> None:
    page = reader.get("/ui/dreams").text
    earlier = re.findall(r"/ui/dreams/night/(\w+)", page.split("Other nights")[1])[0]
    night = reader.get(f"/ui/dreams/night/{earlier}").text
    assert "The night of" in night
    (whole,) = [one for one in fields(night, "/ui/dreams/undo") if "night" in one]
    answer = reader.post("/ui/dreams/undo", whole, HX_Request="true")
    assert answer.status == 200
    assert "stays" in said(answer)  # the next night built on it
    rows = dreamt.json("list", "--type", "semantic")["results"]
    assert [row["status"] for row in rows if "staging" in row["title"]] == ["active", "active"]
    assert "Put back" in answer.text


def test_there_is_no_such_night(reader: Visitor) -> None:
    assert reader.get("/ui/dreams/night/zzzz").status == 404
    assert reader.post("/ui/dreams/undo", {"commit": "0" * 40}).status == 404
    assert reader.post("/ui/dreams/undo", {}).status == 400


@pytest.mark.slow
def test_proposals_are_shown_and_change_nothing(judge: Visitor, proposing: Box) -> None:
    overview = judge.get("/ui/dreams").text
    assert "6 proposals wait" in overview
    page = judge.get("/ui/dreams/review").text
    assert "<ins> and open it at nine</ins>" in page
    assert proposing.json("review")["total"] == 6


@pytest.mark.slow
def test_accept_reject_and_edit(judge: Visitor, proposing: Box) -> None:
    sister = proposal(judge, "My sister Mette lives in Bergen.")
    answer = judge.post("/ui/dreams/accept", {"id": sister["id"]}, HX_Request="true")
    assert "Accepted" in answer.text
    assert "Mette" in proposing.ok("recall", "sister")
    oars = proposal(judge, "Bo keeps the spare oars in the attic.")
    given = {"id": oars["id"], "reason": "they are <b>not</b>"}
    answer = judge.post("/ui/dreams/reject", given, HX_Request="true")
    assert "they are &lt;b&gt;not&lt;/b&gt;" in answer.text
    assert "they are <b>not</b>" in proposing.ok("log")
    shed = proposal(judge, "I lock the mast shed at six.")
    stale = judge.post(
        "/ui/dreams/accept", {**shed, "base": "0", "body": "Mine."}, HX_Request="true"
    )
    assert "the proposal changed while you wrote" in stale.text
    assert ">Mine.</textarea>" in stale.text
    empty = judge.post("/ui/dreams/accept", {**shed, "body": " "}, HX_Request="true")
    assert "there are no words left" in empty.text
    done = judge.post("/ui/dreams/accept", {**shed, "body": "I lock the mast shed at seven."})
    assert (done.status, done.headers["location"]) == (303, "/ui/dreams/review")
    assert "at seven" in proposing.ok("recall", "mast shed")
    gone = judge.post("/ui/dreams/accept", {"id": shed["id"]}, HX_Request="true")
    assert "does not wait any more" in gone.text


def test_all_of_a_kind(judge: Visitor, proposing: Box) -> None:
    merged = proposal(judge, "Ana prefers the releases on Fridays because support is quiet then.")
    answer = judge.post("/ui/dreams/accept", {**merged, "alike": "1"}, HX_Request="true")
    assert "1 proposal is in force" in said(answer)
    kinds = [row["loop"] for row in proposing.json("review")["proposals"]]
    assert kinds == ["encode"] * len(kinds)


def test_an_empty_vault_says_what_nights_do(person: Visitor) -> None:
    page = person.get("/ui/dreams").text
    assert "No night yet" in page
    assert "Dream now" in page
    assert "Nothing waits for you" in person.get("/ui/dreams/review").text


@pytest.mark.slow
def test_dream_now(other: Box) -> None:
    other.remember("The boat is called Petrel.")
    answer = visitor(other).post("/ui/dreams/dream", {}, HX_Request="true")
    assert answer.status == 200
    assert said(answer)
