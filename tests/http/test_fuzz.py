"""Bar row 41 over TCP, with a key: the right answer to whatever is sent, no crash, nothing written.
`make drills` sends ten thousand."""

from __future__ import annotations

import http.client

import pytest

from tests.http.remote import Remote
from tests.mcp.raw import LEGACY, MODERN, Http
from tests.mcp.test_fuzz import SEED, SIZES, bombard, still


class Tcp(Http):
    """A client that comes over the network, with a key that may write."""

    def __init__(self, remote: Remote, era: str) -> None:
        super().__init__("", era)
        self.line = http.client.HTTPConnection("127.0.0.1", remote.port, timeout=30)
        self.session = remote.bearer("writer")


@pytest.mark.slow
@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("era", [MODERN, LEGACY])
def test_over_tcp(remote: Remote, era: str, number: int) -> None:
    before = still(remote.box)
    with Tcp(remote, era) as client:
        bombard(client, era, SEED + 2, number)
    assert still(remote.box) == before
    assert "Exception in ASGI" not in (remote.box.folder / "serve.log").read_text()
