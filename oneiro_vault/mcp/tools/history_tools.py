"""The set `history`, off unless `mcp.tools` names it: where a memory came from, and the way
back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult

from oneiro_vault.mcp import formatting
from oneiro_vault.mcp.request_context import Ctx, Desk, actor_of
from oneiro_vault.mcp.tools.tool import VaultTool, answer, tool


class History:
    """Tools about the past of a memory, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [tool(self.recall_story, reads=True), tool(self.restore, repeats=True)]

    async def recall_story(self, ctx: Ctx, id: str) -> CallToolResult:
        """What happened to a memory, also to one that was forgotten: when, what, who, why."""
        found = await self.desk.ask(ctx).why(id=id)
        told = (
            f"{self.desk.now()}: {found['id']} · {formatting.one_line(found['title'])} · "
            f"{found['status'] or 'active'}"
        )
        return answer("\n".join([told, *map(_step, found["story"])]), ids=[found["id"]])

    async def restore(self, ctx: Ctx, id: str) -> CallToolResult:
        """Bring a forgotten memory back as it was."""
        found = await self.desk.ask(ctx).restore(id=id, actor=actor_of(ctx))
        return answer(f"{self.desk.now()}: {found['id']} is back.", ids=[found["id"]])


def _step(found: Mapping[str, Any]) -> str:
    """One thing that happened: when, what, who, why."""
    what = f"{found['op']}: {found['title']}" if found.get("op") else found["title"]
    facts = map(
        formatting.one_line,
        (found["when"], what, found.get("actor") or found.get("author"), found.get("reason")),
    )
    return f"- {' · '.join(filter(None, facts))}"
