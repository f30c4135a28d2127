"""Search with the reasons for each rank."""

from __future__ import annotations

from tests.box import Box
from tests.web.kit import Visitor


def test_rows_with_their_reasons(box: Box, person: Visitor) -> None:
    ident = box.remember("The boat in the harbour is called Petrel.")["id"]
    text = person.get("/ui/search?q=what+is+the+boat+called").text
    assert f'href="/ui/memory/{ident}"' in text
    assert "<mark>boat</mark>" in text
    assert "Why it ranks here" in text
    assert 'value="what is the boat called"' in text


def test_without_a_question_the_latest(box: Box, person: Visitor) -> None:
    box.remember("The newest of all.")
    text = person.get("/ui/search").text
    assert "The newest of all." in text
    assert "The latest" in text


def test_filters(box: Box, person: Visitor) -> None:
    ident = box.remember("Zinc is stored in the shed.", "--tag", "metal")["id"]
    assert ident in person.get("/ui/search?q=zinc&tag=metal&type=semantic").text
    assert ident not in person.get("/ui/search?q=zinc&tag=wood").text
    assert ident not in person.get("/ui/search?tag=wood").text
    assert ident not in person.get("/ui/search?project=garden").text
    assert ident not in person.get("/ui/search?q=zinc&until=2020-01-01").text


def test_odd_questions(person: Visitor) -> None:
    for odd in (
        "%22",
        "%00",
        "a" * 5_000,
        "%F0%9F%9B%B6",
        "%3Cscript%3Ealert(1)%3C/script%3E",
        "%ff",
    ):
        answer = person.get(f"/ui/search?q={odd}")
        assert answer.status == 200, odd
        assert "<script>alert" not in answer.text
    answer = person.get("/ui/search?q=x&since=whenever&type=%3Cb%3E")
    assert answer.status == 200
    assert "<b>" not in answer.text
    assert 'role="alert"' in answer.text
    assert person.get("/ui/search?q=x&at=1990-01-01").status == 200
    assert person.get("/ui/search?q=x&k=99999999999999").status == 200
