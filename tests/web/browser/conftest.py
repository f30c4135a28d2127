"""A real Chromium (Debian's, or the one that ONEIRO_CHROMIUM names) before a real owner, whose vault
holds 5,000 memories of a year and a half."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests import years
from tests.box import Box
from tests.conftest import sealed
from tests.web.hostile import HERE, picture
from tests.web.kit import link
from tests.web.nights import lived

PROGRAM = os.environ.get("ONEIRO_CHROMIUM") or shutil.which("chromium") or ""
PICTURES = Path(__file__).parents[3] / ".screenshots"
"""Kept after a run, to be looked at."""
MEMORIES = 5_000
expect.set_options(timeout=20_000)  # the machine may be shared; what is there is seen at once
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 780}, "has_touch": True}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", **PHONE},
}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with the vault and its index, after two nights, the second of which only proposes;
    and what stands for the parts of pages' addresses. To be copied."""
    folder = tmp_path_factory.mktemp("made")
    years.write(folder / "vault", MEMORIES)
    box = Box(folder, sealed(folder))
    row = box.json(HERE, "remember", "The mast, [[Petrel]].", "--image", str(picture(folder)))
    lived(box, review=True)
    asked = {"text": "It drips in June.", "flags": ["contradiction"]}
    box.ok(HERE, "remember", "--from-jsonl", "-", stdin=json.dumps(asked).encode())
    run = box.json(HERE, "runs")["runs"][0]["run"]
    image = row["results"][0]
    return folder, {"id": image["id"], "sha": image["images"][0]["sha256"], "run": run}


def _copied(folder: Path, made: Path) -> Iterator[Box]:
    shutil.copytree(made / "vault", folder / "vault", symlinks=True)
    box = Box(folder, sealed(folder))
    try:
        yield box
        box("stop")
    finally:
        box.close()


@pytest.fixture(scope="session")
def box(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[Path, dict[str, str]]
) -> Iterator[Box]:
    """It behind one owner, for all tests that change nothing of another's notes."""
    yield from _copied(tmp_path_factory.mktemp("w"), made[0])


@pytest.fixture
def own(tmp_path: Path, made: tuple[Path, dict[str, str]]) -> Iterator[Box]:
    """It for a test that changes it."""
    yield from _copied(tmp_path, made[0])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests."""
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=PROGRAM)
        yield made
        made.close()


@dataclass
class Opened:
    """A page of the vault in a window of its own, and everything the browser complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Note every console error, page error and refused resource from now on."""
        self.page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "response",
            lambda answer: (
                self.complaints.append(f"{answer.status} {answer.url}")
                if answer.status >= 400
                else None
            ),
        )

    def accessible(self) -> None:
        """Axe finds nothing, and no page is wider than its window."""
        found = Axe().run(self.page)
        assert found.violations_count == 0, found.generate_report()
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    def picture(self, name: str) -> None:
        """Keep a screenshot."""
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@dataclass
class Windows:
    """Opens windows on a box's page; `more` as `Browser.new_context` takes it. Who came in by a link
    once has the cookie in every further window: `known`, by vault."""

    browser: Browser
    known: dict[Path, tuple[str, Any]]
    made: list[BrowserContext] = field(default_factory=list)

    def __call__(self, box: Box, path: str = "/ui/", **more: Any) -> Opened:
        base, state = self.known.get(box.vault, ("", None))
        context = self.browser.new_context(storage_state=state, **more)
        self.made.append(context)
        found = Opened(context.new_page())
        found.watch()
        if not base:
            base, code = link(box)
            found.page.goto(f"{base}/ui/login#{code}")
            found.page.wait_for_url(f"{base}/ui/")
            self.known[box.vault] = (base, context.storage_state())
        if path != "/ui/" or state:
            found.page.goto(base + path)
        return found


@pytest.fixture(scope="session")
def known() -> dict[Path, tuple[str, Any]]:
    """(address of the page, cookies) of each vault whose page was opened."""
    return {}


@pytest.fixture
def window(chromium: Browser, known: dict[Path, tuple[str, Any]]) -> Iterator[Windows]:
    """`window(box, "/ui/search")`; closed at the end of the test."""
    found = Windows(chromium, known)
    yield found
    for context in found.made:
        context.close()
