"""Changing one key of a YAML block as an edit of its own lines: texts that should be the edit, the
most careful first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from oneiro_vault.core.frontmatter.scalars import data, inline
from oneiro_vault.core.frontmatter.strict_yaml import (
    BOM,
    Block,
    find_block,
    parse_block,
    plain_value,
)

_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_HEADER: Final = re.compile(r"[|>][0-9-]*\+")


def candidates(text: str, key: str, value: object, known: bool) -> Iterator[str]:
    """Texts that should be the edit, the most careful first; the first one that proves itself is
    taken."""
    block = find_block(text)
    if block is None:
        start, newline = text.startswith(BOM), _newline(text)
        yield f"{text[:start]}---{newline}{entry(key, value, newline)}---{newline}{text[start:]}"
        return
    root = parse_block(text[block.start : block.stop])
    pairs = [] if root is None else root.value
    if not known:
        indent = _indent(text, block.start + pairs[0][0].start_mark.index) if pairs else ""
        yield text[: block.stop] + entry(key, value, block.newline, indent) + text[block.stop :]
        return
    position = next(i for i, pair in enumerate(pairs) if pair[0].value == key)
    following = (
        pairs[position + 1][0].start_mark.index + block.start
        if position + 1 < len(pairs)
        else block.stop
    )
    yield from _replacements(text, block, pairs[position], _line_start(text, following), key, value)


def _replacements(
    text: str,
    block: Block,
    pair: tuple[yaml.Node, yaml.Node],
    following: int,
    key: str,
    value: object,
) -> Iterator[str]:
    name, old = pair
    first = _line_start(text, block.start + name.start_mark.index)
    last = _line_end(text, block.start + _end(old, text, block.start))
    lines = ""
    if value is not None:
        if not _is_block(old):
            yield _in_place(
                text,
                block.start + old.start_mark.index,
                block.start + old.end_mark.index,
                inline(value),
            )
        elif isinstance(value, list) and value and isinstance(old, yaml.SequenceNode):
            yield _items(text, block, old, last, value)
        lines = entry(key, value, block.newline, _indent(text, first))
    yield text[:first] + lines + text[last:]
    yield text[:first] + lines + text[following:]


def _in_place(text: str, start: int, stop: int, new: str) -> str:
    return text[:start] + (" " if text[start - 1] == ":" else "") + new + text[stop:]


def _items(text: str, block: Block, old: yaml.SequenceNode, last: int, value: list[object]) -> str:
    """A block list with the lines of the items that stay kept as they are, comments included."""
    ends = [_line_end(text, block.start + _end(item, text, block.start)) for item in old.value]
    starts = [_line_start(text, block.start + old.value[0].start_mark.index), *ends]
    # A comment above an item stays with that item.
    kept = [
        (plain_value(item, 0), text[a:b])
        for item, a, b in zip(old.value, starts, ends, strict=False)
    ]
    indent, lines = " " * old.start_mark.column, []
    for wanted in value:
        found = next((i for i, (item, _) in enumerate(kept) if repr(item) == repr(wanted)), None)
        lines.append(
            f"{indent}- {inline(wanted)}{block.newline}" if found is None else kept.pop(found)[1]
        )
    return text[: starts[0]] + "".join(lines) + text[last:]


def entry(key: str, value: object, newline: str, indent: str = "") -> str:
    """The lines of one key. A list is a block list: one line per item is what people read and git
    merges."""
    name = indent + inline(data(key))
    if isinstance(value, list) and value:
        return f"{name}:{newline}" + "".join(
            f"{indent}  - {inline(item)}{newline}" for item in value
        )
    return f"{name}: {inline(value)}{newline}"


def _is_block(node: Any) -> bool:
    return node.style in ("|", ">") if isinstance(node, yaml.ScalarNode) else not node.flow_style


def _end(node: Any, text: str, base: int) -> int:
    """Where the last character of a value really is: libyaml's end of a block collection lies
    behind the comments that follow."""
    if isinstance(node, yaml.ScalarNode):
        return _trimmed(node, text, base) if node.style in ("|", ">") else int(node.end_mark.index)
    if node.flow_style:
        return int(node.end_mark.index)
    return max(
        _end(child, text, base)
        for item in node.value
        for child in (item if isinstance(item, tuple) else (item,))
    )


def _trimmed(node: yaml.ScalarNode, text: str, base: int) -> int:
    start, stop = base + node.start_mark.index, base + node.end_mark.index
    return (stop if _HEADER.match(text, start) else start + len(text[start:stop].rstrip())) - base


def _indent(text: str, position: int) -> str:
    """The spaces a line begins with (`? key` is indented where its `?` stands)."""
    start = stop = _line_start(text, position)
    while text[stop] == " ":
        stop += 1
    return text[start:stop]


def _line_start(text: str, position: int) -> int:
    return max(text.rfind(mark, 0, position) for mark in "\n\r\x85\u2028\u2029") + 1


def _line_end(text: str, position: int) -> int:
    if text[position - 1] in "\n\r\x85\u2028\u2029":
        return position
    found = _BREAK.search(text, position)
    return found.end() if found else len(text)


def _newline(text: str) -> str:
    found = re.search("\r\n|\n|\r", text)
    return found[0] if found else "\n"
