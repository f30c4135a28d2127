"""Timeline, Fading and the date, in a real browser: by mouse, by keys, on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from oneiro_vault.app import App
from oneiro_vault.vault import layout
from tests.box import Box
from tests.conftest import sealed
from tests.operations.conftest import QUICK
from tests.web.browser.conftest import Windows

pytestmark = pytest.mark.browser
DAY = 86_400.0
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}  # fmt: skip


def lived(folder: Path) -> Box:
    """A vault with a history of 200 days: something was said on every fourth."""
    now = datetime.now(UTC).timestamp()
    clock = [now - 201 * DAY]
    (folder / "vault").mkdir()
    layout.create_here(folder / "vault", clock=lambda: clock[0])
    with App.open(folder / "vault", QUICK, clock=lambda: clock[0]) as app:
        for day in range(200, 0, -4):
            clock[0] = now - day * DAY
            kind = ("episodic", "semantic", "procedure")[day // 4 % 3]
            app.call("remember", {"items": [{"text": f"Said {day} days ago.", "type": kind}]})
    return Box(folder, sealed(folder))


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """It, for tests that only look."""
    box = lived(tmp_path_factory.mktemp("t"))
    try:
        yield box
        box("stop")
    finally:
        box.close()


@pytest.mark.parametrize("look", [*LOOKS])
@pytest.mark.parametrize(
    "path",
    [
        "timeline", "timeline?in={month}", "timeline?at={day}", "timeline/changed?in={month}",
        "fading", "fading?show=gone",
    ],
)  # fmt: skip
def test_every_page_is_accessible(past: Box, window: Windows, look: str, path: str) -> None:
    then = (datetime.now(UTC) - timedelta(days=40)).date().isoformat()
    opened = window(past, "/ui/" + path.format(day=then, month=then[:7]), **LOOKS[look])
    width = opened.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0
    found = Axe().run(opened.page)
    assert found.violations_count == 0, found.generate_report()
    opened.picture(re.sub(r"\W+", "-", path.partition("{")[0]).strip("-") + f"-{look}")
    assert opened.complaints == []


def test_the_date_is_dragged_and_goes_along(past: Box, window: Windows) -> None:
    opened = window(past, "/ui/timeline")
    page = opened.page
    slide = page.locator("#scrub")
    box = slide.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_url("**at=*")
    expect(page.locator(".then")).to_contain_text("As it was on")
    expect(page.get_by_text("Said 4 days ago.")).to_have_count(0)
    page.get_by_role("link", name="Fading").click()
    expect(page.locator(".then")).to_contain_text("As it was on")
    expect(page.get_by_role("button", name="Keep")).to_have_count(0)
    page.keyboard.press("a")
    page.get_by_role("link", name="Back to today").click()
    expect(page.locator(".then")).to_have_count(0)
    assert opened.complaints == []


def test_the_date_is_moved_by_keys(past: Box, window: Windows) -> None:
    opened = window(past, "/ui/timeline")
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


def test_a_day_is_typed(past: Box, window: Windows) -> None:
    opened = window(past, "/ui/timeline?kind=semantic")
    then = (datetime.now(UTC) - timedelta(days=100)).date().isoformat()
    opened.page.locator("#when").fill(then)
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_url(f"**at={then}*")
    assert "kind=semantic" in opened.page.url
    expect(opened.page.locator(".then")).to_contain_text("Nothing can be changed here")
    assert opened.complaints == []


def test_closer_and_back_by_the_chart(past: Box, window: Windows) -> None:
    opened = window(past, "/ui/timeline")
    page = opened.page
    page.locator(".bars a:not([tabindex])").last.click(force=True)
    page.wait_for_url("**in=*")
    expect(page.locator(".trail [aria-current]")).to_be_visible()
    for left in (2, 1):
        page.keyboard.press("-")
        expect(page.locator(".trail li")).to_have_count(left)
    assert opened.complaints == []


def test_what_changed_is_told_when_asked(past: Box, window: Windows) -> None:
    then = (datetime.now(UTC) - timedelta(days=40)).date().isoformat()
    opened = window(past, f"/ui/timeline?in={then[:7]}")
    opened.page.keyboard.press("c")
    expect(opened.page.locator(".changed")).to_contain_text("newly believed")
    assert Axe().run(opened.page).violations_count == 0
    assert opened.complaints == []


def test_what_fades_is_kept_and_forgotten_by_keys(tmp_path: Path, window: Windows) -> None:
    box = lived(tmp_path)
    try:
        opened = window(box, "/ui/fading?days=90")
        page = opened.page
        rows = page.locator("#fading [data-item]")
        count = rows.count()
        assert count >= 4
        page.keyboard.press("j")
        page.keyboard.press("a")
        expect(page.locator("#done")).to_contain_text("is kept until")
        expect(rows).to_have_count(count - 1)
        expect(rows.first).to_be_focused()
        page.keyboard.press("f")
        expect(page.locator("#done")).to_contain_text("is forgotten")
        expect(rows).to_have_count(count - 2)
        page.get_by_role("button", name="Bring it back").click()
        expect(page.locator("#done")).to_contain_text("is back")
        expect(rows).to_have_count(count - 1, timeout=10_000)
        assert json.loads(box("--json", "list", "--limit", "100").stdout)["total"] == 50
        assert opened.complaints == []
        box("stop")
    finally:
        box.close()
