"""What only Obsidian has: canvases, as text, and daily notes, whose day their names tell as the
vault has it set."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from oneiro_vault.core.markdown.quoting import cut
from oneiro_vault.core.memory import named_date
from oneiro_vault.errors import OneiroError
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.chats.dialogue import entries
from oneiro_vault.importers.memories.written_note import line, prose

_SETTINGS: Final = ".obsidian/daily-notes.json"
_USUAL: Final = "YYYY-MM-DD"
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WORD: Final = r"[^\W\d_]+"
_NAMED: Final = {
    "YYYY": ("year", r"\d{4}"),
    "MMMM": ("word", _WORD),
    "MMM": ("word", _WORD),
    "MM": ("month", r"\d\d"),
    "M": ("month", r"\d\d?"),
    "DD": ("day", r"\d\d"),
    "Do": ("day", r"\d\d?"),
    "D": ("day", r"\d\d?"),
}
_TOKEN: Final = re.compile(
    r"\[([^\]]*)\]|(YYYY|MMMM|MMM|MM|M|DD|Do|D|d{2,4}|ww|WW|w|W|Q)|(.)", re.S
)

_LABEL: Final = 60
_EDGES: Final = "## Arrows"


class Days:
    """Tells the day of a note from its path."""

    def __init__(self, folder: str = "", form: str = _USUAL) -> None:
        self._form = _pattern(folder, form) if form != _USUAL else None

    @classmethod
    def of(cls, archive: Archive) -> Days:
        """As the vault in an archive has it set."""
        if _SETTINGS not in archive.names():
            return cls()
        try:
            said = json.loads(archive.read(_SETTINGS, 1 << 20))
            return cls(str(said.get("folder") or ""), str(said.get("format") or _USUAL))
        except (OneiroError, ValueError, AttributeError, RecursionError, re.error):
            return cls()

    def day(self, path: str) -> datetime | None:
        """Its beginning, in UTC; None for a note that is of no day."""
        if self._form and (found := self._form.fullmatch(path)):
            try:
                return _date(found.groupdict())
            except ValueError:
                return None
        said = named_date(path)
        return datetime.fromisoformat(said) if said else None


def _pattern(folder: str, form: str) -> re.Pattern[str] | None:
    """A format of moment.js as a pattern of whole paths; None when it names no day."""
    seen: set[str] = set()
    parts = [re.escape(folder.strip("/") + "/") if folder.strip("/") else "(?:.*/)?"]
    for token in _TOKEN.finditer(form):
        if token[2]:
            parts.append(_part(token[2], seen))
        else:
            parts.append(re.escape(token[1] if token[1] is not None else token[3]))
    whole = {"year", "day"} <= seen and seen & {"month", "word"}
    return re.compile("".join(parts) + r"\.md", re.IGNORECASE) if whole else None


def _part(token: str, seen: set[str]) -> str:
    name, form = _NAMED.get(token, ("", _WORD if token.startswith("d") else r"\d+"))
    ending = "(?:st|nd|rd|th)" if token == "Do" else ""
    if not name or name in seen:  # `YYYY/MM/YYYY-MM-DD`
        return form + ending
    seen.add(name)
    return f"(?P<{name}>{form}){ending}"


def _date(found: dict[str, str]) -> datetime:
    """Raises ValueError for a day that there is not, or a month in another language."""
    word = found.get("word", "")[:3].lower()
    month = int(found["month"]) if found.get("month") else _MONTHS.index(word) + 1
    return datetime(int(found["year"]), month, int(found["day"]), tzinfo=UTC)


# -- canvases


def canvas(data: bytes) -> str:
    """The text of a canvas (JSON Canvas 1.0): its cards from top to bottom, those of a group under
    its name, and what its arrows say; "" when nothing is on it. Raises ValueError."""
    found = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    nodes = sorted(filter(_is_node, entries(found.get("nodes"))), key=_place)
    cards = [node for node in nodes if node.get("type") != "group"]
    parts: list[str] = []
    for group in (node for node in nodes if node.get("type") == "group"):
        inside = [card for card in cards if _within(card, group)]
        cards = [card for card in cards if card not in inside]
        parts += [f"## {line(group.get('label')) or 'Group'}", *filter(None, map(_card, inside))]
    parts = [*filter(None, map(_card, cards)), *parts]
    return "\n\n".join([*parts, *_arrows(nodes, entries(found.get("edges")))])


def _arrows(nodes: Sequence[Mapping[str, Any]], edges: Sequence[Any]) -> Iterator[str]:
    named = {str(node.get("id")): _label(node) for node in nodes}
    lines = []
    for edge in filter(_is_node, edges):
        ends = [named.get(str(edge.get(key)), "") for key in ("fromNode", "toNode")]
        if all(ends):
            said = line(edge.get("label"))
            lines.append(f"- {ends[0]} → {ends[1]}{f': {said}' if said else ''}")
    if lines:
        yield _EDGES
        yield "\n".join(lines)


def _card(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    if kind == "file" and line(node.get("file")):
        return f"![[{_target(node)}]]"
    if kind == "link" and line(node.get("url")):
        return f"<{line(node.get('url'))}>"
    return prose(node.get("text"))


def _target(node: Mapping[str, Any]) -> str:
    return line(node.get("file")).removesuffix(".md") + line(node.get("subpath"))


def _label(node: Mapping[str, Any]) -> str:
    if node.get("type") == "file":
        return f"[[{_target(node)}]]"
    said = prose(node.get("text")) or line(node.get("label")) or line(node.get("url"))
    first = said.splitlines()[0].lstrip("#>-* ") if said else ""
    return cut(first, _LABEL)


def _place(node: Mapping[str, Any]) -> tuple[float, float, str]:
    return _number(node.get("y")), _number(node.get("x")), str(node.get("id"))


def _within(card: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    return all(
        _number(group.get(at)) <= _number(card.get(at)) <= _number(group.get(at)) + size
        for at, size in (("x", _number(group.get("width"))), ("y", _number(group.get("height"))))
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _is_node(value: object) -> bool:
    return isinstance(value, dict)
