"""A loop asks the model of a client that is connected over stdio and lets us, through the SDK's own
client."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    CreateMessageRequestParams,
    CreateMessageResult,
    ErrorData,
    ImageContent,
    ListToolsResult,
    TextContent,
)

from oneiro_vault.core.markdown.quoting import PREFACE
from oneiro_vault.core.question import Question, Raw
from oneiro_vault.judges.base import SYSTEM, Patience
from oneiro_vault.judges.budget import AWAY, Budgeted, Ceilings
from oneiro_vault.judges.deferred import SamplingJudge
from oneiro_vault.mcp.request_context import Samplers, silent
from oneiro_vault.mind.loops.distil import Graded
from tests.box import Box
from tests.mcp.raw import MODERN
from tests.mcp.speaking import run

LEGACY = "legacy"
ALIKE = ("Ana prefers the release on Fridays.", "Ana prefers the releases on Fridays.")


@pytest.fixture
def twins(tmp_path: Path, sealed_env: dict[str, str]) -> Iterator[Box]:
    """A vault with two memories that say the same, judged by whoever is connected."""
    box = Box(
        tmp_path,
        sealed_env | {"ONEIRO_CONSOLIDATE_SIMILARITY": "0.5", "ONEIRO_DREAMS_JUDGE": "sampling"},
    )
    try:
        box.init()
        for number, text in enumerate(ALIKE):
            box.remember(text, "--title", f"{number} release")
        yield box
    finally:
        box.close()


def merged(prompt: str) -> str:
    ids = list(dict.fromkeys(re.findall(r'<memory id="([0-9a-z]{12})', prompt)))
    return json.dumps(
        {
            "action": "merge",
            "reason": "the client's model says so",
            "keep": ids[0],
            "members": ids[1:],
        }
    )


def question(text: str) -> Question:
    return Question("distil.grade", "Is it?", Graded, given=text)


class Model:
    """What stands behind the client: says what `answer` makes of a question."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[CreateMessageRequestParams] = []

    async def __call__(
        self, context: Any, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        self.asked.append(params)
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        found = self.answer(content.text)
        if isinstance(found, ErrorData):
            return found
        said = TextContent(type="text", text=found) if isinstance(found, str) else found
        return CreateMessageResult(
            role="assistant", content=said, model="theirs", stop_reason="endTurn"
        )


def dreamt(box: Box, era: str, model: Model | None) -> dict[str, Any]:
    """The run of `consolidate` that somebody starts while this client is connected."""
    found: list[dict[str, Any]] = []

    async def talk() -> None:
        command, *args = box.argv("mcp")
        async with Client(
            StdioServerParameters(command=command, args=args, env=box.env),
            mode=era,
            sampling_callback=model,
        ) as client:
            await client.call_tool(
                "flagged", {}
            )  # what the bridge answers by itself no owner hears of
            found.append(await asyncio.to_thread(box.json, "dream", "consolidate"))

    run(talk())
    run_: dict[str, Any] = found[0]["runs"][0]
    return run_


@pytest.mark.slow
def test_a_clients_model_judges(twins: Box) -> None:
    model = Model(lambda prompt: f"```json\n{merged(prompt)}\n```")
    done = dreamt(twins, LEGACY, model)
    assert [one["reason"] for one in done["decisions"]] == ["the client's model says so"]
    assert done["judge"] == "sampling"
    (params,) = model.asked
    assert params.system_prompt == SYSTEM
    told = params.messages[0].content
    assert isinstance(told, TextContent)
    assert PREFACE in told.text
    assert '"keep_distinct"' in told.text
    assert twins.json("dream", "consolidate")["runs"][0]["calls"] == 0, "and nothing is asked twice"


@pytest.mark.slow
def test_a_clients_model_chooses_what_stands_beside_a_prompt(twins: Box) -> None:
    step = {"reason": "PIRATE", "tool": "enough", "query": "", "of": None, "days": 0}
    model = Model(
        lambda prompt: json.dumps(step | {"matters": json.loads(merged(prompt))["members"]})
    )
    with_it = ("context", "When is the release?", "--with-model")
    alone = twins.json(*with_it)
    assert alone["model"]["problem"].startswith("no client is connected")
    found: list[dict[str, Any]] = []

    async def talk() -> None:
        command, *args = twins.argv("mcp")
        target = StdioServerParameters(command=command, args=args, env=twins.env)
        async with Client(target, mode=LEGACY, sampling_callback=model) as client:
            await client.call_tool("flagged", {})
            found.append(await asyncio.to_thread(twins.json, *with_it))

    run(talk())
    (chosen,) = found
    assert len(model.asked) == 1
    assert chosen["model"] | {"tokens_in": 0, "tokens_out": 0} == {
        "judge": "sampling", "calls": 1, "tokens_in": 0, "tokens_out": 0, "estimated": 1,
        "cost": 0.0, "problem": "",
    }  # fmt: skip
    assert len(chosen["sections"]["memories"]) == len(alone["sections"]["memories"]) - 1
    assert "PIRATE" not in str(chosen)


@pytest.mark.slow
def test_what_is_no_answer_changes_nothing(twins: Box) -> None:
    answers: dict[str, Any] = {
        "the person said no": ErrorData(code=-1, message="the person said no"),
        "no text": ImageContent(type="image", data="AA==", mime_type="image/png"),
        "not JSON": "I would rather not.",
    }
    for problem, answer in answers.items():
        done = dreamt(twins, LEGACY, Model(lambda _, answer=answer: answer))
        assert done["decisions"] == [], problem
        assert problem in done["failed"][0]["problem"]


@pytest.mark.slow
def test_who_cannot_be_asked_leaves_the_questions_waiting(twins: Box) -> None:
    """Of an era without it, or a client without it."""
    model = Model(merged)
    for era, able in ((MODERN, True), (LEGACY, False)):
        done = dreamt(twins, era, model if able else None)
        assert (done["decisions"], done["waiting"], done["failed"], model.asked) == (
            [],
            1,
            [],
            [],
        ), era
    later = dreamt(twins, LEGACY, Model(merged))
    assert len(later["decisions"]) == 1


def test_a_client_that_never_answers_or_goes_is_told_from_one_that_says_no() -> None:
    """The SDK's own client, in this process: its server waits a moment instead of two minutes."""
    samplers, asked, ever = (
        Samplers(patience=0.2),
        [question(f"text {n}") for n in range(9)],
        asyncio.Event(),
    )

    async def listed(ctx: ServerRequestContext[Any, Any], _params: Any) -> ListToolsResult:
        samplers.meet(ctx.session)
        return ListToolsResult(tools=[])

    async def sampled(
        context: Any, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        if "text 7" not in content.text:
            await ever.wait()
        return ErrorData(code=-1, message="the person said no")

    async def talk() -> tuple[dict[str, Raw], dict[str, Raw]]:
        server = Server("judged", on_list_tools=listed)
        async with Client(server, mode=LEGACY, sampling_callback=sampled) as client:
            await client.list_tools()
            no = await asyncio.to_thread(lambda: dict(SamplingJudge(samplers.ask).ask(asked[7:8])))
            waiting = Patience()
            judge = Budgeted(SamplingJudge(samplers.ask, waiting), Ceilings(), waiting)
            silent = await asyncio.to_thread(lambda: dict(judge.ask(asked)))
            ever.set()
            return no, silent

    no, silent = asyncio.run(asyncio.wait_for(talk(), 60))
    assert [(raw.away, "the person said no" in raw.problem) for raw in no.values()] == [
        (False, True)
    ]
    assert [(raw.away, raw.unasked) for raw in silent.values()] == [(True, False)] * AWAY + [
        (False, True)
    ] * (9 - AWAY)


@pytest.mark.parametrize(
    ("error", "nothing"),
    [
        (MCPError(REQUEST_TIMEOUT, "timed out"), True),
        (MCPError(CONNECTION_CLOSED, "Connection closed"), True),
        (NoBackChannelError("sampling/createMessage"), True),
        (TimeoutError(), True),
        (CancelledError(), True),
        (MCPError(-1, "no"), False),
        (ValueError("no result"), False),
    ],
    ids=["timeout", "closed", "no way back", "too long", "cancelled", "refused", "strange"],
)
def test_what_counts_as_silence(error: Exception, nothing: bool) -> None:
    assert silent(error) == nothing
