"""Files that cannot be merged piece by piece: no text, no note, or another memory. One version
stands and takes all of the other in."""

from __future__ import annotations

import re
from typing import Final

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.merge import merge_yaml
from oneiro_vault.core.merge.conflicts import below, callout, fenced, held, line_ends
from oneiro_vault.errors import UnreadableNote

BROKEN: Final = "The other version of this file, which could not be merged into it"
TWO: Final = "Two memories came under one name; this is the other one"

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def merge(ours: bytes, theirs: bytes, what: str = BROKEN) -> tuple[bytes, int]:
    """Two versions of which at least one cannot be read, or that have nothing to do with each
    other; what can be read stands, then the greater bytes. A file that is no UTF-8 is shown as text
    as well as it can be.
    """
    sides = sorted((ours, theirs), key=lambda data: (_readable(data), data), reverse=True)
    first, second = (as_text(data) for data in sides)
    if tuple(filter(None, map(str.strip, second.split("\n")))) in held(first):
        return first.encode("utf-8"), 0
    lines, newline = line_ends(first)
    merged = merge_yaml.with_flag(
        below(lines, callout(fenced(line_ends(second)[0].rstrip("\n")), what, ""))
    )
    return merged.replace("\n", newline).encode("utf-8"), 1


def _readable(data: bytes) -> bool:
    try:
        yaml_block.read(yaml_block.decode(data))
    except UnreadableNote:
        return False
    return True


def as_text(data: bytes) -> str:
    """Bytes as text that a note can hold: UTF-8, UTF-16 with its mark, else one character a byte;
    controls are spelled out."""
    try:
        return yaml_block.decode(data)
    except UnreadableNote:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return _UNSEEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))
