"""What is not in the plain style, for a merge: a frontmatter is read as YAML, laid out of the
sides' own lines and proved by reading it back. Of files that cannot be merged piece by piece (no
text, no note, another memory) one version stands and takes all of the other in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.yaml_block import find_block, pairs_of, parse_block
from oneiro_vault.core.merge import merge_frontmatter
from oneiro_vault.core.merge.merge_frontmatter import MISSING, Head, Merged, comments, same
from oneiro_vault.core.merge.units import below, callout, fenced, held, line_ends
from oneiro_vault.errors import InvalidInput, UnreadableNote


def read(text: str) -> Head | None:
    """A text taken apart; None when it is no note that can be read."""
    try:
        meta, body = yaml_block.read(text)
        block = find_block(text)
    except UnreadableNote:
        return None
    if block is None:
        return Head(text, meta, body, {}, {}, plain=False)
    head = Head(text, meta, body, {}, {}, block.start, block.stop, plain=False)
    _take_lines(head, text[block.start : block.stop])
    return head


def _take_lines(head: Head, block: str) -> None:
    root = parse_block(block)
    if root is None or root.flow_style:
        return
    marks = [name.start_mark.index for name, _ in root.value]
    starts = [
        (key, block.rfind("\n", 0, mark) + 1)
        for (key, _), mark in zip(pairs_of(root), marks, strict=True)
    ]
    above = block[: starts[0][1]]
    for (key, start), (_, end) in zip(starts, [*starts[1:], ("", len(block))], strict=True):
        head.notes[key], own = above, block[start:end]
        kept = own.splitlines(keepends=True)
        while end != len(block) and len(kept) > 1 and kept[-1].startswith("#"):
            kept.pop()
        head.lines[key] = "".join(kept)
        above = own[len(head.lines[key]) :]


def compose(merged: Merged, base: Head, first: Head, second: Head, body: str) -> str:
    """Raises InvalidInput when it cannot be written so that it reads back."""
    template = first if first.stop or not second.stop else second
    text = template.text
    if template.stop and all(head.lines or not head.meta for head in (first, second)):
        laid = _laid(merged, base, first, second, template) + body
        if _says(laid, {key: head.meta[key] for key, head in merged.taken.items()}, body):
            text = laid
    said = yaml_block.read(text)[0]
    changes: dict[str, object] = {key: None for key in said if key not in merged.meta}
    changes |= {
        key: value for key, value in merged.meta.items() if not same(value, said.get(key, MISSING))
    }
    return yaml_block.edit(text, changes, body)


def _laid(merged: Merged, base: Head, first: Head, second: Head, template: Head) -> str:
    parts = []
    for key, head in merged.taken.items():
        above = comments(*(one.notes.get(key, "") for one in (base, first, second)))
        parts.append(above + head.lines[key] + ("" if head.lines[key].endswith("\n") else "\n"))
    return template.text[: template.start] + "".join(parts) + "---\n"


def _says(text: str, meta: Mapping[str, object], body: str) -> bool:
    try:
        got, rest = yaml_block.read(text)
    except UnreadableNote:
        return False
    return (
        rest == body and got.keys() == meta.keys() and all(same(got[key], meta[key]) for key in got)
    )


def with_flag(text: str) -> str:
    """A note with the flag of a conflict, if its frontmatter can take one."""
    head = read(text)
    try:
        return (
            text
            if head is None
            else yaml_block.edit(text, {"flags": merge_frontmatter.flagged(head)})
        )
    except InvalidInput:
        return text


BROKEN: Final = "The other version of this file, which could not be merged into it"
TWO: Final = "Two memories came under one name; this is the other one"

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def merge_whole(ours: bytes, theirs: bytes, what: str = BROKEN) -> tuple[bytes, int]:
    """Two versions of which one cannot be read, or that have nothing to do with each other; what
    can be read stands, then the greater bytes."""
    sides = sorted((ours, theirs), key=lambda data: (_readable(data), data), reverse=True)
    first, second = (as_text(data) for data in sides)
    if tuple(filter(None, map(str.strip, second.split("\n")))) in held(first):
        return first.encode("utf-8"), 0
    lines, newline = line_ends(first)
    merged = with_flag(below(lines, callout(fenced(line_ends(second)[0].rstrip("\n")), what, "")))
    return merged.replace("\n", newline).encode("utf-8"), 1


def _readable(data: bytes) -> bool:
    try:
        yaml_block.read(yaml_block.decode(data))
    except UnreadableNote:
        return False
    return True


def as_text(data: bytes) -> str:
    """UTF-8, UTF-16 with its mark, else one character a byte; controls are spelled out."""
    try:
        return yaml_block.decode(data)
    except UnreadableNote:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return _UNSEEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))
