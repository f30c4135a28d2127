"""Our entries in a TOML text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from oneiro_vault.clients.edit import toml_spans
from oneiro_vault.clients.edit.entries import Want, core_of, is_ours
from oneiro_vault.clients.edit.jsonc import BOM, place
from oneiro_vault.clients.edit.trace import Trace, Trouble

_WHERE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def parsed(text: str) -> dict[str, Any]:
    """What the text says. Raises Trouble."""
    try:
        return tomllib.loads(text.removeprefix(BOM))
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        end = text.count("\n") + 1, len(text) - text.rfind("\n")
        line, column = (int(where[1]), int(where[2])) if where and where[1] else end
        raise Trouble(_WHERE.sub("", str(error)), line, column) from error


def add(text: str, wants: Sequence[Want], trace: Trace) -> str:
    """The text with our tables in it."""
    for want in wants:
        tables = parsed(text).get(want.path[0], {})
        found = tables.get(want.key) if isinstance(tables, dict) else None
        if found is None:
            text = _checked(
                text, *toml_spans.append(text, (*want.path, want.key), want.entry), want, trace
            )
        elif not is_ours(found):
            raise _trouble(
                text,
                want,
                f'there is another server called "{want.key}", which setup did not write',
            )
        else:
            text = _updated(text, found, want)
    return text


def _checked(before: str, text: str, glue: str, want: Want, trace: Trace) -> str:
    """`text`, unless the table could not simply be appended (the servers are one inline table)."""
    try:
        parsed(text)
    except Trouble as error:
        raise _trouble(
            before,
            want,
            f'"{want.path[0]}" is written as one inline table, which setup cannot extend',
        ) from error
    trace.glue = glue
    return text


def _updated(text: str, found: Mapping[str, Any], want: Want) -> str:
    for name, value in core_of(want).items():
        if found.get(name) != value:
            changed = toml_spans.replace(text, (*want.path, want.key, name), value)
            if changed is None:
                raise _trouble(
                    text,
                    want,
                    f'"{want.key}" has no {name} of its own line, which setup could change',
                )
            text = changed
    return text


def drop(text: str, wants: Sequence[Want], trace: Trace) -> str:
    """The text without our tables, wherever they stand now."""
    for want in wants:
        tables = parsed(text).get(want.path[0], {})
        found = tables.get(want.key) if isinstance(tables, dict) else None
        if found is not None and is_ours(found):
            text = toml_spans.remove(text, (*want.path, want.key), trace.glue)
            if want.key in parsed(text).get(want.path[0], {}):
                raise _trouble(
                    text,
                    want,
                    f'"{want.path[0]}" is written as one inline table, which setup cannot shorten',
                )
    return text


def _trouble(text: str, want: Want, what: str) -> Trouble:
    near = [found for found in toml_spans.statements(text) if found.path[:1] == want.path[:1]]
    exact = [found for found in near if found.path[:2] == (*want.path, want.key)]
    return Trouble(what, *place(text, (exact or near)[0].start))
