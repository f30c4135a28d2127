"""Who may call what, progress, failures of ours, and schemas without ballast."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import INVALID_PARAMS

from oneiro_vault.api import Progress
from oneiro_vault.core.principal import ROLES, SCOPE, TOOLS, Caller
from oneiro_vault.errors import IndexProblem, NotFound
from oneiro_vault.mcp.request_context import Desk
from oneiro_vault.mcp.server import build, tools
from oneiro_vault.mcp.tools.tool import compact
from oneiro_vault.mcp.transports import Served
from tests.mcp.raw import ACCEPT, ENVELOPE, MODERN
from tests.mcp.speaking import connected, run, words

STORED: dict[str, Any] = {
    "id": "abcd12345678",
    "title": "T",
    "duplicate_of": None,
    "images": [],
    "near": None,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "orient": {"text": "", "blocks": [], "recent": [], "flagged": 0, "degraded": None},
    "recall": {"results": [], "degraded": None, "behind": 0},
    "get": {"memories": [], "missing": []},
    "feedback": {"id": "abcd12345678", "title": "T", "doubted": False, "strength": 1.0},
    "image": {
        "id": "abcd12345678",
        "sha256": "0",
        "mime": "image/png",
        "size": "full",
        "width": 1,
        "height": 1,
        "data": "",
    },
    "remember": {"results": [STORED]},
    "reframe": {"id": "abcd12345678", "proposal": None},
    "forget": {"id": "abcd12345678", "title": "T", "back": "restore abcd12345678"},
    "reflect": {"id": "abcd12345678", "duplicate_of": None, "updated": [], "failed": []},
    "flagged": {"results": [], "total": 0},
    "context": {"text": "", "sections": {}, "degraded": None},
    "stamps": {"memories": {}, "orientation": "", "dreams": {}},
    "complete": {"values": [], "total": 0},
    "reports": {"reports": []},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "recall_check": {"topic": "tea"},
    "recall_specific": {"ids": ["abcd12345678"]},
    "recall_image": {"id": "abcd12345678"},
    "remember": {"text": "Tea."},
    "remember_with_image": {"text": "Tea.", "image": "AAAA"},
    "reframe": {"id": "abcd12345678", "text": "Tea."},
    "forget": {"id": "abcd12345678"},
    "reflect": {"highlights": "Tea."},
}


class Calls:
    """Stands for the App: answers every operation and keeps what it was asked."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []

    async def __call__(
        self, op: str, params: Mapping[str, Any], _progress: Progress
    ) -> dict[str, Any]:
        self.made.append((op, dict(params)))
        return ANSWERS[op]


async def post(
    served: Served, caller: Caller | None, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """One modern request through the ASGI app, as a door lets it in."""
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": ENVELOPE}}
    ).encode()
    named = (
        {"mcp-name": str(params.get("name") or params.get("uri"))}
        if method in ("tools/call", "resources/read", "prompts/get")
        else {}
    )
    headers = (
        {name.lower(): value for name, value in ACCEPT.items()}
        | {"mcp-protocol-version": MODERN, "mcp-method": method}
        | named
    )
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
    }
    sent: list[Any] = []
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if left:
            return left.pop()
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    await served.http(scope | ({SCOPE: caller} if caller else {}), receive, send)
    found: dict[str, Any] = json.loads(b"".join(message.get("body", b"") for message in sent))
    return found


@pytest.mark.parametrize("role", ROLES)
def test_every_tool_for_every_role(role: str) -> None:
    calls = Calls()

    async def talk() -> None:
        served = Served(build(calls, sets=["history"]))
        async with served.running():
            for name in [tool.name for tool in tools(Desk(calls))]:
                before = len(calls.made)
                params = {"name": name, "arguments": ARGUMENTS.get(name, {})}
                result = (
                    await post(served, Caller(f"key:{role}", role, "k1"), "tools/call", params)
                )["result"]
                allowed = Caller("", role, "").may(TOOLS[name])
                assert result.get("isError", False) is not allowed, (name, result)
                assert len(calls.made) == before + allowed
                if allowed and TOOLS[name] == "write":
                    assert calls.made[-1][1]["actor"] == f"key:{role}"

    run(talk())


@pytest.mark.parametrize("argument", ["helped", "wrong"])
@pytest.mark.parametrize("role", ROLES)
def test_who_may_only_read_judges_no_memory(role: str, argument: str) -> None:
    calls = Calls()

    async def talk() -> None:
        served = Served(build(calls))
        async with served.running():
            arguments = {"ids": ["abcd12345678"], argument: ["abcd12345678"]}
            params = {"name": "recall_specific", "arguments": arguments}
            caller = Caller(f"key:{role}", role, "k1")
            result = (await post(served, caller, "tools/call", params))["result"]
            allowed = caller.may("write")
            assert result.get("isError", False) is not allowed, result
            assert [op for op, _ in calls.made] == (["feedback", "get"] if allowed else [])
            if allowed:
                said = {"id": "abcd12345678", "useful": argument == "helped"}
                assert calls.made[0][1] == said | {"actor": f"key:{role}"}

    run(talk())


@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
@pytest.mark.parametrize("role", [role for role in ROLES if Caller("", role, "").may("read")])
def test_who_does_not_run_the_vault_has_no_model_asked(role: str, method: str) -> None:
    calls = Calls()

    async def talk() -> None:
        served = Served(build(calls, sets=["graph"]))
        async with served.running():
            given = {"request": "What is due?"}
            tool, wanted = method == "tools/call", {"with_model": True}
            arguments = given | (wanted if tool else {"with_model": "true"})
            caller = Caller(f"key:{role}", role, "k1")
            params = {"name": "context", "arguments": arguments}
            result = (await post(served, caller, method, params))["result"]
            assert calls.made[0][0] == "context"
            assert calls.made[0][1]["with_model"] is caller.may("admin")
            refused = "Note: no model is asked for this caller." in str(result)
            assert refused is not caller.may("admin")

    run(talk())


@pytest.mark.parametrize(
    ("method", "params", "role", "allowed"),
    [
        ("resources/read", {"uri": "orientation://current"}, "hook", True),
        ("resources/read", {"uri": "memory://abcd12345678"}, "hook", False),
        ("resources/read", {"uri": "dream://2026-01-01"}, "reader", True),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "memory://{id}"}, "argument": {"name": "id", "value": ""}}, "hook", False),
        ("prompts/get", {"name": "orient"}, "reader", True),
        ("prompts/get", {"name": "orient"}, "nobody", False),
        ("tools/list", {}, "nobody", True),
    ],
)  # fmt: skip
def test_other_requests_have_rights_too(
    method: str, params: dict[str, Any], role: str, allowed: bool
) -> None:
    calls = Calls()

    async def talk() -> None:
        served = Served(build(calls))
        async with served.running():
            found = await post(served, Caller("x", role, "x"), method, params)
            refused = "not allowed here" in found.get("error", {}).get("message", "")
            assert refused is not allowed, found
            assert allowed or not calls.made

    run(talk())


def test_without_a_door_it_is_the_users_own_program() -> None:
    calls = Calls()

    async def talk() -> None:
        served = Served(build(calls))
        async with served.running():
            await post(
                served, None, "tools/call", {"name": "remember", "arguments": {"text": "Tea."}}
            )

    run(talk())
    assert calls.made[0][1]["actor"] == "model"


def test_progress_reaches_the_client_and_only_grows(era: str) -> None:
    async def slow(op: str, params: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
        def work() -> None:
            for stage in ("reading", "embedding"):
                for done in range(5):
                    progress(stage, done + 1, 5)

        await asyncio.to_thread(work)
        await asyncio.sleep(0.2)
        return ANSWERS[op]

    async def talk() -> None:
        seen: list[tuple[float, str | None]] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            seen.append((progress, message))

        async with connected(build(slow), era) as found:
            await found.client.call_tool("recall_check", {"topic": "tea"}, progress_callback=hear)
        assert [number for number, _ in seen] == sorted({number for number, _ in seen})
        assert seen[0][0] >= 1  # what is below is the bridge's
        assert seen[-1] == (3.0, "embedding 5/5")

    run(talk())


def test_a_fault_of_ours_keeps_its_details_in_the_log(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> dict[str, Any]:
        raise RuntimeError("secret detail")

    async def talk() -> None:
        async with connected(build(broken), era) as found:
            answer = await found.tool("flagged")
            assert answer.is_error
            assert "secret" not in words(answer)

    run(talk())
    assert "secret detail" in caplog.text


def test_an_unknown_prompt_is_no_fault_of_ours(era: str, caplog: pytest.LogCaptureFixture) -> None:
    async def talk() -> None:
        async with connected(build(Calls()), era) as found:
            with pytest.raises(
                MCPError,
                match=r"there is no prompt 'dance'\. One of: context, orient, reflect-on-session, "
                r"remember-this",
            ) as caught:
                await found.client.get_prompt("dance", {})
            assert caught.value.error.code == INVALID_PARAMS
        more = build(Calls())
        more.prompt("dance", description="Of somebody who builds on this server")(
            lambda: "One, two, three."
        )
        async with connected(more, era) as found:
            assert (await found.client.get_prompt("dance", {})).messages

    run(talk())
    assert "Traceback" not in caplog.text
    assert "'dance'" not in caplog.text


def test_a_call_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "oneiro.mcp")

    async def talk() -> None:
        async with connected(build(Calls()), "auto") as found:
            await found.tool("remember", text="The password is swordfish.")

    run(talk())
    assert "remember for local: done in" in caplog.text
    assert "swordfish" not in caplog.text


def test_an_error_of_the_app_says_what_is_safe_and_what_to_do() -> None:
    async def gone(*_: object) -> dict[str, Any]:
        raise NotFound(
            "no memory has the id 'x'", kept="Nothing was changed.", hint="`oneiro list` shows ids."
        )

    async def talk() -> None:
        async with connected(build(gone), "auto") as found:
            answer = await found.tool("forget", id="x")
            assert (
                words(answer)
                == "no memory has the id 'x'. Nothing was changed. recall_check returns ids."
            )
            assert answer.structured_content is None

    run(talk())


def test_a_compact_schema_says_the_same() -> None:
    schema = {
        "title": "arguments",
        "type": "object",
        "$defs": {
            "Update": {
                "title": "Update",
                "type": "object",
                "properties": {"title": {"title": "Title", "type": "string"}},
            }
        },
        "properties": {
            "title": {"title": "Title", "type": "string", "default": ""},
            "n": {"default": 3, "type": "integer"},
            "updates": {"type": "array", "items": {"$ref": "#/$defs/Update"}, "default": []},
        },
    }
    assert compact(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "n": {"default": 3, "type": "integer"},
            "updates": {
                "type": "array",
                "items": {"type": "object", "properties": {"title": {"type": "string"}}},
            },
        },
    }


def test_questions_for_a_person_are_quoted_with_their_flags() -> None:
    row = {
        "id": "abcd12345678",
        "title": "The boat",
        "created": "2026-03-05",
        "type": "semantic",
        "flags": ["conflict"],
    }

    async def asked(*_: object) -> dict[str, Any]:
        return {
            "results": [row | {"question": "Blue or\n<memory>red?"}],
            "total": 7,
            "degraded": "embedder warming",
        }

    async def talk() -> None:
        async with connected(build(asked), "auto") as found:
            answer = await found.tool("flagged")
            assert (
                "- abcd12345678 · 2026-03-05 · conflict · The boat\n  Blue or &lt;memory>red?"
                in words(answer)
            )
            assert words(answer).endswith("\n7 in all.\nIncomplete: embedder warming.")

    run(talk())


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (IndexProblem("the index is damaged", hint="Wait."), "the index is damaged. Wait."),
        (KeyError("secret"), ""),
    ],
)
def test_a_prompt_or_resource_that_cannot_be_made_is_an_error_of_the_protocol(
    era: str, error: Exception, said: str
) -> None:
    async def broken(*_: object) -> dict[str, Any]:
        raise error

    async def talk() -> None:
        async with connected(build(broken), era) as found:
            for ask in (
                found.client.get_prompt("orient", {}),
                found.client.read_resource("orientation://current"),
            ):
                with pytest.raises(MCPError) as caught:
                    await ask
                assert said in caught.value.error.message
                assert "secret" not in caught.value.error.message

    run(talk())


def test_followers_survive_an_answer_that_fails() -> None:
    """One failed look at the stamps is not the end of following."""
    heard: list[Any] = []
    stamps = iter(["a", "b", IndexProblem("busy"), RuntimeError("secret"), *"cdefgh"])

    async def call(_op: str, params: Mapping[str, Any], _progress: Progress) -> dict[str, Any]:
        found = next(stamps)
        if isinstance(found, Exception):
            raise found
        return {"memories": dict.fromkeys(params["ids"], found), "orientation": "", "dreams": {}}

    def listen(changed: Any) -> Any:
        heard.append(changed)
        return lambda: heard.remove(changed)

    async def talk() -> None:
        async with (
            connected(build(call, listen=listen), "auto") as found,
            found.client.listen(resource_subscriptions=["memory://abcd12345678"]) as events,
        ):
            for _ in range(4):
                heard[0]()
                await asyncio.sleep(0.2)
            assert (await anext(aiter(events))) == ResourceUpdated("memory://abcd12345678")
        await found.until(lambda: not heard)

    run(talk())
