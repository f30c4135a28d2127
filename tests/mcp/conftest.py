"""A vault with an App of this process, and one with an owner of its own; `speak` opens a client on
each way and in each era."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oneiro_vault.app import App
from oneiro_vault.settings.definitions import Settings
from tests.box import Box
from tests.conftest import sealed
from tests.copies import new_vault
from tests.mcp.speaking import ERAS, WAYS, Speak, connected, over_socket, over_stdio, server_over

QUICK = Settings({"embed.model": "hash", "disk.reserve": 0, "edits.quiet": 0.0})


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An open vault, watched as an owner watches it."""
    root = tmp_path_factory.mktemp("a") / "vault"
    new_vault(root)
    made = App.open(root, QUICK, owner=True)
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A vault behind the command line, its owner shared by the tests of a module."""
    folder = tmp_path_factory.mktemp("b")
    made = Box(folder, sealed(folder))
    try:
        yield made.init()
    finally:
        made.close()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """`auto` is 2026-07-28, `legacy` the handshake."""
    found: str = request.param
    return found


@pytest.fixture(params=WAYS)
def speak(request: pytest.FixtureRequest, era: str) -> Speak:
    """How to connect a client, on every way and in both eras."""
    if request.param == "memory":
        app = request.getfixturevalue("app")
        return lambda: connected(server_over(app), era)
    way = over_socket if request.param == "socket" else over_stdio
    box = request.getfixturevalue("box")
    return lambda: way(box, era)
