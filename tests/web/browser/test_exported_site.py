"""The exported site in a real Chromium, from the disk: nothing is complained of, the search finds,
links lead on, and axe has nothing to say."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from oneiro_vault.app import App, init_vault
from oneiro_vault.web import static_site
from tests.operations.conftest import QUICK, stored
from tests.web.browser.conftest import Opened

pytestmark = pytest.mark.browser


class Files:
    """A folder as it is written to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, name: str, data: bytes) -> None:
        place = self._folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    init_vault(tmp_path / "vault")
    with App.open(tmp_path / "vault", QUICK) as app:

        def call(op: str, **params: object) -> dict[str, object]:
            return app.call(op, params)

        stored(call, "The captain.", type="entity", title="Peter Novak")
        for number in range(70):
            stored(call, f"Crossing {number} with [[Peter Novak]].\n\n- calm\n- clear",
                   title=f"Crossing {number}", type="episodic")  # fmt: skip
        stored(call, "Café au lait <b>only</b>.", title="Breakfast <script>alert(1)</script>")
        call("export", format="jsonl", target=str(tmp_path / "lines"))
        static_site.build("Log", tmp_path / "lines", Files(tmp_path / "site"), lambda *_: None)
    return tmp_path / "site"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_from_the_disk(
    chromium: Browser, site: Path, scheme: Literal["light", "dark"]
) -> None:
    context = chromium.new_context(color_scheme=scheme)
    opened = Opened(context.new_page())
    opened.watch()
    asked: list[str] = []
    opened.page.on("request", lambda request: asked.append(request.url))
    page = opened.page
    page.goto((site / "index.html").as_uri())
    assert _faults(opened, "index", scheme) == []
    page.get_by_role("link", name="Graph", exact=True).click()
    assert _faults(opened, "graph", scheme) == []
    page.locator("svg.graph a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Peter Novak")
    assert _faults(opened, "memory", scheme) == []
    page.get_by_role("link", name="Search", exact=True).click()
    expect(page.locator("#told")).to_have_text("72 memories")
    page.keyboard.press("/")
    page.keyboard.type("cafe LAIT")
    expect(page.locator("#told")).to_have_text("1 found")
    page.locator("#find").fill("crossing")
    expect(page.locator("#told")).to_have_text("70 found, the first 60 are shown")
    assert _faults(opened, "search", scheme) == []
    page.locator("#find").fill("breakfast")
    page.get_by_role("link", name="Breakfast").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Breakfast <script>alert(1)</script>")
    assert opened.complaints == []
    assert all(url.startswith("file:") for url in asked)
    context.close()


def _faults(opened: Opened, name: str, scheme: str) -> list[str]:
    opened.picture(f"site-{name}-{scheme}")
    # it would fetch the styles once more, which the policy of the site refuses
    found = Axe().run(opened.page, options={"preload": False}).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]}" for one in found]
