"""A tool as this server makes them: who may call it, arguments that are checked by name, and
failures that say what to do next, in no command a model cannot run."""

from __future__ import annotations

import inspect
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ContentBlock, TextContent, ToolAnnotations
from pydantic import ValidationError

from oneiro_vault.answers import Json
from oneiro_vault.core.principal import MEMORIES, TOOLS, WRITE, Caller
from oneiro_vault.errors import InvalidInput, OneiroError, shown
from oneiro_vault.mcp.request_context import Ctx, caller_of

IDS: Final = "recall_check returns ids."
_PERSON: Final = "A person can help at the command line."
_INSTEAD: Final = {
    **dict.fromkeys(("list", "recall", "show"), IDS),
    "reframe": "reframe changes that memory.",
    "dream": "dream_next shows the next question.",
    "restore": "A person can help: what was forgotten can be brought back.",
}
"""Command -> the sentence that stands where a hint names it."""
_TOOLS: Final = {
    "`get`": "recall_specific",
    "`reframe`": "reframe",
    "`query`": "topic",
    "`k`": "limit",
    "--since": "`since`",
    "--until": "`until`",
}
"""What an operation or an option of the command line is called here."""
_SENTENCE: Final = re.compile(r"(?:`[^`]*`|\.(?!\s|$)|[^.`])+(?:\.|$)")
_COMMAND: Final = re.compile(r"\boneiro(?: --?\S+)* ([a-z][a-z-]*)")
_THEIRS: Final = re.compile(r"--[a-z]|\bgit [a-z-]+ |`(?:git|kill) ")
"""Options and commands of other programs."""
_NAMED: Final = re.compile("|".join(map(re.escape, _TOOLS)))


def advice(text: str) -> str:
    """The same advice in the names of our tools; a sentence that needs a command says so, once."""
    sentences = [_spoken(sentence.strip()) for sentence in _SENTENCE.findall(text)]
    return " ".join(dict.fromkeys(sentence for sentence in sentences if sentence))


def _spoken(sentence: str) -> str:
    command = _COMMAND.search(sentence)
    if command is not None:
        return _INSTEAD.get(command[1], _PERSON)
    sentence = _NAMED.sub(lambda name: _TOOLS[name[0]], sentence)
    return _PERSON if _THEIRS.search(sentence) else sentence


LOG = logging.getLogger("oneiro.mcp")
ALWAYS_LOAD: Final = {"anthropic/alwaysLoad": True}
"""Claude Code shows such a tool to its model at once, instead of behind its tool search."""
_SHOWN: Final = 5
_BALLAST: Final = frozenset({"title", "$defs", "minimum", "minItems", "maxItems"})


def answer(text: str, *more: ContentBlock, ids: Sequence[str] = ()) -> CallToolResult:
    """`text` for a model to read, `more` content after it; `ids` of memories, for programs and the
    audit log. No structured content: clients that get both parts hand their model only that one, or
    both."""
    return CallToolResult(
        content=[TextContent(type="text", text=text), *more], _meta={MEMORIES: list(ids)}
    )


def failure(error: OneiroError) -> CallToolResult:
    """What happened, what is safe and what to do next, as the model reads it."""
    text = " ".join(filter(None, (f"{str(error).rstrip('.')}.", error.kept, advice(error.hint))))
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


class VaultTool(Tool):
    """A tool whose caller must be allowed what `core.principal.TOOLS` says."""

    async def run(self, arguments: Json, context: Ctx, convert_result: bool = False) -> Any:
        """Run it; whatever a caller did or met is a result with `is_error`, a fault of ours is
        raised."""
        caller, started = caller_of(context.request_context.request), time.perf_counter()
        outcome = "refused"
        try:
            self._admit(caller, arguments)
            outcome = "failed"
            done = await super().run(arguments, context, convert_result)
            outcome = "done"
        except OneiroError as error:
            return failure(error)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                return failure(self._wrong(cause))
            if not isinstance(cause, OneiroError):
                raise
            return failure(cause)
        finally:
            took = 1000 * (time.perf_counter() - started)
            LOG.info("%s for %s: %s in %.1f ms", self.name, caller.name, outcome, took)
        return done

    def _admit(self, caller: Caller, arguments: Mapping[str, Any]) -> None:
        need = TOOLS.get(self.name, WRITE)
        if not caller.may(need):
            text = f"{self.name} is not allowed here: it needs the right to {need}"
            raise InvalidInput(text, hint="Go on without it.")
        unknown = sorted(set(arguments) - set(self.parameters["properties"]))
        if unknown:
            names = ", ".join(shown(name) for name in unknown[:_SHOWN])
            raise InvalidInput(
                f"{self.name} has no argument {names}",
                hint=f"It takes {', '.join(self.parameters['properties'])}.",
            )
        empty = [
            name
            for name in self.parameters.get("required", ())
            if isinstance(value := arguments.get(name), str) and not value.strip()
        ]
        if empty:
            raise InvalidInput(
                f"{self.name}: {', '.join(empty)} is empty", hint="Correct that and call it again."
            )

    def _wrong(self, error: ValidationError) -> InvalidInput:
        """Which argument is wrong and how, without repeating its value."""
        found = error.errors(include_url=False, include_context=False, include_input=False)
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg'][:1].lower()}{one['msg'][1:]}"
            for one in found[:_SHOWN]
        )
        return InvalidInput(f"{self.name}: {told}", hint="Correct that and call it again.")


def tool(
    function: Callable[..., Awaitable[Any]],
    *,
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
    entry: bool = False,
) -> VaultTool:
    """A tool of this function; its name and docstring are what a model reads. `reads`: it changes
    nothing; `destroys`: it takes away; `repeats`: twice does no more than once; `entry`: known from
    the start."""
    hints = ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=destroys,
        idempotent_hint=reads or repeats,
        open_world_hint=False,
    )
    made = VaultTool.from_function(
        function,
        description=_described(function),
        annotations=hints,
        meta=dict(ALWAYS_LOAD) if entry else None,
        structured_output=False,
    )
    assert isinstance(made, VaultTool)
    made.parameters = compact(made.parameters)
    return made


def _described(function: Callable[..., Any]) -> str:
    """The docstring as a model reads it: a line for what it does, one for the example."""
    said = " ".join((inspect.getdoc(function) or "").split())
    return said.replace(" Example: ", "\nExample: ")


def compact(schema: Json, definitions: Mapping[str, Any] | None = None) -> Json:
    """A JSON schema without what tells a model nothing: titles, empty defaults, least values,
    lengths of lists that hardly any call has (one that does is told), references."""
    definitions = definitions or schema.get("$defs", {})
    if "$ref" in schema:
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return compact(definitions[schema["$ref"].rpartition("/")[2]] | own, definitions)
    kept = {
        key: value
        for key, value in schema.items()
        if key not in _BALLAST and (key != "default" or value)
    }
    if "properties" in kept:
        inner = kept["properties"].items()
        kept["properties"] = {name: compact(value, definitions) for name, value in inner}
    if isinstance(kept.get("items"), dict):
        kept["items"] = compact(kept["items"], definitions)
        kept["items"].pop("description", None)  # a docstring
    return kept
