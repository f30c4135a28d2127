"""A frontmatter that is not in the plain style, for a merge: read as YAML, laid out of the sides'
own lines, proved by reading it back."""

from __future__ import annotations

from collections.abc import Mapping

from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.strict_yaml import find_block, pairs_of, parse_block
from oneiro_vault.core.merge import merge_frontmatter
from oneiro_vault.core.merge.merge_frontmatter import MISSING, Head, Merged, comments, same
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
    """The text of the merged frontmatter over `body`. Raises InvalidInput when it cannot be written
    so that it reads back."""
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
    """The block made of the sides' own lines."""
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
