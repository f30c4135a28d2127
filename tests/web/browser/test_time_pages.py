"""Timeline, Fading and the date, in a real browser: by mouse, by keys, on a phone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.box import Box
from tests.web.browser.conftest import LOOKS, Windows

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("look", [*LOOKS])
@pytest.mark.parametrize(
    "path",
    [
        "timeline", "timeline?in={month}", "timeline?at={day}", "timeline/changed?in={month}",
        "fading", "fading?show=gone",
    ],
)  # fmt: skip
def test_every_page_is_accessible(box: Box, window: Windows, look: str, path: str) -> None:
    then = (datetime.now(UTC) - timedelta(days=40)).date().isoformat()
    opened = window(box, "/ui/" + path.format(day=then, month=then[:7]), **LOOKS[look])
    opened.accessible()
    opened.picture(re.sub(r"\W+", "-", path.partition("{")[0]).strip("-") + f"-{look}")
    assert opened.complaints == []


def test_the_date_is_dragged_and_goes_along(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/timeline")
    page = opened.page
    newest = page.locator("#timeline .row-title").first.inner_text()
    place = page.locator("#scrub").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + place["width"] - 8, place["y"] + place["height"] / 2)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_url("**at=*")
    expect(page.locator(".then")).to_contain_text("As it was on")
    expect(page.locator("#timeline .row-title").first).not_to_have_text(newest)
    opened.picture("timeline-then")
    page.get_by_role("link", name="Fading").click()
    expect(page.locator(".then")).to_contain_text("As it was on")
    expect(page.get_by_role("button", name="Keep")).to_have_count(0)
    page.keyboard.press("a")
    page.get_by_role("link", name="Back to today").click()
    expect(page.locator(".then")).to_have_count(0)
    assert opened.complaints == []


def test_the_date_is_moved_by_keys(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/timeline")
    page = opened.page
    page.locator("#scrub").focus()
    page.keyboard.press("PageDown")
    page.wait_for_url("**at=*")
    expect(page.locator("#scrub")).to_be_focused()
    before = page.url
    page.locator("h1").click()
    page.keyboard.press("[")
    page.wait_for_url(lambda url: url != before)
    page.keyboard.press("Shift+T")
    page.wait_for_url(lambda url: "at=" not in url)
    assert opened.complaints == []


def test_a_day_is_typed(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/timeline?kind=semantic")
    then = (datetime.now(UTC) - timedelta(days=100)).date().isoformat()
    opened.page.locator("#when").fill(then)
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_url(f"**at={then}*")
    assert "kind=semantic" in opened.page.url
    expect(opened.page.locator(".then")).to_contain_text("Nothing can be changed here")
    assert opened.complaints == []


def test_closer_and_back_by_the_chart(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/timeline")
    page = opened.page
    page.locator(".bars a:not([tabindex])").last.click(force=True)
    page.wait_for_url("**in=*")
    expect(page.locator(".trail [aria-current]")).to_be_visible()
    for left in (2, 1):
        page.keyboard.press("-")
        expect(page.locator(".trail li")).to_have_count(left)
    assert opened.complaints == []


def test_what_changed_is_told_when_asked(box: Box, window: Windows) -> None:
    then = (datetime.now(UTC) - timedelta(days=40)).date().isoformat()
    opened = window(box, f"/ui/timeline?in={then[:7]}")
    opened.page.keyboard.press("c")
    expect(opened.page.locator(".changed")).to_contain_text("newly believed")
    opened.accessible()
    assert opened.complaints == []


def test_what_fades_is_kept_and_forgotten_by_keys(own: Box, window: Windows) -> None:
    opened = window(own, "/ui/fading?days=7")
    page = opened.page
    rows, sums = page.locator("#fading [data-item]"), page.locator("#fading > .soft")
    kept, gone = (rows.nth(at).get_attribute("id") or "" for at in (0, 1))
    found = int(sums.inner_text().split()[0])
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(page.locator("#done")).to_contain_text("is kept until")
    expect(page.locator(f"#{kept}")).to_have_count(0)
    expect(rows.first).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator("#done")).to_contain_text("is forgotten")
    expect(page.locator(f"#{gone}")).to_have_count(0)
    expect(sums).to_contain_text(f"{found - 2} memories", timeout=10_000)
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator("#done")).to_contain_text("is back")
    expect(page.locator(f"#{gone}")).to_have_count(1, timeout=10_000)
    assert opened.complaints == []
