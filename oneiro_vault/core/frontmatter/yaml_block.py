"""The YAML block on top of a note: read it strictly, write it minimally, change one key without
touching another byte.

A text is `BOM? + "---" line + YAML + "---" (or "...") line + body`. Keys are text, values are plain
data (str, int, float, bool, None, list, dict). Only true/false, decimal integers, decimal floats
and null are resolved: dates, `12:30`, `no` and `010` stay text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from oneiro_vault.core.frontmatter.strict_yaml import (
    BOM,
    KEPT,
    Block,
    data,
    find_block,
    inline,
    parse_block,
    plain_mapping,
    plain_value,
    spelled_mapping,
    unreadable,
)
from oneiro_vault.errors import InvalidInput, UnreadableNote

ORDER: Final = (
    "id", "type", "title", "description", "tags", "aliases", "created", "timestamp", "source",
    "trust", "kind", "importance", "confidence", "level", "derived_from", "spans", "supersedes",
    "superseded_by", "valid_from",
    "valid_until", "status", "core", "budget", "priority", "keep", "trigger", "about", "project",
    "session", "turn", "outcome", "topics", "flags",
)  # fmt: skip
"""Canonical order of the keys the format knows; `compose` writes unknown ones after them."""

LARGEST: Final = 65_536
"""Characters of frontmatter that are read; more is refused."""

_MARKERS: Final = tuple(
    re.compile(rf"(?:\A\ufeff?|(?<=[\r\n])){mark}(?=[ \r\n]|\Z)")
    for mark in ("<{7}", "={7}", ">{7}")
)


class _Handler(YAMLHandler):  # type: ignore[misc]  # the library ships no types
    """python-frontmatter with our boundaries and our values."""

    def split(self, text: str) -> tuple[str, str]:
        block = find_block(text)
        return ("", text) if block is None else (text[block.start : block.stop], text[block.end :])

    def load(self, fm: str, **_: object) -> dict[str, object]:
        root = parse_block(fm)
        return {} if root is None else plain_mapping(root, 0)


_HANDLER: Final = _Handler()


def decode(data: bytes) -> str:
    """A UTF-8 BOM stays as the first character, so that `encode` gives the same bytes back."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise unreadable("the file is UTF-16, not UTF-8", "Save it as UTF-8.")
    if b"\0" in data:
        raise unreadable(
            "the file has NUL bytes: it is not text, or it is UTF-16",
            "Save it as UTF-8 or rename it.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise unreadable(
            f"line {line} is not UTF-8 (byte 0x{data[error.start]:02x})", "Save the file as UTF-8."
        ) from None


def encode(text: str) -> bytes:
    """The bytes of a text. Raises InvalidInput for lone surrogates and NUL, which no note can
    hold."""
    if "\0" in text:
        raise InvalidInput("the text has NUL characters and cannot be written as a note")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"character {error.start} is half of a surrogate pair and cannot be written as UTF-8"
        ) from None


def read(text: str) -> tuple[dict[str, object], str]:
    """Frontmatter and exact body (BOM and block left out). Raises UnreadableNote with the line."""
    refuse_markers(text)
    start = text.startswith(BOM)
    block = find_block(text)
    if block is None:
        return {}, text[start:]
    if block.stop - block.start > LARGEST:
        raise unreadable(
            f"the frontmatter is larger than {LARGEST // 1024} KB", "Move its text into the body."
        )
    return frontmatter.parse(text[start : block.end], handler=_HANDLER)[0], text[block.end :]


def texts(text: str) -> dict[str, object]:
    """Every scalar as it is spelled (`1.10`, `true`): for keys that hold text whatever it looks
    like."""
    block = find_block(text)
    root = None if block is None else parse_block(text[block.start : block.stop])
    return {} if root is None else spelled_mapping(root)


def compose(meta: Mapping[str, object], body: str) -> str:
    """A new note: known keys in canonical order, then the others; keys that are None are left
    out."""
    rank = {key: position for position, key in enumerate(ORDER)}
    given = {key: data(value) for key, value in meta.items() if value is not None}
    ordered = sorted(given, key=lambda key: rank.get(key, len(rank)))
    lines = "".join(entry(key, given[key], "\n") for key in ordered)
    text = f"---\n{lines}---\n{body}" if lines or body.startswith((BOM, "---")) else body
    return _proved(text, given, body)


def edit(text: str, changes: Mapping[str, object | None], body: str | None = None) -> str:
    """`text` with only the lines of the changed keys different (None removes one) and, when given,
    another body.

    Raises UnreadableNote, or InvalidInput when a value cannot be written or the result cannot be
    proved.
    """
    meta, old_body = read(text)
    for key, value in changes.items():
        text = _edited(text, meta, old_body, key, value)
        meta, _ = read(text)
    return text if body is None else _with_body(text, meta, body)


def _with_body(text: str, meta: dict[str, object], body: str) -> str:
    block = find_block(text)
    if block is None:
        head = BOM if text.startswith(BOM) else ""
        return _proved(
            head + (f"---\n---\n{body}" if body.startswith((BOM, "---")) else body), meta, body
        )
    head = text[: block.end]
    if not head.endswith(("\n", "\r")):
        head += block.newline
    # A lone CR before a body that begins with LF would swallow it as one line ending.
    return _proved(
        head + ("\n" if head.endswith("\r") and body.startswith("\n") else "") + body, meta, body
    )


def _edited(text: str, meta: dict[str, object], body: str, key: str, value: object) -> str:
    wanted = {name: old for name, old in meta.items() if name != key}
    if value is not None:
        wanted[key] = value = data(value)
    if key in meta if value is None else key not in meta or repr(meta[key]) != repr(value):
        for candidate in candidates(text, key, value, key in meta):
            if _is(candidate, wanted, body):
                return candidate
        raise InvalidInput(
            f"{key!r} cannot be changed without touching the rest of the frontmatter",
            kept=KEPT,
            hint="Write the frontmatter as one `key: value` per line.",
        )
    return text


def _proved(text: str, meta: Mapping[str, object], body: str) -> str:
    encode(text)
    if not _is(text, meta, body):
        raise InvalidInput(
            "the note would not read back as it was meant",
            kept=KEPT,
            hint="Look for conflict markers, very long keys or very large values.",
        )
    return text


def _is(text: str, meta: Mapping[str, object], body: str) -> bool:
    try:
        got, rest = read(text)
    except UnreadableNote:
        return False
    return (
        rest == body
        and got.keys() == meta.keys()
        and all(repr(got[key]) == repr(meta[key]) for key in got)
    )


def refuse_markers(text: str) -> None:
    """Raise UnreadableNote for lines like the conflict markers of git, one after the other."""
    if "<<<<<<<" not in text:
        return
    position = 0
    for marker in _MARKERS:
        found = marker.search(text, position)
        if not found:
            return
        position = found.end()
    raise unreadable(
        "the note has conflict markers of an unfinished merge",
        "Resolve it, or indent lines that only show markers.",
    )


_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_HEADER: Final = re.compile(r"[|>][0-9-]*\+")


def candidates(text: str, key: str, value: object, known: bool) -> Iterator[str]:
    """The most careful first; the first one that proves itself is taken."""
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
    """The lines of items that stay are kept, comments included."""
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
    """A list is a block list: one line per item is what people read and git merges."""
    name = indent + inline(data(key))
    if isinstance(value, list) and value:
        return f"{name}:{newline}" + "".join(
            f"{indent}  - {inline(item)}{newline}" for item in value
        )
    return f"{name}: {inline(value)}{newline}"


def _is_block(node: Any) -> bool:
    return node.style in ("|", ">") if isinstance(node, yaml.ScalarNode) else not node.flow_style


def _end(node: Any, text: str, base: int) -> int:
    """libyaml's end of a block collection lies behind the comments that follow."""
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
    """`? key` is indented where its `?` stands."""
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
