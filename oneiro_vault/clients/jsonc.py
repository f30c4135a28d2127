"""Our entries into and out of a JSON or JSONC text; everything else keeps every character.

An entry goes to the front of its container, so that taking out what was put in gives the text from
before, whatever its layout, commas and comments. A container we make has white space before the
entry; in one that was there and empty the entry stands right behind the bracket: so a removal
knows which of the two is to go.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any, Final, NamedTuple

from oneiro_vault.clients.entries import Trouble, Want, core_of, is_ours, trouble

_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=[ \t\r\n]*[\]}])', re.DOTALL)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BREAK: Final = re.compile("\r\n|\n|\r")
_OWN_LINE: Final = re.compile(r"(?:\r\n|\n|\r)[ \t]*\Z")
_MARGIN: Final = re.compile(r"[ \t]*")


class Element(NamedTuple):
    """A member of an object or an item of an array (`key` is ""): where it starts, where its value
    starts and stops, and where the comma behind it stands (-1: there is none)."""

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
        """Where what the first `depth` names of the way lead to opens; None when some of it is
        missing. Raises Trouble."""
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
        """Our entry: the server of our name, or the hook that starts our program. Raises Trouble
        (`strict`) when somebody else's server has our name."""
        at = self.container(want, len(want.path))
        elements = [] if at is None else self.elements(at)
        if want.key:
            named = next((each for each in reversed(elements) if each.key == want.key), None)
            if named is None or is_ours(named.value):
                return named
            if strict:
                what = f'there is another server called "{want.key}", which setup did not write'
                raise trouble(what, self.text, named.start)
            return None
        hooks = [hook for group in elements for hook in self._hooks(group)]
        return next((hook for hook in hooks if is_ours(hook.value)), None)

    def _hooks(self, group: Element) -> list[Element]:
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
        """The text without one element of a container, its comma and the line it had to itself;
        comments around it stay."""
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
        """What one level is indented by."""
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


def add(text: str | None, want: Want, style: str) -> str:
    """The text (None: no file) with one entry of ours in it. Raises Trouble."""
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
    """What is to be put into the container at a depth of the way: its name there, and itself."""
    if depth == len(want.path):
        return want.key, want.entry
    return want.path[depth], _nested(want, depth + 1)


def _nested(want: Want, depth: int) -> Any:
    key, value = _element(want, depth)
    return {key: value} if key else [value]


def drop(text: str, want: Want, style: str) -> str | None:
    """The text without one entry of ours; None when nothing but us was ever in the file. Raises
    Trouble."""
    document = Document(text, style)
    entry = document.ours(want)
    at = document.container(want, len(want.path))
    if at is None or entry is None:
        return text
    elements = document.elements(at)
    outer = next(each for each in elements if each.at <= entry.at < each.stop)
    if not want.key and len(hooks := document._hooks(outer)) > 1:  # another hook in our group
        return drop(document.without(entry, hooks), want, style)
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
