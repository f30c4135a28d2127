"""The tools that change something. Who it was is set by the door a call came through; no argument
says it."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypeAlias

from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from oneiro_vault import answers
from oneiro_vault.core import picture
from oneiro_vault.core.principal import LOCAL
from oneiro_vault.errors import InvalidInput, shown
from oneiro_vault.mcp import formatting
from oneiro_vault.mcp.request_context import Ctx, Desk, actor_of, caller_of
from oneiro_vault.mcp.tools.tool import VaultTool, advice, answer, tool
from oneiro_vault.mcp.transports import LARGEST

MOST: Final = LARGEST // 4 * 3
"""Bytes that are read: as many as can come as base64 in one message."""
KEPT: Final = "Nothing was written."

Kind: TypeAlias = Literal["semantic", "episodic", "entity", "procedure", "principle"]
"""What a model may store as. Orientation is distilled and reviewed, not asserted."""
Summary: TypeAlias = Annotated[str, Field(description="One sentence")]
Tags: TypeAlias = Annotated[list[str], Field(max_length=20)]


class Update(TypedDict):
    """A memory that reads differently now."""

    id: str
    text: str
    title: NotRequired[str]
    summary: NotRequired[str]


@dataclass
class Changing:
    """The writing tools over one desk. Their docstrings are what models read."""

    desk: Desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [
            tool(self.remember, repeats=True, entry=True),
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
        about: Annotated[list[str], Field(description="Names of people and things")] = [],
        when: Annotated[str, Field(description="Date, if not now")] = "",
        replaces: Annotated[str, Field(description="Id of what holds no longer")] = "",
    ) -> CallToolResult:
        """Store one lasting fact, decision, event, preference or way of working, in words that need
        no context.
        Example: {"text": "Ana wants releases on Fridays: support is quiet then.",
        "about": ["Ana"]}"""
        item = {"text": text, **_described(title, summary, type, tags)}
        given = {"about": about, "created": when, "replaces": replaces}
        return await self._store(ctx, {**item, **given})

    async def remember_with_image(
        self,
        ctx: Ctx,
        text: str,
        image: Annotated[str, Field(description="base64")] = "",
        path: Annotated[str, Field(description="Or its full path")] = "",
        alt: str = "",
        title: str = "",
        summary: str = "",
        type: Kind = "semantic",
        tags: Tags = [],
    ) -> CallToolResult:
        """remember, with a picture."""
        if bool(image) is bool(path):
            text = "a picture is given as `image` or by its `path`"
            raise InvalidInput(text, kept=KEPT, hint="Give one of them.")
        if path and caller_of(ctx.request_context.request) != LOCAL:
            text = "a path means nothing from another machine"
            raise InvalidInput(text, kept=KEPT, hint="Give the picture as `image`.")
        given = {"data": image or await asyncio.to_thread(read_image, path)}
        given |= {"alt": alt} if alt else {}
        item = {"text": text, **_described(title, summary, type, tags)}
        return await self._store(ctx, {**item, "images": [given]})

    async def _store(self, ctx: Ctx, item: Mapping[str, Any]) -> CallToolResult:
        given = {name: value for name, value in item.items() if value}
        given["text"] = item["text"]
        ask = self.desk.ask(ctx)
        done = await ask.remember(items=[given], actor=actor_of(ctx), near=True)
        found = done["results"][0]
        ident, title, near = found["id"], formatting.one_line(found["title"]), found["near"]
        told = f"Remembered as {ident} ({title})."
        if given.get("replaces"):
            told, near = f"{told} {given['replaces']} holds no longer.", None
        if found["duplicate_of"]:
            told = (
                f"Known already as {ident} ({title}): nothing new was stored. If it says more "
                f"now, reframe that one."
            )
        elif near:
            same = f"{near['id']} ({formatting.one_line(near['title'])})"
            told += f" Much like {same}: if it is the same, reframe that one and forget this."
        return answer(f"{self.desk.now()}: {told}", ids=[ident])

    async def reframe(
        self,
        ctx: Ctx,
        id: str,
        text: str,
        title: str = "",
        summary: Summary = "",
        reason: str = "",
    ) -> CallToolResult:
        """Replace all a memory says; its id stays, and the old words in history. For what changed
        or was wrong."""
        found = await self.desk.ask(ctx).reframe(
            id=id,
            text=text,
            title=title,
            description=summary,
            reason=reason,
            actor=actor_of(ctx),
        )
        told, waits = f"{found['id']} says this now.", _proposal(found)
        if waits:
            told = f"A person decides about {found['id']}: your words wait as {waits}, "
            told += "nothing else changed."
        return answer(f"{self.desk.now()}: {told}", ids=[found["id"]])

    async def forget(
        self,
        ctx: Ctx,
        id: str,
        reason: str = "",
    ) -> CallToolResult:
        """Take away a memory that is wrong or unwanted; a person can restore it."""
        found = await self.desk.ask(ctx).forget(id=id, reason=reason, actor=actor_of(ctx))
        told = (
            f"{self.desk.now()}: {found['id']} ({formatting.one_line(found['title'])}) is "
            f"forgotten. A person can bring it back: `oneiro {found['back']}`."
        )
        return answer(told, ids=[found["id"]])

    async def reflect(
        self, ctx: Ctx, highlights: str, updates: list[Update] = []
    ) -> CallToolResult:
        """When a conversation ends: store what mattered as one episode, and reframe the memories
        it changed."""
        changes = [
            {("description" if name == "summary" else name): value for name, value in one.items()}
            for one in updates
        ]
        found = await self.desk.ask(ctx).reflect(
            highlights=highlights, updates=changes, actor=actor_of(ctx)
        )
        told = [
            f"{self.desk.now()}: the episode is "
            f"{found['id']}{' (known already)' if found['duplicate_of'] else ''}."
        ]
        waiting = {one["id"]: _proposal(one) for one in found["updated"] if _proposal(one)}
        done = [one["id"] for one in found["updated"] if one["id"] not in waiting]
        told += [f"Updated: {', '.join(done)}."] if done else []
        told += [
            f"A person decides about {ident}: your words wait as {where}."
            for ident, where in waiting.items()
        ]
        told += [
            f"Not updated: {one['id']}: {one['message']}. {advice(one['hint'])}".rstrip()
            for one in found["failed"]
        ]
        return answer("\n".join(told), ids=[found["id"], *(one["id"] for one in found["updated"])])


def _proposal(found: answers.Reframed | answers.Updated) -> str:
    """The id under which new words wait for a person, "" when none do."""
    waiting = found["proposal"]
    return str(waiting["id"] if isinstance(waiting, Mapping) else waiting or "")


def _described(title: str, summary: str, type: str, tags: list[str]) -> Mapping[str, Any]:
    return {"title": title, "description": summary, "type": type, "tags": tags}


def read_image(path: str) -> str:
    """The picture in that file, in base64. Raises InvalidInput, saying nothing of what is in it."""
    place = Path(os.path.expanduser(path))  # noqa: PTH111  # pathlib raises for a user there is not
    if not place.is_absolute() or "\0" in path:
        raise InvalidInput(
            f"{shown(path)} is not a full path", kept=KEPT, hint="It begins with / or ~."
        )
    try:
        # a pipe would never come to its end
        number = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise InvalidInput(
                    f"{shown(path)} is not a file", kept=KEPT, hint="Give the path of a picture."
                )
            data = file.read(MOST + 1)
    except OSError as error:
        raise InvalidInput(
            f"{shown(path)} cannot be read: {error.strerror}", kept=KEPT, hint="Check the path."
        ) from error
    if len(data) > MOST:
        raise InvalidInput(
            f"{shown(path)} has more than {MOST:,} bytes",
            kept=KEPT,
            hint="Make the picture smaller.",
        )
    if picture.sniff(data) is None:
        raise InvalidInput(
            f"{shown(path)} is not a PNG, JPEG, WebP or GIF picture",
            kept=KEPT,
            hint="Convert it first.",
        )
    return base64.b64encode(data).decode()
