"""The vault as pages: every link leads to a file, nothing runs but its own script, and nothing is
asked of anybody."""

from __future__ import annotations

import base64
import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.memory import Memory
from oneiro_vault.web import static_site
from oneiro_vault.web.static_site import MOST, Dot, picture
from tests.copies import new_vault
from tests.operations.conftest import QUICK, stored
from tests.pictures import encoded

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)></script>'


class Files(dict[str, bytes]):
    """Where the site goes."""

    def add(self, name: str, data: bytes) -> None:
        self[name] = data


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Files]:
    root = tmp_path / "vault"
    new_vault(root)
    with App.open(root, QUICK) as app:

        def call(op: str, **params: object) -> dict[str, object]:
            return app.call(op, params)

        image = {"data": base64.b64encode(encoded()).decode(), "alt": "the boat"}
        stored(call, "The captain.", type="entity", title="Peter Novak")
        stored(call, "He sails with [[Peter Novak|him]], [[Nobody]] and [us](https://example.org).",
               title="Crew", images=[image], tags=["boat"])  # fmt: skip
        old = stored(call, "The boat is called Petrel.", created="2025-12-24")
        call("correct", id=old, text="The boat is called Kittiwake now.")
        stored(call, f"Say {EVIL}\n\n[x](javascript:alert(1))", title=f"Evil {EVIL}", kind=EVIL,
               tags=[EVIL], aliases=[EVIL])  # fmt: skip
        call("export", format="jsonl", target=str(tmp_path / "lines"))
        found = Files()
        number = static_site.build(f"my {EVIL}", tmp_path / "lines", found, lambda *_: None)
        assert number == app.house.index.count() == 5
    yield found


def pages(site: Files) -> dict[str, Elements]:
    return {name: Elements(data.decode()) for name, data in site.items() if name.endswith(".html")}


def test_every_link_leads_to_a_file(site: Files) -> None:
    outside = set()
    for name, page in pages(site).items():
        for _, attributes in page.found:
            for place in (attributes.get("href", ""), attributes.get("src", "")):
                if place.startswith("https:"):
                    outside.add(place)
                elif place and not place.startswith("#"):
                    folder = posixpath.dirname(name)
                    assert posixpath.normpath(posixpath.join(folder, unquote(place))) in site, place
    assert outside == {"https://example.org"}


def test_nothing_runs_but_its_own_script(site: Files) -> None:
    for name, page in pages(site).items():
        scripts = [attributes for tag, attributes in page.found if tag == "script"]
        known = [{"src": "static/site.js", "defer": ""},
                 {"type": "application/json", "id": "known"}]  # fmt: skip
        assert scripts == (known if name == "search.html" else [])
        policy = [one["content"] for tag, one in page.found if "http-equiv" in one]
        assert "default-src 'none'" in policy[0]
        assert "unsafe" not in policy[0]
        for tag, attributes in page.found:
            assert not [one for one in attributes if one.startswith("on") or one == "style"]
            assert tag != "iframe"
            assert not attributes.get("href", "").startswith("javascript")
    assert "fetch(" not in site["static/site.js"].decode()
    assert "innerHTML" not in site["static/site.js"].decode()


def test_a_page_says_where_it_comes_from_and_what_links_to_it(site: Files) -> None:
    text = {re.findall(r"<h1>(.*?)</h1>", data.decode())[0]: data.decode()
            for name, data in site.items() if name.startswith("m/")}  # fmt: skip
    assert "What links here" in text["Peter Novak"]
    assert ">Crew</a>" in text["Peter Novak"]
    crew = text["Crew"]
    assert re.search(r'<a href="\w+\.html" class="wiki"[^>]*>him</a>, Nobody and', crew)
    assert 'src="../attachments/' in crew
    assert 'alt="the boat"' in crew
    assert "What holds instead" in text["The boat is called Petrel."]
    assert "month/2025-12.html" in site["index.html"].decode()


def test_the_search_knows_all_of_them(site: Files) -> None:
    data = re.findall(r'id="known">(.*?)</script>', site["search.html"].decode(), re.S)
    rows = json.loads(data[0])
    assert len(rows) == 5
    assert {row[1] for row in rows} >= {"Crew", "Peter Novak"}
    assert all(f"m/{row[0]}.html" in site for row in rows)


def test_what_the_search_shows_is_no_markdown() -> None:
    body = "# Crew\n\n**Ana** and [[Bo|him]] <!-- aside -->\n\n- [x] told\n\n|a|b|\n|-|-|\n|1|2|\n"
    shown = static_site._brief(Memory("a.md", title="Crew", body=body, tags=("boat",)))
    assert shown == "Ana and him ☑ told a b 1 2 #boat"
    shown = static_site._brief(Memory("a.md", body="word " * 200))
    assert (shown[-6:], len(shown) < 290) == ("word …", True)


def test_the_graph_shows_the_most_linked_ones_the_same_way_each_time() -> None:
    dots = {str(n): Dot(str(n), f"<b>{n}", "entity") for n in range(2 * MOST)}
    links = {("0", str(n)) for n in range(2 * MOST)}
    drawn = picture(dots, links)
    assert drawn == picture(dots, links)
    assert drawn.count("<circle") == MOST
    assert drawn.count("<line") == MOST - 1
    assert "<b>" not in drawn
    assert "nan" not in drawn
    assert picture(dots, set()) == ""
