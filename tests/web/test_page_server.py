"""The page is opened once, however many knock."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request

from oneiro_vault.app import App
from oneiro_vault.daemon.asgi import OURS, Pools
from oneiro_vault.daemon.lifetime import Life
from oneiro_vault.web.page_server import PageDoor
from tests.copies import new_vault
from tests.operations.conftest import QUICK


def knock() -> Request:
    async def body() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/ui", "headers": [], OURS: True}
    return Request(scope, body)


def test_of_two_that_knock_at_once_one_opens(tmp_path: Path) -> None:
    new_vault(tmp_path / "vault")

    async def both(door: PageDoor) -> tuple[list[dict[str, Any]], int]:
        before = len(asyncio.all_tasks())
        answers = await asyncio.gather(door.open(knock()), door.open(knock()))
        more = len(asyncio.all_tasks()) - before
        await door.close()
        return [json.loads(bytes(one.body)) for one in answers], more

    pools = Pools()
    with App.open(tmp_path / "vault", QUICK) as app:
        found, servers = asyncio.run(both(PageDoor(app, Life(tmp_path, 10), pools)))
    pools.close()
    assert servers == 1
    assert found[0]["base"] == found[1]["base"]
    assert found[0]["url"] != found[1]["url"]
