"""What is wrong with a note's frontmatter in a word, and the mend where it can only be one: a value
in quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from oneiro_vault.core.frontmatter import scalars, yaml_block
from oneiro_vault.core.frontmatter.strict_yaml import find_block, parse_block
from oneiro_vault.errors import UnreadableNote

QUOTE: Final = 'put the value in quotes (`title: "ADR-1: use UTC"`)'
_ENTRY: Final = re.compile(
    r"([A-Za-z][\w -]{0,40}:[ \t]+)(\S(?:[^\r\n]*\S)?)([ \t]*(?:\r\n|\n|\r))"
)
_LINE: Final = re.compile(r"line (\d+)")
_UNCERTAIN: Final = ("[", '"', "'", "|", ">", "#", "-")
"""A value that begins so may have lost its end, or is no text on one line."""
_KINDS: Final = (
    ("never closed", "close the block with a line `---`"),
    ("is there twice", "keep one of the two lines"),
    ("UTF-16", "save the file as UTF-8"),
    ("not UTF-8", "save the file as UTF-8"),
    ("anchors and aliases", QUOTE),
    ("YAML tag", QUOTE),
    ("a key is a list", QUOTE),
    ("a tab character", "begin the line with spaces, not with a tab"),
    ("cannot start any token", QUOTE),
    ("mapping values are not allowed", QUOTE),
    ("scanning a quoted scalar", "close the quotes"),
    ("unexpected end of stream", "close the quotes"),
    ("did not find expected ',' or", "close the bracket"),
    ("did not find expected node", "close the bracket"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a note cannot be read, on which line of the file (None = unknown), and the mend in a few
    words."""

    reason: str
    line: int | None
    mend: str


def fault(data: bytes) -> Fault | None:
    """What is wrong with the bytes of a note, None when it can be read."""
    try:
        text = yaml_block.decode(data)
        yaml_block.read(text)
    except UnreadableNote as error:
        reason = str(error)
        line = _LINE.search(reason)
        mend = next(
            (mend for sign, mend in _KINDS if sign in reason), error.hint.rstrip(".").lower()
        )
        return Fault(reason, int(line[1]) if line else None, mend)
    return None


def mended(data: bytes) -> bytes | None:
    """The note with the values in quotes that are no YAML without them; None when that is not all,
    or not certain.

    Proved: what comes out can be read, every quoted value says exactly what stood there, and no
    other line is different.
    """
    try:
        text = yaml_block.decode(data)
        block = find_block(text)
    except UnreadableNote:
        return None
    if block is None or fault(data) is None:
        return None
    lines, values = text[block.start : block.stop].splitlines(keepends=True), {}
    for at, line in enumerate(lines):
        entry = _ENTRY.fullmatch(line)
        if entry and not _is_yaml(entry[2]):
            if entry[2].startswith(_UNCERTAIN) or " #" in entry[2]:
                return None
            lines[at] = entry[1] + scalars.quoted(entry[2]) + entry[3]
            values[entry[1].rstrip(": \t")] = entry[2]
    whole = text[: block.start] + "".join(lines) + text[block.stop :]
    return yaml_block.encode(whole) if values and _says(whole, values, text[block.end :]) else None


def _is_yaml(value: str) -> bool:
    try:
        root = parse_block(f"value: {value}\n")
        return root is not None and bool(yaml_block.read(f"---\nvalue: {value}\n---\n"))
    except UnreadableNote:
        return False


def _says(text: str, values: dict[str, str], body: str) -> bool:
    try:
        meta, rest = yaml_block.read(text)
    except UnreadableNote:
        return False
    return rest == body and all(meta.get(key) == value for key, value in values.items())
