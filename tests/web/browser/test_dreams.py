"""A person reviews a night with the keyboard alone, and takes back what another night did."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.box import Box
from tests.web.browser.conftest import PHONE, Windows

pytestmark = pytest.mark.browser


def waits(page: Page) -> int:
    """How many proposals the page says wait."""
    return int(page.locator("#waiting").inner_text().split()[0])


def test_review_by_keys(own: Box, window: Windows) -> None:
    opened = window(own, "/ui/dreams")
    page = opened.page
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_have_text("Proposals")
    found = waits(page)
    expect(page.locator(".proposal")).to_have_count(found)
    opened.picture("dreams-review")
    page.keyboard.press("j")
    expect(page.locator(".proposal").first).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator(".settled.accepted")).to_contain_text("My sister Mette lives in Bergen.")
    shed = page.locator(".proposal").first
    expect(shed).to_be_focused()
    expect(page.locator("#waiting")).to_have_text(f"{found - 1} proposals wait")
    page.keyboard.press("e")
    words = shed.locator("textarea")
    expect(words).to_be_focused()
    words.fill("I lock the mast shed at seven.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".settled.accepted")).to_have_count(2)
    page.keyboard.press("r")
    expect(page.locator(".proposal").first.locator("input[name=reason]")).to_be_focused()
    page.keyboard.type("the oars are elsewhere")
    page.keyboard.press("Enter")
    expect(page.locator(".settled.rejected")).to_contain_text("the oars are elsewhere")
    expect(page.locator("#waiting")).to_have_text(f"{found - 3} proposals wait")
    opened.picture("dreams-settled")
    assert "at seven" in own.ok("recall", "mast shed")
    assert opened.complaints == []


def test_a_form_in_use_is_left_alone(own: Box, window: Windows) -> None:
    page = window(own, "/ui/dreams/review").page
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(page.locator(".proposal textarea").first).to_be_focused()
    page.keyboard.type(" Mine.")
    branch = own.json("review")["branches"][0]["branch"]
    own.ok("review", "--reject", branch)
    expect(page.locator("#waiting")).to_have_text("None waits.")
    expect(page.locator(".proposal textarea").first).to_have_value(
        "My sister Mette lives in Bergen. Mine."
    )


def test_a_decision_is_taken_back(own: Box, window: Windows) -> None:
    opened = window(own, "/ui/dreams")
    page = opened.page
    opened.picture("dreams")
    card = page.locator(".decision", has_text="I lock the mast shed at six.").first
    card.get_by_role("button", name="Take back").click()
    expect(card).to_contain_text("taken back")
    expect(page.locator("#notice")).to_contain_text("1 note is as before")
    card.get_by_role("button", name="Put back").click()
    expect(card.get_by_role("button", name="Take back")).to_be_visible()
    page.get_by_role("button", name="Take back the whole night").click()
    expect(page.locator(".sum")).to_contain_text("all of it was taken back")
    opened.picture("dreams-taken-back")
    assert opened.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone(box: Box, window: Windows, theme: str) -> None:
    opened = window(box, "/ui/dreams/review", color_scheme=theme, **PHONE)
    opened.page.locator("summary", has_text="Edit").first.click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    wide = "document.querySelector('.drawer[open] textarea').getBoundingClientRect().width"
    assert opened.page.evaluate(wide) > 250, "the form stands below its button, not beside it"
    opened.picture(f"dreams-review-phone-{theme}")
    opened.page.goto(opened.page.url.replace("/review", ""))
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    here = "document.querySelector('.menu [aria-current]').getBoundingClientRect().right"
    assert 0 < opened.page.evaluate(here) <= 360, "the menu shows which page is open"
    opened.picture(f"dreams-phone-{theme}")
