"""Attacks on every page of the table: what is stored runs nothing, and only the person changes
anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.web import pages
from tests.box import Box
from tests.conftest import sealed
from tests.operations.dream.support import git
from tests.web.hostile import MARK, Reading, addresses, filled
from tests.web.kit import Visitor, visitor

pytestmark = pytest.mark.slow

JUNK = (
    "../../../../etc/passwd", "%2e%2e%2fetc%2fpasswd", "%00", "a%0d%0aSet-Cookie:x=1", "x" * 3000,
    "%F0%9F%92%A9", "-rf", "HEAD:x", "%3Cscript%3E", "%E2%80%AE", "..%5c..%5cwindows", "1e999",
)  # fmt: skip
QUERIES = ("q", "at", "from", "to", "in", "kind", "project", "prompt", "show", "size", "commit",
           "words", "days", "k", "n", "done", "part", "step", "depth", "around", "as_of")  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Box, dict[str, str]]]:
    folder = tmp_path_factory.mktemp("h")
    made = Box(folder, sealed(folder)).init()
    try:
        yield made, filled(made)
        made("stop")
    finally:
        made.close()


@pytest.fixture(scope="module")
def reader(hostile: tuple[Box, dict[str, str]]) -> Visitor:
    return visitor(hostile[0])


@pytest.fixture(scope="module")
def places(hostile: tuple[Box, dict[str, str]]) -> dict[str, str]:
    return addresses(hostile[1])


@pytest.fixture
def unchanged(hostile: tuple[Box, dict[str, str]]) -> Iterator[None]:
    """Whatever a test sends, the branch stays where it is."""
    box, _ = hostile
    before = git(box.vault, "rev-parse", "HEAD")
    yield
    assert git(box.vault, "rev-parse", "HEAD") == before


def test_what_is_stored_runs_nothing(reader: Visitor, places: dict[str, str]) -> None:
    shown = set()
    for pattern, path in places.items():
        for answer in (reader.get(path), reader.part(path)):
            assert answer.status < 500, (path, answer.text[:500])
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            page = Reading(answer.text)
            assert page.faults == [], path
            assert "49'" not in page.said, f"{path} took stored words for a template"
            if MARK in page.said:
                shown.add(pattern)
    assert {"/ui/", "/ui/memory/{id}", "/ui/flags", "/ui/timeline"} <= shown


def test_it_would_be_seen(reader: Visitor) -> None:
    found = Reading('<p onclick="x">a</p><a href="javascript:1">b</a><script>c</script>').faults
    assert len(found) == 4


def test_what_is_looked_for_runs_nothing(reader: Visitor) -> None:
    for path in ("/ui/search", "/ui/", "/ui/timeline", "/ui/go", "/ui/wake/prompt"):
        for name in ("q", "to", "at", "prompt", "project"):
            answer = reader.get(f"{path}?{name}=%22%3E%3Cscript%3Ewindow.{MARK}%3D1%3C/script%3E")
            assert answer.status < 500, (path, name)
            assert Reading(answer.text).faults == [], (path, name)


def test_pictures_are_pictures(reader: Visitor, hostile: tuple[Box, dict[str, str]]) -> None:
    _, values = hostile
    answer = reader.get(f"/ui/picture/{values['id']}/{values['sha']}")
    assert answer.status == 200
    assert re.fullmatch(r"image/(png|jpeg|webp|gif)", answer.headers["content-type"])
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert MARK not in answer.text
    for sha in ("a" * 64, "../../.git/config", "..%2f..%2f.git%2fconfig", "%00"):
        answer = reader.get(f"/ui/picture/{values['id']}/{sha}")
        assert answer.status in (400, 404), sha
        assert "onload" not in answer.text
        assert "[core]" not in answer.text


@pytest.mark.usefixtures("unchanged")
def test_junk_is_refused_in_words(reader: Visitor, places: dict[str, str]) -> None:
    for pattern in places:
        cut = re.split(r"\{(\w+)\}", pattern)
        for junk in JUNK if len(cut) > 1 else ():
            path = "".join(junk if at % 2 else part for at, part in enumerate(cut))
            answer = reader.get(path)
            assert answer.status in (200, 303, 400, 404, 409), (path, answer.status)
            assert "root:x:" not in answer.text
            assert "set-cookie" not in answer.headers
    for path in places.values():
        together = "&".join(f"{name}={JUNK[at % len(JUNK)]}" for at, name in enumerate(QUERIES))
        other = "&".join(f"{name}={JUNK[-1 - at % len(JUNK)]}" for at, name in enumerate(QUERIES))
        for query in (together, other):
            answer = reader.get(f"{path}?{query}")
            assert answer.status < 500, (path, query, answer.text[-900:])


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": ""}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Cookie": "oneiro-1=x"}, 401),
    ],
)
def test_nobody_else_writes(
    reader: Visitor, hostile: tuple[Box, dict[str, str]], headers: dict[str, str], status: int
) -> None:
    for pattern in pages.WRITES:
        path = pattern.replace("{id}", hostile[1]["id"])
        assert reader.post(path, {"id": hostile[1]["id"]}, **headers).status == status, path


@pytest.mark.usefixtures("unchanged")
def test_a_link_or_a_picture_changes_nothing(
    reader: Visitor, hostile: tuple[Box, dict[str, str]]
) -> None:
    """GET, as `<img src>` of another page would."""
    for pattern in pages.WRITES:
        path = pattern.replace("{id}", hostile[1]["id"])
        answer = reader.get(f"{path}?id={hostile[1]['id']}")
        assert answer.status in (200, 404, 405), path
        assert answer.status == 404 or pattern in pages.READS, path


def test_no_page_can_be_framed_or_read_by_another(reader: Visitor, places: dict[str, str]) -> None:
    for path in places.values():
        headers = reader.get(path, Origin="https://evil.example").headers
        assert headers["x-frame-options"] == "DENY", path
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy or policy.endswith("; sandbox"), path
        assert headers["cross-origin-resource-policy"] == "same-origin", path
        assert not [name for name in headers if name.startswith("access-control")], path
        assert reader.get(path, Host="evil.example").status == 421, path


def test_nothing_is_shown_without_a_session(reader: Visitor, places: dict[str, str]) -> None:
    stranger = Visitor(reader.base)
    for path in places.values():
        assert stranger.get(path).headers.get("location") == "/ui/login", path


def test_no_secret_and_no_traceback_is_in_a_log(
    hostile: tuple[Box, dict[str, str]], reader: Visitor
) -> None:
    """After all of this."""
    text = hostile[0].log
    assert reader.cookie.partition("=")[2] not in text
    assert "Traceback" not in text, text[text.find("Traceback") - 300 :][:3000]


def test_a_bad_form_is_refused(reader: Visitor, hostile: tuple[Box, dict[str, str]]) -> None:
    for pattern in pages.WRITES:
        if pattern in ("/ui/dreams/dream", "/ui/health/mend"):
            continue  # they take nothing
        for fields in ({}, dict.fromkeys(("id", "commit", "run", "night", "keep", "forget"), "no")):
            answer = reader.post(pattern.replace("{id}", "no-such-memory"), fields)
            assert answer.status in (303, 400, 404, 409), (pattern, fields, answer.status)


def test_the_table_knows_its_own(tmp_path: Path) -> None:
    """A page that nobody attacks is no page."""
    assert set(addresses({"id": "i", "sha": "s", "run": "r"})) == set(pages.READS)
