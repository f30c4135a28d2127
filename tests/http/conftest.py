"""One owner for all tests that leave it alive; `solo` starts another for tests that do not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.http.auth.authenticator import folder_of
from oneiro_vault.http.auth.json_store import private_folder
from tests.box import Box
from tests.conftest import sealed
from tests.http.remote import PASSWORD, Remote

GENEROUS = {
    "ONEIRO_ACCESS_READS": "0",
    "ONEIRO_ACCESS_WRITES": "0",
    "ONEIRO_MCP_TOOLS": "history graph wisdom levels",
}


def make_box(folder: Path, **env: str) -> Box:
    """A machine with a vault and a password; the password is as `oneiro keys login` stores it, but
    cheap to check."""
    box = Box(folder, sealed(folder) | env).init()
    access = private_folder(folder_of(box.vault, folder / "home" / ".config" / "oneiro"))
    cost = {"n": 2, "r": 1, "p": 1}
    found = hashlib.scrypt(PASSWORD.encode(), salt=b"salt", **cost, dklen=32)
    (access / "login.json").write_text(
        json.dumps({"scheme": "scrypt", **cost, "salt": b"salt".hex(), "hash": found.hex()})
    )
    return box


@pytest.fixture(scope="session")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    """One that is known by another name, as behind a proxy; its access tokens are good for four
    seconds."""
    box = make_box(tmp_path_factory.mktemp("p"))
    box.numbers["access.token_seconds"] = 4.0
    try:
        found = Remote(box, "--public-url", "https://vault.example.org/")
        yield found
        found.close()
    finally:
        box.close()


@pytest.fixture(scope="session")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    """Without rate limits for those who have a key."""
    box = make_box(tmp_path_factory.mktemp("r"), **GENEROUS)
    try:
        found = Remote(box)
        yield found
        found.close()
    finally:
        box.close()


@pytest.fixture
def solo(tmp_path: Path) -> Iterator[Callable[..., Remote]]:
    """Start an owner of one's own: `solo("--option", ONEIRO_X="1")`."""
    boxes: list[Box] = []

    def start(*options: str, where: str = "127.0.0.1", **env: str) -> Remote:
        boxes.append(make_box(tmp_path, **env))
        return Remote(boxes[-1], *options, where=where)

    yield start
    for box in boxes:
        box("stop")
        box.close()
