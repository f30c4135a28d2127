"""The YAML block on top of a note: read it strictly, write it minimally, change one key without
touching another byte.

A text is `BOM? + "---" line + YAML + "---" (or "...") line + body`. Keys are text, values are plain
data (str, int, float, bool, None, list, dict). Only true/false, decimal integers, decimal floats
and null are resolved: dates, `12:30`, `no` and `010` stay text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from oneiro_vault.errors import InvalidInput, UnreadableNote

DEEPEST: Final = 24
"""Levels of lists and mappings inside one value; nobody writes more by hand."""

_LETTERS: Final = "\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_BARE: Final = re.compile(
    rf"[\w/($\u00a1-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff][ "
    rf"-~{_LETTERS}]*"
)
_FLOW: Final = re.compile(r"[,:?\[\]{}]")
_GUESSED: Final = re.compile(
    r"(?i:true|false|yes|no|on|off|y|n|null|[-+]?[\d_,.:]+(?:e[-+]?\d+)?|0[xob][\da-f_]+)|"
    r"\d{4}-\d\d?-\d\d?(?:[Tt \t].*)?"
)
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]+(?:[eE][-+]?[0-9]+)?)?")
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}


def resolve(text: str) -> object:
    """What an unquoted scalar means: true/false, null, a decimal integer or float; everything else
    is text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-0123456789" or not (found := _NUMBER.fullmatch(text)):
        return text
    if found[1] is None:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else text


def data(value: object, depth: int = 0) -> object:
    """`value` as reading it back gives it. Raises InvalidInput for what YAML text cannot carry."""
    if depth > DEEPEST:
        raise InvalidInput(f"a value is nested more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return _checked_text(str(value))
    if isinstance(value, Mapping):
        return {_checked_text(str(key)): data(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [data(inner, depth + 1) for inner in value]
    return _checked_number(value)


def _checked_text(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInput(
            "a value has half of a surrogate pair in it, which no UTF-8 file can hold"
        )
    return text


def _checked_number(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 10**18:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise InvalidInput(
        f"a value of type {type(value).__name__} ({value!s:.40}) cannot be written into frontmatter"
    )


def inline(value: object, flow: bool = False) -> str:
    """`value` (from `data`) on one line; `flow` when it stands inside brackets."""
    if isinstance(value, str):
        return value if _is_plain(value, flow) else quoted(value)
    if isinstance(value, dict):
        pairs = (f"{inline(key, True)}: {inline(inner, True)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(inner, True) for inner in value) + "]"
    return "null" if value is None else _number(value)


def _number(value: object) -> str:
    text = repr(value)
    if isinstance(value, bool):
        return text.lower()
    # YAML 1.1 takes 1e-07 for text: a float needs its point.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def quoted(text: str) -> str:
    """`text` in double quotes, everything a YAML file may not hold literally as an escape."""
    return _ESCAPED.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False)
    )


def _is_plain(text: str, flow: bool) -> bool:
    if (
        not _BARE.fullmatch(text)
        or text != text.strip()
        or text.endswith(":")
        or ": " in text
        or " #" in text
    ):
        return False
    if flow and _FLOW.search(text):
        return False
    return not _GUESSED.fullmatch(text) or _is_date(text)


def _is_date(text: str) -> bool:
    """As Obsidian's date fields want them, unless other YAML readers would stumble (30
    February)."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


BOM: Final = "\ufeff"
KEPT: Final = "The file stays as it is."

_OPEN: Final = re.compile(r"---[ \t]*(\r\n|\n|\r)")
_CLOSE: Final = re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_KEY_LINE: Final = re.compile(r"[\w\"'-]+[ \t]*:(?:\s|$)")
_DEEP: Final = re.compile(r"[&*]|-\s+-\s+-|\n {12}")
_PREFIX: Final = "tag:yaml.org,2002:"
_TEXT, _LIST, _MAP = _PREFIX + "str", _PREFIX + "seq", _PREFIX + "map"
_PLAIN: Final = frozenset([""] + [_PREFIX + name for name in ("int", "float", "bool", "null")])


class Block(NamedTuple):
    """`start`..`stop` is the YAML, `end` the first character of the body, `newline` the block's
    line ending."""

    start: int
    stop: int
    end: int
    newline: str


class Loader(yaml.CSafeLoader):
    """libyaml without YAML 1.1's guesses: a plain scalar has the tag "" until `resolve`
    looks at it."""

    def resolve(self, kind: type[yaml.Node], _value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is yaml.ScalarNode:
            return "" if implicit[0] else _TEXT
        return _LIST if kind is yaml.SequenceNode else _MAP


def find_block(text: str) -> Block | None:
    """None when there is none. A first line `---` that nothing closes is a rule, unless a key
    follows."""
    opened = _OPEN.match(text, text.startswith(BOM))
    if not opened:
        return None
    closed = _CLOSE.search(text, opened.end())
    if closed:
        return Block(opened.end(), closed.start(), closed.end(), opened[1])
    if _KEY_LINE.match(text, opened.end()):
        raise unreadable("the frontmatter is never closed", "End it with a line `---`.")
    return None


def parse_block(block: str) -> yaml.MappingNode | None:
    """The mapping in a block, None for an empty one. Raises UnreadableNote."""
    try:
        if (
            len(block) > 4096
            or _DEEP.search(block)
            or block.count("[") + block.count("{") + block.count("?") > 12
        ):
            _refuse_deep(block)
        loader = Loader(block)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise unreadable(*_explained(error)) from None
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode) or root.tag != _MAP:
        raise unreadable(
            "the frontmatter is not made of `key: value` lines",
            "Write one `key: value` per line between the two `---`.",
        )
    return root


def _refuse_deep(block: str) -> None:
    """Anchors (a few hundred bytes can stand for gigabytes) and deep nesting are seen before
    anything is built."""
    depth = 0
    for event in yaml.parse(block, Loader=Loader):
        if getattr(event, "anchor", None) is not None:
            raise _at(
                event,
                "anchors and aliases (& and *) are not read",
                "Write the value out or put it in quotes.",
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise _at(event, f"lists are nested more than {DEEPEST} levels deep", "Flatten them.")


def pairs_of(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    """The entries of a mapping, keys as text. Raises UnreadableNote for a repeated or a compound
    key."""
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _at(
                key,
                "a key is a list or a mapping",
                "Keys are words; put a template like {{title}} in quotes.",
            )
        if key.value in seen:
            raise _at(key, f"{key.value!r:.60} is there twice", "Keep one of the two lines.")
        seen.add(key.value)
        yield key.value, value


def plain_mapping(node: yaml.MappingNode, depth: int = 0) -> dict[str, object]:
    """A mapping as plain data."""
    return {key: _plain_value(value, depth + 1) for key, value in pairs_of(node)}


def _plain_value(node: yaml.Node, depth: int = 0) -> object:
    tag, value = node.tag, node.value
    if isinstance(node, yaml.ScalarNode):
        if tag == _TEXT:
            return value
        if tag in _PLAIN:
            return resolve(value)
    elif depth > DEEPEST:
        raise _at(node, f"lists are nested more than {DEEPEST} levels deep", "Flatten them.")
    elif tag == _LIST and isinstance(node, yaml.SequenceNode):
        return [_plain_value(item, depth + 1) for item in value]
    elif tag == _MAP and isinstance(node, yaml.MappingNode):
        return plain_mapping(node, depth)
    raise _at(
        node,
        f"the YAML tag {tag.replace(_PREFIX, '!!')!r:.60} is not read",
        "Write the value without a tag.",
    )


def spelled_mapping(node: yaml.MappingNode) -> dict[str, object]:
    """A mapping with every scalar as it is written."""
    return {key: _spelled(value) for key, value in pairs_of(node)}


def _spelled(node: yaml.Node) -> object:
    sequence = isinstance(node, yaml.SequenceNode)
    return [_spelled(item) for item in node.value] if sequence else node.value


def _explained(error: Exception) -> tuple[str, str]:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    where = f"line {mark.line + 2}" if mark is not None else "the frontmatter"
    return (
        f"{where} is not YAML: {problem or str(error).splitlines()[0]:.200}",
        "Correct that line, or quote its value.",
    )


def _at(thing: Any, problem: str, hint: str) -> UnreadableNote:
    return unreadable(f"line {thing.start_mark.line + 2}: {problem}", hint)


def unreadable(reason: str, hint: str) -> UnreadableNote:
    """The error for a note that cannot be read."""
    return UnreadableNote(reason, kept=KEPT, hint=hint)


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


class _Handler(YAMLHandler):  # type: ignore[misc]  # the library ships no types
    """python-frontmatter with our boundaries and our values."""

    def split(self, text: str) -> tuple[str, str]:
        block = find_block(text)
        return ("", text) if block is None else (text[block.start : block.stop], text[block.end :])

    def load(self, fm: str, **_: object) -> dict[str, object]:
        root = parse_block(fm)
        return {} if root is None else plain_mapping(root)


_HANDLER: Final = _Handler()


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


def composed(meta: Mapping[str, object], body: str) -> bytes:
    """`compose` as the bytes of a file."""
    return encode(compose(meta, body))


def edited(data: bytes, changes: Mapping[str, object | None], body: str | None = None) -> bytes:
    """`edit` from bytes to bytes."""
    return encode(edit(decode(data), changes, body))


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
            start, stop = (block.start + at.index for at in (old.start_mark, old.end_mark))
            space = " " if text[start - 1] == ":" else ""
            yield text[:start] + space + inline(value) + text[stop:]
        elif isinstance(value, list) and value and isinstance(old, yaml.SequenceNode):
            yield _items(text, block, old, last, value)
        lines = entry(key, value, block.newline, _indent(text, first))
    yield text[:first] + lines + text[last:]
    yield text[:first] + lines + text[following:]


def _items(text: str, block: Block, old: yaml.SequenceNode, last: int, value: list[object]) -> str:
    """The lines of items that stay are kept, comments included."""
    ends = [_line_end(text, block.start + _end(item, text, block.start)) for item in old.value]
    starts = [_line_start(text, block.start + old.value[0].start_mark.index), *ends]
    # A comment above an item stays with that item.
    kept = [
        (_plain_value(item), text[a:b]) for item, a, b in zip(old.value, starts, ends, strict=False)
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
