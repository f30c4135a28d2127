"""Our entry into and out of a YAML file, text to text; what is not ours keeps every character.

An entry goes to the front of its mapping as lines of its own (where that is written in braces:
right behind the brace), so that taking it out gives the text from before. A key that we had to make
says so in a comment behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from oneiro_vault.clients.edit import Want, brought, is_ours, trouble

_MADE: Final = "# made by `oneiro setup`"
_NEW: Final = f"{_MADE}; there was no file before"
_NOTHING: Final = re.compile(r"(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\n|\r|\Z))*")
_UNIT: Final = "  "
_ODD: Final = "it is written in a way setup cannot extend"


def added(text: str | None, want: Want) -> str:
    """The text (None: no file) with our entry; what somebody added to it stays. Raises Trouble."""
    entry = _found(text or "", want)
    values = brought(want, entry, text or "")
    if values == entry:
        return text or ""
    if entry is not None:
        text = dropped(text or "", want) or ""
    after = _inserted(text, want, values)
    if _found(after, want) != values:
        raise trouble(_ODD, text or "", 0)
    return after


def dropped(text: str, want: Want) -> str | None:
    """The text without our entry; None when nothing but us was ever in the file. Raises Trouble."""
    entry = _found(text, want)
    if entry is None or not is_ours(entry):
        return text
    root = _root(text)
    key, table = _member(root, want.path[0], text)
    name, value = _member(table, want.key, text)
    alone = len(table.value) == 1
    if getattr(table, "flow_style", False):
        made = alone and text[table.start_mark.index + 1] == " "
        first, last = (key, table) if made and root and root.flow_style else (name, value)
        return _without_flow(text, first.start_mark.index, last.end_mark.index)
    comment = _rest_of_line(text, key.end_mark.index)
    first = key if alone and _MADE in comment else name
    rest = _without_lines(text, first.start_mark.index, _end(value))
    return rest if rest or first is name or _NEW not in comment else None


def current(text: str, want: Want) -> Mapping[str, Any] | None:
    """Our server's entry as it stands in the text, or None. Raises Trouble."""
    entry = _found(text, want)
    return entry if entry is not None and is_ours(entry) else None


def _loaded(text: str, load: Any) -> Any:
    try:
        return load(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.index if error.problem_mark else 0
        raise trouble(", ".join(filter(None, (error.context, error.problem))), text, at) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        at = getattr(error, "position", 0)
        raise trouble(str(error).partition("\n")[0], text, at) from error


def _found(text: str, want: Want) -> dict[str, Any] | None:
    root = _loaded(text, yaml.load)
    table = root.get(want.path[0]) if isinstance(root, dict) else None
    entry = table.get(want.key) if isinstance(table, dict) else None
    return entry if isinstance(entry, dict) else None


def _root(text: str) -> yaml.MappingNode | None:
    """The mapping that the file is; None for a file that says nothing."""
    node = _loaded(text, yaml.compose)
    if node is None and _NOTHING.fullmatch(text):
        return None
    if not isinstance(node, yaml.MappingNode):
        raise trouble("the file should hold a mapping", text, 0)
    return node


def _member(table: yaml.Node | None, name: str, text: str) -> tuple[yaml.Node, yaml.Node]:
    for key, value in table.value if table is not None else ():
        if key.value == name:
            return key, value
    raise trouble(f'"{name}" is written in a way setup cannot take out', text, text.find(name))


def _inserted(text: str | None, want: Want, values: Mapping[str, Any]) -> str:
    root = _root(text or "")
    newline = "\r\n" if text and "\r\n" in text else "\n"
    if root is None:
        head = f"{want.path[0]}: {_NEW if text is None else _MADE}"
        return newline.join([head, *_lines(want, values, _UNIT), text or ""])
    named = [value for key, value in root.value if key.value == want.path[0]]
    if root.flow_style and not named:
        made = f'{{ "{want.key}": {_json(values)}}}'  # the space says whose braces these are
        return _behind(text or "", root, f'"{want.path[0]}": {made}')
    if not named:
        lines = [f"{want.path[0]}: {_MADE}", *_lines(want, values, _UNIT)]
        return _before(text or "", root, lines, newline)
    table = named[-1]
    if isinstance(table, yaml.MappingNode) and table.flow_style:
        return _behind(text or "", table, f'"{want.key}": {_json(values)}')
    if isinstance(table, yaml.MappingNode):
        margin = " " * table.value[0][0].start_mark.column
        return _before(text or "", table, _lines(want, values, margin), newline)
    if isinstance(table, yaml.ScalarNode) and table.value == "" and not table.style:
        at = table.end_mark.index + len(_rest_of_line(text or "", table.end_mark.index))
        more = "".join(newline + line for line in _lines(want, values, _UNIT))
        return (text or "")[:at] + more + (text or "")[at:]
    what = f'"{want.path[0]}" should hold a mapping'
    raise trouble(what, text or "", table.start_mark.index)


def _lines(want: Want, values: Mapping[str, Any], margin: str) -> list[str]:
    """The entry; JSON on one line is YAML too."""
    rows = (f"{margin}{_UNIT}{name}: {_json(value)}" for name, value in values.items())
    return [f"{margin}{want.key}:", *rows]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _before(text: str, table: yaml.MappingNode, lines: list[str], newline: str) -> str:
    mark = table.value[0][0].start_mark
    start = mark.index - mark.column
    if text[start : mark.index].strip(" "):
        raise trouble(_ODD, text, mark.index)
    return text[:start] + "".join(line + newline for line in lines) + text[start:]


def _behind(text: str, table: yaml.MappingNode, element: str) -> str:
    at = table.start_mark.index + 1
    if text[at - 1] != "{":  # an anchor or a tag stands before it
        raise trouble(_ODD, text, at)
    return text[:at] + element + (", " if table.value else "") + text[at:]


def _rest_of_line(text: str, start: int) -> str:
    found = re.compile(r"[^\r\n]*").match(text, start)
    return found[0] if found else ""


def _end(node: yaml.Node) -> int:
    """Where the last character of a node stands: a block's own mark lies behind what follows."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _without_lines(text: str, start: int, end: int) -> str:
    """Without the lines from one position to another, and the line end that came with them."""
    start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    if text[end - 1 : end] != "\n":
        end += len(_rest_of_line(text, end))
        gap = re.compile("\r\n|\n|\r").match(text, end)
        if gap is None:  # the last line has no end: the one before it gives its own
            return re.sub("(?:\r\n|\n|\r)\\Z", "", text[:start])
        end = gap.end()
    return text[:start] + text[end:]


def _without_flow(text: str, start: int, end: int) -> str:
    head, rest = text[:start], text[end:]
    if comma := re.match(r"[ \t\r\n]*, ?", rest):
        return head + rest[comma.end() :]
    return re.sub(r",[ \t\r\n]*\Z", "", head) + rest
