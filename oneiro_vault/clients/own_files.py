"""Ours beside a client's settings: the list of files that are wholly ours (skills, a marker), and a
block at the head of the machine's own settings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from oneiro_vault.clients import settings_files
from oneiro_vault.clients.edit import BOM, literal
from oneiro_vault.clients.entries import Trouble
from oneiro_vault.errors import OneiroError

_NEW: Final = "; there was no file before"
_BLOCK: Final = re.compile(
    r"# written by `oneiro setup (?P<client>[a-z-]+)`(?P<new>; there was no file before)?\n.*?# "
    r"end of that\n",
    re.DOTALL,
)


class Written:
    """The text we wrote to each file that is wholly ours: what says something else by now is no
    longer ours to change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        """Every file on the list."""
        return list(self._files())

    def get(self, path: Path) -> str | None:
        """What we wrote there; None when nothing was."""
        return self._files().get(str(path))

    def put(self, path: Path, text: str | None) -> None:
        """List a file, or (None) take it off; without any the list goes. Raises ChangedError,
        DiskProblem."""
        before = settings_files.read(self.path)
        files = {name: known for name, known in self._files().items() if name != str(path)}
        if text is not None:
            files[str(path)] = text
        noted = {"schema": 1, "files": {name: {"text": known} for name, known in files.items()}}
        after = json.dumps(noted, indent=1) + "\n" if files else None
        if after != before:
            settings_files.write(self.path, before, after)

    def _files(self) -> dict[str, str]:
        """File -> text. A list that cannot be read is none."""
        try:
            found = json.loads(settings_files.read(self.path) or "{}")["files"]
            return {name: each["text"] for name, each in found.items() if each["text"]}
        except (ValueError, KeyError, TypeError, AttributeError, OneiroError):
            return {}


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
