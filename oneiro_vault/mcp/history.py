"""The set `history`, off unless `mcp.tools` names it: where a memory came from, and the way back."""

from __future__ import annotations

from typing import Annotated

from mcp_types import CallToolResult
from typing_extensions import TypedDict

from oneiro_vault.mcp import words
from oneiro_vault.mcp.desk import Ctx, Desk, actor_of
from oneiro_vault.mcp.results import Changed
from oneiro_vault.mcp.tool import VaultTool, answer, tool


class Step(TypedDict):
    """One thing that happened to a memory."""

    when: str
    what: str
    who: str
    reason: str


class Story(TypedDict):
    """How a memory came to be as it is, oldest first."""

    now: str
    id: str
    title: str
    status: str
    steps: list[Step]


class History:
    """Tools about the past of a memory, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [tool(self.recall_story, reads=True), tool(self.restore, repeats=True)]

    async def recall_story(self, ctx: Ctx, id: str) -> Annotated[CallToolResult, Story]:
        """What happened to a memory, also to one that was forgotten: when, what, who, why."""
        found = await self.desk.ask(ctx, "why", id=id)
        steps: list[Step] = [
            {
                "when": str(one["when"]),
                "what": words.one_line(f"{one['op']}: {one['title']}" if one.get("op") else one["title"]),
                "who": words.one_line(one.get("actor") or one.get("author")),
                "reason": words.one_line(one.get("reason")),
            }
            for one in found["story"]
        ]
        title = words.one_line(found["title"])
        data: Story = {"now": self.desk.now(), "id": found["id"], "title": title, "status": found["status"] or "active", "steps": steps}
        lines = [f"- {one['when']} · {one['what']} · {one['who']}{' · ' if one['reason'] else ''}{one['reason']}" for one in steps]
        return answer("\n".join([f"{data['now']}: {data['id']} · {data['title']} · {data['status']}", *lines]), data)

    async def restore(self, ctx: Ctx, id: str) -> Annotated[CallToolResult, Changed]:
        """Bring a forgotten memory back as it was."""
        found = await self.desk.ask(ctx, "restore", id=id, actor=actor_of(ctx))
        data: Changed = {"now": self.desk.now(), "id": found["id"], "proposal": None}
        return answer(f"{data['now']}: {data['id']} is back.", data)
