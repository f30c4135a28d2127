"""Pictures by their path: only what is a picture is read, and nothing of anything else is told."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.core.principal import Caller
from oneiro_vault.errors import InvalidInput
from oneiro_vault.mcp.server import build
from oneiro_vault.mcp.tools.change_tools import MOST, read_image
from oneiro_vault.mcp.transports import Served
from tests.mcp.conformance.fixtures import PNG
from tests.mcp.tools.test_tool import Calls, post


def test_the_bytes_of_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PNG))
    (tmp_path / "link").symlink_to("a.png")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (str(tmp_path / "a.png"), str(tmp_path / "link"), "~/a.png"):
        assert base64.b64decode(read_image(path)) == base64.b64decode(PNG)


@pytest.mark.parametrize(
    "path",
    [
        "a.png",
        "",
        "../a.png",
        "a\0.png",
        "/a\0.png",
        "https://example.org/a.png",
        "~nobody-at-all/a.png",
    ],
)
def test_a_path_is_whole(path: str) -> None:
    with pytest.raises(InvalidInput, match="is not a full path"):
        read_image(path)


def test_what_is_no_picture_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    (tmp_path / "id_ed25519").write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
    (tmp_path / "huge.png").write_bytes(b"")
    os.truncate(tmp_path / "huge.png", MOST + 1)
    os.mkfifo(tmp_path / "pipe")
    for name, why in {
        "id_ed25519": "is not a PNG",
        "huge.png": "more than",
        "pipe": "is not a file",
        "gone": "cannot be read",
        ".": "is",
    }.items():
        with pytest.raises(InvalidInput, match=why) as caught:
            read_image(str(tmp_path / name))
        assert "BEGIN" not in str(caught.value)


def test_a_path_means_nothing_from_another_machine(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(base64.b64decode(PNG))
    calls = Calls()

    async def talk() -> dict[str, Any]:
        served = Served(build(calls))
        async with served.running():
            arguments = {"text": "Ours.", "path": str(tmp_path / "a.png")}
            found = await post(
                served,
                Caller("key:k1", "admin", "k1"),
                "tools/call",
                {"name": "remember_with_image", "arguments": arguments},
            )
            return dict(found["result"])

    refused = asyncio.run(talk())
    assert refused["isError"]
    assert "from another machine" in refused["content"][0]["text"]
    assert calls.made == []
