"""What each key of the frontmatter holds, said for people, and the check that a value given by a
caller must pass.

Reading is lenient (`memory.parse` keeps a note with a wrong value readable and names the key); what
is written is strict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

from oneiro_vault.core.memory import STATUSES, TRUSTS, is_id
from oneiro_vault.errors import InvalidInput, shown

DATES: Final = ("created", "timestamp", "valid_from", "valid_until")

_DATE: Final = "a date such as 2026-03-05 or 2026-03-05T14:30:00+01:00"
_NAMES: Final = "a list of names"
_LINE: Final = "text on one line"
_SHARE: Final = "a number from 0 to 1"
_WHOLE: Final = "a whole number"
_COUNT: Final = "a whole number, 0 or more"
EXPECTED: Final[dict[str, str]] = {
    "id": "12 lower-case letters and digits (no i, l, o, u)",
    "type": "one word such as semantic",
    "title": "text", "description": "text", "outcome": "text", "trigger": "text",
    "tags": _NAMES, "aliases": _NAMES, "about": _NAMES, "topics": _NAMES, "flags": _NAMES,
    "spans": _NAMES,
    **dict.fromkeys(DATES, _DATE),
    "source": "user, model, capture, dream or import:NAME, on one line",
    "trust": "one of " + ", ".join(TRUSTS),
    "kind": _LINE, "project": _LINE, "session": _LINE,
    "importance": _SHARE, "confidence": _SHARE,
    "level": _COUNT, "budget": _COUNT, "priority": _WHOLE, "turn": _WHOLE,
    "derived_from": "a list of ids", "supersedes": "a list of ids", "superseded_by": "an id",
    "status": "one of " + ", ".join(STATUSES),
    "core": "true or false",
    "keep": "oldest or newest",
}  # fmt: skip
"""Key -> what it must be, as the end of a sentence; other keys hold whatever somebody likes."""

_SOURCE: Final = re.compile(r"user|model|capture|dream|import:\S(?:[^\r\n]*\S)?")
_BREAK: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_UNSEEN: Final = frozenset(("Cc", "Cf", "Mn", "Me"))
_EMPTY: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs by their category, and nothing on the page."""
_LARGEST: Final = 10**9
MOST_NAMES: Final = 200
LONGEST_NAME: Final = 500
"""Of one list of names, since every name is a key of the index."""


def checked(key: str, value: Any) -> Any:
    """`value` as it is to be written (prose on one line, names as a list). Raises InvalidInput."""
    reader = _READERS.get(key)
    if reader is None:
        if not isinstance(key, str) or not key.strip() or _BREAK.search(key):
            raise InvalidInput(
                f"{shown(key)} cannot be the name of a key", hint="Use one word such as `mood`."
            )
        return value
    try:
        found = reader(value)
    except ValueError:
        raise InvalidInput(f"{key} must be {EXPECTED[key]}, not {shown(value)}") from None
    if EXPECTED[key] == _NAMES:
        _brief(key, found)
    return found


def _brief(key: str, names: list[str]) -> None:
    longest = max(map(len, names), default=0)
    if len(names) > MOST_NAMES or longest > LONGEST_NAME:
        has = (
            f"{len(names):,} names"
            if len(names) > MOST_NAMES
            else f"a name of {longest:,} characters"
        )
        raise InvalidInput(
            f"{key} has {has}; at most {MOST_NAMES} are kept, each of at most {LONGEST_NAME} "
            f"characters",
            hint="Say it in the text.",
        )


def blank(text: str) -> bool:
    """A zero-width space is nothing to see, nor is a mark with no letter to stand on."""
    return all(c.isspace() or c in _EMPTY or unicodedata.category(c) in _UNSEEN for c in text)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return "" if blank(value) else " ".join(value.split())


def _line(value: Any) -> str:
    if not isinstance(value, str) or _BREAK.search(value.strip()):
        raise ValueError
    return "" if blank(value) else value.strip()


def _word(value: Any) -> str:
    return _line(value).lower()


def _that(fits: Callable[[str], object]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        text = _line(value)
        if not fits(text):
            raise ValueError
        return text

    return read


def _list(entry: Callable[[Any], str]) -> Callable[[Any], list[str]]:
    def read(value: Any) -> list[str]:
        if not isinstance(value, str | list | tuple):
            raise ValueError
        return [text for text in map(entry, [value] if isinstance(value, str) else value) if text]

    return read


def _share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError
    return value


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
            raise ValueError
        return value

    return read


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("title", "description", "outcome", "trigger"), _text),
    **dict.fromkeys(("kind", "project", "session", *DATES), _line),
    **dict.fromkeys(("tags", "aliases", "about", "topics", "flags", "spans"), _list(_line)),
    **dict.fromkeys(("derived_from", "supersedes"), _list(_that(is_id))),
    **dict.fromkeys(("importance", "confidence"), _share),
    **dict.fromkeys(("level", "budget"), _whole(0)),
    **dict.fromkeys(("priority", "turn"), _whole(-_LARGEST)),
    "id": _that(is_id),
    "type": _word,
    "superseded_by": _that(is_id),
    "source": _that(_SOURCE.fullmatch),
    "trust": _that(TRUSTS.__contains__),
    "status": _that(STATUSES.__contains__),
    "keep": _that(("oldest", "newest").__contains__),
    "core": _flag,
}
