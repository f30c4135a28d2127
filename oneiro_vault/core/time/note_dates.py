"""When a note came to be, as people and programs write it down: in the frontmatter under many
names, in the name of the file, in the names of its folders.

Every answer is RFC 3339 with an offset ("" = unknown); without an offset UTC is meant. Day and
month are never guessed: 03/04/2024 is no date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Final

from oneiro_vault.core.time.date_ranges import parse_range
from oneiro_vault.errors import InvalidInput

CREATED: Final = (
    "created", "createdat", "createdon", "createddate", "createdtime", "creationdate",
    "creationtime", "datecreated", "datetimecreated",
    "date", "datetime", "day", "published", "publishedat", "publishedon", "publisheddate",
    "publishdate", "publicationdate", "pubdate",
    "datepublished", "datum", "fecha", "data", "日期", "创建时间", "作成日",
)  # fmt: skip
"""In small letters without what separates words; the first that holds a date counts."""
CHANGED: Final = (
    "updated", "updatedat", "updatedon", "updateddate", "dateupdated", "lastupdated", "modified",
    "modifiedat", "modifieddate",
    "datemodified", "lastmodified", "lastmodifiedat", "lastmod", "lastedited", "lasteditedtime",
    "mtime",
)  # fmt: skip
"""Keys that say when a note was changed last."""

_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[+-]\d\d:\d\d|Z)")
_PARTIAL: Final = re.compile(r"(\d{4})(?:[-/](\d\d?)(?:[-/](\d\d?))?)?")
_SPACED: Final = re.compile(
    r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)[T ]+(\d\d?:\d\d(?::\d\d)?)(?:\.\d+)?(?: *(Z|UTC|"
    r"[+-]\d\d:?\d\d)(?: +\w+)?)?"
)
_DAY_FIRST: Final = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})(?:[T ,].*)?")
_DAY_FIRST_NAMED: Final = re.compile(r"(?<![\w.-])\d\d?([.-])\d\d?\1(?:19|20)\d\d(?![.-]?\d)")
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_LONGEST: Final = 60
_EPOCH: Final = re.compile(r"1\d{9}(?:\d{3})?")
_IN_NAME: Final = re.compile(r"(?<!\d)(\d{4})([-_./]?)(\d\d)\2(\d\d)(?!\d)")
_STAMP: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(\d\d)(\d\d)(?:[T_-]?\d{4}(?:\d\d)?)(?!\d)")
_WEEK: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)-?W(\d\d)(?!\d)")
_MONTH: Final = re.compile(
    r"(?:^|/)((?:19|20)\d\d)(?:[-_.]|/(?:(?:19|20)\d\d[-_.])?)(\d\d)(?=[ _./-]|$)(?![-_.]\d)"
)
_SPOKEN: Final = re.compile(
    r"(?i)(?<![^\W_])((?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2}(?:st|"
    r"nd|rd|th)?,? (?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)?\.? (?:jan|feb|mar|apr|may|jun|jul|aug|"
    r"sep|oct|nov|dec)[a-z]*\.?,? (?:19|20)\d\d|(?:19|20)\d\d年\d{1,2}月\d{1,2}日)(?!\d)"
)
_ANY_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Only words with a year are read, and those mean the same on every day."""


def rfc3339(text: str) -> str:
    """A date as the format has it (`2024-03-05`, `2024-03-05 10:00`, `2024-03`). Raises ValueError
    or OverflowError."""
    if _INSTANT.fullmatch(text):
        return datetime.fromisoformat(text).isoformat()
    if partial := _PARTIAL.fullmatch(text):
        return _day(partial[1], partial[2] or 1, partial[3] or 1)
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat()


def stated(meta: Mapping[str, object], names: tuple[str, ...]) -> str:
    """However the name is written (`Date Created`, `created_at`, `createdAt`)."""
    known: dict[str, object] = {}
    for key, value in meta.items():
        known.setdefault("".join(filter(str.isalnum, key)).lower(), value)
    return next(filter(None, (written(known[name]) for name in names if name in known)), "")


def written(value: object) -> str:
    """A date as people write it in frontmatter."""
    if isinstance(value, list) and len(value) == 1:
        return written(value[0])
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).strip().strip("[]<>\"'").strip()
    return _written(text) if 4 <= len(text) <= _LONGEST else ""


@lru_cache(maxsize=1000)
def _written(text: str) -> str:
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(int(text[:10]), UTC).isoformat()
    for read in (rfc3339, _with_time, _day_first, _of_mail, _in_words):
        try:
            if found := read(text):
                return found
        except (ValueError, OverflowError, InvalidInput):
            continue
    return ""


def _with_time(text: str) -> str:
    found = _SPACED.fullmatch(text)
    if not found:
        return ""
    zone = {None: "+00:00", "Z": "+00:00", "UTC": "+00:00"}.get(found[5], found[5])
    day = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    return datetime.fromisoformat(
        f"{day}T{found[4].zfill(len(found[4].partition(':')[2]) + 3)}{zone}"
    ).isoformat()


def _day_first(text: str) -> str:
    """What could be two days is none."""
    found = _DAY_FIRST.fullmatch(text)
    if not found:
        return ""
    first, second = int(found[1]), int(found[3])
    if found[2] != "." and first <= 12 and second <= 12 and first != second:
        return ""
    month, day = (first, second) if second > 12 else (second, first)
    return _day(found[4], month, day)


def _of_mail(text: str) -> str:
    """`Tue, 05 Mar 2024 10:00:00 +0100`."""
    found = parsedate_to_datetime(text) if "," in text and ":" in text else None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).isoformat() if found else ""


def _in_words(text: str) -> str:
    """`March 5, 2024`, `5 de marzo de 2024`."""
    if not _YEAR.search(text) or not any(c.isalpha() for c in text):
        return ""
    start, end = parse_range(text, _ANY_DAY)
    return (
        datetime.fromtimestamp(start, UTC).isoformat()
        if start is not None and end is not None
        else ""
    )


def named(path: str) -> str:
    """In the name of a file, else of its folders: a day, a week, or the first of a month; "" when
    it names none."""
    for form, read in _NAMES:
        for found in reversed(list(form.finditer(path))):
            try:
                if day := read(found):
                    return day
            except (ValueError, InvalidInput):
                continue
    return ""


def _day(year: str, month: str | int, day: str | int) -> str:
    return datetime(int(year), int(month), int(day), tzinfo=UTC).isoformat()


def _week(found: re.Match[str]) -> str:
    monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
    return datetime(monday.year, monday.month, monday.day, tzinfo=UTC).isoformat()


_NAMES: Final = (
    (_IN_NAME, lambda found: _day(found[1], found[3], found[4])),
    (_STAMP, lambda found: _day(found[1], found[2], found[3])),
    (_DAY_FIRST_NAMED, lambda found: _day_first(found[0])),
    (_SPOKEN, lambda found: _in_words(found[1].replace(".", ""))),
    (_WEEK, _week),
    (_MONTH, lambda found: _day(found[1], found[2], 1)),
)
"""The most exact first."""
