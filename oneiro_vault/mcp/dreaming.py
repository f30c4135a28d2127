"""The set `dreams`, off unless `mcp.tools` names it: questions about stored notes that wait for a judge, and the way to answer them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from mcp_types import CallToolResult
from typing_extensions import TypedDict

from oneiro_vault.mcp.desk import Ctx, Desk
from oneiro_vault.mcp.tool import VaultTool, answer, tool


class Waiting(TypedDict):
    """The next question, and how many wait."""

    now: str
    id: str | None
    question: str
    form: dict[str, Any]
    waiting: int


class Decided(TypedDict):
    """What became of an answer."""

    now: str
    id: str
    waiting: int
    done: list[str]


class Dreaming:
    """Tools for a model that judges what the loops ask, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [tool(self.dream_next, reads=True), tool(self.dream_decide)]

    async def dream_next(self, ctx: Ctx) -> Annotated[CallToolResult, Waiting]:
        """The next question about stored notes that waits for a judgement, with the JSON schema of its answer."""
        found = await self.desk.ask(ctx, "dream_next")
        one = found["question"] or {}
        data: Waiting = {
            "now": self.desk.now(),
            "id": one.get("id"),
            "question": one.get("prompt", ""),
            "form": one.get("schema", {}),
            "waiting": found["waiting"],
        }
        if data["id"] is None:
            return answer(f"{data['now']}: No question waits.", data)
        form = json.dumps(data["form"], ensure_ascii=False)
        return answer(f"{data['now']}: {data['id']}, {data['waiting']} wait.\n\n{data['question']}\n\nSchema of the answer: {form}", data)

    async def dream_decide(self, ctx: Ctx, id: str, answer_json: str) -> Annotated[CallToolResult, Decided]:
        """Answer a question of dream_next with a JSON object of its schema. What follows from the answers is done after the last."""
        found = await self.desk.ask(ctx, "dream_decide", id=id, answer=answer_json)
        done = [str(run["title"]) for run in found["runs"]]
        data: Decided = {"now": self.desk.now(), "id": id, "waiting": found["waiting"], "done": done}
        return answer("\n".join([f"{data['now']}: Taken. {data['waiting']} questions wait.", *done]), data)
