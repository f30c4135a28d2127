"""Clients that follow an address hear of changes, whoever made them, in the way of their era;
nobody else does."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceUpdatedNotification

from oneiro_vault.app import App
from tests.box import Box
from tests.mcp.speaking import Heard, connected, over_socket, over_stdio, run, server_over

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}"
)


@asynccontextmanager
async def modern(found: Heard, *uris: str) -> AsyncIterator[list[str]]:
    """The addresses that were named as changed, through a `subscriptions/listen` stream."""
    heard: list[str] = []
    async with found.client.listen(resource_subscriptions=list(uris)) as events:

        async def collect() -> None:
            async for event in events:
                assert isinstance(event, ResourceUpdated)
                heard.append(event.uri)

        task = asyncio.create_task(collect())
        yield heard
        task.cancel()


@asynccontextmanager
async def legacy(found: Heard, *uris: str) -> AsyncIterator[list[str]]:
    """The same through `resources/subscribe`."""
    for uri in uris:
        await found.client.subscribe_resource(uri)

    class Seen(list[str]):
        def __len__(self) -> int:
            return len(named())

        def __iter__(self) -> Any:
            return iter(named())

        def __eq__(self, other: object) -> bool:
            return named() == other

        __hash__ = None

    def named() -> list[str]:
        return [
            str(note.params.uri)
            for note in found.notes
            if isinstance(note, ResourceUpdatedNotification)
        ]

    yield Seen()
    for uri in uris:
        await found.client.unsubscribe_resource(uri)


FOLLOW = {"auto": modern, "legacy": legacy}
Remember = Callable[[], Awaitable[dict[str, Any]]]


def stored(app: App) -> dict[str, Any]:
    row: dict[str, Any] = app.call(
        "remember", {"items": [{"text": f"The boat is called Petrel {secrets.token_hex(4)}."}]}
    )["results"][0]
    return row


def test_an_edit_by_a_person_is_heard(app: App, era: str) -> None:
    one, other = stored(app), stored(app)
    path = app.house.root / one["path"]

    async def talk() -> None:
        async with (
            connected(server_over(app), era) as found,
            FOLLOW[era](found, f"memory://{one['id']}") as heard,
        ):
            (app.house.root / other["path"]).write_text(
                (app.house.root / other["path"]).read_text() + "Not followed.\n"
            )
            path.write_text(path.read_text() + "She is blue.\n")
            await found.until(lambda: len(heard))
            assert list(heard) == [f"memory://{one['id']}"]

    run(talk())


def test_forgetting_and_restoring_are_heard(app: App, era: str) -> None:
    one = stored(app)
    uri = f"memory://{one['id']}"

    async def talk() -> None:
        async with connected(server_over(app), era) as found, FOLLOW[era](found, uri) as heard:
            await found.said("forget", id=one["id"])
            await found.until(lambda: len(heard) == 1)
            await asyncio.to_thread(app.call, "restore", {"id": one["id"]})
            await found.until(lambda: len(heard) == 2)

    run(talk())


def test_the_orientation_and_a_nights_reports_are_heard(app: App, era: str) -> None:
    root: Path = app.house.root
    block = root / "orientation" / f"harbour-{era}.md"
    report = root / "dreams" / "2026" / "11" / f"2026-11-2{len(era)}-consolidate.md"
    date = report.name[:10]

    async def talk() -> None:
        uris = ["orientation://current", f"dream://{date}"]
        async with connected(server_over(app), era) as found, FOLLOW[era](found, *uris) as heard:
            block.parent.mkdir(exist_ok=True)
            block.write_text(
                "---\ntype: orientation\ntitle: Harbour\n---\nThe harbour is open from six.\n"
            )
            await found.until(lambda: len(heard) == 1)
            report.parent.mkdir(parents=True, exist_ok=True)
            report.write_text("# Consolidated\n\nNothing was merged.\n")
            await found.until(lambda: len(heard) == 2)
            assert list(heard) == uris

    run(talk())


def test_after_leaving_nothing_is_watched(app: App, era: str) -> None:
    one = stored(app)
    before = len(app.house.indexing.refreshed)

    async def talk() -> None:
        async with connected(server_over(app), era) as found:
            async with FOLLOW[era](found, f"memory://{one['id']}"):
                assert len(app.house.indexing.refreshed) == before + 1
            await found.until(lambda: len(app.house.indexing.refreshed) == before)

    run(talk())


def test_a_client_that_goes_without_a_word_is_forgotten(app: App) -> None:
    one = stored(app)
    before = len(app.house.indexing.refreshed)

    async def talk() -> None:
        async with connected(server_over(app), "legacy") as found:
            await found.client.subscribe_resource(f"memory://{one['id']}")
            await found.client.subscribe_resource("nothing://of-ours")
            assert len(app.house.indexing.refreshed) == before + 1
        async with asyncio.timeout(10):
            while len(app.house.indexing.refreshed) != before:
                await asyncio.sleep(0.02)

    run(talk())


@pytest.mark.slow
@pytest.mark.parametrize("way", [over_socket, over_stdio])
def test_over_the_wire(box: Box, era: str, way: Any) -> None:
    one = box.remember(f"The lighthouse keeper is {secrets.token_hex(4)}.")
    path = box.vault / one["path"]

    async def talk() -> None:
        async with way(box, era) as found, FOLLOW[era](found, f"memory://{one['id']}") as heard:
            await asyncio.sleep(
                0.3
            )  # over HTTP a legacy client is reached once its GET stream is open
            path.write_text(path.read_text() + "He plays chess.\n")
            await found.until(lambda: len(heard))

    run(talk())
