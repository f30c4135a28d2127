"""Where a note's YAML block is, what it says (libyaml's nodes under rules that hold no surprise),
and how one value is written: plain where every YAML reader agrees that it is text, else quoted.

Only true/false, decimal integers, decimal floats and null are resolved. Anchors, tags, deep nesting
and repeated keys are refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import yaml

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
        return (
            "{"
            + ", ".join(
                f"{inline(key, True)}: {inline(inner, True)}" for key, inner in value.items()
            )
            + "}"
        )
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


def plain_mapping(node: yaml.MappingNode, depth: int) -> dict[str, object]:
    """A mapping as plain data."""
    return {key: plain_value(value, depth + 1) for key, value in pairs_of(node)}


def plain_value(node: yaml.Node, depth: int) -> object:
    """A node as plain data. Raises UnreadableNote for tags and too deep nesting."""
    tag, value = node.tag, node.value
    if isinstance(node, yaml.ScalarNode):
        if tag == _TEXT:
            return value
        if tag in _PLAIN:
            return resolve(value)
    elif depth > DEEPEST:
        raise _at(node, f"lists are nested more than {DEEPEST} levels deep", "Flatten them.")
    elif tag == _LIST and isinstance(node, yaml.SequenceNode):
        return [plain_value(item, depth + 1) for item in value]
    elif tag == _MAP and isinstance(node, yaml.MappingNode):
        return plain_mapping(node, depth)
    raise _at(
        node,
        f"the YAML tag {tag.replace(_PREFIX, '!!')!r:.60} is not read",
        "Write the value without a tag.",
    )


def spelled(node: yaml.Node) -> object:
    """A node with its scalars as they are written."""
    return (
        [spelled(item) for item in node.value]
        if isinstance(node, yaml.SequenceNode)
        else node.value
    )


def spelled_mapping(node: yaml.MappingNode) -> dict[str, object]:
    """A mapping with every scalar as it is written."""
    return {key: spelled(value) for key, value in pairs_of(node)}


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
