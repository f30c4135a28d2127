"""What every page has: a way in, keys, live updates, two themes, a phone's width, no complaints."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.box import Box
from tests.web.browser.conftest import Windows

pytestmark = pytest.mark.browser


def test_the_link_opens_the_page_and_leaves_no_code(box: Box, window: Windows) -> None:
    opened = window(box)
    expect(opened.page.get_by_role("heading", level=1)).to_have_text("Wake")
    assert "#" not in opened.page.url
    assert opened.complaints == []


def test_keys_are_listed_and_lead_to_pages(box: Box, window: Windows) -> None:
    opened = window(box)
    opened.page.keyboard.press("?")
    keys = opened.page.get_by_role("dialog")
    expect(keys).to_contain_text("go to Wake")
    opened.page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    opened.page.keyboard.press("/")
    expect(opened.page.locator("#find")).to_be_focused()
    assert opened.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone(box: Box, window: Windows, theme: str) -> None:
    phone = {"width": 390, "height": 844}
    opened = window(box, viewport=phone, color_scheme=theme)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.picture(f"frame-phone-{theme}")
