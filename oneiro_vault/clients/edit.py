"""Our entries into and out of a client's settings, text to text; what is not ours keeps every
character.

In JSON an entry goes to the front of its container, so that taking it out gives the text from
before, whatever its layout. A container we make has white space before the entry; in one that was
there and empty the entry stands right behind the bracket: a removal knows which of the two goes.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any, Final, NamedTuple

NAME: Final = "oneiro"
HOOKS: Final = dict.fromkeys(
    "SessionStart UserPromptSubmit Stop PostCompact SessionEnd".split(), 10
)
HOOKS["UserPromptSubmit"] = 5
"""Event -> seconds a client waits for our hook."""
_COMMANDS: Final = ("command", "bash", "cmd")
"""What clients call the program of an entry."""
_CORE: Final = ("type", *_COMMANDS, "args")


class Trouble(ValueError):  # noqa: N818  # named after what happened
    """The text cannot be edited; `line` and `column` from 1."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(what)
        self.line, self.column = line, column


def trouble(what: str, text: str, position: int) -> Trouble:
    """What is wrong at a position of a text."""
    line = text.count("\n", 0, position) + 1
    return Trouble(what, line, position - text.rfind("\n", 0, position))


@dataclass(frozen=True)
class Want:
    """One entry: under `key` in the table that `path` leads to; without a key, in the list it leads
    to."""

    path: tuple[str, ...]
    entry: Mapping[str, Any] = field(hash=False)
    key: str = NAME


def core_of(want: Want) -> dict[str, object]:
    """The part of an entry that says which program is started; the rest a person may change."""
    entry = want.entry if want.key else want.entry.get("hooks", [want.entry])[0]
    return {name: entry[name] for name in _CORE if name in entry}


def brought(want: Want, entry: Mapping[str, Any] | None, text: str) -> Mapping[str, Any]:
    """What our entry says from now on: what is wanted, and of the `entry` that is there (None: none
    is) what somebody added to it (variables, a timeout). Raises Trouble where that is not ours."""
    if entry is None:
        return dict(want.entry)
    if not is_ours(entry):
        raise foreign(want, text, text.find(want.key))
    return {**entry, **core_of(want)}


def foreign(want: Want, text: str, position: int) -> Trouble:
    """The server of our name, at a position of a text, is somebody else's."""
    what = f'there is another server called "{want.key}", which setup did not write'
    return trouble(what, text, position)


def words(entry: object) -> list[str]:
    """The command line of a server's or hook's entry, in any client's way of writing it."""
    if not isinstance(entry, Mapping):
        return []
    command = next((entry[name] for name in _COMMANDS if name in entry), None)
    args = entry.get("args", [])
    if isinstance(command, list):
        return [str(word) for word in command]
    if not isinstance(command, str) or not isinstance(args, list):
        return []
    if args:
        return [command, *map(str, args)]
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def is_ours(entry: object) -> bool:
    """Does the entry start `oneiro mcp` or `oneiro hook`, from wherever and for whichever vault?"""
    found = words(entry)
    ours = found[:1] and found[0].rpartition("/")[2] == "oneiro"
    return bool(ours or "oneiro_vault" in found[1:3]) and not {"mcp", "hook"}.isdisjoint(found)


def server(command: Sequence[str], **extra: Any) -> dict[str, object]:
    """The entry most clients read: command and args apart."""
    return {"command": command[0], "args": list(command[1:])} | extra


def hooks(
    program: Sequence[str], vault: str, written: Callable[[list[str]], dict[str, object]] = server
) -> list[Want]:
    """One hook an event. `written`: a command line, apart or as one string for a shell."""
    found = []
    for event, seconds in HOOKS.items():
        command = written([*program, "hook", event, "--vault", vault])
        hook = {"type": "command"} | command | {"timeout": seconds}
        found.append(Want(("hooks", event), {"hooks": [hook]}, ""))
    return found


BOM: Final = "\ufeff"
_WHERE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_TRAILING: Final = re.compile(r"(?:^[ \t]*(?:#[^\n]*)?(?:\n|\r\n|\Z))+\Z", re.MULTILINE)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


def add(text: str | None, wants: Sequence[Want], style: str) -> str:
    """The text (None: no file) with everything wanted. `style`: json, jsonc, toml or yaml. Raises
    Trouble."""
    mark = BOM if text and text.startswith(BOM) else ""
    text = text[len(mark) :] if text is not None else None
    if style.startswith("json") and text and text.strip():
        document = Document(text, style)
        for want in wants:  # what is wrong is said of the file as it is
            document.ours(want, strict=True)
    for want in reversed(wants):  # each goes to the front
        text = _added(text, want, style)
    return mark + (text or "")


def _added(text: str | None, want: Want, style: str) -> str:
    if style == "toml":
        return _toml_added(text, want)
    if style == "yaml":
        from oneiro_vault.clients import yaml_edit

        return yaml_edit.added(text, want)
    return _json_added(text, want, style)


def drop(text: str, wants: Sequence[Want], style: str) -> str | None:
    """The text without what is ours; None when nothing but us was ever in the file. Raises
    Trouble."""
    mark = BOM if text.startswith(BOM) else ""
    rest: str | None = text[len(mark) :]
    for want in wants:
        if rest and rest.strip():
            rest = _dropped(rest, want, style)
    return None if rest is None else mark + rest


def _dropped(text: str, want: Want, style: str) -> str | None:
    if style == "toml":
        return _toml_dropped(text, want)
    if style == "yaml":
        from oneiro_vault.clients import yaml_edit

        return yaml_edit.dropped(text, want)
    return _json_dropped(text, want, style)


def current(text: str, want: Want, style: str) -> Mapping[str, Any] | None:
    """Our server's entry as it stands in the text, or None. Raises Trouble."""
    text = text.removeprefix(BOM)
    if not text.strip():
        return None
    if style == "yaml":
        from oneiro_vault.clients import yaml_edit

        return yaml_edit.current(text, want)
    entry: Any = _parsed(text) if style == "toml" else Document(text, style).value
    for name in (*want.path, want.key):
        entry = entry.get(name) if isinstance(entry, dict) else None
    return entry if isinstance(entry, dict) and is_ours(entry) else None


def literal(value: Any) -> str:
    """A string, bool, number, or a list or table of them, as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_name(key)} = {literal(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else literal(key)


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        end = text.count("\n") + 1, len(text) - text.rfind("\n")
        line, column = (int(where[1]), int(where[2])) if where and where[1] else end
        raise Trouble(_WHERE.sub("", str(error)), line, column) from error


def _table(text: str, want: Want) -> Any:
    tables = _parsed(text).get(want.path[0])
    return tables.get(want.key) if isinstance(tables, dict) else None


def _toml_added(text: str | None, want: Want) -> str:
    """With our table at its end."""
    entry = _table(text or "", want)
    values = brought(want, entry, text or "")
    if values == entry:
        return text or ""
    if entry is not None:
        text = _toml_dropped(text or "", want)
    newline = "\r\n" if text and "\r\n" in text else "\n"
    lines = [
        f"[{want.path[0]}.{want.key}]",
        *(f"{_name(key)} = {literal(value)}" for key, value in values.items()),
    ]
    after = ("" if text is None else text + newline) + "".join(line + newline for line in lines)
    try:
        tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        what = f'"{want.path[0]}" is written as one inline table, which setup cannot extend'
        raise trouble(what, text or "", (text or "").find(want.path[0])) from error
    return after


def _toml_dropped(text: str, want: Want) -> str | None:
    """Without our table, those in it, and the line end before it; comments behind it stay."""
    if not is_ours(_table(text, want)):
        return text
    parts = list(_tables(text))
    rest = ""
    first = next((number for number, part in enumerate(parts) if _is_of(part, want)), len(parts))
    head = "".join(parts[:first])
    for part in parts[first:]:
        comments = _TRAILING.search(part)
        rest += part if not _is_of(part, want) else comments[0] if comments else ""
    newline = "\r\n" if head.endswith("\r\n") else "\n"
    shorter = head.removesuffix(newline)
    if rest and shorter and not shorter.endswith("\n"):  # somebody wrote below
        shorter += newline
    if _table(shorter + rest, want) is not None:
        what = f'"{want.key}" is written in a way setup cannot take out'
        raise trouble(what, text, text.find(want.key))
    return shorter + rest if head or rest else None


def _tables(text: str) -> Iterator[str]:
    """The text cut before every table's header: a bracket at a line's start, before which all is
    whole."""
    begin = 0
    for found in _HEADER.finditer(text):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads(text[: found.start()])
            yield text[begin : found.start()]
            begin = found.start()
    yield text[begin:]


def _is_of(part: str, want: Want) -> bool:
    found = tomllib.loads(part)
    inner = found.get(want.path[0])
    return len(found) == 1 and isinstance(inner, dict) and list(inner) == [want.key]


_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=[ \t\r\n]*[\]}])', re.DOTALL)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BREAK: Final = re.compile("\r\n|\n|\r")
_OWN_LINE: Final = re.compile(r"(?:\r\n|\n|\r)[ \t]*\Z")
_MARGIN: Final = re.compile(r"[ \t]*")


class Element(NamedTuple):
    """A member of an object or an item of an array (`key` is ""): where it starts, its value starts
    and stops, and the comma behind it stands (-1: none)."""

    key: str
    start: int
    at: int
    stop: int
    comma: int
    value: Any


class Document:
    """A parsed text. `style` json has neither comments nor trailing commas. Raises Trouble."""

    def __init__(self, text: str, style: str) -> None:
        self.text = text
        self._commas = _blanked(_COMMENT, text) if style == "jsonc" else text
        self._plain = _blanked(_COMMA, self._commas) if style == "jsonc" else text
        try:
            self.value = json.loads(self._plain)
        except json.JSONDecodeError as error:
            raise Trouble(error.msg, error.lineno, error.colno) from error
        except (ValueError, RecursionError) as error:
            raise Trouble(str(error), 1, 1) from error
        self.root = self._skip(0)

    def _skip(self, position: int) -> int:
        found = _SPACE.match(self._plain, position)
        return found.end() if found else position

    def elements(self, at: int) -> list[Element]:
        """What is in the container that opens at a position."""
        found = []
        position = self._skip(at + 1)
        while self._plain[position] not in "]}":
            start, key = position, ""
            if self._plain[at] == "{":
                key, position = scanstring(self._plain, position + 1)
                position = self._skip(self._skip(position) + 1)
            value, stop = json.JSONDecoder().raw_decode(self._plain, position)
            blank = _SPACE.match(self._commas, stop)
            behind = blank.end() if blank else stop
            comma = behind if self._commas[behind : behind + 1] == "," else -1
            found.append(Element(key, start, position, stop, comma, value))
            position = self._skip(max(behind, comma + 1))
        return found

    def container(self, want: Want, depth: int) -> int | None:
        """Where what the first `depth` names lead to opens; None when some of it is missing. Raises
        Trouble."""
        at = self.root
        for step in range(depth + 1):
            is_list = step == len(want.path) and not want.key
            if self._plain[at] != ("[" if is_list else "{"):
                name = f'"{want.path[step - 1]}"' if step else "the file"
                kind = "array" if is_list else "object"
                raise trouble(f"{name} should hold an {kind}", self.text, at)
            if step < depth:
                named = [each for each in self.elements(at) if each.key == want.path[step]]
                if not named:
                    return None
                at = named[-1].at
        return at

    def ours(self, want: Want, strict: bool = False) -> Element | None:
        """The server of our name, or the hook that starts our program. `strict`: raises Trouble
        when somebody else's server has our name."""
        at = self.container(want, len(want.path))
        elements = [] if at is None else self.elements(at)
        if want.key:
            named = next((each for each in reversed(elements) if each.key == want.key), None)
            if named is None or is_ours(named.value):
                return named
            if strict:
                raise foreign(want, self.text, named.start)
            return None
        hooks = [hook for group in elements for hook in self._hooks(group, want)]
        return next((hook for hook in hooks if is_ours(hook.value)), None)

    def _hooks(self, group: Element, want: Want) -> list[Element]:
        """The hooks of a group; where a client writes them without groups, each is one itself."""
        if "hooks" not in want.entry:
            return [group]
        if not isinstance(group.value, dict) or not isinstance(group.value.get("hooks"), list):
            return []
        return self.elements([e for e in self.elements(group.at) if e.key == "hooks"][-1].at)

    def written(self, value: Any, margin: str) -> str:
        """A value as JSON, laid out as the file is; its later lines begin with `margin`."""
        lines = json.dumps(value, indent=self._unit(), ensure_ascii=False).split("\n")
        return (self._newline() + margin).join(lines)

    def inserted(self, at: int, key: str, value: Any) -> str:
        """The text with an element more at the front of a container."""
        elements = self.elements(at)
        first = elements[0] if elements else None
        own_line = first and _OWN_LINE.search(self.text, 0, first.start)
        margin = self.margin(first.start) if first and own_line else self.margin(at) + self._unit()
        lead = self._newline() + margin if first else ""
        name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
        element = lead + name + self.written(value, margin) + ("," if first else "")
        return self.text[: at + 1] + element + self.text[at + 1 :]

    def without(self, element: Element, elements: list[Element]) -> str:
        """The text without one element, its comma and the line it had to itself; comments stay."""
        index = elements.index(element)
        head, rest = self.text[: element.start], self.text[element.stop :]
        if element.comma >= 0:
            rest = self.text[element.stop : element.comma] + self.text[element.comma + 1 :]
        elif index:
            comma = elements[index - 1].comma
            head = self.text[:comma] + self.text[comma + 1 : element.start]
        alone = _OWN_LINE.sub("", head)
        ends = rest.lstrip(" \t")[:1] in ("\r", "\n", "")
        return (alone if ends or alone[-1:] in ("{", "[") else head) + rest

    def _unit(self) -> str:
        first = self.elements(self.root)
        return (self.margin(first[0].start) if first else "") or "  "

    def _newline(self) -> str:
        found = _BREAK.search(self.text)
        return found[0] if found else "\n"

    def margin(self, position: int) -> str:
        """The white space its line begins with."""
        line = max(self.text.rfind("\n", 0, position), self.text.rfind("\r", 0, position)) + 1
        found = _MARGIN.match(self.text, line)
        return found[0] if found and found.end() < len(self.text) and line else ""


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces for what the pattern finds outside of strings; line ends stay."""
    return pattern.sub(lambda found: found[1] or re.sub(r"[^\r\n]", " ", found[0]), text)


def _json_added(text: str | None, want: Want, style: str) -> str:
    if text is None or not text.strip():
        made = json.dumps(_nested(want, 0), indent=2, ensure_ascii=False)
        return f"{made}\n" if text is None else text + made
    document = Document(text, style)
    entry = document.ours(want)
    if entry is None:
        depth = len(want.path)
        while (at := document.container(want, depth)) is None:
            depth -= 1
        key, value = _element(want, depth)
        return document.inserted(at, key, value)
    value = entry.value | core_of(want)
    if value == entry.value:
        return text
    return (
        text[: entry.at] + document.written(value, document.margin(entry.at)) + text[entry.stop :]
    )


def _element(want: Want, depth: int) -> tuple[str, Any]:
    if depth == len(want.path):
        return want.key, want.entry
    return want.path[depth], _nested(want, depth + 1)


def _nested(want: Want, depth: int) -> Any:
    key, value = _element(want, depth)
    return {key: value} if key else [value]


def _json_dropped(text: str, want: Want, style: str) -> str | None:
    document = Document(text, style)
    entry = document.ours(want)
    at = document.container(want, len(want.path))
    if at is None or entry is None:
        return text
    elements = document.elements(at)
    outer = next(each for each in elements if each.at <= entry.at < each.stop)
    if not want.key and len(hooks := document._hooks(outer, want)) > 1:  # another hook in our group
        return _json_dropped(document.without(entry, hooks), want, style)
    for depth in range(len(want.path), -1, -1):
        text = document.without(outer, elements)
        made = outer.start > at + 1
        end = _SPACE.match(text, at + 1)
        if not made or end is None or text[end.end()] not in "]}":
            return text
        if depth == 0:
            around = text[:at], text[end.end() + 1 :]
            if "".join(around).strip():
                return "{}".join(around)
            return None if around == ("", "\n") else "".join(around)
        document = Document(text, style)
        inner, parent = at, document.container(want, depth - 1)
        assert parent is not None
        at, elements = parent, document.elements(parent)
        outer = next(each for each in elements if each.at == inner)
    return text
