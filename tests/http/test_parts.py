"""The parts of the gate by themselves: names, bodies, what a JSON-RPC body is about, sessions, what
an answer says."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from oneiro_vault.core.principal import ORIENT, READ, ROLES, TOOLS, WRITE
from oneiro_vault.http import middleware, network_request
from oneiro_vault.http.middleware import KEPT, Answer
from oneiro_vault.http.network_request import Names, RefusedError
from oneiro_vault.mcp.request_context import Desk
from oneiro_vault.mcp.server import SETS, tools

HERE = {"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5)}


# -- names
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "host", "base"),
    [
        ({"server": ("127.0.0.1", 8787)}, "localhost:8787", "http://localhost:8787"),
        ({"server": ("127.0.0.1", 80)}, "localhost", "http://localhost"),
        ({"server": ("10.0.0.5", 8787)}, "10.0.0.5:8787", "http://10.0.0.5:8787"),
        ({"server": ("fd00::5", 8787)}, "[fd00::5]:8787", "http://[fd00::5]:8787"),
    ],
)  # fmt: skip
def test_names_that_cannot_be_rebound(scope: dict[str, Any], host: str, base: str) -> None:
    assert Names().check(scope, {"host": host}) == base


@pytest.mark.parametrize(
    "host", ["10.0.0.6:8787", "10.0.0.5", "10.0.0.5:80", "name.local:8787", "10.0.0.5.nip.io:8787"]
)
def test_other_names(host: str) -> None:
    with pytest.raises(RefusedError) as caught:
        Names().check({"server": ("10.0.0.5", 8787)}, {"host": host})
    assert caught.value.status == 421


@pytest.mark.parametrize(
    "host", ["v.example.org", "V.example.org", "v.example.org:443", "127.0.0.1:80", "localhost"]
)
def test_the_public_name_is_the_base_whatever_the_proxy_says(host: str) -> None:
    assert Names("https://v.example.org/").check(HERE, {"host": host}) == "https://v.example.org"


def test_origins_of_the_operator() -> None:
    names = Names("https://v.example.org", ["https://inspector.example.org"])
    for origin in (
        "https://inspector.example.org",
        "https://v.example.org",
        "http://localhost",
        "",
    ):
        names.check(HERE, {"host": "localhost", "origin": origin})
    for origin in (
        "https://inspector.example.org:444",
        "http://inspector.example.org",
        "https://evil.org",
    ):
        with pytest.raises(RefusedError):
            names.check(HERE, {"host": "localhost", "origin": origin})


@pytest.mark.parametrize(
    ("public", "peer", "told", "address"),
    [
        ("", "203.0.113.5", "", "203.0.113.5"), ("", "127.0.0.1", "203.0.113.5", "127.0.0.1"),
        ("https://v.org", "127.0.0.1", "203.0.113.5", "203.0.113.5"),
        ("https://v.org", "127.0.0.1", "1.1.1.1, 203.0.113.5", "203.0.113.5"),
        ("https://v.org", "203.0.113.9", "203.0.113.5", "203.0.113.9"),
        ("https://v.org", "::1", "rubbish", "unknown"),
        ("https://v.org", "127.0.0.1", "", "127.0.0.1"),
        ("", "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ("https://v.org", "127.0.0.1", "2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("", "", "", "unknown"),
    ],
)  # fmt: skip
def test_whose_limits_count(public: str, peer: str, told: str, address: str) -> None:
    assert Names(public).address({"client": (peer, 1)}, {"x-forwarded-for": told}) == address


def test_no_peer_at_all() -> None:
    assert Names().address({"client": None}, {}) == "unknown"


# -- bodies
# --------------------------------------------------------------------------------------------------


def receiver(*messages: Message) -> Any:
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.sleep(60)
        return left.pop(0)

    return receive


def part(data: bytes, more: bool = True) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


def test_a_body_comes_whole_and_once_more() -> None:
    async def run() -> list[Message]:
        data = await network_request.whole(
            receiver(part(b"ab"), part(b""), part(b"c", more=False)), 3
        )
        again = network_request.again(data, receiver({"type": "http.disconnect"}))
        return [await again(), await again()]

    assert asyncio.run(run()) == [part(b"abc", more=False), {"type": "http.disconnect"}]


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([part(b"abcd")], 413),
        ([part(b"ab"), part(b"cd")], 413),
        ([part(b"a"), {"type": "http.disconnect"}], 499),
    ],
)
def test_bodies_that_are_refused(messages: list[Message], status: int) -> None:
    with pytest.raises(RefusedError) as caught:
        asyncio.run(network_request.whole(receiver(*messages), 3))
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("length", "status"),
    [("4", 413), ("9" * 200, 413), ("-1", 400), ("x", 400), ("²", 400), ("1 ", 400)],
)
def test_declared_lengths(length: str, status: int) -> None:
    with pytest.raises(RefusedError) as caught:
        network_request.declared(Headers({"content-length": length}), 3)
    assert caught.value.status == status
    for fine in ("", "0", "3"):
        network_request.declared(Headers({"content-length": fine}), 3)


@pytest.mark.parametrize("length", ["0", "2", "x"])
def test_two_lengths_are_refused(length: str) -> None:
    with pytest.raises(RefusedError) as caught:
        network_request.declared(
            Headers({"content-length": length, "transfer-encoding": "chunked"}), 3
        )
    assert (caught.value.status, caught.value.headers["Connection"]) == (400, "close")


# -- JSON-RPC
# --------------------------------------------------------------------------------------------------


def read(message: Any) -> list[tuple[str, str]]:
    return [(found.op, found.scope) for found in network_request.read(json.dumps(message).encode())]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ({"method": "tools/call", "params": {"name": "remember"}}, ("tools/call remember", WRITE)),
        ({"method": "tools/call", "params": {"name": "recall_orient"}}, ("tools/call recall_orient", ORIENT)),
        ({"method": "tools/call", "params": {"name": "my secret words"}}, ("tools/call ?", WRITE)),
        ({"method": "tools/call"}, ("tools/call ?", WRITE)),
        ({"method": "resources/read", "params": {"uri": "memory://x"}}, ("resources/read", READ)),
        ({"method": "resources/read", "params": {"uri": "orientation://current"}}, ("resources/read", ORIENT)),
        ({"method": "my secret words"}, ("?", ORIENT)),
        ({"method": "tools/list"}, ("tools/list", ORIENT)), ({"result": {}}, ("", ORIENT)),
        ({}, ("", ORIENT)),
        ({"method": "notifications/secret"}, ("notifications/", ORIENT)),
        ({"method": 5}, ("", ORIENT)), ({"method": "prompts/get"}, ("prompts/get", READ)),
    ],
)  # fmt: skip
def test_what_a_message_is_about(message: Any, found: tuple[str, str]) -> None:
    assert read(message) == [found]
    assert read([message, message]) == [found, found]


def test_every_tool_of_the_server_is_known_with_the_same_right() -> None:
    async def call(*_: Any) -> dict[str, Any]:
        return {}

    desk = Desk(call)
    for tool in [*tools(desk), *(tool for made in SETS.values() for tool in made(desk).tools())]:
        assert read({"method": "tools/call", "params": {"name": tool.name}})[0][1] == TOOLS.get(
            tool.name, WRITE
        )
    assert {tool.name for tool in tools(desk)} <= TOOLS.keys()


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        (b'{"jsonrpc":"2.0","result":{"_meta":{"oneiro-vault/ids":["x"]}}}', "application/json", ({"ids": ["x"]}, False)),
        (b'{"jsonrpc":"2.0","result":{"isError":true}}', "application/json", (None, True)),
        (b'{"jsonrpc":"2.0","error":{}}', "application/json", (None, True)),
        (b'{"schema":1,"id":"x"}', "application/json; charset=utf-8", ({"schema": 1, "id": "x"}, False)), (b"[]", "application/json", (None, False)),
        (b'event: message\ndata: {"jsonrpc":"2.0","method":"n"}\n\ndata: '
         b'{"jsonrpc":"2.0","result":{"_meta":{"oneiro-vault/ids":["x"]}}}\n\n',
         "text/event-stream", ({"ids": ["x"]}, False)),
        (b"data: {", "text/event-stream", (None, False)), (b"", "", (None, False)),
        (b"x", "application/json", (None, False)),
    ],
)  # fmt: skip
def test_what_an_answer_says(text: bytes, kind: str, found: tuple[Any, bool]) -> None:
    assert network_request.outcome(text, kind) == found


def test_only_the_beginning_of_an_answer_is_kept() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def run() -> Answer:
        answer = Answer(send)
        await answer({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(50):
            await answer({"type": "http.response.body", "body": b"x" * 10_000, "more_body": True})
        await answer.cut()
        await answer.cut()
        return answer

    answer = asyncio.run(run())
    assert len(answer._kept) <= 2 * KEPT
    assert (b"x-content-type-options", b"nosniff") in sent[0]["headers"]
    assert [message.get("more_body") for message in sent[-2:]] == [True, False]


# -- paths
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/mcp", "/mcp"),
        ("/api/recall", "/api/recall"),
        ("/api/purge", "?"),
        ("/api", "?"),
        ("/cli", "?"),
        ("/secret", "?"),
        ("/mcp/", "?"),
        ("", "?"),
    ],
)
def test_paths_that_exist(path: str, known: str) -> None:
    assert middleware.rule_of(path)[0] == known
    assert (middleware.rule_of(path)[1] is None) is (known == "?")


def test_which_paths_change_something() -> None:
    assert [
        path
        for path in ("/capture", "/api/remember", "/api/recall", "/orientation", "/api/x", "/stop")
        if middleware.changes(path)
    ] == [
        "/capture",
        "/api/remember",
    ]


def test_every_need_of_a_path_is_a_scope() -> None:
    assert {rule.scope for rule in middleware.RULES.values()} <= ROLES["admin"] | {""}
