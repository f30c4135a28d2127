"""A note's Markdown on a page: readable, and unable to do anything."""

from __future__ import annotations

import re

import pytest

from oneiro_vault.web.notes import body_html, safe, words_html

SHA = "ab" * 32


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](javascript:alert(1))",
        "<svg/onload=alert(1)>",
        "[x](vbscript:x)",
        '[x](https://a.example "onmouseover=alert(1)")',
        "[[javascript:alert(1)]]",
        "[[x|<script>alert(1)</script>]]",
        "![[<img src=x onerror=alert(1)>]]",
        f"![<script>](../{SHA}.png)",
        "> [!<script>] x",
        "> [!note] <script>alert(1)</script>",
        "```<script>\n<script>alert(1)</script>\n```",
        "|<script>|\n|:-:|\n|<b style=x>|",
        "# <script>alert(1)</script>",
        "- [ ] <iframe src=//evil.example>",
        '<div hx-get="/ui/leave" hx-trigger="load" data-key="a">x</div>',
        "[x](/ui/leave)",
        "[x](//evil.example/a)",
        "&#60;script>alert(1)&#60;/script>",
        "[x]: javascript:alert(1)\n\n[x]",
    ],
)
def test_nothing_stored_can_act(text: str) -> None:
    found = str(body_html(text, "abcd12345678"))
    tags = re.findall(r"<[^>]*>", found)
    told = " ".join(tags).lower()
    for wrong in ("script", "onerror", "onload", "style=", "hx-", "data-", "iframe", "svg"):
        assert wrong not in re.sub(r'title="[^"]*"|href="/ui/go[^"]*"|alt="[^"]*"', "", told), found
    for address in re.findall(r'(?:href|src)="([^"]*)"', told):
        assert address.startswith(("/ui/go?", "/ui/picture/", "https://a.example")), found


def test_the_sanitiser_stands_alone() -> None:
    dirty = '<b>y</b><p href="/ui/leave" class="button callout-title" id="main" hx-get="/">x</p>'
    assert safe(f"{dirty}<style>*{{}}</style>") == 'y<p class="callout-title">x</p>'


def test_links_lead_to_our_pages() -> None:
    found = body_html("See [[Petrel|the boat]], [x](../a%20b.md#h) and [[A/B#c]].", "abcd12345678")
    assert 'href="/ui/go?to=Petrel&amp;from=abcd12345678"' in found
    assert ">the boat</a>" in found
    assert 'href="/ui/go?to=..%2Fa%20b.md&amp;from=abcd12345678"' in found
    assert 'href="/ui/go?to=A%2FB&amp;from=abcd12345678"' in found
    assert "[[code]]" in body_html("`[[code]]`")


def test_pictures_of_the_vault_and_of_the_web() -> None:
    here = body_html(f"![a boat](../../attachments/ab/{SHA}.png) ![[{SHA}.png]]", "abcd12345678")
    assert here.count(f'src="/ui/picture/abcd12345678/{SHA}"') == 2
    assert 'alt="a boat"' in here
    assert "<img" not in body_html(f"![x]({SHA}.png)", "abcd12345678", pictures=())
    away = body_html("![pixel](https://evil.example/p.png)", "abcd12345678")
    assert "<img" not in away
    assert ">pixel (on the web)</a>" in away


def test_headings_skip_no_level() -> None:
    found = re.findall(r"<h(\d)>", body_html("### a\n\n# b\n\n#### c\n\n###### d\n\n## e"))
    assert found == ["2", "2", "3", "4", "3"]


def test_tables_tasks_and_callouts() -> None:
    found = body_html("|a|b|\n|:-:|-:|\n|1|2|\n\n- [x] done\n\n> [!conflict] Two say so\n> both\n")
    assert '<th class="center">a</th>' in found
    assert '<td class="end">2</td>' in found
    assert "☑ done" in found
    assert '<blockquote class="callout warning">' in found
    assert "<strong>Two say so</strong>" in found


def test_words_are_marked() -> None:
    found = words_html("We restored <b> the backups", ("restore", "backup"))
    assert found == "We <mark>restored</mark> &lt;b&gt; the <mark>backups</mark>"
    assert words_html("a <b>") == "a &lt;b&gt;"


@pytest.mark.parametrize("text", ["", "\0", "[[", "![[", "a" * 5_000, "> " * 400, "[" * 2_000])
def test_odd_text(text: str) -> None:
    assert isinstance(str(body_html(text, "abcd12345678")), str)
