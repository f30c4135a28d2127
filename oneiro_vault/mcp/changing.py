"""The tools that change something. Who it was is set by the door a call came through; no argument says it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from oneiro_vault.mcp import words
from oneiro_vault.mcp.desk import Ctx, Desk, actor_of
from oneiro_vault.mcp.results import Changed, Failure, Forgotten, Reflection, Stored
from oneiro_vault.mcp.tool import VaultTool, answer, tool

Kind: TypeAlias = Literal["semantic", "episodic", "entity", "procedure", "principle"]
"""What a model may store as. Orientation is not among it: what is loaded at every beginning is distilled, and reviewed, not asserted."""
Summary: TypeAlias = Annotated[str, Field(description="One sentence")]
Tags: TypeAlias = Annotated[list[str], Field(max_length=20)]


class Update(TypedDict):
    """A memory that reads differently now."""

    id: str
    text: str
    title: NotRequired[str]
    summary: NotRequired[str]


class Changing:
    """The writing tools over one desk. Their docstrings are what models read."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [
            tool(self.remember, repeats=True),
            tool(self.remember_with_image, repeats=True),
            tool(self.reframe, repeats=True),
            tool(self.forget, destroys=True, repeats=True),
            tool(self.reflect),
        ]

    async def remember(
        self,
        ctx: Ctx,
        text: str,
        title: str = "",
        summary: Summary = "",
        type: Kind = "semantic",
        tags: Tags = [],
        about: Annotated[list[str], Field(description="Names of whom or what it is about")] = [],
        when: Annotated[str, Field(description="Date, if not now")] = "",
    ) -> Annotated[CallToolResult, Stored]:
        """Store one lasting fact, decision, event, preference or way of working, in words that need no context.
        `duplicate_of`: known already. Example: {"text": "Ana wants releases on Fridays: support is quiet then.", "about": ["Ana"]}"""
        return await self._store(ctx, {"text": text, **_described(title, summary, type, tags), "about": about, "created": when})

    async def remember_with_image(
        self,
        ctx: Ctx,
        text: str,
        image: Annotated[str, Field(description="base64")],
        alt: Annotated[str, Field(description="What it shows")] = "",
        title: str = "",
        summary: str = "",
        type: Kind = "semantic",
        tags: Tags = [],
    ) -> Annotated[CallToolResult, Stored]:
        """remember, with a picture."""
        item = {"text": text, **_described(title, summary, type, tags)}
        return await self._store(ctx, item | {"images": [{"data": image} | ({"alt": alt} if alt else {})]})

    async def _store(self, ctx: Ctx, item: dict[str, Any]) -> CallToolResult:
        given = {name: value for name, value in item.items() if value}
        given["text"] = item["text"]
        found = (await self.desk.ask(ctx, "remember", items=[given], actor=actor_of(ctx)))["results"][0]
        data: Stored = {
            "now": self.desk.now(),
            "id": found["id"],
            "title": words.one_line(found["title"]),
            "duplicate_of": found["duplicate_of"],
            "images": [words.picture(one) for one in found.get("images") or ()],
        }
        known = f"Known already as {data['id']} ({data['title']}): nothing new was stored. If it says more now, reframe that one."
        return answer(f"{data['now']}: " + (known if data["duplicate_of"] else f"Remembered as {data['id']} ({data['title']})."), data)

    async def reframe(
        self,
        ctx: Ctx,
        id: str,
        text: str,
        title: str = "",
        summary: Summary = "",
        reason: str = "",
    ) -> Annotated[CallToolResult, Changed]:
        """Replace all of what a memory says; its id stays and the old words stay in history. For what changed or was wrong."""
        who = actor_of(ctx)
        found = await self.desk.ask(ctx, "reframe", id=id, text=text, title=title, description=summary, reason=reason, actor=who)
        data = self._changed(found)
        done = f"{data['id']} says this now."
        waits = f"A person decides about {data['id']}: your words wait as {data['proposal']}, nothing else changed."
        return answer(f"{data['now']}: {waits if data['proposal'] else done}", data)

    async def forget(
        self,
        ctx: Ctx,
        id: str,
        reason: str = "",
    ) -> Annotated[CallToolResult, Forgotten]:
        """Take away a memory that is wrong or unwanted; history keeps it and a person can restore it."""
        found = await self.desk.ask(ctx, "forget", id=id, reason=reason, actor=actor_of(ctx))
        data: Forgotten = {"now": self.desk.now(), "id": found["id"], "title": words.one_line(found["title"])}
        return answer(f"{data['now']}: {data['id']} ({data['title']}) is forgotten. A person can bring it back.", data)

    async def reflect(self, ctx: Ctx, highlights: str, updates: list[Update] = []) -> Annotated[CallToolResult, Reflection]:
        """When a conversation comes to its end: store what mattered in it as one episode, and reframe the memories it changed."""
        changes = [{("description" if name == "summary" else name): value for name, value in one.items()} for one in updates]
        found = await self.desk.ask(ctx, "reflect", highlights=highlights, updates=changes, actor=actor_of(ctx))
        failed: list[Failure] = [{"id": one["id"], "message": one["message"], "hint": words.advice(one["hint"])} for one in found["failed"]]
        data: Reflection = {
            "now": self.desk.now(),
            "id": found["id"],
            "duplicate_of": found["duplicate_of"],
            "updated": [self._changed(one) for one in found["updated"]],
            "failed": failed,
        }
        told = [f"{data['now']}: the episode is {data['id']}{' (known already)' if data['duplicate_of'] else ''}."]
        told += [f"Updated: {', '.join(one['id'] for one in data['updated'])}."] if data["updated"] else []
        told += [f"Not updated: {one['id']}: {one['message']}. {one['hint']}" for one in failed]
        return answer("\n".join(told), data)

    def _changed(self, found: dict[str, Any]) -> Changed:
        proposal = found["proposal"]["id"] if isinstance(found["proposal"], dict) else found["proposal"]
        return {"now": self.desk.now(), "id": found["id"], "proposal": proposal}


def _described(title: str, summary: str, type: str, tags: list[str]) -> dict[str, Any]:
    return {"title": title, "description": summary, "type": type, "tags": tags}
