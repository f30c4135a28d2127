"""Three versions of a frontmatter become one, key by key: what one side changed is taken, spelling
and comments with it; where both changed a key its own rule decides. Lists are sets against the
base, dates and trust go to the safe end, everything else to the first side.

A merge driver is started for every note, and YAML takes as long to load as the rest of it: the
plain style that this program writes itself is read here by its lines; `merge_yaml` reads all
others.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final, NamedTuple

from oneiro_vault.core.merge.units import KIND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

LISTS: Final = frozenset(
    ("tags", "aliases", "about", "topics", "derived_from", "supersedes", "flags", "spans")
)
SILENT: Final = frozenset(
    (
        "superseded_by",
        "importance",
        "confidence",
        "level",
        "budget",
        "priority",
        "turn",
        "captured",
        "encoded",
    )
)
"""Keys whose other value is not worth a question: a number, or what the other notes tell as
well."""
MISSING: Final = object()
NEVER: Final = float("-inf")
LARGEST: Final = 65_536
"""Characters of frontmatter that are read here (`frontmatter.LARGEST`)."""

_STATUS: Final = ("archived", "superseded", "dormant", "pending")
"""Strongest first; `active` is what none of them is."""
_RETIRED: Final = "superseded"
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)")
_TRUST: Final = ("external", "model", "said", "user")
_BARE: Final = re.compile(r"[A-Za-z0-9/($]")
_FLOW: Final = re.compile(r"\[(?:[A-Za-z_][\w.-]*(?:, [A-Za-z_][\w.-]*)*)?\]", re.ASCII)
_NO_TEXT: Final = re.compile(r"(?i:true|false|yes|no|on|off|y|n|null)")
"""What some YAML reader takes for something else than text, unless it is in quotes."""
_KEY: Final = re.compile(r"([A-Za-z_][\w-]*):(?: (.*))?\Z", re.ASCII)
_CLOSE: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.M)


class Head(NamedTuple):
    """`meta` key -> value, `lines` key -> its own lines, `notes` key -> comment lines above it;
    `start`..`stop` is the YAML, both 0 when there is none. Not `plain`: read as YAML, without
    `lines` when keys have no lines of their own."""

    text: str
    meta: dict[str, object]
    body: str
    lines: dict[str, str]
    notes: dict[str, str]
    start: int = 0
    stop: int = 0
    plain: bool = True


def read(text: str) -> Head | None:
    """A text taken apart by its lines; None when it takes a YAML reader to do it."""
    if "\r" in text or "<<<<<<<" in text or text.startswith("\ufeff"):
        return None
    if not text.startswith("---"):
        return Head(text, {}, text, {}, {})
    closed = _CLOSE.search(text, 4)
    if (
        not text.startswith("---\n")
        or closed is None
        or closed[0] != "---"
        or closed.start() > LARGEST
    ):
        return None
    head = Head(text, {}, text[closed.end() + 1 :], {}, {}, 4, closed.start())
    return head if _take(head, text[4 : closed.start()].splitlines()) else None


def _take(head: Head, lines: list[str]) -> bool:
    """False for a line that is not in the plain style."""
    key, above = "", ""
    for line in lines:
        found = _KEY.match(line)
        if (
            line.startswith("  - ")
            and key
            and isinstance(head.meta[key] or [], list)
            and not head.lines[key].endswith("]\n")
            and not above
        ):
            value, items = _scalar(line[4:]), head.meta[key] or []
            if value is None or not isinstance(items, list):
                return False
            head.meta[key] = [*items, value]
            head.lines[key] += line + "\n"
        elif line.startswith("#"):
            above += line + "\n"
        elif found and found[1] not in head.meta and (not found[2] or _value(found[2]) is not None):
            key = found[1]
            head.meta[key] = _value(found[2]) if found[2] else None
            head.lines[key], head.notes[key], above = line + "\n", above, ""
        else:
            return False
    return not above


def _value(text: str) -> object:
    return (
        [word for word in text[1:-1].split(", ") if word]
        if _FLOW.fullmatch(text)
        else _scalar(text)
    )


def _scalar(text: str) -> str | None:
    """None for what may not be the same text to every YAML reader."""
    if not text.isprintable():
        return None
    quote, inner = text[:1], text[1:-1]
    if quote in ("'", '"'):
        return (
            inner
            if len(text) > 1
            and text[-1] == quote
            and quote not in inner
            and (quote == "'" or "\\" not in inner)
            else None
        )
    bare = _BARE.match(text) and ": " not in text and " #" not in text and text[-1] not in ": "
    return text if bare else None


def instant(value: object) -> float:
    """Epoch seconds of a date in the frontmatter; minus infinity for what is none."""
    try:
        found = datetime.fromisoformat(str(value))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return NEVER


class Merged:
    """`meta`: what the result must say; `taken`: key -> the head whose lines say it, or come
    nearest; `held`: what the second side said and the result does not."""

    def __init__(self) -> None:
        self.meta: dict[str, object] = {}
        self.taken: dict[str, Head] = {}
        self.held: dict[str, object] = {}


def merge(base: Head, first: Head, second: Head, body: str = "") -> Merged:
    """Decide every key. `body`: the merged words, with which a title goes that was taken from
    them."""
    found = Merged()
    for key in _order(first, second):
        b, f, s = (head.meta.get(key, MISSING) for head in (base, first, second))
        if key == "valid_until" and b is MISSING and _same_end(base, first, second):
            s = f = _earlier(f, s)
        value = _quoting(key, (base, first, second), body) or _decided(key, b, f, s)
        if value is MISSING:
            if s is not MISSING and not same(s, b):
                found.held[key] = s
            continue
        found.meta[key] = value
        found.taken[key] = _source(key, value, base, first, second)
        if _lost(key, value, b, f, s):
            found.held[key] = s
    return found


def _quoting(key: str, heads: Sequence[Head], body: str) -> object:
    """The side's value with which the merged words begin, where it always was their beginning."""
    if key not in ("title", "description"):
        return None
    if not all(_begins(head.body, head.meta.get(key)) for head in heads):
        return None
    return next((head.meta[key] for head in heads[1:] if _begins(body, head.meta[key])), None)


def _begins(body: str, said: object) -> bool:
    words = said.strip("\"'").rstrip("…") if isinstance(said, str) else ""
    return bool(words) and body.lstrip("#>-* \n").startswith(words)


def _same_end(base: Head, first: Head, second: Head) -> bool:
    """Two clocks of machines saw one end; what a person writes is a day."""
    both = (first, second)
    retired = (
        all(head.meta.get("status") == _RETIRED for head in both)
        and base.meta.get("status") != _RETIRED
    )
    return retired and all(_STAMP.fullmatch(str(head.meta.get("valid_until", ""))) for head in both)


def _order(first: Head, second: Head) -> list[str]:
    """Keys of the second alone stand behind their own predecessors."""
    keys = list(first.meta)
    before = ""
    for key in second.meta:
        if key not in first.meta:
            keys.insert(keys.index(before) + 1 if before else 0, key)
        before = key
    return keys


def _decided(key: str, base: Any, first: Any, second: Any) -> Any:
    if same(first, second) or same(second, base):
        return first
    if same(first, base):
        return second
    if key in LISTS or (isinstance(first, list) and isinstance(second, list)):
        return _united(key, base, first, second)
    return _RULES.get(key, lambda one, _other: one)(first, second)


def _united(key: str, base: Any, first: Any, second: Any) -> Any:
    was, mine, theirs = (_items(key, value) for value in (base, first, second))
    known = {repr(item) for item in was}
    kept = {repr(item) for item in theirs}
    found = [item for item in mine if repr(item) in kept or repr(item) not in known]
    have = {repr(item) for item in found} | {repr(item) for item in mine}
    found += [item for item in theirs if repr(item) not in known and repr(item) not in have]
    return found if found or MISSING not in (first, second) else MISSING


def _items(key: str, value: Any) -> list[Any]:
    """A list on one line of text is taken apart as `memory` reads it."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        text = value.replace(" ", ",") if key in ("tags", "derived_from", "supersedes") else value
        return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]
    return [] if value is MISSING or value is None else [value]


def _ranked(order: tuple[str, ...]) -> Callable[[Any, Any], Any]:
    def rule(first: Any, second: Any) -> Any:
        ranks = [order.index(value) if value in order else len(order) for value in (first, second)]
        return second if ranks[1] < ranks[0] else first

    return rule


def _earlier(first: Any, second: Any) -> Any:
    return (
        second
        if (instant(second) == NEVER, instant(second)) < (instant(first) == NEVER, instant(first))
        else first
    )


def _later(first: Any, second: Any) -> Any:
    return second if instant(second) > instant(first) else first


_RULES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "created": _earlier,
    "timestamp": _later,
    "trust": _ranked(_TRUST),
    "status": _ranked(_STATUS),
}


def _lost(key: str, value: Any, base: Any, first: Any, second: Any) -> bool:
    if (
        key in LISTS
        or key in _RULES
        or key in SILENT
        or (isinstance(value, list) and isinstance(second, list))
    ):
        return False
    return (
        second is not MISSING
        and not (same(second, value) or same(second, base))
        and not same(first, base)
    )


def same(one: Any, other: Any) -> bool:
    """Are two values the same, and of the same type?"""
    return one is other or (
        one is not MISSING and other is not MISSING and repr(one) == repr(other)
    )


def _source(key: str, value: object, base: Head, first: Head, second: Head) -> Head:
    holders = [head for head in (first, second) if key in head.meta]
    exact = [head for head in holders if same(head.meta[key], value)]
    if len(exact) == 2 and first.lines.get(key) == base.lines.get(key):
        return second  # the same value, spelled anew
    return (exact or holders)[0]


def compose(merged: Merged, base: Head, first: Head, second: Head, body: str) -> str | None:
    """The text of the merged frontmatter over `body`, all three heads being plain; None when it
    takes YAML to write it."""
    if not first.stop and not second.stop:
        return None if body.startswith("---") else body
    parts = []
    for key in merged.meta:
        above = comments(*(head.notes.get(key, "") for head in (base, first, second)))
        lines = _lines(key, merged, first, second)
        if lines is None:
            return None
        parts.append(above + lines)
    block = "".join(parts)
    return f"---\n{block}---\n{body}" if len(block) + 4 <= LARGEST else None


def _lines(key: str, merged: Merged, first: Head, second: Head) -> str | None:
    value, nearest = merged.meta[key], merged.taken[key]
    if same(nearest.meta[key], value):
        return nearest.lines[key]
    items = value if isinstance(value, list) else []
    if nearest.lines[key].endswith("]\n"):  # a list on one line stays one
        line = f"[{', '.join(map(str, items))}]"
        plain = _FLOW.fullmatch(line) and not any(_NO_TEXT.fullmatch(str(item)) for item in items)
        return f"{key}: {line}\n" if plain else None
    known = {item: line for head in (second, first) for item, line in _item_lines(head, key)}
    return (
        f"{key}:\n" + "".join(known[item] for item in items)
        if items and all(item in known for item in items)
        else None
    )


def _item_lines(head: Head, key: str) -> Iterator[tuple[object, str]]:
    items = head.meta.get(key)
    if isinstance(items, list):
        lines = head.lines[key].splitlines(keepends=True)[1:] or [f"  - {item}\n" for item in items]
        yield from zip(items, lines, strict=True)


def comments(base: str, first: str, second: str) -> str:
    """Comment lines: those of the first side that nobody took out, and what the second added."""
    was, mine, theirs = (text.splitlines(keepends=True) for text in (base, first, second))
    kept = [line for line in mine if line in theirs or line not in was]
    return "".join(kept + [line for line in theirs if line not in was and line not in mine])


def flagged(head: Head) -> list[object]:
    """The flags of a note with one more: somebody must look at a conflict."""
    flags = _items("flags", head.meta.get("flags", MISSING))
    return flags if KIND in flags else [*flags, KIND]


def with_flag(head: Head) -> str | None:
    """A plain note with that flag; None when it takes YAML to write it."""
    if KIND in flagged(head)[:-1] or head.meta.get("flags") == [KIND]:
        return head.text
    if not head.stop:
        return f"---\nflags:\n  - {KIND}\n---\n{head.text}"
    own = head.lines.get("flags", "flags:\n")
    if not own.startswith("flags:\n"):
        return None
    place = head.text.index(own, head.start, head.stop) if "flags" in head.lines else head.stop
    end = place + len(own) if "flags" in head.lines else place
    return head.text[:place] + own + f"  - {KIND}\n" + head.text[end:]


def spelled(held: Mapping[str, object], head: Head) -> Iterator[str]:
    """What the second side said, as its own lines say it."""
    for key in held:
        yield head.lines[key].rstrip() if key in head.lines else f"{key}: {held[key]}"
