"""Texts as a model reads and edits them: numbered lines, in which no delimiter is left, and
sizes."""

from __future__ import annotations

from typing import Final

from oneiro_vault.core.markdown.quoting import escape
from oneiro_vault.errors import InvalidInput, shown

_ROOM: Final = 100_000
"""Characters of one view."""
_WIDTH: Final = 6
_AROUND: Final = 2


def spans(body: str, text: str) -> list[tuple[int, int]]:
    """Where in `body` the text stands, as it is stored or else as it is shown (with delimiters
    escaped)."""
    found, seen = _all(body, text), escape(body)
    if found or seen == body:
        return found
    places = _places(body, seen)
    return [
        (places[start], places[end])
        for start, end in _all(seen, text)
        if start in places and end in places
    ]


def _all(text: str, part: str) -> list[tuple[int, int]]:
    """Where `part` stands in `text`, overlapping ones too."""
    found: list[tuple[int, int]] = []
    at = text.find(part) if part else -1
    while at >= 0:
        found.append((at, at + len(part)))
        at = text.find(part, at + 1)
    return found


def _places(body: str, seen: str) -> dict[int, int]:
    """Offset in what is shown -> offset in the body. Escaping only puts `&lt;` for a bracket, or
    one `amp;` more behind an `&`."""
    places, at = {}, 0
    for here, character in enumerate(body):
        places[at] = here
        if character == "&":
            at += len("&amp;") if _amps(seen, at) > _amps(body, here) else 1
        else:
            at += 1 if seen[at] == character else len("&lt;")
    places[at] = len(body)
    return places


def _amps(text: str, at: int) -> int:
    """How many `amp;` follow the `&` at `at`."""
    count, at = 0, at + 1
    while text.startswith("amp;", at):
        count, at = count + 1, at + 4
    return count


def numbered(body: str, view_range: list[int] | None) -> list[str]:
    """The lines of a body behind their numbers, those that are asked for and fit. Raises
    InvalidInput for a range that is none."""
    lines = escape(body).split("\n")
    first, last = _range(view_range, len(lines))
    told: list[str] = []
    room = _ROOM
    for number in range(first, last + 1):
        line = lines[number - 1]
        if len(line) > room and told:
            return [
                *told,
                f"(cut: lines {number} to {len(lines)} are seen with view_range [{number}, -1])",
            ]
        told.append(
            _line(number, line[:_ROOM])
            + (f" (cut: {len(line) - _ROOM} more characters)" if len(line) > _ROOM else "")
        )
        room -= len(line)
    return told


def around(text: str, at: int) -> str:
    """The line of a change and its neighbours, numbered."""
    lines, changed = escape(text).split("\n"), text.count("\n", 0, at)
    near = range(max(0, changed - _AROUND), min(len(lines), changed + _AROUND + 1))
    return "\n".join(_line(number + 1, lines[number]) for number in near)


def _line(number: int, text: str) -> str:
    return f"{number:>{_WIDTH}}\t{text}"


def _range(view_range: list[int] | None, lines: int) -> tuple[int, int]:
    """First and last line to show, from 1; -1 is the last one there is."""
    if view_range is None:
        return 1, lines
    whole = isinstance(view_range, list) and len(view_range) == 2
    if whole and all(isinstance(one, int) and not isinstance(one, bool) for one in view_range):
        first, last = (
            max(1, view_range[0]),
            lines if view_range[1] == -1 else min(view_range[1], lines),
        )
        if first <= last:
            return first, last
    raise InvalidInput(
        f"Invalid `view_range`: {shown(view_range)}",
        hint=f"Give two line numbers within [1, {lines}], or -1 for the end.",
    )


def size(count: int) -> str:
    """`1.5K` and the like."""
    number, unit = float(count), "B"
    for unit in "BKMG":
        if number < 1024 or unit == "G":
            break
        number /= 1024
    return f"{number:.1f}".removesuffix(".0") + unit


def brief(text: str) -> str:
    """A text that an answer repeats, its middle left out when it is long."""
    return text if len(text) <= 200 else f"{text[:140]}…{text[-40:]}"
