"""What each key of the frontmatter holds, said for people, and the strict check of what is written
(`memory.parse` reads leniently)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

from oneiro_vault.core.memory import STATUSES, TRUSTS, is_id
from oneiro_vault.errors import InvalidInput, shown

DATES: Final = ("created", "timestamp", "valid_from", "valid_until")

_NAMES: Final = "a list of names"
_SOURCE: Final = re.compile(r"user|model|capture|dream|import:\S(?:[^\r\n]*\S)?")
_BREAK: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_UNSEEN: Final = frozenset(("Cc", "Cf", "Mn", "Me"))
_EMPTY: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs by their category, and nothing on the page."""
_LARGEST: Final = 10**9
MOST_NAMES: Final = 200
LONGEST_NAME: Final = 500
"""Names in one list and characters of each, since every name is a key of the index."""


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


_TABLE: Final[tuple[tuple[str, str, Callable[[Any], Any]], ...]] = (
    ("id", "12 lower-case letters and digits (no i, l, o, u)", _that(is_id)),
    ("type", "one word such as semantic", _word),
    ("title description outcome trigger", "text", _text),
    ("tags aliases about topics flags spans", _NAMES, _list(_line)),
    (" ".join(DATES), "a date such as 2026-03-05 or 2026-03-05T14:30:00+01:00", _line),
    (
        "source",
        "user, model, capture, dream or import:NAME, on one line",
        _that(_SOURCE.fullmatch),
    ),
    ("trust", "one of " + ", ".join(TRUSTS), _that(TRUSTS.__contains__)),
    ("kind project session", "text on one line", _line),
    ("importance confidence", "a number from 0 to 1", _share),
    ("level budget", "a whole number, 0 or more", _whole(0)),
    ("priority turn", "a whole number", _whole(-_LARGEST)),
    ("derived_from supersedes", "a list of ids", _list(_that(is_id))),
    ("superseded_by", "an id", _that(is_id)),
    ("status", "one of " + ", ".join(STATUSES), _that(STATUSES.__contains__)),
    ("core", "true or false", _flag),
    ("keep", "oldest or newest", _that(("oldest", "newest").__contains__)),
)
EXPECTED: Final = {key: said for keys, said, _ in _TABLE for key in keys.split()}
"""Key -> what it must be, as the end of a sentence; other keys hold whatever somebody likes."""
_READERS: Final = {key: read for keys, _, read in _TABLE for key in keys.split()}
