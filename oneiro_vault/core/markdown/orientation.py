"""What a model wakes into: notes in an order, whole, within a limit, under neutral headings, and
what changed since an earlier time; and how ranked texts are fitted into tokens.

Nothing here says who anybody is: the words are the notes', the rest are titles, dates, ids and
counts. Light: hooks load this.
"""

from __future__ import annotations

import re
from binascii import crc32
from bisect import bisect_right

from oneiro_vault.core.markdown.quoting import PREFACE, escape, without_comments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Final

    Counter = Callable[[str], int]

LIMIT: Final = 8_000
"""UTF-16 code units of one injection: clients cut at 10,000 and then show a file name instead."""
_HEAD: Final = f"# Orientation\n\n{PREFACE}\n"
_CHANGED: Final = f"# Orientation: changed since\n\n{PREFACE}\n"
_NAMED: Final = 8


class Block:
    """`text` is its section as it is shown, `when` (epoch seconds) its last change, 0 if nobody
    knows."""

    __slots__ = ("core", "id", "path", "priority", "text", "timestamp", "title", "when")

    def __init__(
        self,
        id: str,
        path: str,
        title: str,
        text: str,
        priority: int | None,
        core: bool,
        timestamp: str,
        when: float,
    ) -> None:
        self.id, self.path, self.title, self.text = id, path, title, text
        self.priority, self.core, self.timestamp, self.when = priority, core, timestamp, when

    @property
    def stamp(self) -> str:
        """8 hex characters that differ when the text does."""
        return stamp(self.text)


class Rendering:
    """`text` within the limit; `included`: positions of blocks; `left`: how many are left out."""

    __slots__ = ("blocks", "included", "left", "text")

    def __init__(self, text: str, blocks: list[Block], included: set[int]) -> None:
        self.text, self.blocks, self.included = text, blocks, included
        self.left = len(blocks) - len(included)


def stamp(text: str) -> str:
    """8 hex characters of a text."""
    return f"{crc32(text.encode('utf-8', 'replace')):08x}"


SOURCES: Final = 2
"""Sources that words from outside need before a block made of them is loaded."""


def units(text: str) -> int:
    """UTF-16 code units: what clients count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def belongs(note: Any) -> bool:
    """Is this note (a Memory or a Row) part of what is always loaded?

    What came from outside is not, until a person has made it `core`, or a dream found it in several
    conversations: one captured page must not speak at every beginning.
    """
    corroborated = note.source == "dream" and len(note.derived_from) >= SOURCES
    return bool(
        note.type == "orientation"
        and note.status == "active"
        and (note.core or corroborated or note.trust != "external")
    )


def block(note: Any, body: str, ident: str, when: float | None) -> Block:
    """The block of a note (a Memory or a Row) with that body."""
    since = note.timestamp or note.created
    text = section(note.title, body, ident, since, budget=note.budget, keep=note.keep)
    return Block(ident, note.path, note.title, text, note.priority, note.core, since, when or 0.0)


def section(
    title: str, body: str, ident: str, timestamp: str, *, budget: int | None = None, keep: str = ""
) -> str:
    """A heading, then the body without its comments: cut at lines and sentences to `budget` units,
    `keep` saying which end stays."""
    body = _without_title(without_comments(body).strip(), title)
    if budget and units(body) > budget:
        body = shorten(body, budget, units, keep="newest" if keep == "newest" else "oldest") or "…"
    facts = " · ".join(fact for fact in (" ".join(title.split()), timestamp[:10], ident) if fact)
    return f"\n## {escape(facts)}\n\n{escape(body)}\n"


def _without_title(body: str, title: str) -> str:
    first, _, rest = body.partition("\n")
    return rest.strip() if first.startswith("#") and first.strip("# \t\r") == title else body


def order(blocks: Iterable[Block]) -> list[Block]:
    """Core first, then the higher priority (none is 0), then the newest."""
    return sorted(blocks, key=lambda one: (not one.core, -(one.priority or 0), -one.when, one.path))


def render(blocks: Iterable[Block], limit: int = LIMIT) -> Rendering:
    """As many whole blocks as fit, best first. No blocks: no text."""
    ordered = order(blocks)
    if not ordered:
        return Rendering("", [], set())
    included = _fitting(_HEAD, ordered, limit, lambda _: "")
    if len(included) < len(ordered):
        included = _fitting(_HEAD, ordered, limit, _left)
    text = _HEAD + "".join(ordered[at].text for at in sorted(included))
    text += _left([one for at, one in enumerate(ordered) if at not in included])
    return Rendering(text if units(text) <= limit else "", ordered, included)


def _fitting(head: str, ordered: Sequence[Block], limit: int, tail: Any) -> set[int]:
    """Positions of the blocks that fit between `head` and what `tail` says of the others."""
    room = limit - units(head) - units(tail(ordered))
    included = set()
    for at, one in enumerate(ordered):
        cost = units(one.text)
        if cost <= room:
            included.add(at)
            room -= cost
    return included


def _left(blocks: Sequence[Block]) -> str:
    if not blocks:
        return ""
    names = [escape(one.id or one.path) for one in blocks[:_NAMED]]
    more = ", …" if len(blocks) > _NAMED else ""
    return (
        f"\n({len(blocks)} more {'block does' if len(blocks) == 1 else 'blocks do'} not fit here: "
        f"{', '.join(names)}{more})\n"
    )


def last_conversation(day: str, messages: int, ident: str, words: str) -> str:
    """The line that says how the last conversation of a project ended."""
    count = f"{messages} message{'s' * (messages != 1)}, " if messages else ""
    return escape(f"The last conversation here, of {day} ({count}{ident}), ended: “{words}”")


def delta(blocks: Iterable[Block], earlier: Sequence[Mapping[str, Any]], limit: int = LIMIT) -> str:
    """What is new or different since `earlier` (id, path, title, stamp, included of blocks), and
    what is gone."""
    now = order(blocks)
    known = {_name(one): one for one in earlier if one.get("included", True)}
    fresh = [one for one in now if known.get(one.id or one.path, {}).get("stamp") != one.stamp]
    gone = [
        one for name, one in known.items() if name not in {other.id or other.path for other in now}
    ]
    if not fresh and not gone:
        return ""
    head = _CHANGED + _gone(gone)
    included = _fitting(head, fresh, limit, lambda _: "")
    if len(included) < len(fresh):
        included = _fitting(head, fresh, limit, _left)
    text = (
        head
        + "".join(fresh[at].text for at in sorted(included))
        + _left([one for at, one in enumerate(fresh) if at not in included])
    )
    return text if units(text) <= limit else ""


def _name(one: Mapping[str, Any]) -> str:
    return str(one.get("id") or one.get("path") or "")


def _gone(blocks: Sequence[Mapping[str, Any]]) -> str:
    if not blocks:
        return ""
    names = [
        escape(" ".join(str(one.get("title") or _name(one)).split())[:80])
        for one in blocks[:_NAMED]
    ]
    return f"\nNo longer there: {', '.join(names)}{', …' if len(blocks) > _NAMED else ''}\n"


_CUT: Final = re.compile(r"\n+|(?<=[.!?])[ \t]+")


def estimate(text: str) -> int:
    """Tokens when no tokenizer is at hand: a word costs one per four characters, a wide character
    one."""
    wide = sum(character > "\u2e7f" for character in text)
    return wide + sum((len(word) + 3) // 4 for word in re.findall(r"[^\s\u2e80-\U0010ffff]+", text))


def at_most(text: str) -> int:
    """More tokens than tokenizers make of a text: a word costs one per three characters, a digit, a
    mark and a wide character one each."""
    words = re.findall(r"[A-Za-z]+", text)
    others = sum(not (c.isspace() or (c.isascii() and c.isalpha())) for c in text)
    wide = sum(len(c.encode("utf-8", "replace")) - 1 for c in text if ord(c) > 0x7F)
    return others + wide + sum((len(word) + 2) // 3 for word in words) + text.count("\n")


def shorten(text: str, tokens: int, count: Counter = estimate, keep: str = "oldest") -> str:
    """Cut at lines and sentences to at most `tokens`, with `…` where words are missing. `keep`:
    which end survives, `oldest` (the start) or `newest`; "" when not even one sentence fits."""
    if count(text) <= tokens:
        return text
    cuts = [found.end() for found in _CUT.finditer(text)]
    if keep == "newest":
        grown = [f"…\n{text[cut:]}" for cut in reversed(cuts)]
    else:
        grown = [f"{text[:cut].rstrip()}\n…" for cut in cuts]
    fits = bisect_right(grown, tokens, key=count)
    return grown[fits - 1] if fits else ""
