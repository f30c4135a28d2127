"""The picture of a graph in a real browser: drawn, pointed at, walked by keys, on a phone."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.box import Box
from tests.conftest import sealed
from tests.web.browser.conftest import Opened, Windows

pytestmark = pytest.mark.browser
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"}, "phone": PHONE,
}  # fmt: skip


def lines(memories: int) -> Iterator[str]:
    """People, things, and what is said of them."""
    chance = random.Random(7)
    names = [f"{first} {last}" for first in FIRST for last in LAST][: max(8, memories // 50)]
    for name in names:
        yield json.dumps({"text": f"About {name}.", "title": name, "type": "entity"})
    for number in range(memories):
        who, other = (names[int(len(names) * chance.random() ** 2)] for _ in range(2))
        text = f"{who} met [[{other}]], note {number}."
        text += f"\n\n- knows [[{chance.choice(names)}]]" if number % 4 == 0 else ""
        kind = "semantic" if number % 3 else "episodic"
        yield json.dumps({"text": text, "about": [who, chance.choice(names)], "type": kind})


FIRST = "Mara Jonas Ivo Lene Tomas Sabine Rui Hanna Otto Nadia".split()
LAST = "Ostberg Pihl Kader Brandt Rehn Ohl Teles Lind Weiss Farouk".split()


def filled(folder: Path, memories: int) -> Box:
    made = Box(folder, sealed(folder)).init()
    made.process("remember", "--from-jsonl", "-", stdin="\n".join(lines(memories)).encode())
    return made


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A vault of some hundred memories."""
    box = filled(tmp_path_factory.mktemp("g"), 250)
    try:
        yield box
        box("stop")
    finally:
        box.close()


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
def test_every_picture_is_accessible(harbour: Box, window: Windows, look: str, query: str) -> None:
    opened = window(harbour, f"/ui/graph{query}", **LOOKS[look])
    page = drawn(opened)
    size = page.viewport_size
    assert size
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    opened.picture(f"graph{query.count('=')}-{look}")
    assert opened.complaints == []


def test_a_node_is_chosen_and_opened_by_keys_alone(harbour: Box, window: Windows) -> None:
    opened = window(harbour, "/ui/graph?show=all")
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


def test_a_node_is_found_by_its_name(harbour: Box, window: Windows) -> None:
    opened = window(harbour, "/ui/graph?show=all")
    page = drawn(opened)
    page.keyboard.press("i")
    page.keyboard.type("mara pihl")
    expect(page.locator("#chosen h2")).to_have_text("Mara Pihl")
    page.keyboard.press("Enter")
    expect(page.locator("#canvas")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/memory/*")
    assert opened.complaints == []


def test_a_finger_chooses_and_two_zoom(harbour: Box, window: Windows) -> None:
    opened = window(harbour, "/ui/graph?show=all", **PHONE)
    page = drawn(opened)
    canvas = page.locator("#canvas")
    canvas.scroll_into_view_if_needed()
    x, y = map(float, (canvas.get_attribute("data-busiest") or "").split(","))
    canvas.tap(position={"x": x, "y": y})
    expect(page.locator("#chosen h2")).to_be_visible()
    assert opened.complaints == []


def test_a_note_written_meanwhile_appears(harbour: Box, window: Windows) -> None:
    opened = window(harbour, "/ui/graph?show=all&types=all")
    page = drawn(opened)
    before = page.locator("#canvas").get_attribute("data-nodes")
    harbour.remember("Mara Ostberg has a new boat.", "--about", "Mara Ostberg")
    expect(page.locator("#canvas")).not_to_have_attribute("data-nodes", str(before), timeout=15_000)
    assert opened.complaints == []


@pytest.mark.timeout(240)
def test_five_thousand_nodes(tmp_path_factory: pytest.TempPathFactory, window: Windows) -> None:
    box = filled(tmp_path_factory.mktemp("b"), 5_000)
    try:
        opened = window(box, "/ui/graph?show=all&types=all", reduced_motion="reduce")
        began = time.perf_counter()
        page = drawn(opened, 90)
        placing = time.perf_counter() - began
        began = time.perf_counter()
        page.reload()
        drawn(opened)
        first = time.perf_counter() - began
        assert int(page.locator("#canvas").get_attribute("data-nodes") or 0) >= 5_000
        point(page)
        expect(page.locator("#chosen h2")).to_be_visible()
        answered = time.perf_counter() - began
        print(f"places {placing:.1f} s, picture {first:.2f} s, click answered {answered:.2f} s")
        assert answered < 3
        page.locator("#canvas").hover()
        began = time.perf_counter()
        for _ in range(10):
            page.mouse.wheel(0, -120)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert time.perf_counter() - began < 3
        opened.picture("graph-5000")
        assert opened.complaints == []
    finally:
        box("stop")
        box.close()
