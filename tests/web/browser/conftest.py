"""A real Chromium (Debian's, or the one that ONEIRO_CHROMIUM names) before a real owner."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.box import Box
from tests.web.kit import link

PROGRAM = os.environ.get("ONEIRO_CHROMIUM") or shutil.which("chromium") or ""
PICTURES = Path(__file__).parents[3] / ".screenshots"
"""Kept after a run, to be looked at."""


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

    def picture(self, name: str) -> None:
        """Keep a screenshot."""
        PICTURES.mkdir(exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@dataclass
class Windows:
    """Opens windows on a box's page; `more` as `Browser.new_context` takes it."""

    browser: Browser
    made: list[BrowserContext] = field(default_factory=list)

    def __call__(self, box: Box, path: str = "/ui/", **more: Any) -> Opened:
        context = self.browser.new_context(**more)
        self.made.append(context)
        found = Opened(context.new_page())
        found.watch()
        base, code = link(box)
        found.page.goto(f"{base}/ui/login#{code}")
        found.page.wait_for_url(f"{base}/ui/")
        if path != "/ui/":
            found.page.goto(base + path)
        return found


@pytest.fixture
def window(chromium: Browser) -> Iterator[Windows]:
    """`window(box, "/ui/search")`; closed at the end of the test."""
    found = Windows(chromium)
    yield found
    for context in found.made:
        context.close()
