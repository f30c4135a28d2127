"""The set `dreams`, off unless `mcp.tools` names it: questions about stored notes that wait for a
judge, and the way to answer them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, TypeAlias

from mcp_types import CallToolResult
from pydantic import WithJsonSchema

from oneiro_vault import answers
from oneiro_vault.core.markdown.quoting import PREFACE
from oneiro_vault.mcp.request_context import Ctx, Desk
from oneiro_vault.mcp.tools.tool import VaultTool, tool
from oneiro_vault.mcp.tools.tool import answer as told

Answers: TypeAlias = Annotated[dict[str, Any] | str, WithJsonSchema({"type": "object"})]
"""An object; some clients send it as text."""
_UNSAID: Final = frozenset(
    "title default description maxLength minLength maxItems additionalProperties".split()
)
"""Keys of a schema that a model does not read."""


class Dreaming:
    """Tools for a model that judges what the loops ask, over one desk."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def tools(self) -> list[VaultTool]:
        """In the order in which a model meets them."""
        return [tool(self.dream_next, reads=True), tool(self.dream_decide)]

    async def dream_next(self, ctx: Ctx) -> CallToolResult:
        """The next questions about stored notes that wait for a judgement, some of one kind at
        once, with the JSON schema of an answer."""
        found = await self.desk.ask(ctx).dream_next()
        return told(f"{self.desk.now()}: {_batch(found)}")

    async def dream_decide(self, ctx: Ctx, answers: Answers) -> CallToolResult:
        """Answer questions of dream_next: {question id: object of its schema}. The next questions
        come back; after the last answer, what
        follows from them is done."""
        found = await self.desk.ask(ctx).dream_answers(answers=answers)
        lines = [f"{self.desk.now()}: {found['taken']} taken."]
        lines += [f"{one['id']} still waits: {one['problem']}." for one in found["refused"]]
        return told(
            "\n".join([*lines, *(str(run["title"]) for run in found["runs"]), _batch(found)])
        )


def _batch(found: answers.NextQuestion | answers.AnswersTaken) -> str:
    """The questions at the head of those that wait, as a model reads them."""
    batch = found["batch"]
    if batch is None:
        return "No question waits."
    head = (
        f"{len(batch['questions'])} of {found['waiting']} questions that wait, of the kind "
        f"{batch['kind']}."
    )
    first = (
        "Instruction and schema are those of the last questions."
        if batch["again"]
        else batch["instruction"]
    )
    asked = "\n".join(f"Question {one['id']}: {' '.join(one['ids'])}" for one in batch["questions"])
    parts = [head, first, PREFACE, batch["quoted"], asked]
    form = json.dumps(_bare(batch["answer"]), ensure_ascii=False, separators=(",", ":"))
    return "\n\n".join(parts if batch["again"] else [*parts, f"Schema of each answer: {form}"])


def _bare(schema: Any) -> Any:
    """A schema without names, defaults and the limits that nobody reaches; what may be null may
    also be left out, and is shown as what it is otherwise."""
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if rest := [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]:
        return _bare(rest[0]) if len(rest) == 1 else {"anyOf": _bare(rest)}
    return {
        key: _bare(value)
        for key, value in schema.items()
        if key not in _UNSAID or isinstance(value, dict)
    }
