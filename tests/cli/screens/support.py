"""A full-screen program without a terminal, over a real vault: keys go in, what stands on the
screen comes out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from oneiro_vault.api import Operations
from oneiro_vault.cli.screens.base import Rows, Twin
from oneiro_vault.cli.screens.review_screen import ReviewScreen
from oneiro_vault.cli.screens.search_screen import SearchScreen
from tests.box import patient


class Stage:
    """The program under way."""

    def __init__(self, pilot: Pilot[str]) -> None:
        self.pilot = pilot

    @property
    def app(self) -> Twin:
        app = self.pilot.app
        assert isinstance(app, Twin)
        return app

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for what a call to the vault brings."""
        limit = time.monotonic() + patient(10)
        while not holds():
            assert time.monotonic() < limit, self.screen
            await self.pilot.pause(0.02)

    async def sees(self, words: str) -> None:
        await self.until(lambda: words in self.screen)

    @property
    def screen(self) -> str:
        """All that is shown, as plain text, line by line."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    def text(self, name: str) -> str:
        """All of one part, also what is scrolled away."""
        return str(self.app.screen.query_one(f"#{name}", Static).render())

    @property
    def rows(self) -> list[str]:
        rows = self.app.screen.query_one("#rows", Rows)
        return [str(one.prompt) for one in rows.options]


def play(
    vault: Operations,
    scene: Callable[[Stage], Awaitable[Any]],
    starts: str = "review",
    query: str = "",
    edit: Callable[[str], str] = str,
    size: tuple[int, int] = (80, 24),
) -> str | None:
    """Run the program through a scene; what it says at its end."""

    async def run() -> str | None:
        places = {"review": ReviewScreen, "search": lambda: SearchScreen(query)}
        app = Twin(vault, edit, places, starts)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await scene(Stage(pilot))
        return app.return_value

    return asyncio.run(run())
