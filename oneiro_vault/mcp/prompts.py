"""Prompts a person picks from a menu. They say what to do with the memory, never who anybody is."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from oneiro_vault.mcp import formatting
from oneiro_vault.mcp.request_context import Desk


def add(server: MCPServer[Any], desk: Desk) -> None:
    """Register the prompts."""

    @server.prompt(
        "orient",
        title="Orient",
        description="Load the standing orientation and the memories that bear on a subject",
    )
    async def orient(
        context: Annotated[
            str, Field(description="What this conversation is about; empty for the latest")
        ] = "",
    ) -> str:
        found = await desk.silent.orient(context=context.strip() or None)
        return formatting.orientation(desk.now(), found)

    @server.prompt(
        "remember-this",
        title="Remember this",
        description="Store something so that a later conversation can find it",
    )
    def remember_this(
        text: Annotated[
            str, Field(description="What to remember; empty for what was just said")
        ] = "",
    ) -> str:
        what = (
            f"the following:\n\n{text.strip()}"
            if text.strip()
            else "what was just said that will still matter later."
        )
        return (
            "Look with recall_check whether this is known already. If it is, reframe that memory "
            "where it says something else; if not, use "
            f"remember, one idea a memory, with names and dates written out. Store {what}"
        )

    @server.prompt(
        "reflect-on-session",
        title="Reflect on this session",
        description="Keep what mattered in this conversation",
    )
    def reflect_on_session() -> str:
        return (
            "Go through this conversation and collect what will matter later: decisions with "
            "their reasons, facts learned, what changed, what stayed open. Say it plainly, "
            "without making it larger or smoother than it was, and leave out what is trivial. "
            "Look with recall_check for memories that it changes. Then call reflect once, with "
            "the highlights and those updates."
        )
