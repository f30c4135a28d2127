"""The picture of a graph in a real browser: drawn, pointed at, walked by keys, on a phone."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from tests.box import Box, eventually
from tests.web.browser.conftest import LOOKS, MEMORIES, PHONE, Opened, Windows

pytestmark = pytest.mark.browser


NOTED = """window.written = [];
const draws = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const half = this.measureText(text).width / 2;
  window.written.push([text, x - half, x + half]);
  draws.call(this, text, x, y);
};"""


def drawn(opened: Opened, seconds: float = 30) -> Page:
    """The page, once its picture is there."""
    canvas = opened.page.locator("#canvas[data-nodes]")
    canvas.wait_for(timeout=seconds * 1000)
    return opened.page


def point(page: Page) -> None:
    """Click on the node with the most edges."""
    x, y = (page.locator("#canvas").get_attribute("data-busiest") or "").split(",")
    page.locator("#canvas").click(position={"x": float(x), "y": float(y)})


@pytest.mark.parametrize("look", [*LOOKS])
@pytest.mark.parametrize("query", ["", "?show=all", "?show=all&types=all"])
def test_every_picture_is_accessible(box: Box, window: Windows, look: str, query: str) -> None:
    opened = window(box, f"/ui/graph{query}", **LOOKS[look])
    page = drawn(opened)
    expect(page.locator("#canvas")).to_have_attribute("data-busiest", re.compile(r"\d,"))
    opened.accessible()
    opened.picture(f"graph{query.count('=')}-{look}")
    assert opened.complaints == []


def test_a_node_is_chosen_and_opened_by_keys_alone(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/graph?show=all")
    page = drawn(opened)
    page.locator("#canvas").focus()
    page.keyboard.press("n")
    chosen = page.locator("#chosen h2")
    expect(chosen).to_be_visible()
    first = chosen.inner_text()
    page.keyboard.press("n")
    page.keyboard.press("Space")
    expect(chosen).not_to_have_text(first)
    for key in ("ArrowLeft", "+", "-", "0"):
        page.keyboard.press(key)
    name = chosen.inner_text()
    page.keyboard.press(".")
    page.wait_for_url("**/ui/graph?of=*")
    drawn(opened)
    expect(page.locator("#chosen h2")).to_have_text(name)
    assert opened.complaints == []


def test_a_node_is_found_by_its_name(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/graph?show=all")
    page = drawn(opened)
    page.keyboard.press("i")
    page.keyboard.type("mara pihl")
    expect(page.locator("#chosen h2")).to_have_text("Mara Pihl")
    page.keyboard.press("Enter")
    expect(page.locator("#canvas")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/memory/*")
    assert opened.complaints == []


def test_a_finger_chooses_and_two_zoom(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/graph?show=all", **PHONE)
    page = drawn(opened)
    canvas = page.locator("#canvas")
    canvas.scroll_into_view_if_needed()
    x, y = map(float, (canvas.get_attribute("data-busiest") or "").split(","))
    canvas.tap(position={"x": x, "y": y})
    expect(page.locator("#chosen h2")).to_be_visible()
    assert opened.complaints == []


def test_every_name_is_read_whole_on_a_phone(box: Box, window: Windows) -> None:
    opened = window(box, **PHONE)
    opened.page.add_init_script(NOTED)
    opened.page.goto(opened.page.url + "graph?show=all")
    page = drawn(opened)
    point(page)
    expect(page.locator("#chosen h2")).to_be_visible()
    for _ in range(6):  # memories are named closer by
        page.locator("#canvas").press("+")
    eventually(lambda: len(page.evaluate("window.written")) > 20, 10)
    names = page.evaluate("window.written")
    width = page.locator("#canvas").evaluate("one => one.clientWidth")
    assert [name for name, left, right in names if left < 0 or right > width] == []
    assert [name for name, _, _ in names if re.fullmatch(r"[0-9a-z]{12}", name)] == [], "no ids"
    opened.picture("graph-close-phone")


def test_a_note_written_meanwhile_appears(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/graph?show=all&types=all")
    page = drawn(opened)
    before = page.locator("#canvas").get_attribute("data-nodes")
    box.remember("Mara Ostberg has a new boat.", "--about", "Mara Ostberg")
    expect(page.locator("#canvas")).not_to_have_attribute("data-nodes", str(before), timeout=15_000)
    assert opened.complaints == []


def test_five_thousand_nodes(box: Box, window: Windows) -> None:
    opened = window(box, "/ui/graph?show=all&types=all", reduced_motion="reduce")
    page = drawn(opened, 90)
    began = time.perf_counter()
    page.reload()
    drawn(opened)
    first = time.perf_counter() - began
    assert int(page.locator("#canvas").get_attribute("data-nodes") or 0) >= 0.9 * MEMORIES
    point(page)
    expect(page.locator("#chosen h2")).to_be_visible()
    answered = time.perf_counter() - began
    print(f"picture {first:.2f} s, click answered {answered:.2f} s")
    assert answered < 3
    page.locator("#canvas").hover()
    began = time.perf_counter()
    for _ in range(10):
        page.mouse.wheel(0, -120)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert time.perf_counter() - began < 3
    opened.picture("graph-5000")
    assert opened.complaints == []
