"""Text that a person gives: as arguments, on standard input, or in an editor."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from oneiro_vault.cli.face import Face
from oneiro_vault.errors import InvalidInput


def words(face: Face, given: tuple[str, ...], draft: Callable[[], str] = str) -> str:
    """The text: the arguments joined, or `-` for standard input; without any, an editor on a terminal (starting from `draft`)."""
    if given and given != ("-",):
        return " ".join(given)
    face.at_home()
    if given or not sys.stdin.isatty():
        return from_stdin()
    text = click.edit(draft())
    if text is None or not text.strip():
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
            f"{source} is not UTF-8 (byte {error.start})", kept="Nothing was changed.", hint="Convert it, for example with iconv."
        ) from error
