"""Who is let in to the page, and from where."""

from __future__ import annotations

import re

import pytest

from oneiro_vault.web import guard
from tests.box import Box
from tests.web.kit import Visitor, link, visitor


@pytest.mark.slow
def test_a_link_is_good_once(box: Box) -> None:
    base, code = link(box)
    first, second = Visitor(base), Visitor(base)
    answer = first.enter(code)
    assert (answer.status, answer.headers["location"]) == (303, "/ui/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert second.enter(code).headers["location"] == "/ui/login?spent"
    assert first.get("/ui/").status == 200
    assert second.get("/ui/").status == 303


def test_the_code_is_in_no_log(box: Box) -> None:
    base, code = link(box)
    Visitor(base).enter(code)
    logs = [path.read_bytes() for path in box.vault.rglob("*.log*")]
    assert logs
    assert not any(code.encode() in data for data in logs)


def test_codes_and_sessions_end() -> None:
    now = [0.0]
    kept = guard.Sessions(lambda: now[0])
    late, code = kept.new_code(), kept.new_code()
    session = kept.spend(code) or ""
    assert kept.knows(session)
    assert not kept.knows(code)
    assert kept.spend(code) is None
    now[0] = guard.CODE_SECONDS + 1
    assert kept.spend(late) is None
    assert kept.knows(session)
    now[0] = guard.SESSION_SECONDS + 1
    assert not kept.knows(session)
    session = kept.spend(kept.new_code()) or ""
    kept.end(session)
    assert not kept.knows(session)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "oneiro"])
def test_a_foreign_host_is_refused(person: Visitor, host: str) -> None:
    assert person.get("/ui/", Host=host).status == 421


def test_localhost_is_us(person: Visitor) -> None:
    port = person.base.rpartition(":")[2]
    assert person.get("/ui/", Host=f"localhost:{port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Sec_Fetch_Site": "", "Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "", "Origin": "null"},
        {"Sec_Fetch_Site": "", "Origin": ""},
    ],
)
def test_only_its_own_pages_may_post(person: Visitor, headers: dict[str, str]) -> None:
    assert person.post("/ui/theme", {"theme": "dark"}, **headers).status == 403


def test_an_old_browser_shows_its_origin(person: Visitor) -> None:
    assert person.post("/ui/theme", {"theme": "dark"}, Sec_Fetch_Site="").status == 303


def test_nothing_is_read_without_a_session(person: Visitor) -> None:
    stranger = Visitor(person.base)
    there = ("/ui/", "/ui/search?q=x", "/ui/nowhere", "/ui/loginx", "/", "/favicon.ico")
    for path in there:
        answer = stranger.get(path)
        assert (answer.status, answer.headers.get("location")) == (303, "/ui/login"), path
    for answer in (stranger.get("/ui/events"), stranger.post("/ui/leave"), stranger.part("/ui/")):
        assert answer.status == 401
    made_up = Visitor(person.base, person.cookie[:-1] + ("A" if person.cookie[-1] != "A" else "B"))
    assert made_up.get("/ui/").status == 303


def test_words_that_come_too_late_come_back(person: Visitor) -> None:
    stranger = Visitor(person.base)
    late = stranger.post("/ui/memory/x/edit", {"text": "Two hours\r\nof <b>work</b>."})
    assert late.status == 401
    assert late.text.endswith("Two hours\nof <b>work</b>.\n")
    assert late.headers["content-type"].startswith("text/plain")
    junk = stranger.post("/ui/memory/x/edit", Content_Type="multipart/form-data; boundary=x")
    assert junk.status == 401


def test_leaving_ends_the_session(box: Box) -> None:
    found = visitor(box)
    assert found.post("/ui/leave").status == 303
    assert found.get("/ui/").status == 303


def test_every_answer_carries_the_headers(person: Visitor) -> None:
    for path in ("/ui/", "/ui/login", "/ui/nowhere"):
        headers = person.get(path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'"
        )
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_assets_stay_for_ever(person: Visitor) -> None:
    found = re.findall(r'(?:href|src)="(/ui/static/[^"]+)"', person.get("/ui/").text)
    assert len(found) >= 4
    stranger = Visitor(person.base)
    for path in found:
        answer = stranger.get(path)
        assert answer.status == 200, path
        assert "immutable" in answer.headers["cache-control"], path
    for path in ("/ui/static/0/style.css", "/ui/static/0/..%2fguard.py", "/ui/static/0/guard.py"):
        assert stranger.get(path).status == 404


def test_other_methods_and_large_bodies_are_refused(person: Visitor) -> None:
    assert person.send("PUT", "/ui/", b"", {}).status == 405
    assert person.send("POST", "/ui/theme", b"", {"Content-Length": "9" * 9}).status in (403, 413)
    assert person.post("/ui/theme", {}, Content_Length="5000000").status == 413


def test_an_address_that_leads_nowhere(person: Visitor) -> None:
    answer = person.get("/ui/nowhere")
    assert answer.status == 404
    assert "there is no such page" in answer.text
