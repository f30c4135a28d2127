"""Text that a person gives: as arguments, on standard input, or in an editor."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from oneiro_vault.cli.context import Face
from oneiro_vault.errors import InvalidInput


def words(face: Face, given: tuple[str, ...], draft: Callable[[], str] = str) -> str:
    """The text: the arguments joined, or `-` for standard input; without any, an editor on a
    terminal (starting from `draft`)."""
    if given and given != ("-",):
        return " ".join(given)
    face.at_home()
    if given or not sys.stdin.isatty():
        return from_stdin()
    return edited(face, draft())


def edited(face: Face, start: str) -> str:
    """What a person writes in their editor. The file stays until the command has succeeded: it is
    the only copy of their words."""
    handle, name = tempfile.mkstemp(prefix="oneiro-", suffix=".md")
    face.draft = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(start)
    try:
        click.edit(filename=name)
    except click.ClickException as error:
        raise InvalidInput(
            f"the editor did not work: {error.message}",
            kept="Nothing was changed.",
            hint="Set EDITOR.",
        ) from error
    text = decode(face.draft.read_bytes(), "what the editor saved")
    if not text.strip() or text == start:
        raise InvalidInput("no text was saved in the editor", kept="Nothing was changed.")
    return text


def from_stdin() -> str:
    """All of standard input, which must be UTF-8."""
    return decode(sys.stdin.buffer.read(), "standard input")


def decode(data: bytes, source: str) -> str:
    """Strict UTF-8; raises InvalidInput that names the source and the byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{source} is not UTF-8 (byte {error.start})",
            kept="Nothing was changed.",
            hint="Convert it, for example with iconv.",
        ) from error
