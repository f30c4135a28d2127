"""The past on every page: links keep the day, forms are refused, and what cannot look back says
so."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pytest

from oneiro_vault.web import page
from tests.box import Box
from tests.web.kit import Visitor

DAY = "2026-03-05"
TODAY = datetime.now().astimezone().date()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ('<a href="/ui/search">', f'<a href="/ui/search?at={DAY}">'),
        ('<a href="/ui/search?q=x">', f'<a href="/ui/search?q=x&amp;at={DAY}">'),
        ('<a href="/ui/memory/x#top">', f'<a href="/ui/memory/x?at={DAY}#top">'),
        ('<a href="?in=2026">', f'<a href="?in=2026&amp;at={DAY}">'),
        ('<a class="x" href="/ui/x?at=2020-01-01">', '<a class="x" href="/ui/x?at=2020-01-01">'),
        ('<a data-now href="/ui/x">', '<a data-now href="/ui/x">'),
        ('<a href="https://example.org/ui/">', '<a href="https://example.org/ui/">'),
        ('<a href="#d5">', '<a href="#d5">'),
        ('<link href="/ui/static/1/x.css">', '<link href="/ui/static/1/x.css">'),
        ('<form action="/ui/theme" method="post">', '<form action="/ui/theme" method="post">'),
        ('<p title="href=&quot;/ui/x&quot;">', '<p title="href=&quot;/ui/x&quot;">'),
        ('<pre>href="/ui/x"</pre>', '<pre>href="/ui/x"</pre>'),
    ],
)
def test_links_keep_the_day(given: str, found: str) -> None:
    assert page.kept(given, DAY) == found
    assert page.kept(given, "") == given


def test_searches_keep_the_day() -> None:
    found = page.kept('<form action="/ui/search" method="get"><input>', '"><script>')
    assert '<input type="hidden" name="at" value="&#34;&gt;&lt;script&gt;"><input>' in found
    assert "<script>" not in found


def test_a_page_of_the_past_says_so(box: Box, person: Visitor) -> None:
    today = TODAY.isoformat()
    shown = person.get(f"/ui/timeline?at={today}").text
    assert "As it was on" in shown
    assert f'href="/ui/fading?at={today}"' in shown
    assert 'href="?">Back to today' in shown.replace(' data-key="T" data-does="back to today"', "")
    assert "This page shows today" in person.get(f"/ui/search?at={today}").text
    assert "As it was on" not in person.get("/ui/timeline").text


def test_nothing_is_changed_in_the_past(box: Box, person: Visitor) -> None:
    ident = box.remember("The lamp is green.")["id"]
    today = TODAY.isoformat()
    refused = person.post(f"/ui/fading/{ident}/forget?at={today}")
    assert refused.status == 400
    assert "Nothing was changed" in refused.text
    assert box.json("list")["total"] == 1


def test_a_day_that_is_none(person: Visitor) -> None:
    for odd in ("tomorrow's", "2999-01-01", "%00", "%22%3E%3Cscript%3E", "x" * 300):
        answer = person.get(f"/ui/timeline?at={odd}")
        assert 400 <= answer.status < 500, odd
        assert "<script>" not in answer.text.replace("<script src", "")
    gone = page.Travel((TODAY + timedelta(days=1)).isoformat(), True, {})
    assert gone.beside(1) == ""
    assert page.Travel("HEAD~3", True, {}).beside(-1) == ""


@pytest.mark.parametrize("end", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar(person: Visitor, end: str) -> None:
    for address in ("", "timeline", "health"):
        assert person.get(f"/ui/{address}?at={end}").status < 500, address
    assert page.Travel(date.min.isoformat(), True, {}).beside(-1) == ""
    assert page.Travel(date.max.isoformat(), True, {}).beside(1) == ""


def test_a_day_before_the_vault_began_is_no_failure(person: Visitor) -> None:
    answer = person.get("/ui/fading?kind=semantic&at=2019-03-05")
    assert answer.status == 200
    assert "the history of this vault begins on" in answer.text
    told = answer.text[answer.text.index("<h1>") : answer.text.index("</main>")]
    links = ["/ui/timeline?in=2019-03", "/ui/fading?kind=semantic"]
    assert re.findall('href="([^"]+)"', told) == links
    asked = person.get("/ui/search?q=harbour&at=2019-03-05").text
    assert 'href="/ui/search?q=harbour" data-now>Back to today' in asked
