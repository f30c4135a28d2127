"""Times as people say them: "last March", "3 weeks ago", "since May", "2024-03" become [from, to)
in epoch seconds.

The most common English forms are read here, in the time zone of `now`; anything else goes to
`date_words`, imported only then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, TypeAlias

from oneiro_vault.errors import InvalidInput

Range: TypeAlias = tuple[float | None, float | None]
Span: TypeAlias = tuple[datetime, datetime]
Reader: TypeAlias = Callable[[str, datetime], Span | None]
"""Reads one time, in English."""

LONGEST: Final = 100
"""Characters; a longer text is no date."""

MONTHS: Final = (
    "January February March April May June July August September October November December".split()
)
"""In English whatever the locale, in which `calendar` has them."""
_WEEK: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NAMED: Final = frozenset(name.lower() for name in (*_WEEK, *MONTHS))
"""Days and months."""
_MONTHS, _DAYS = ([name[:3].lower() for name in names] for names in (MONTHS, _WEEK))
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_COUNTS: Final = {
    word: number
    for number, words in enumerate(
        (
            "",
            "a an one",
            "two couple",
            "three few",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
        )
    )
    for word in words.split()
}
_UNIT: Final = r"(minute|hour|day|week|month|quarter|year)s?"
_MONTH: Final = rf"({'|'.join(MONTHS).lower()}|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\.?"
_WEEKDAY: Final = (
    r"((?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues|tue|wed|thurs|thu|fri|sat|sun)s?"
)
_NUMBER: Final = (
    rf"(?:an?\s+)?(\d{{1,5}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})(?:\s+of)?"
)
_WHICH: Final = r"(?:(last|previous|past|this|next)\s+)?"
_LEADING: Final = re.compile(r"(?:in|on|at|during|the|of|from|around|about)\s+")
_UNTIL: Final = r"(?:to|until|till|hasta|al?|bis|jusqu['’]?(?:à|a|en|au)?|à|au|até|ate|fino a|tot)"
_BETWEEN: Final = re.compile(
    r"(?:(?:between|entre|zwischen|tra|fra|tussen)\s+(.+?)\s+(?:and|y|et|und|e|en)"
    rf"|(?:from|von|vom|desde|del|de|du|dal?|van)\s+(.+?)\s+{_UNTIL})\s+(.+)|(.+?)\s*(?:\.\.\.?|"
    rf"\s(?:to|until|till|[-–])\s)\s*(.+)"
)
_BORDERS: Final = {
    "since": "since|desde|seit|ab|depuis|dal|da|sinds",
    "after": "after|después de|despues de|nach|après|apres|depois de|dopo",
    "before": "before|antes de|vor dem|vor der|avant|prima di|voor",
    "until": "until|till|up to|hasta|bis(?: zum)?|jusqu['’]?(?:à|a|en|au)|até|ate|fino a|tot",
}
_OPEN: Final = re.compile(
    "(?:"
    + "|".join(f"(?P<{name}>{words})" for name, words in _BORDERS.items())
    + r")\s*(?<=[\s'’])(.+)"
)
_AHEAD: Final = re.compile(rf"in\s+(?:about\s+)?{_NUMBER}\s+{_UNIT}(?:['’]s?\s+time)?")
_DISTANCE: Final = re.compile(rf"(?:about\s+|around\s+)?{_NUMBER}\s+{_UNIT}\s+(?:ago|back|earlier)")
_EXAMPLES: Final = (
    "Write it like 2024-03-05, 2024-03, last March, yesterday, 3 weeks ago, since May, or between "
    "March and June 2024."
)


def parse_range(text: str, now: datetime) -> Range:
    """[from, to) in epoch seconds, None where it is open. A `now` without zone is UTC. Raises
    InvalidInput."""
    return _parsed(text, now, _own)


def _parsed(text: str, now: datetime, read: Reader) -> Range:
    now = now if now.tzinfo else now.replace(tzinfo=UTC)
    words = " ".join(text.lower().replace(",", " ").split())
    try:
        if words and len(words) <= LONGEST:
            return _range(words, now, read)
    except (ValueError, OverflowError):
        pass
    raise _unreadable(text)


def _unreadable(text: str) -> InvalidInput:
    return InvalidInput(f"{text[:LONGEST]!r} is not a time that can be understood", hint=_EXAMPLES)


def parse_moment(text: str, now: datetime) -> Range:
    """For one moment: "3 weeks ago" is the day that lies so far back, not the whole of that
    week."""
    return _parsed(text, now, _moment)


def _moment(words: str, now: datetime) -> Span | None:
    found = _DISTANCE.fullmatch(words)
    return _back(found[2], _count(found[1]), now) if found else _own(words, now)


def _back(unit: str, steps: int, now: datetime) -> Span:
    """The day (for hours and minutes the minute); the last day of a month that is too short."""
    if unit in ("minute", "hour"):
        return _unit("minute", -steps * {"minute": 1, "hour": 60}[unit], now)
    if unit in ("day", "week"):
        return _unit("day", -steps * {"day": 1, "week": 7}[unit], now)
    start, end = _months(
        now.year, now.month - steps * {"month": 1, "quarter": 3, "year": 12}[unit], 1, now.tzinfo
    )
    return _day(start.year, start.month, min(now.day, (end - timedelta(days=1)).day), now.tzinfo)


def _range(words: str, now: datetime, read: Reader) -> Range:
    if (found := _BETWEEN.fullmatch(words)) and (
        pair := _both(found[1] or found[2] or found[4], found[3] or found[5], now, read)
    ):
        first, second = sorted(pair)
        return _seconds(first[0]), _seconds(second[1])
    if found := _OPEN.fullmatch(words):
        from_, to = map(_seconds, _span(found[len(_BORDERS) + 1], now, read))
        border = next(name for name in _BORDERS if found[name])
        return {
            "since": (from_, None),
            "after": (to, None),
            "before": (None, from_),
            "until": (None, to),
        }[border]
    start, end = _span(words, now, read)
    return _seconds(start), _seconds(end)


def _both(first: str, second: str, now: datetime, read: Reader) -> tuple[Span, Span] | None:
    """A year said once, at the end, holds for both ("between March and June 2024")."""
    year = re.search(r"\b(\d{4})\Z", second)
    if (
        year
        and not re.search(r"\d{4}", first)
        and (re.search(_MONTH, first) or not _own(first, now))
    ):
        first = f"{first} {year[1]}"
    try:
        return _span(first, now, read), _span(second, now, read)
    except ValueError:
        return None


def _seconds(moment: datetime) -> float:
    return moment.timestamp()


def _span(words: str, now: datetime, read: Reader) -> Span:
    words = words.strip()
    if found := _AHEAD.fullmatch(words):
        return _back(found[2], -_count(found[1]), now)
    while (
        shorter := _LEADING.sub("", words, count=1) if _LEADING.match(words) else words
    ) != words:
        words = shorter
    return read(words, now) or _foreign(words, now, read)


def _own(words: str, now: datetime) -> Span | None:
    for form, read in _FORMS:
        if found := form.fullmatch(words):
            return read(found, now)
    return None


def _day(year: int, month: int, day: int, zone: tzinfo | None) -> Span:
    start = datetime(year, month, day, tzinfo=zone)
    return start, start + timedelta(days=1)


def _months(year: int, month: int, count: int, zone: tzinfo | None) -> Span:
    """`month` may lie outside 1-12."""
    first, last = year * 12 + month - 1, year * 12 + month - 1 + count
    return datetime(first // 12, first % 12 + 1, 1, tzinfo=zone), datetime(
        last // 12, last % 12 + 1, 1, tzinfo=zone
    )


def _unit(unit: str, steps: int, now: datetime) -> Span:
    zone, today = now.tzinfo, now.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in ("month", "quarter", "year"):
        count = {"month": 1, "quarter": 3, "year": 12}[unit]
        return _months(now.year, (now.month - 1) // count * count + 1 + steps * count, count, zone)
    if unit in ("minute", "hour"):
        length = timedelta(**{unit + "s": 1})
        start = (now.astimezone(UTC) + steps * length).replace(second=0, microsecond=0)
        start = start.replace(minute=0) if unit == "hour" else start
        return start, start + length
    days = 7 if unit == "week" else 1
    start = today + timedelta(days=days * steps - (today.weekday() if unit == "week" else 0))
    return start, start + timedelta(days=days)


def _iso(found: re.Match[str], now: datetime) -> Span:
    year, month, day = int(found[1]), int(found[2] or 1), int(found[3] or 1)
    if not found[2]:
        return _months(year, 1, 12, now.tzinfo)
    if not found[3]:
        _day(year, month, 1, now.tzinfo)  # `_months` would carry a 13th month over
        return _months(year, month, 1, now.tzinfo)
    return _day(year, month, day, now.tzinfo)


def _years(found: re.Match[str], now: datetime) -> Span:
    first, last = sorted((int(found[1]), int(found[2])))
    return _months(first, 1, (last - first + 1) * 12, now.tzinfo)


def _instant(found: re.Match[str], now: datetime) -> Span:
    start = datetime.fromisoformat(found[0].upper())
    start = start if start.tzinfo else start.replace(tzinfo=now.tzinfo)
    return start, start + (timedelta(seconds=1) if found[1] else timedelta(minutes=1))


def _named(found: re.Match[str], now: datetime) -> Span:
    steps = {
        "today": 0,
        "now": 0,
        "tonight": 0,
        "yesterday": -1,
        "last night": -1,
        "tomorrow": 1,
        "day before yesterday": -2,
    }
    return _unit("day", steps[found[0]], now)


def _which_unit(found: re.Match[str], now: datetime) -> Span:
    return _unit(found[2], {"this": 0, "next": 1}.get(found[1], -1), now)


def _count(word: str) -> int:
    return int(word) if word.isdigit() else _COUNTS[word]


def _ago(found: re.Match[str], now: datetime) -> Span:
    return _unit(found[2], -_count(found[1]), now)


def _lasting(found: re.Match[str], now: datetime) -> Span:
    """Up to now, not up to midnight."""
    count, unit = _count(found[1]), found[2]
    if unit in ("month", "quarter", "year"):
        # The same distance into the month as now, so that "last 3 months" on the 21st begins on the
        # 21st.
        start, _ = _unit("month", -count * {"month": 1, "quarter": 3, "year": 12}[unit], now)
        length = _months(start.year, start.month, 1, start.tzinfo)[1] - start
        return start + min(now - _unit("month", 0, now)[0], length), now
    return now - timedelta(**{unit + "s": count}), now


def _month(found: re.Match[str], now: datetime) -> Span:
    """Its latest occurrence that has begun; "last March" in March is a year ago."""
    which, month, year = found[1], _MONTHS.index(found[2][:3]) + 1, found[3]
    return _recurring(which, year, month, 1, now)


def _season(found: re.Match[str], now: datetime) -> Span:
    return _recurring(found[1], found[3], _SEASONS[found[2]], 3, now)


def _recurring(which: str | None, year: str | None, month: int, count: int, now: datetime) -> Span:
    if year:
        return _months(int(year), month, count, now.tzinfo)
    span = _months(now.year, month, count, now.tzinfo)
    if which == "this":
        return span
    if which == "next":
        return span if span[0] > now else _months(now.year + 1, month, count, now.tzinfo)
    before = span[1] <= now if which else span[0] <= now
    return span if before else _months(now.year - 1, month, count, now.tzinfo)


def _quarter(found: re.Match[str], now: datetime) -> Span:
    return _recurring(None, found[2], int(found[1]) * 3 - 2, 3, now)


def _month_day(month: str, day: str, year: str | None, now: datetime) -> Span:
    span = _day(int(year or now.year), _MONTHS.index(month[:3]) + 1, int(day), now.tzinfo)
    return (
        span
        if year or span[0] <= now
        else _day(now.year - 1, _MONTHS.index(month[:3]) + 1, int(day), now.tzinfo)
    )


def _weekday(found: re.Match[str], now: datetime) -> Span:
    """The latest one before today; `this` stays within the week, `next` is the first one after
    today."""
    wanted, today = _DAYS.index(found[2][:3]), now.weekday()
    steps = {"this": wanted - today, "next": (wanted - today - 1) % 7 + 1}.get(
        found[1], -((today - wanted - 1) % 7 + 1)
    )
    return _unit("day", steps, now)


def _weekend(found: re.Match[str], now: datetime) -> Span:
    start, end = _unit("week", {"this": 0, "next": 1}.get(found[1], -1), now)
    return start + timedelta(days=5), end


_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Span]], ...]] = (
    tuple(
        (re.compile(form), read)
        for form, read in (
            (r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?", _iso),
            (r"(\d{4})\s?[-–]\s?(\d{4})", _years),
            (r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(:\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:\d\d)?", _instant),
            (r"today|now|tonight|yesterday|last night|tomorrow|day before yesterday", _named),
            (rf"(last|previous|past|this|next)\s+{_UNIT}", _which_unit),
            (rf"{_NUMBER}\s+{_UNIT}\s+(?:ago|back|earlier)", _ago),
            (rf"(?:within\s+)?(?:the\s+)?(?:last|past|previous)\s+{_NUMBER}\s+{_UNIT}", _lasting),
            (rf"{_WHICH}{_MONTH}(?:\s+(?:of\s+)?(\d{{4}}))?", _month),
            (rf"{_WHICH}(spring|summer|autumn|fall|winter)(?:\s+(?:of\s+)?(\d{{4}}))?", _season),
            (r"q([1-4])(?:\s+(?:of\s+)?(\d{4}))?", _quarter),
            (
                rf"{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+(\d{{4}}))?",
                lambda m, now: _month_day(m[1], m[2], m[3], now),
            ),
            (
                rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:\s+(\d{{4}}))?",
                lambda m, now: _month_day(m[2], m[1], m[3], now),
            ),
            (rf"{_WHICH}{_WEEKDAY}", _weekday),
            (rf"{_WHICH}weekend", _weekend),
        )
    )
)


def _foreign(words: str, now: datetime, read: Reader) -> Span:
    from oneiro_vault.core.time import date_words

    for english in date_words.english(words):
        if found := read(english, now):
            return found
    day, exact = date_words.read(words, now)
    if exact in ("month", "year"):
        return _months(
            day.year, day.month if exact == "month" else 1, 12 if exact == "year" else 1, now.tzinfo
        )
    return _day(day.year, day.month, day.day, now.tzinfo)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CALENDAR: Final = ((datetime.min.replace(tzinfo=UTC) - _EPOCH).total_seconds(), 253_402_300_799.0)
"""Epoch seconds of its first and its last second, in UTC."""


_MILLISECONDS: Final = 1e11
"""A number above this is no second of the next three thousand years."""


def since_epoch(number: float) -> datetime | None:
    """A date that a program counts, in seconds or milliseconds since 1970, in UTC; None for what is
    none."""
    try:
        seconds = number / 1000 if number > _MILLISECONDS else number
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def local(moment: float) -> datetime:
    """As the clock of this machine shows it."""
    return datetime.fromtimestamp(moment).astimezone()


def iso(moment: float) -> str:
    """RFC 3339, in local time; in UTC where the calendar begins and ends, for it has no local time
    there."""
    try:
        found = local(moment)
    except (ValueError, OverflowError, OSError):
        found = _EPOCH + timedelta(seconds=min(max(moment, _CALENDAR[0]), _CALENDAR[1]))
    return found.isoformat(timespec="seconds")
