"""The set `dreams`, off unless `mcp.tools` names it: questions about stored notes that wait for a judge, and the way to answer them."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

from mcp_types import CallToolResult
from pydantic import WithJsonSchema

from oneiro_vault.mcp.desk import Ctx, Desk
from oneiro_vault.mcp.tool import VaultTool, tool
from oneiro_vault.mcp.tool import answer as told

Answer: TypeAlias = Annotated[dict[str, Any] | str, WithJsonSchema({"type": "object"})]
"""An object; some clients send it as text."""


class Dreaming:
    """Tools for a model that judges what the loops ask, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [tool(self.dream_next, reads=True), tool(self.dream_decide)]

    async def dream_next(self, ctx: Ctx) -> CallToolResult:
        """The next question about stored notes that waits for a judgement, with the JSON schema of its answer."""
        found = await self.desk.ask(ctx, "dream_next")
        one = found["question"]
        if one is None:
            return told(f"{self.desk.now()}: No question waits.")
        form = json.dumps(one["schema"], ensure_ascii=False)
        head = f"{self.desk.now()}: question {one['id']}, {found['waiting']} wait."
        return told(f"{head}\n\n{one['prompt']}\n\nSchema of the answer: {form}")

    async def dream_decide(self, ctx: Ctx, id: str, answer: Answer) -> CallToolResult:
        """Answer a question of dream_next with an object of its schema. What follows from the answers is done after the last."""
        found = await self.desk.ask(ctx, "dream_decide", id=id, answer=answer)
        done = [str(run["title"]) for run in found["runs"]]
        return told("\n".join([f"{self.desk.now()}: Taken. {found['waiting']} questions wait.", *done]))
