"""What the bridge answers by itself is what the owner would have answered, whatever the
configuration."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import oneiro_vault
from oneiro_vault.cli import bridge
from oneiro_vault.cli.bridge import Greeting
from oneiro_vault.mcp.server import SETS, build
from oneiro_vault.mcp.transports import Served
from tests.mcp.raw import ENVELOPE, HELLO, LEGACY

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
CONFIGURATIONS: tuple[list[str], ...] = (
    [],
    ["history"],
    ["dreams"],
    ["history", "dreams"],
    ["graph"],
    ["levels"],
    ["dreams", "graph", "history", "levels", "wisdom"],
    ["dreams", "history"],
)
Request = tuple[str, dict[str, Any]]
INITIALIZE: list[Request] = [
    ("initialize", HELLO | {"protocolVersion": version})
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS, "1999", "")
]
LEGACY_ASKS: list[Request] = [
    (method, params)
    for method in ("ping", *LISTS)
    for params in ({}, {"_meta": {"progressToken": 1}})
]
MODERN_ASKS: list[Request] = [
    (method, {"_meta": envelope})
    for method in ("server/discover", "ping", *LISTS)
    for envelope in (
        ENVELOPE,
        {name: value for name, value in ENVELOPE.items() if not name.endswith("clientInfo")},
    )
]


def asked(sets: Sequence[str], requests: Sequence[Request]) -> list[dict[str, Any]]:
    """The whole answers of a server to one client."""
    found: dict[int, dict[str, Any]] = {}

    async def nothing(*_: object) -> dict[str, Any]:
        return {}

    async def talk() -> None:
        served = Served(build(nothing, sets=sets))
        body: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        for number, (method, params) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            body.put_nowait(
                {
                    "type": "http.request",
                    "body": json.dumps(message).encode() + b"\n",
                    "more_body": True,
                }
            )
            if method == "initialize":
                ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
                body.put_nowait({"type": "http.request", "body": ready, "more_body": True})
        body.put_nowait({"type": "http.request", "body": b"", "more_body": False})

        async def send(message: MutableMapping[str, Any]) -> None:
            if message.get("body", b"").strip():
                answer = json.loads(message["body"])
                found[answer["id"]] = answer

        async with served.running():
            await served.lines({"type": "http", "method": "POST", "headers": []}, body.get, send)

    asyncio.run(talk())
    return [found[number] for number in range(len(requests))]


def constants() -> dict[str, Any]:
    """What belongs into the file."""
    hello, *old = (
        answer["result"]
        for answer in asked([], [("initialize", HELLO), *((method, {}) for method in LISTS)])
    )
    discover, *new = (
        answer["result"]
        for answer in asked(
            [], [(method, {"_meta": ENVELOPE}) for method in ("server/discover", *LISTS)]
        )
    )
    around = {name: value for name, value in new[0].items() if name not in old[0]}
    more = {
        name: asked([name], [("tools/list", {"_meta": ENVELOPE})])[0]["result"]["tools"][
            len(old[0]["tools"]) :
        ]
        for name in SETS
    }
    del hello["protocolVersion"]
    return {
        "legacy": {
            "versions": HANDSHAKE_PROTOCOL_VERSIONS,
            "initialize": hello,
            "ping": {},
            "around": {},
        },
        "modern": {
            "versions": MODERN_PROTOCOL_VERSIONS,
            "server/discover": discover,
            "around": around,
        },
        "lists": dict(zip(LISTS, old, strict=True)),
        "sets": more,
    }


def test_the_file_is_what_the_server_says() -> None:
    now = json.dumps(constants(), ensure_ascii=False, indent=1).replace(
        f'"version": "{oneiro_vault.__version__}"', '"version": "{version}"'
    )
    path = Path(bridge.FILE)
    if os.environ.get("GOLDEN") == "write":
        path.write_text(now + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == now + "\n", "stale: `make golden` writes it anew"


@pytest.mark.parametrize("sets", CONFIGURATIONS, ids="+".join)
def test_bridge_and_owner_answer_alike(
    sets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEIRO_MCP_TOOLS", " ".join(sets))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for hello in INITIALIZE:
        client = Greeting(str(tmp_path))
        requests = [hello, *LEGACY_ASKS]
        assert [client.result(*request) for request in requests] == [
            answer["result"] for answer in asked(sets, requests)
        ]
    client = Greeting(str(tmp_path))
    for request, answer in zip(MODERN_ASKS, asked(sets, MODERN_ASKS), strict=True):
        assert client.result(*request) == answer.get("result")  # none of this era for a ping


def test_the_settings_of_the_machine_name_the_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEIRO_MCP_TOOLS", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "oneiro").mkdir()
    (tmp_path / "oneiro" / "config.toml").write_text('[mcp]\ntools = "dreams"\n')
    found = Greeting(str(tmp_path)).result("tools/list", {"_meta": ENVELOPE})
    assert found == asked(["dreams"], [("tools/list", {"_meta": ENVELOPE})])[0]["result"]
    monkeypatch.setenv("ONEIRO_MCP_TOOLS", "dreams nonsense")
    assert Greeting(str(tmp_path)).result("tools/list", {"_meta": ENVELOPE}) is None


@pytest.mark.parametrize(
    "request_",
    [
        ("tools/list", {}),  # no handshake, no envelope
        ("tools/list", {"_meta": ENVELOPE, "cursor": "x"}),
        (
            "tools/list",
            {"_meta": ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2999-01-01"}},
        ),
        ("tools/list", {"_meta": ENVELOPE | {"io.modelcontextprotocol/clientCapabilities": None}}),
        ("server/discover", {"_meta": {}}),
        ("initialize", {}),
        ("initialize", HELLO | {"protocolVersion": 3}),
        ("initialize", HELLO | {"clientInfo": "raw"}),
        ("tools/call", {"_meta": ENVELOPE}),
        ("nonsense", {"_meta": ENVELOPE}),
    ],
)
def test_what_is_asked_in_an_unusual_way_is_left_to_the_owner(
    request_: Request, tmp_path: Path
) -> None:
    assert Greeting(str(tmp_path)).result(*request_) is None


def test_a_second_handshake_is_left_to_the_owner(tmp_path: Path) -> None:
    client = Greeting(str(tmp_path))
    assert (client.result("initialize", HELLO) or {})["protocolVersion"] == LEGACY
    assert client.result("initialize", HELLO) is None
