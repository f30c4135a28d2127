"""The pages over a network: who is let in, that they only show, and that they end with the key."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from oneiro_vault.web import pages
from tests.http.remote import PASSWORD, Remote

FORM = {"Sec-Fetch-Site": "same-origin"}


def enter(remote: Remote, secret: str) -> httpx2.Response:
    return remote.send("POST", "/ui/session", headers=FORM, data={"code": secret})


def looking(remote: Remote, secret: str) -> dict[str, str]:
    """The cookie of somebody who was let in."""
    answer = enter(remote, secret)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/"), answer.text
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


@pytest.fixture
def reader(remote: Remote) -> dict[str, str]:
    return looking(remote, remote.key("reader"))


def test_a_stranger_sees_only_the_door(remote: Remote) -> None:
    assert remote.send("GET", "/ui/login").status_code == 200
    for path in ("/ui/", "/ui/search?q=harbour", "/ui/health", "/ui/events", "/ui/nowhere"):
        answer = remote.send("GET", path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login"), path
    made_up = {"Cookie": f"oneiro-page={'x' * 43}"}
    assert remote.send("GET", "/ui/", headers=made_up).status_code == 303
    assert remote.send("GET", "/ui/", "admin").status_code == 303  # a token is not a session


def test_a_key_that_may_read_looks_and_changes_nothing(
    remote: Remote, reader: dict[str, str]
) -> None:
    before = remote.head
    page = remote.send("GET", "/ui/", headers=reader)
    assert page.status_code == 200
    assert "nothing can be changed here" in page.text
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "access-control-allow-origin" not in page.headers
    for pattern in pages.WRITES:
        path = pattern.replace("{id}", "some")
        answer = remote.send("POST", path, headers=reader | FORM, data={"id": "some"})
        assert answer.status_code == 403, path
    doctor = remote.send("GET", "/ui/health/doctor", headers=reader)
    assert "over a network this is not done" in doctor.text
    assert str(remote.box.vault) not in remote.send("GET", "/ui/health", headers=reader).text
    assert remote.head == before


def test_what_was_forgotten_is_told_to_nobody_over_a_network(
    remote: Remote, reader: dict[str, str]
) -> None:
    ident = remote.box.remember("The spare key lies under the third flower pot.")["id"]
    assert "flower pot" in remote.send("GET", f"/ui/memory/{ident}", headers=reader).text
    remote.box.ok("forget", ident)
    for path in (f"/ui/memory/{ident}", f"/ui/memory/{ident}/history"):
        answer = remote.send("GET", path, headers=reader)
        assert answer.status_code == 404, path
        assert "flower pot" not in answer.text


@pytest.mark.slow
def test_the_password_opens_it_until_there_is_another(solo: Callable[..., Remote]) -> None:
    remote = solo()
    seen = looking(remote, PASSWORD)
    assert remote.send("GET", "/ui/health", headers=seen).status_code == 200
    stored = remote.access.folder / "login.json"
    stored.write_text(stored.read_text().replace('"hash": "', '"hash": "00'))
    assert remote.send("GET", "/ui/health", headers=seen).status_code == 303


@pytest.mark.parametrize("secret", ["", "wrong", "ov_" + "x" * 40, "x" * 2000, "\x00"])
def test_nothing_else_opens_it(remote: Remote, secret: str) -> None:
    remote.be_somebody_else()
    answer = enter(remote, secret)
    assert answer.headers.get("location") == "/ui/login?failed"
    assert "set-cookie" not in answer.headers


def test_a_hook_may_not_look(remote: Remote) -> None:
    assert enter(remote, remote.key("hook")).headers["location"] == "/ui/login?failed"


@pytest.mark.slow
def test_a_revoked_key_ends_the_session(solo: Callable[..., Remote]) -> None:
    remote = solo()
    seen = looking(remote, remote.key("writer"))
    assert remote.send("GET", "/ui/", headers=seen).status_code == 200
    remote.box.ok("keys", "revoke", remote.key_id("writer"))
    assert remote.send("GET", "/ui/", headers=seen).status_code == 303


def test_leaving(remote: Remote, reader: dict[str, str]) -> None:
    assert remote.send("POST", "/ui/leave", headers=reader | FORM, data={}).status_code == 303
    assert remote.send("GET", "/ui/", headers=reader).status_code == 303


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({}, 403),
    ],
)
def test_forged_logins(remote: Remote, headers: dict[str, str], status: int) -> None:
    given = {"code": remote.key("reader")}
    answer = remote.send("POST", "/ui/session", headers=headers, data=given)
    assert (answer.status_code, "set-cookie" in answer.headers) == (status, False)


def test_guessing_is_slowed_down(remote: Remote) -> None:
    remote.be_somebody_else()
    found = [enter(remote, f"guess {number}").status_code for number in range(40)]
    assert 429 in found


def test_the_log_says_who_looked_and_no_secret(remote: Remote, reader: dict[str, str]) -> None:
    remote.send("GET", "/ui/", headers=reader)
    looks = [line for line in remote.audit if line["op"] == "GET /ui"]
    assert looks[-1]["who"] == f"key:{remote.key_id('reader')}"
    assert looks[-1]["status"] == 200
    told = remote.audit
    assert remote.key("reader") not in str(told)
    assert reader["Cookie"].partition("=")[2] not in str(told)
