"""Files of ours beside a client's settings: whole ones (skills, a marker), and a block at the head
of the machine's own settings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from oneiro_vault.clients.edit.jsonc import BOM
from oneiro_vault.clients.edit.toml_spans import literal
from oneiro_vault.clients.edit.trace import Trace, Trouble

_NEW: Final = "; there was no file before"
_BLOCK: Final = re.compile(
    r"# written by `oneiro setup (?P<client>[a-z-]+)`(?P<new>; there was no file before)?\n.*?# "
    r"end of that\n",
    re.DOTALL,
)


def whole(before: str | None, content: str, trace: Trace, known: bool) -> str | None:
    """The file with our content; somebody else's of that name stays."""
    if before is not None and not (known and before == trace.text):
        return before
    trace.text = content
    return content


def without(before: str | None, trace: Trace) -> str | None:
    """No file when it still says what we wrote, else what it says now."""
    return None if not trace.existed and before == trace.text else before


def with_block(before: str | None, client: str, values: Mapping[str, Any]) -> str:
    """The settings with a client's block at their head; what is set without it stays. Raises
    Trouble for what is no TOML."""
    mark, blocks, rest = _parted(before or "")
    ours = {name: block for name, block in blocks.items() if name != client}
    there = _names("".join([*ours.values(), rest]))
    lines = [
        f'"{name}" = {literal(value)}\n' for name, value in values.items() if name not in there
    ]
    new = (
        _NEW
        if before is None or (not rest and any(_NEW in block for block in blocks.values()))
        else ""
    )
    if lines:
        ours = {
            client: f"# written by `oneiro setup {client}`{new}\n{''.join(lines)}# end of that\n"
        } | ours
    return f"{mark}{''.join(ours.values())}{rest}"


def without_block(before: str | None, client: str) -> str | None:
    """The settings without a client's block; None when nothing but blocks was ever in the file.
    Raises Trouble."""
    mark, blocks, rest = _parted(before or "")
    if client not in blocks:
        return before
    ours = [block for name, block in blocks.items() if name != client]
    return (
        None if not ours and not rest and _NEW in blocks[client] else f"{mark}{''.join(ours)}{rest}"
    )


def has_block(text: str | None, client: str) -> bool:
    """Is there a client's block in it?"""
    return client in _parted(text or "")[1]


def _parted(text: str) -> tuple[str, dict[str, str], str]:
    """(byte order mark, client -> its block, the rest)."""
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    return (
        mark,
        {found["client"]: found[0] for found in _BLOCK.finditer(text)},
        _BLOCK.sub("", text),
    )


def _names(text: str) -> set[str]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Trouble(str(error), 1, 1) from error
    tables = {name: value for name, value in found.items() if isinstance(value, dict)}
    return found.keys() - tables.keys() | {
        f"{name}.{key}" for name, value in tables.items() for key in value
    }
