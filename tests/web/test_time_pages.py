"""Timeline and Fading by HTTP: what a browser without script gets, too."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.box import Box
from tests.web.kit import Visitor, visitor


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


def told(box: Box, text: str, days: float, kind: str = "episodic") -> str:
    """The id of a memory that was learned so many days ago."""
    when = ago(days)
    row = box.remember(text, "--type", kind)
    path = box.vault / str(row["path"])
    path.write_text(
        re.sub(r"(?m)^(created|timestamp): .*$", rf"\1: {when}", path.read_text(), count=2)
    )
    return str(row["id"])


@pytest.fixture
def aged(other: Box) -> tuple[Box, Visitor, str, str]:
    """A vault with a memory that fades soon and one that has faded."""
    soon = told(other, "The lamp <b>was</b> mended.", 18)
    gone = told(other, "A letter came.", 40)
    other.remember("The boat is called Petrel.")
    other.ok("list")
    return other, visitor(other), soon, gone


def test_empty(person: Visitor) -> None:
    assert "No memories yet" in person.get("/ui/timeline").text
    assert "Nothing fades in that time" in person.get("/ui/fading").text
    assert "Nothing has faded" in person.get("/ui/fading?show=gone").text


def test_what_fades_is_listed_and_can_be_kept(aged: tuple[Box, Visitor, str, str]) -> None:
    box, person, soon, gone = aged
    shown = person.get("/ui/fading?days=7").text
    assert f"/ui/memory/{soon}" in shown
    assert f"/ui/memory/{gone}" not in shown
    assert "&lt;b&gt;was&lt;/b&gt;" in shown
    assert "<b>was" not in shown
    assert f"/ui/memory/{gone}" in person.get("/ui/fading?show=gone").text
    kept = person.post(f"/ui/fading/{soon}/keep")
    assert (kept.status, kept.headers["location"]) == (303, "/ui/fading")
    assert f"/ui/memory/{soon}" not in person.get("/ui/fading?days=7").text
    assert box.json("why", soon)["uses"]["days"] == 1


def test_forgotten_and_back_without_leaving_the_page(aged: tuple[Box, Visitor, str, str]) -> None:
    box, person, soon, _ = aged
    done = person.post(f"/ui/fading/{soon}/forget", HX_Request="true").text
    assert "is forgotten" in done
    assert f"/ui/fading/{soon}/restore" in done
    assert f'id="fade-{soon}" hx-swap-oob="delete"' in done
    assert box.json("list")["total"] == 2
    assert "is back" in person.post(f"/ui/fading/{soon}/restore", HX_Request="true").text
    assert box.json("list")["total"] == 3


def test_the_timeline_leads_from_year_to_day(aged: tuple[Box, Visitor, str, str]) -> None:
    _, person, soon, _ = aged
    day = ago(18)[:10]
    ever = person.get("/ui/timeline").text
    assert f"/ui/memory/{soon}" in ever
    assert "?in=" in ever
    for length in (4, 7, 10):
        assert f"/ui/memory/{soon}" in person.get(f"/ui/timeline?in={day[:length]}").text
    assert "Nothing then" in person.get("/ui/timeline?in=1999-05").text
    assert f"/ui/memory/{soon}" not in person.get("/ui/timeline?kind=semantic").text


@pytest.mark.slow
def test_what_changed_in_a_time(other: Box) -> None:
    person = visitor(other)
    old = other.remember("The boat is <i>red</i>.")["id"]
    other.ok("forget", other.remember("A letter came.")["id"])
    other.ok("remember", "The boat is blue.", "--replaces", old)
    day = datetime.now().astimezone().date().isoformat()
    for within in (day, day[:7], day[:4]):
        shown = person.get(f"/ui/timeline/changed?in={within}").text
        assert "Newly believed" in shown
        assert "The boat is blue." in shown
        assert "<i>red" not in shown
    other.ok("reframe", old, "The boat is <i>blue</i> now.")
    again = person.get(f"/ui/timeline/changed?in={day}").text
    assert again.count("<li>") >= 2
    part = person.part(f"/ui/timeline/changed?in={day}").text
    assert "<html" not in part
    assert f"/ui/timeline/changed?in={day}" in person.get(f"/ui/timeline?in={day}").text
    assert "what changed" not in person.get("/ui/timeline").text.lower()


@pytest.mark.parametrize(
    "address",
    [
        "/ui/timeline?in=%00", "/ui/timeline?in=soonish", "/ui/timeline?kind=nonsense",
        "/ui/timeline?part=999999", "/ui/timeline?in=0001-01-01", "/ui/timeline?in=9999",
        "/ui/fading?days=999999999", "/ui/fading?part=-1", "/ui/fading?kind=%ED%A0%80",
        "/ui/timeline/changed?in=", "/ui/timeline/changed?in=1999", "/ui/timeline/changed?in=2999",
        "/ui/timeline/changed?in=%3Cscript%3E", "/ui/timeline?in=9999-12-31",
        "/ui/timeline?in=2026-13", "/ui/timeline?in=2026-1", "/ui/timeline?kind=%3Cscript%3E",
    ],
)  # fmt: skip
def test_odd_addresses(person: Visitor, address: str) -> None:
    answer = person.get(address)
    assert answer.status < 500
    assert "<script>" not in answer.text


def test_nobody_keeps_what_is_not_there(person: Visitor) -> None:
    for deed in ("keep", "forget", "restore"):
        assert 400 <= person.post(f"/ui/fading/abcdefgh1234/{deed}").status < 500
