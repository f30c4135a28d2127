"""What the public conformance suite expects to find on a server, by exact name, added to a server
of our own factory. For tests only."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context, Message, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    JSONRPCMessage,
    ListRootsRequest,
    SamplingMessage,
    SetLevelRequestParams,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

from oneiro_vault.mcp import request_context

Ctx = Context[Any, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=="
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
ENUMS: dict[str, Any] = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
    },
}
DEFAULTS: dict[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


class Events(EventStore):
    """What was sent on every stream, for clients that come back."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.sent.append((stream_id, message))
        return str(len(self.sent))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        if not last_event_id.isdigit() or not 0 < int(last_event_id) <= len(self.sent):
            return None
        stream = self.sent[int(last_event_id) - 1][0]
        for number, (where, message) in enumerate(
            self.sent[int(last_event_id) :], int(last_event_id) + 1
        ):
            if where == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def form(message: str, *required: str, **properties: Any) -> ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": [*required]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, most: int = 100) -> CreateMessageRequest:
    said = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[said], max_tokens=most))


def text(words: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=words)])


def answered(ctx: Ctx, key: str, *fields: str) -> dict[str, Any] | None:
    """What a person put into the form `key`, if all fields are there."""
    found = (ctx.input_responses or {}).get(key)
    content = (
        (found.content or {})
        if isinstance(found, ElicitResult) and found.action == "accept"
        else None
    )
    return dict(content) if content is not None and set(fields) <= content.keys() else None


def add(server: MCPServer[Any]) -> None:
    """Everything the suite looks for."""
    contents(server)
    asking(server)
    needing_input(server)
    reading(server)
    for tool in server._tool_manager.list_tools():
        tool.description = tool.description or f"{tool.name} of the conformance suite"
        tool.parameters = (
            SCHEMA_2020_12 if tool.name == "json_schema_2020_12_tool" else tool.parameters
        )

    async def set_level(
        _ctx: ServerRequestContext[Any, Any], _params: SetLevelRequestParams
    ) -> EmptyResult:
        return EmptyResult()

    request_context.lowlevel(server).add_request_handler(
        "logging/setLevel", SetLevelRequestParams, set_level
    )


def contents(server: MCPServer[Any]) -> None:
    """Tools that only answer."""
    image = ImageContent(type="image", data=PNG, mime_type="image/png")

    def embedded(uri: str, mime: str, words: str) -> EmbeddedResource:
        return EmbeddedResource(
            type="resource", resource=TextResourceContents(uri=uri, mime_type=mime, text=words)
        )

    @server.tool()
    async def test_simple_text() -> CallToolResult:
        return text("This is a simple text response for testing.")

    @server.tool()
    async def test_image_content() -> CallToolResult:
        return CallToolResult(content=[image])

    @server.tool()
    async def test_audio_content() -> CallToolResult:
        return CallToolResult(content=[AudioContent(type="audio", data=WAV, mime_type="audio/wav")])

    @server.tool()
    async def test_embedded_resource() -> CallToolResult:
        return CallToolResult(
            content=[
                embedded(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content.",
                )
            ]
        )

    @server.tool()
    async def test_multiple_content_types() -> CallToolResult:
        data = embedded(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        )
        return CallToolResult(
            content=[TextContent(type="text", text="Multiple content types test:"), image, data]
        )

    @server.tool()
    async def test_error_handling() -> CallToolResult:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    async def json_schema_2020_12_tool(name: str = "") -> CallToolResult:
        return text(name)

    @server.tool()
    async def test_x_mcp_header(
        region: str = Field(default="", json_schema_extra={"x-mcp-header": "Region"}),
    ) -> CallToolResult:
        return text(region)

    @server.tool()
    async def test_tool_with_progress(ctx: Ctx) -> CallToolResult:
        for step in (0, 50, 100):
            await ctx.report_progress(step, 100)
            await asyncio.sleep(0.05)
        return text("done")

    @server.tool()
    async def test_tool_with_logging(ctx: Ctx) -> CallToolResult:
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await log(ctx, words)
            await asyncio.sleep(0.05)
        return text("done")

    @server.tool()
    async def test_logging_tool(ctx: Ctx) -> CallToolResult:
        await log(ctx, "said only to those who asked")
        return text("done")


async def log(ctx: Ctx, words: str) -> None:
    """A log message of this request; deprecated in the SDK, still in the suite."""
    params = {"level": "info", "data": words}
    if ctx.protocol_version is None or ctx.protocol_version < "2026":
        await ctx.session._request_outbound.notify("notifications/message", params)


def asking(server: MCPServer[Any]) -> None:
    """Tools that need the client, and tools that tell it of changes."""

    @server.tool()
    async def test_sampling(ctx: Ctx, prompt: str) -> CallToolResult:
        said = sample(prompt).params.model_dump(by_alias=True, mode="json", exclude_none=True)
        found = await ctx.session._request_outbound.send_raw_request("sampling/createMessage", said)
        return text(f"LLM response: {found['content']['text']}")

    async def elicit(
        ctx: Ctx, message: str, properties: dict[str, Any], required: list[str]
    ) -> str:
        schema = {"type": "object", "properties": properties, "required": required}
        found = await ctx.session.elicit_form(message, schema, ctx.request_context.request_id)
        return f"action={found.action}, content={json.dumps(found.content or {})}"

    @server.tool()
    async def test_elicitation(ctx: Ctx, message: str) -> CallToolResult:
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "Address"},
        }
        return text(f"User response: {await elicit(ctx, message, fields, ['username', 'email'])}")

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Ctx) -> CallToolResult:
        return text(f"Elicitation completed: {await elicit(ctx, 'Defaults', DEFAULTS, [])}")

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: Ctx) -> CallToolResult:
        return text(f"Elicitation completed: {await elicit(ctx, 'Choices', ENUMS, [])}")

    @server.tool()
    async def test_missing_capability(ctx: Ctx) -> CallToolResult:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                "sampling is needed",
                {"requiredCapabilities": {"sampling": {}}},
            )
        return text("sampling is there")

    @server.tool()
    async def test_reconnection(ctx: Ctx) -> CallToolResult:
        await ctx.close_sse_stream()
        await asyncio.sleep(0.2)
        return text("after the reconnection")

    @server.tool()
    async def test_trigger_tool_change(ctx: Ctx) -> CallToolResult:
        await ctx.notify_tools_changed()
        return text("told")

    @server.tool()
    async def test_trigger_prompt_change(ctx: Ctx) -> CallToolResult:
        await ctx.notify_prompts_changed()
        return text("told")


def needing_input(server: MCPServer[Any]) -> None:
    """Tools and a prompt that come back with questions, in the way of 2026-07-28."""
    name = form("What is your name?", "name", name={"type": "string"})
    confirm = form("Please confirm", "ok", ok={"type": "boolean"})

    def ask(state: str | None = None, **requests: InputRequest) -> InputRequiredResult:
        return InputRequiredResult(input_requests=requests, request_state=state)

    several: dict[str, InputRequest] = {
        "user_name": name,
        "greeting": sample("Generate a greeting", 50),
        "client_roots": ListRootsRequest(),
    }

    @server.tool()
    async def test_input_required_result_elicitation(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        found = answered(ctx, "user_name", "name")
        return text(f"Hello, {found['name']}!") if found else ask(user_name=name)

    @server.tool()
    async def test_streaming_elicitation(ctx: Ctx) -> CallToolResult | InputRequiredResult:
        await ctx.report_progress(1)
        return ask(user_name=name)

    @server.tool()
    async def test_input_required_result_sampling(ctx: Ctx) -> CallToolResult | InputRequiredResult:
        found = (ctx.input_responses or {}).get("capital_question")
        return (
            text(str(found))
            if found
            else ask(capital_question=sample("What is the capital of France?"))
        )

    @server.tool()
    async def test_input_required_result_list_roots(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        found = (ctx.input_responses or {}).get("client_roots")
        return text(str(found)) if found else ask(client_roots=ListRootsRequest())

    @server.tool()
    async def test_input_required_result_request_state(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        return (
            text("state-ok")
            if ctx.request_state == "confirming" and answered(ctx, "confirm")
            else ask("confirming", confirm=confirm)
        )

    @server.tool()
    async def test_input_required_result_tampered_state(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        if ctx.request_state not in (None, "sealed"):
            raise MCPError(INVALID_PARAMS, "the state is not ours")
        return text("untouched") if ctx.request_state else ask("sealed", confirm=confirm)

    @server.tool()
    async def test_input_required_result_multiple_inputs(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        return (
            text("all there")
            if several.keys() <= (ctx.input_responses or {}).keys()
            else ask("several", **several)
        )

    @server.tool()
    async def test_input_required_result_multi_round(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        if ctx.request_state == "one" and answered(ctx, "step1", "name"):
            return ask(
                "two",
                step2=form(
                    "Step 2: What is your favorite color?", "color", color={"type": "string"}
                ),
            )
        if ctx.request_state == "two" and answered(ctx, "step2", "color"):
            return text("both steps are done")
        return ask("one", step1=form("Step 1: What is your name?", "name", name={"type": "string"}))

    @server.tool()
    async def test_input_required_result_capabilities(
        ctx: Ctx,
    ) -> CallToolResult | InputRequiredResult:
        able = ctx.client_capabilities
        asked: dict[str, InputRequest] = {}
        if able and able.elicitation is not None:
            asked["user_name"] = name
        if able and able.sampling is not None:
            asked["greeting"] = sample("Generate a greeting", 50)
        return ask(None, **asked) if asked and not ctx.input_responses else text("nothing to ask")

    @server.prompt(description="Comes back with a question first")
    async def test_input_required_result_prompt(ctx: Ctx) -> list[Message] | InputRequiredResult:
        found = answered(ctx, "user_context", "context")
        question = form(
            "What context should the prompt use?", "context", context={"type": "string"}
        )
        return (
            [UserMessage(f"In the context of {found['context']}")]
            if found
            else ask(user_context=question)
        )


def reading(server: MCPServer[Any]) -> None:
    """Resources and prompts."""

    @server.resource("test://static-text", description="Text that never changes")
    async def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource(
        "test://static-binary", description="A picture that never changes", mime_type="image/png"
    )
    async def static_binary() -> bytes:
        import base64

        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:  # named by the suite
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource", description="Something to follow")
    async def watched() -> str:
        return "Something to follow."

    @server.prompt(description="Without arguments")
    async def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="With two arguments")
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="With a resource")
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803  # named by the suite
        held = TextResourceContents(
            uri=resourceUri, mime_type="text/plain", text="Embedded resource content for testing."
        )
        return [
            UserMessage(EmbeddedResource(type="resource", resource=held)),
            UserMessage("Please process the embedded resource above."),
        ]

    @server.prompt(description="With a picture")
    async def test_prompt_with_image() -> list[Message]:
        picture = ImageContent(type="image", data=PNG, mime_type="image/png")
        return [UserMessage(picture), UserMessage("Please analyze the image above.")]
