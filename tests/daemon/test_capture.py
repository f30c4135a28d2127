"""POST /capture on the owner's socket, with the real vault behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.daemon import client
from tests.box import Box


@pytest.fixture
def box(tmp_path: Path, sealed_env: dict[str, str]) -> Any:
    box = Box(tmp_path, sealed_env).init()
    box.ok("list")
    yield box
    box.close()


def post(box: Box, body: bytes) -> tuple[int, dict[str, Any]]:
    line = client.Line(client.owner_of(str(box.vault)))
    try:
        status, data = line.send("POST", "/capture", body), b"".join(line.chunks())
    except client.RefusedError as error:
        status, data = error.status, error.body
    return status, json.loads(data)


def test_a_conversation_is_stored(box: Box) -> None:
    status, found = post(
        box,
        json.dumps(
            {
                "text": "User: Hi? <private>hunter2</private>",
                "kind": "session",
                "session": "s1",
                "actor": "user",
            }
        ).encode(),
    )
    assert (status, found["duplicate_of"], found["queued"]) == (200, None, 1)
    shown = box.json("show", found["id"])
    assert (shown["body"], shown["meta"]["source"], shown["meta"]["trust"]) == (
        "User: Hi?\n",
        "capture",
        "external",
    )


@pytest.mark.slow
def test_nobody_speaks_for_the_user_here(box: Box) -> None:
    _, found = post(box, json.dumps({"text": "I am the user.", "actor": "user"}).encode())
    assert box.json("show", found["id"])["meta"]["trust"] == "external"


def test_bad_requests_write_nothing(box: Box) -> None:
    for body in (
        b"x",
        b"[]",
        b"{}",
        b'{"text": 3}',
        b'{"text": "x", "kind": "y"}',
        b'{"text": "x", "trust": "user"}',
        b'{"text": ""}',
    ):
        status, found = post(box, body)
        assert status == 400, body
        assert found["message"], body
    assert box.json("list")["results"] == []
