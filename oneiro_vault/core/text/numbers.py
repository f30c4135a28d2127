"""The numbers and days in a text, however they are written, and which of them another text does not
have.

`6,400`, `6.400`, `6400` and `6.4k` are one number, as are `7pm` and `19:00`, `v2` and `version 2`,
`3` and `drei`; `19:00` may have been `at seven`. A day may stand in its ground as a date, as a day
of the month, or be near the day on which it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from functools import lru_cache
from typing import Final

from oneiro_vault.core.text.query import fold, tokens
from oneiro_vault.core.time import relative_dates

NEAR: Final = 31
"""A day among so many may be what was called `tomorrow` or `on Friday`."""
_RUN: Final = re.compile(r"(\d+(?:[.,:'’]\d+)*)(k\b)?\s?(?:([ap])\.?m\b)?", re.I)
_MARKS: Final = re.compile(r"[.,:'’]")
_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_MONTH: Final = re.compile(r"(?<![\d-])(\d{4})-(0[1-9]|1[0-2])\b(?!-\d)")
_YEAR: Final = re.compile(r"(?<![\d.-])(?:19|20)\d\d(?![\d.-]\d)")
"""Said as so many years ago, too."""
_THOUSAND: Final = 3
_NOON: Final = 12
_EVENING: Final = re.compile(r"\b(?:1[3-9]|2[0-3]):00\b")
_HOUR: Final = (
    r"(\d{1,2}|[a-z]{3,8})(?![:.\d]|\w| ?a\.?m\b| (?:uhr )?(?:in the morning|fr[uü]h|morgens)\b)"
)
_HOURS: Final = re.compile(
    rf"\b(?:at|from|until|till|um|von|bis|ab|gegen) {_HOUR}(?:(?: ?[-–] ?| to | bis ){_HOUR})?"
    rf"|(?<![\d.,:])(\d{{1,2}}) ?(?:[-–]|to|bis) ?{_HOUR}",
    re.I,
)
"""Times of the day as people say them."""
_WORDS: Final = {
    word: number
    for words, number in (
        ("two zwei deux dos", "2"), ("three drei trois tres", "3"),
        ("four vier quatre cuatro", "4"), ("five funf cinq cinco", "5"),
        ("six sechs seis", "6"), ("seven sieben siete", "7"), ("eight acht huit ocho", "8"),
        ("nine neun nueve", "9"),
        ("ten zehn diez", "10"), ("eleven elf onze", "11"), ("twelve zwolf douze doce", "12"),
        ("fifteen funfzehn quinze quince", "15"),
        ("twenty zwanzig vingt veinte", "20"), ("thirty dreissig trente treinta", "30"),
        ("forty vierzig cuarenta", "40"),
        ("fifty funfzig cincuenta", "50"), ("sixty sechzig sesenta", "60"),
        ("hundred hundert cien", "100"),
    )
    for word in words.split()
}  # fmt: skip
_COUNTED: Final = (
    _WORDS
    | dict.fromkeys(
        "twice both couple pair double zweimal beide beiden doppelt doppel deuxieme".split(), "2"
    )
    | {"dreimal": "3"}
)

_SPOKEN: Final = re.compile(
    r"(?<!\w)(?:half|quarter|dozen|hundred|thousand|o['’]clock|\w+teen(?:th)?|\w+tieth"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|halb\w{0,2}|(?:drei)?viertel"
    r"|\w+(?:zig|ssig|zehn)|\w*hundert|\w*tausend|demie?|quart|trente|quarante|cinquante"
    r"|soixante|setenta|ochenta|noventa|y (?:media|cuarto)|e (?:mezza|meia)|kwart|halv)(?!\w)",
    re.I,
)
"""Words that make a number together with others, or a time by the clock."""


def in_words(text: str) -> int:
    """How many numbers a text may say in words that `figures` does not put together."""
    return len(_SPOKEN.findall(text))


@lru_cache(maxsize=1024)
def figures(text: str) -> frozenset[str]:
    """In every way a number can be read, also as words and as parts of dates and times."""
    found = {
        form
        for run in _RUN.finditer(text)
        for form in (*_forms(run), *(part.lstrip("0") or "0" for part in _MARKS.split(run[1])))
    }
    return frozenset(found | {_COUNTED[word] for word in tokens(text) if word in _COUNTED})


def unsaid(text: str, ground: str, said: str = "") -> list[str]:
    """As the text writes them. `said`: the day on which the ground was."""
    have, missing = figures(ground), []
    evenings = _evenings(ground) if _EVENING.search(text) else frozenset()
    rest = text
    with suppress(ValueError):
        day = date.fromisoformat(said[:10])
        rest = _MONTH.sub(
            lambda one: "" if _named(int(one[1]), int(one[2]), ground, day) else one[0], rest
        )
        rest = _YEAR.sub(lambda one: "" if str(day.year - int(one[0])) in have else one[0], rest)
        rest = re.sub(
            rf"(?<!\d)(?:,? )?(?:{day.year - 1}|{day.year}|{day.year + 1})\b(?!-\d)", "", rest
        )
        for start, end, which in days(rest, day):
            if not _known(which, have, ground, day):
                missing.append(rest[start:end])
            rest = rest[:start] + " " * (end - start) + rest[end:]
    missing += [
        run[1]
        for run in _RUN.finditer(rest)
        if not have.intersection(_forms(run)) and run[1] not in evenings
    ]
    return [
        *missing,
        *(
            word
            for word in dict.fromkeys(tokens(rest))
            if word in _WORDS and _WORDS[word] not in have
        ),
    ]


def _forms(run: re.Match[str]) -> Iterator[str]:
    first, *parts = _MARKS.split(run[1])
    first = first.lstrip("0") or "0"
    if (
        parts
        and ":" not in run[1]
        and first != "0"
        and len(first) <= _THOUSAND
        and all(len(part) == _THOUSAND for part in parts)
    ):
        yield first + "".join(parts)
        return
    if run[2]:
        yield f"{float('.'.join([first, *parts[:1]])) * 1000:.0f}"
        return
    yield ".".join([first, *parts])
    if run[3]:
        hour = str(int(first) % 12 + (12 if run[3] in "pP" else 0))
        yield from (".".join([hour, *(parts or ["00"])]), *([hour] if not parts else []))
    elif parts == ["00"]:
        yield first


def _evenings(ground: str) -> frozenset[str]:
    """Full hours after noon (19:00) that a text may mean where it says them without the noon
    ("at seven", "2-4")."""
    said = {
        hour
        for found in _HOURS.finditer(ground)
        for one in found.groups()
        if one and (hour := _WORDS.get(fold(one), one)).isdigit()
    }
    return frozenset(f"{int(one) + _NOON}:00" for one in said if 0 < int(one) < _NOON)


def days(text: str, said: date) -> list[tuple[int, int, date]]:
    """(start, end, day) of every single day that a text names, as it means it when it is `said`."""
    found = []
    for one in _ISO.finditer(text):
        with suppress(ValueError):
            found.append((*one.span(), date.fromisoformat(one[0])))
    taken = [(start, end) for start, end, _ in found]
    for start, end, (first, last) in relative_dates.find(text, said):
        dated = first == last and any(letter.isdigit() for letter in text[start:end])
        if dated and all(end <= begins or start >= ends for begins, ends in taken):
            found.append((start, end, first))
    return found


def _named(year: int, month: int, ground: str, said: date) -> bool:
    spans = {(first.year, first.month) for _, _, (first, _) in relative_dates.find(ground, said)}
    return abs(year - said.year) <= 1 and (
        (year, month) in spans or month in relative_dates.months(ground) | {m for _, m in spans}
    )


def _known(day: date, have: frozenset[str], ground: str, said: date) -> bool:
    """Or the day of a month that the ground names or that is near."""
    if abs((day - said).days) <= NEAR:
        return True
    spans = [days for _, _, days in relative_dates.find(ground, said)]
    near = {(said.month + step - 1) % 12 + 1 for step in (-1, 0, 1)}
    months = near | {first.month for first, _ in spans} | relative_dates.months(ground)
    return any(first <= day <= last for first, last in spans) or (
        str(day.day) in have and day.month in months
    )
