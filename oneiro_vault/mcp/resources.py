"""Addresses a client can read, complete and follow: memory://{id}, orientation://current,
dream://{date}."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import CompleteRequestParams, CompleteResult, Completion, ResourceTemplateReference

from oneiro_vault.api import AsyncCalls
from oneiro_vault.core.markdown.quoting import PREFACE, quote
from oneiro_vault.errors import InvalidInput, NotFound, OneiroError
from oneiro_vault.mcp import formatting, sdk_internals
from oneiro_vault.mcp.request_context import Desk, nowhere
from oneiro_vault.mcp.tools.hints import advice

MEMORY: Final = "memory://"
ORIENTATION: Final = "orientation://current"
DREAM: Final = "dream://"
_MARKDOWN: Final = "text/markdown"
_KINDS: Final = {f"{MEMORY}{{id}}": "memory", f"{DREAM}{{date}}": "dream"}


def add(server: MCPServer[Any], desk: Desk) -> None:
    """Register the resources and their completions. Reading a memory is a use of it; the others are
    passive."""

    async def call(op: str, params: Mapping[str, Any], _progress: object) -> Any:
        try:
            return await desk.call(op, params, nowhere)
        except (NotFound, InvalidInput) as error:
            raise ResourceNotFoundError(f"{error}. {advice(error.hint)}") from error
        except OneiroError as error:
            raise ResourceError(f"{error}. {advice(error.hint)}") from error

    vault = AsyncCalls(call)

    @server.resource(
        ORIENTATION,
        title="Orientation",
        description="What is always loaded, as quoted Markdown",
        mime_type=_MARKDOWN,
    )
    async def orientation() -> str:
        found = await vault.orient(n=0)
        return f"Now: {desk.now()}\n\n{found['text'].strip() or 'No orientation yet.'}\n"

    @server.resource(
        f"{MEMORY}{{id}}",
        title="A memory",
        description="One memory in full, quoted",
        mime_type=_MARKDOWN,
    )
    async def memory(id: str) -> str:
        found = await vault.get(ids=[id])
        if not found["memories"]:
            raise ResourceNotFoundError(formatting.one_line(advice(found["missing"][0]["reason"])))
        one = formatting.whole(found["memories"][0], len(found["memories"][0]["body"]))
        return f"Now: {desk.now()}\n\n{PREFACE}\n\n{one}\n"

    @server.resource(
        f"{DREAM}{{date}}",
        title="A night's reports",
        description="What the loops did on a date",
        mime_type=_MARKDOWN,
    )
    async def dream(date: str) -> str:
        found = await vault.reports(date=date)
        parts = [
            quote(
                one["body"],
                id=one["path"],
                created=one["created"] or date,
                trust="",
                source="dream",
            )
            for one in found["reports"]
        ]
        return "\n\n".join([f"Now: {desk.now()}", PREFACE, *parts]) + "\n"

    async def complete(
        _ctx: ServerRequestContext[Any, Any], params: CompleteRequestParams
    ) -> CompleteResult:
        kind = (
            _KINDS.get(params.ref.uri)
            if isinstance(params.ref, ResourceTemplateReference)
            else None
        )
        if kind is None:
            return CompleteResult(completion=Completion(values=[], total=0, has_more=False))
        found = await vault.complete(kind=kind, prefix=params.argument.value.strip().lower())
        values, total = found["values"], found["total"]
        return CompleteResult(
            completion=Completion(values=values, total=total, has_more=total > len(values))
        )

    sdk_internals.lowlevel(server).add_request_handler(
        "completion/complete", CompleteRequestParams, complete
    )
