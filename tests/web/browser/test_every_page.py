"""Every page of the table in a real browser: accessible in both themes and on a phone, by keyboard
alone, and with a hostile vault nothing runs and nothing is asked of anybody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.box import Box
from tests.conftest import sealed
from tests.web.browser.conftest import LOOKS, PHONE, Windows
from tests.web.hostile import MARK, addresses, filled

pytestmark = pytest.mark.browser

EVERY = LOOKS | {"phone-dark": {"color_scheme": "dark", **PHONE}}
NO_PAGES = ("/ui/picture/", "/ui/go", "/ui/graph/data")
"""What answers something else than a page."""
PARTS = ("/changed", "/ui/wake/prompt")
"""Parts of pages, that no browser opens by themselves."""
TABS = 60
STOPS = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "";
  const box = at.getBoundingClientRect(), style = getComputedStyle(at);
  const seen = style.outlineStyle !== "none" || at.matches("input, textarea, select, main, svg a");
  const place = [...document.querySelectorAll("*")].indexOf(at);
  return `${place} ${at.tagName} ${at.textContent.trim().slice(0, 40)}|${box.width > 0}|${seen}`;
}"""


def machine(folder: Path) -> Box:
    return Box(folder, sealed(folder)).init()


@pytest.fixture(scope="module")
def full(box: Box, made: tuple[Path, dict[str, str]]) -> tuple[Box, dict[str, str]]:
    """A vault in which every page has something to show."""
    return box, made[1]


def shown(values: dict[str, str]) -> list[str]:
    """The pages that a person opens."""
    return [
        path
        for path in addresses(values).values()
        if not path.startswith(NO_PAGES) and not path.endswith(PARTS)
    ]


@pytest.mark.parametrize("look", EVERY)
def test_accessible(full: tuple[Box, dict[str, str]], window: Windows, look: str) -> None:
    box, values = full
    opened = window(box, **EVERY[look], reduced_motion="reduce")
    base = opened.page.url.partition("/ui/")[0]
    faults = []
    for path in (*shown(values), "/ui/search?q=mast", "/ui/nowhere"):
        opened.page.goto(base + path)
        found = Axe().run(opened.page)
        faults += [
            f"{path}: {one['id']}: {one['nodes'][0]['html'][:160]}"
            for one in found.response["violations"]
        ]
        if "viewport" in EVERY[look]:
            wide = opened.page.evaluate("document.documentElement.scrollWidth")
            faults += [f"{path}: {wide} pixels wide"] if wide > 360 else []
        name = path.strip("/").replace("/", "-").partition("?")[0].replace(values["id"], "id")
        opened.picture(f"all-{name}-{look}")
    assert not faults, "\n".join(faults)
    assert [one for one in opened.complaints if "404" not in one] == []


def test_by_keyboard_alone(full: tuple[Box, dict[str, str]], window: Windows) -> None:
    """Tab goes through every page and out again, what has the focus can be seen, and nothing holds
    it."""
    box, values = full
    opened = window(box)
    page = opened.page
    base = page.url.partition("/ui/")[0]
    for path in shown(values):
        page.goto(base + path)
        stops: list[str] = []
        for _ in range(TABS):
            page.keyboard.press("Tab")
            stop = page.evaluate(STOPS)
            if not stop or (stop in stops[:1] and len(set(stops)) > 1):
                break
            stops.append(stop)
        assert len(stops) > 5, path
        assert len(set(stops)) > len(stops) / 3, (path, "the focus stays", stops)
        assert not [one for one in stops if not one.endswith("true|true")], (path, stops)
        assert path == "/ui/search" or " A Skip to the page" in stops[0], path


def test_a_hostile_vault_runs_nothing(tmp_path: Path, window: Windows) -> None:
    box = machine(tmp_path)
    try:
        values = filled(box)
        opened = window(box)
        page = opened.page
        base = page.url.partition("/ui/")[0]
        asked: list[str] = []
        page.on("request", lambda one: asked.append(one.url))
        page.on("dialog", lambda one: opened.complaints.append(f"dialog {one.message}"))
        for path in (*shown(values), "/ui/search?q=pwned"):
            page.goto(base + path)
            page.mouse.move(500, 500)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate(f"typeof window.{MARK}") == "undefined", path
        assert [one for one in asked if not one.startswith((base, "data:"))] == []
        assert opened.complaints == []
        box("stop")
    finally:
        box.close()
