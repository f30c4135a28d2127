"""The keys of the full-screen programs: one table drives what a key does, the line at the foot and
the help. The letters are those of the web page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """`names` as Textual calls keys, comma between them; what it does, for a program and for a
    person; `foot`: one word for the foot of the screen, "" for a key that only the help tells."""

    names: str
    action: str
    says: str
    foot: str = ""


MOVING: Final = (
    Key("j,down", "move(1)", "the next row"),
    Key("k,up", "move(-1)", "the row before"),
    Key("G,end", "end(1)", "the last row (the first: g g)"),
    Key("space,pagedown", "page(1)", "a page further"),
    Key("b,pageup", "page(-1)", "a page back"),
)
EVERYWHERE: Final = (
    Key("g", "go", "go somewhere: a letter follows", "go"),
    Key("question_mark", "help", "this help", "help"),
    Key("q", "leave", "leave", "leave"),
)
REVIEW: Final = (
    Key("a", "accept", "accept: it happens now", "accept"),
    Key("r", "reject", "reject, with a reason: it is not proposed again", "reject"),
    Key("e", "edit", "edit the note in $EDITOR; what you save is accepted", "edit"),
    Key("A", "accept_kind", "accept all of this kind"),
    Key("slash", "filter", "show only what holds these words", "filter"),
    *MOVING,
    *EVERYWHERE,
)
MEMORY: Final = (
    Key("h", "history", "how it came to be, and what changed it", "history"),
    Key("e", "edit", "say it anew in $EDITOR (reframe)", "edit"),
    Key("u", "undo", "take its last change back", "undo"),
    Key("f", "forget", "forget it (`oneiro restore` brings it back)", "forget"),
)
SEARCH: Final = (
    Key("slash", "ask", "type another question", "search"),
    Key("enter", "open", "read the whole note", "read"),
    *MEMORY,
    *MOVING,
    *EVERYWHERE,
)
NOTE: Final = (*MEMORY, *MOVING[:2], *MOVING[3:], *EVERYWHERE)
PLACES: Final = {
    "s": ("search", "search"),
    "d": ("review", "what dreams propose"),
    "g": ("top", "the first row"),
}
"""The letter after `g` -> place, what it is."""
_SIGNS: Final = {
    "question_mark": "?", "slash": "/", "down": "↓", "up": "↑", "enter": "Enter", "space": "Space",
    "end": "End", "pagedown": "PgDn", "pageup": "PgUp",
}  # fmt: skip


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """The keys as Textual takes them."""
    return [
        Binding(one.names, one.action, one.foot or one.says, show=False, key_display=sign(one))
        for one in keys
    ]


def sign(one: Key) -> str:
    """How a key is written for a person: `j ↓`."""
    return " ".join(_SIGNS.get(name, name) for name in one.names.split(","))


def foot(keys: Sequence[Key]) -> str:
    """The line at the foot of a screen; none is wider than 80 columns."""
    return "  ".join(f"{sign(one).split()[0]} {one.foot}" for one in keys if one.foot)


def told(keys: Sequence[Key]) -> Iterator[str]:
    """The help, a key a line."""
    for one in keys:
        yield f"{sign(one):<12} {one.says}"
    for letter, (_, what) in PLACES.items():
        yield f"{f'g {letter}':<12} {what}"
