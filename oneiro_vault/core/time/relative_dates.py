"""The days that a sentence means by "yesterday", "next Friday" or "on 14 April", seen from the day
on which it was said."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Final

from oneiro_vault.core.text.claims import sentence_spans
from oneiro_vault.core.text.language import detect
from oneiro_vault.core.text.query import fold

Days = tuple[date, date]
"""First and last day."""

_DAYS: Final = {
    name: number
    for number, names in enumerate(
        "monday|montag|lundi|lunes tuesday|dienstag|mardi|martes wednesday|mittwoch|mercredi|"
        "miercoles thursday|donnerstag|jeudi|jueves friday|freitag|vendredi|viernes "
        "saturday|samstag|sonnabend|samedi|sabado sunday|sonntag|dimanche|domingo".split()
    )
    for name in names.split("|")
}
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        "january|januar|janvier|enero|jan february|februar|fevrier|febrero|feb march|marz|mars|"
        "marzo|mar april|avril|abril|apr may|mai|mayo june|juni|juin|junio|jun july|juli|"
        "juillet|julio|jul august|aout|agosto|aug september|septembre|septiembre|sept|"
        "sep october|oktober|octobre|octubre|oct|okt november|novembre|noviembre|nov "
        "december|dezember|decembre|diciembre|dec|dez".split(),
        1,
    )
    for name in names.split("|")
}
_ALSO_WORDS: Final = frozenset(("may", "mar", "mars", "sep"))
_WORD: Final = re.compile(r"[^\W\d]+")
_NEAR: Final = {
    "day before yesterday": -2, "vorgestern": -2, "yesterday": -1, "last night": -1, "gestern": -1,
    "hier": -1, "ayer": -1,
    "today": 0, "tonight": 0, "this morning": 0, "heute": 0, "hoy": 0, "aujourd'hui": 0,
    "day after tomorrow": 2, "ubermorgen": 2, "tomorrow": 1, "morgen fruh": 1, "demain": 1,
    "manana": 1,
}  # fmt: skip
_COUNTS: Final = {
    word: number
    for number, words in enumerate(
        "- a|an|one|ein|einem|einer|eine|un|une two|zwei|deux|dos three|drei|trois|tres four|vier "
        "five|funf six|sechs".split()
    )
    for word in words.split("|")
    if number
}
_UNITS: Final = {
    word: length
    for length, words in (
        (1, "day tag tage tagen"),
        (7, "week woche wochen"),
        (30, "month monat monate monaten"),
    )
    for word in words.split()
}
_BACK: Final = r"last|past|letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?"
_ON: Final = r"next|coming|upcoming|nachste[nrs]?|kommende[nrs]?"
_THIS: Final = r"this|diese[nrs]?"
_WHICH: Final = rf"(?P<which>{_BACK}|{_ON}|{_THIS})"
_NUMBER: Final = rf"(\d{{1,2}}|{'|'.join(_COUNTS)})"
_UNIT: Final = rf"({'|'.join(_UNITS)})s?"
_DAY: Final = "|".join(_DAYS)
_MONTH: Final = "|".join(_MONTHS)
_AFTER: Final = (
    r"\W*(?:$|[,;.:!?)–—]|(?:at|and|so|but|in the|um|und|aber|in der|because|weil|instead|when|if|"
    r"statt)\b)"
)
"""Behind "on the 3rd" a floor may follow."""
_DATE: Final = (
    r",? (?:(?:the|den|dem|der|le|el) )?"
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.| (?:de )?(?:{_MONTH})\b)|(?:{_MONTH})\.? \d)"
)
_HERE: Final = re.compile(r"\bhier\b")
"""In French it was yesterday, elsewhere it is a place."""
_FAR: Final = 300
_SINCE: Final = re.compile(r"(?:since|seit|depuis|desde)\b", re.I)
_FROM: Final = re.compile(r"(?:from|by|until|ab|bis)\b", re.I)
_UP_TO: Final = re.compile(r"(?:to|till?|until)\b", re.I)
_UNTIL: Final = re.compile(r"(?:until|bis)\b", re.I)
_LEAD: Final = (
    r"\b(?:from|ab|starting|beginning|effective|as (?:of|from))(?: on)? "
    rf"(?:(?:the|dem|den) )?(?:(?:{_DAY}),? (?:(?:the|dem|den) )?)?"
)
"""Before the day on which something begins."""
_LED: Final = re.compile(f"{_LEAD}$", re.I)
_LEADS: Final = re.compile(_LEAD, re.I)
_FULL: Final = re.compile(
    rf"\b(?:(\d{{4}})-(\d\d)-(\d\d)|(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? ({_MONTH})|"
    rf"({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?),? (\d{{4}}))\b",
    re.I,
)
_PATTERNS: Final = tuple(
    (name, re.compile(rf"(?<![\w-]){pattern}(?![\w-])", re.I))
    for name, pattern in (
        ("near", "(" + "|".join(map(re.escape, _NEAR)) + ")"),
        ("ago", rf"(?:{_NUMBER} {_UNIT} ago|vor {_NUMBER} {_UNIT})"),
        ("ahead", rf"in {_NUMBER} {_UNIT}"),
        ("unit", rf"{_WHICH} (week|month|year|weekend|woche|monat|jahr|wochenende)"),
        (
            "dated",
            rf"(?:(?<!\d )am|zum|vom|(?:ab|bis|seit|{_DAY},?)(?: (?:dem|den|zum))?|dem|den) "
            r"([0-3]?\d)\. ?([01]?\d)\.(?! ?\d)",
        ),
        (
            "numbered",
            rf"({_DAY}),? (?:(?:the|den|dem|der|le|el) )?(\d{{1,2}})(?:st|nd|rd|th|\.)(?! (?:of "
            rf")?(?:{_MONTH}))",
        ),
        (
            "numbered",
            rf"(?:(?:on|by|until|till|for|from|to) the|am|bis|ab dem|vom)() (\d{{1,2}})(?:st|nd|"
            rf"rd|th|\.)(?={_AFTER})",
        ),
        (
            "span",
            r"(\d{1,2})(?:st|nd|rd|th|\.)?\s*(?:[-–—]|to|till?|until|through|bis(?: zum)?)\s*"
            rf"(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? ({_MONTH})(?!,? \d{{4}})",
        ),
        (
            "dated",
            rf"(?:(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? ({_MONTH})|({_MONTH})\.? "
            rf"(\d{{1,2}})(?:st|nd|rd|th)?)(?!,? \d{{4}})(?![:.]\d)",
        ),
        (
            "weekday",
            rf"(?:{_WHICH} |(?:on|by|am|until|bis|from|ab|since|seit) )({_DAY})(?!{_DATE})",
        ),
        ("month", rf"(?:{_WHICH} |(?:in|im|from|since|seit|ab|until|bis) )({_MONTH})(?! \d)"),
    )
)
_PAST: Final = re.compile(
    r"\b(?:was|were|had|did|went|got|came|made|said|told|met|moved|started|began|bought|sold|"
    r"signed|decided|left|finished|passed|failed|broke|ran|fell|saw|took|gave|lost|paid|spent|"
    r"sent|built|wrote|spoke|flew|drove|ate|kept|held|won|brought|caught|felt|"
    r"\w{3,}ed|war|waren|hatte|hatten|habe|haben|hat|"
    r"(?:bin|ist|sind)\b[^.!?]*\bge\w+(?:t|en)|wurde|kam|ging|ge\w+t)\b",
    re.I,
)
_STANDS: Final = re.compile(
    r"\b(?:am|is|are|be|being|get|gets|getting|i[’']?m|(?:you|we|they)['’]re)"
    r"(?: (?:not|now|all|still|already|also|both))? \w{3,}ed\b",
    re.I,
)
"""How things stand ("is called", "we're getting married"), which is no past."""
_COMING: Final = re.compile(
    r"\b(?:(?:decid|plan|agre|promis|want|hop|need|arrang|offer|ask)\w* to [a-z]+|will|"
    r"going to|gonna|'ll|wird|werde|werden|plan|due|by|until|bis|from|starting|ab)\b",
    re.I,
)
_DECIDED: Final = (
    r"(?:decided|agreed|planned|beschlossen|entschieden|vereinbart|ausgemacht|abgemacht|geplant)"
)
_TOLD: Final = re.compile(
    r"\b(?:(?:have|has|had|was|were|been|'ve|hab|habe|haben|hat|hatten?)\W+(?:\w+\W+){0,2}?)?"
    rf"(?:said|told|heard|mentioned|gesagt|sagten?|meinten?|erzahlt|erzählt|gehört|{_DECIDED})\b",
    re.I,
)
_HOLDS: Final = re.compile(
    r"\b(?:is|are|am|be|would|should|ist|sind|soll|sollen|findet|"
    r"(?:it|that|there|he|she|we|they)['’](?:s|re))\b|"
    rf"\b{_DECIDED}\W+(?:no|keine?n?) \w",
    re.I,
)
_HOLDS_LAST: Final = re.compile(r" (?:(?:sein )?(?:soll|sollen)|ist|sind|stattfindet)\b", re.I)
"""Who decided or said something some time ago may mean a day to come: where they say of it that it
is, before that day or, in German, behind it."""
_PUT_OFF: Final = re.compile(
    r"\b(?:mov|push|shift|delay|slip|postpon|reschedul)\w*(?: [\w.'-]+){0,4}? (?:to|till?|until)"
    r"(?: the)?\s*$",
    re.I,
)
"""Before the day that something is put off to, which is to come whenever that was done."""

_HOUR: Final = r"(?:[ ,]+(?:(?:at|um) )?\d[\d.:]*(?: ?(?:uhr|am|pm|h)\b)?)?"
_TO: Final = r"(?:[-–—]|to|till?|until|thru|through|bis(?: zum)?|hasta|au)"
_ENDS: Final = re.compile(rf"s?{_HOUR}\s*{_TO}\s*(?:{_DAY})", re.I)
_BEGAN: Final = re.compile(rf"\b(?:{_DAY})s?{_HOUR}\s*$", re.I)
"""A range of days of the week: behind its first one, and before "until" the last one."""
_PARTS: Final = re.compile(
    r" (?:mornings|lunchtimes|afternoons|evenings|nights|morgens|vormittags|mittags|nachmittags|"
    r"abends|nachts)\b"
)
_HABIT: Final = re.compile(
    r"\b(?:always|usually|normally|typically|generally|regularly|weekly|never|immer|meist|"
    r"meistens|normalerweise|gewohnlich|ublicherweise|regelmaßig|wochentlich|nie|niemals|"
    r"(?:every|each|jede[nrms]?) (?:[\w.]+ ){0,2}(?:day|week|fortnight|month|year|time|tag|woche|"
    rf"monat|jahr|mal|{_DAY}|{_MONTH})|(?:once|twice|times|mal) (?:a|die|pro|in der) "
    r"(?:week|month|woche|monat)|(?:einmal|zweimal) (?:die|pro|in der|im) (?:woche|monat)|"
    r"(?:is|are|'s|'re|(?:is|are)n't) (?:[\w']+ )?(?:open|closed|shut)|opening hours|"
    r"(?:only open|open only)|ruhetage?|offnungszeiten|"
    r"(?:ist|sind|hat|haben|habt)\b.*\b(?:auf|zu|offen|dicht|geoffnet|geschlossen)(?=\W*$))\b",
    re.I,
)
"""Beside it "on Friday" is every Friday."""
_CLAUSE_END: Final = re.compile(r"[,;!?\n()]|[.:](?!\d)")


_SPAN: Final = re.compile(
    rf"\s*{_TO}\s*(?:the |dem |den |zum )?(?:(?:{_DAY}|{_MONTH})\b|\d{{4}}-\d\d|"
    rf"\d{{1,2}}(?:st|nd|rd|th|\.?(?: of)? (?:{_MONTH}))\b)|"
    r"\s*(?:[-–—]|to|thru|through)\s*(?:the )?[0-3]?\d(?=\s*(?:$|[,;!?)]|\.(?!\d)))|"
    r"\s*bis(?: zum)? [0-3]?\d\.(?!\d)",
    re.I,
)
"""Behind the first day of several; a number alone may be an hour, a price or so many of them."""


def find(text: str, said: date) -> list[tuple[int, int, Days]]:
    """(start, end, days) of every expression that means other days on another day, in order."""
    folded = _same_length(text)
    if detect(text) != "fr":
        folded = _HERE.sub("    ", folded)
    found: list[tuple[int, int, Days]] = []
    for name, pattern in _PATTERNS:
        for match in pattern.finditer(folded):
            if all(match.end() <= start or match.start() >= end for start, end, _ in found):
                days = _days(name, match, said, _its_own(match) or _direction(text, match))
                if days:
                    found.append((match.start(), match.end(), days))
    return sorted(found)


_HALF_A_YEAR: Final = 183
"""Days."""


def begins(text: str, said: date) -> date | None:
    """The coming day from which a text says that it holds ("from 4 January", "ab März"), None where
    it names none or several, where it names the last one too (a visit "from 12 to 16 December"
    happens then, and nothing holds from then on), or may as well mean the one that was: without its
    year more than half a year ahead."""
    folded = _same_length(text)
    known = [
        (start, end, first)
        for start, end, (first, _) in find(text, said)
        if (first - said).days <= _HALF_A_YEAR and not _SPAN.search(folded[start:end])
    ]
    known += [
        (one.start(), one.end(), day) for one in _FULL.finditer(folded) if (day := _full(one))
    ]
    days = {
        day
        for start, end, day in known
        if (_LED.search(folded[:start]) or _LEADS.match(folded[start:end]))
        and not _SPAN.match(folded, end)
    }
    return days.pop() if len(days) == 1 and min(days) > said else None


def _full(match: re.Match[str]) -> date | None:
    year, month, day, first, name, second, last, since = match.groups()
    try:
        if year:
            return date(int(year), int(month), int(day))
        return date(int(since), _MONTHS[(name or second).lower()], int(first or last))
    except ValueError:
        return None


def months(text: str) -> set[int]:
    """The months that a text names; words that mean something else as well only behind a day."""
    words = re.findall(r"\w+", fold(text))
    return {
        _MONTHS[word]
        for before, word in zip(("", *words), words, strict=False)
        if word in _MONTHS and (word not in _ALSO_WORDS or before[:1].isdigit())
    }


def beside(text: str, said: date) -> str:
    """The text with the absolute days in brackets behind every such expression."""
    parts, position = [], 0
    for _, end, days in find(text, said):
        parts += [text[position:end], f" [{spelled(days)}]"]
        position = end
    return "".join(parts) + text[position:]


def spelled(days: Days) -> str:
    """`2026-03-05`, `2026-03`, or `2026-03-02 to 2026-03-08`."""
    first, last = days
    if first == last:
        return first.isoformat()
    if first.day == 1 and (last.year, last.month, last.day) == (
        first.year,
        first.month,
        monthrange(first.year, first.month)[1],
    ):
        return first.isoformat()[:7]
    return f"{first.isoformat()} to {last.isoformat()}"


def _same_length(text: str) -> str:
    """Letter by letter, so that places stay the same."""
    return "".join(one if len(one := fold(letter)) == 1 else letter.lower() for letter in text)


def _direction(text: str, match: re.Match[str]) -> int:
    """Of the sentence around an expression: what was before it says nothing of when."""
    at = match.start()
    begins, ends = next(((a, b) for a, b in sentence_spans(text) if a <= at < b), (0, len(text)))
    if _COMING.search(said := text[begins:ends]):
        return 1
    at, behind = at - begins, said[match.end() - begins :]

    def left(verb: re.Match[str]) -> str:
        to_come = _HOLDS.search(said[:at], verb.start()) or _HOLDS_LAST.match(behind)
        return " " if to_come and len(_WORD.findall(said[verb.end() : at])) > 1 else verb[0]

    told = _STANDS.sub(" ", _TOLD.sub(left, said[:at]) + said[at:])
    return -1 if _PAST.search(told) else 1


def _its_own(match: re.Match[str]) -> int:
    leads = _UP_TO.match(match[0])
    if _PUT_OFF.search(match.string[: match.start() + (leads.end() if leads else 0)]):
        return 1
    return -1 if _SINCE.match(match[0]) else 1 if _FROM.match(match[0]) else 0


def _days(name: str, match: re.Match[str], said: date, direction: int) -> Days | None:
    try:
        return next(_READ[name](match, said, direction), None)
    except (ValueError, OverflowError):
        return None


def _recurs(match: re.Match[str], ranges: bool = True) -> bool:
    """Is it part of a range of days of the week, or what happens on each such day or month?"""
    text, before = match.string, match.string[: match.start()]
    if match["which"]:
        return False
    ends = _UNTIL.match(match[0]) and _BEGAN.search(before)
    if ranges and (_ENDS.match(text, match.end()) or ends):
        return True
    if _its_own(match):  # a habit has a day on which it begins
        return False
    after = _CLAUSE_END.split(text[match.end() :])[0]
    clause = _CLAUSE_END.split(before)[-1] + match[0] + after
    return bool(_PARTS.match(after) or _HABIT.search(clause))


def _single(day: date) -> Days:
    return day, day


def _near(match: re.Match[str], said: date, _: int) -> Iterator[Days]:
    yield _single(said + timedelta(days=_NEAR[match[1].lower()]))


def _distance(match: re.Match[str], said: date, sign: int) -> Iterator[Days]:
    count, unit = [one.lower() for one in match.groups() if one][:2]
    number = int(count) if count.isdigit() else _COUNTS[count]
    length = _UNITS[unit]
    day = said + timedelta(days=sign * number * length)
    if length == 1:
        yield _single(day)
    elif length == 7:
        monday = day - timedelta(days=day.weekday())
        yield monday, monday + timedelta(days=6)
    else:
        months = said.year * 12 + said.month - 1 + sign * number
        yield _month(months // 12, months % 12 + 1)


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _step(match: re.Match[str]) -> int:
    which = (match["which"] or "").lower()
    return -1 if re.fullmatch(_BACK, which) else 1 if re.fullmatch(_ON, which) else 0


def _unit(match: re.Match[str], said: date, _: int) -> Iterator[Days]:
    step, unit = _step(match), match[2].lower()
    if unit in ("week", "woche", "weekend", "wochenende"):
        monday = said - timedelta(days=said.weekday()) + timedelta(days=7 * step)
        yield (
            (monday + timedelta(days=5) if unit.endswith(("end", "ende")) else monday),
            monday + timedelta(days=6),
        )
    elif unit in ("month", "monat"):
        months = said.year * 12 + said.month - 1 + step
        yield _month(months // 12, months % 12 + 1)
    else:
        yield date(said.year + step, 1, 1), date(said.year + step, 12, 31)


def _dated(match: re.Match[str], said: date, direction: int) -> Iterator[Days]:
    day, month = (match[1], match[2]) if match[1] else (match[4], match[3])
    number = int(month) if month.isdigit() else _MONTHS[month.lower()]
    every: list[date] = []
    for year in (said.year - 1, said.year, said.year + 1):
        with suppress(ValueError):  # 29 February
            every.append(date(year, number, int(day)))
    if every:
        yield _single(min(every, key=lambda one: _far(one, said, direction, 1.5)))


def _span(match: re.Match[str], said: date, direction: int) -> Iterator[Days]:
    """Of one month; the last day decides which."""
    first, last, month = int(match[1]), int(match[2]), _MONTHS[match[3].lower()]
    if first < last:
        years = (said.year - 1, said.year, said.year + 1)
        ends = [date(year, month, last) for year in years]
        end = min(ends, key=lambda one: _far(one, said, direction, 1.5))
        yield end.replace(day=first), end


def _far(day: date, said: date, direction: int, beside: float) -> float:
    distance = (day - said).days
    return abs(distance) * (1 if distance * direction >= 0 else beside)


def _numbered(match: re.Match[str], said: date, direction: int) -> Iterator[Days]:
    """Within a month; with a day of the week beside it the nearest that is one."""
    reach = range(-_FAR, _FAR) if match[1] else range(0, 32 * direction, direction)
    days = [said + timedelta(days=distance) for distance in reach]
    fit = [
        day
        for day in days
        if day.day == int(match[2]) and (not match[1] or day.weekday() == _DAYS[match[1].lower()])
    ]
    yield from (
        _single(day) for day in sorted(fit, key=lambda day: _far(day, said, direction, 2.5))
    )


def _weekday(match: re.Match[str], said: date, direction: int) -> Iterator[Days]:
    if _recurs(match):
        return
    step, wanted = _step(match), _DAYS[match[2].lower()]
    direction = step or (1 if match["which"] else direction)
    distance = (wanted - said.weekday()) % 7
    if direction < 0:
        distance = distance - 7 if distance else -7
    elif distance == 0 and (step or not match["which"]):  # who means today says so
        distance = 7
    yield _single(said + timedelta(days=distance))


def _named_month(match: re.Match[str], said: date, direction: int) -> Iterator[Days]:
    if _recurs(match, ranges=False):
        return
    wanted, direction = _MONTHS[match[2].lower()], _step(match) or direction
    year = said.year + (
        1
        if direction > 0 and wanted < said.month
        else -1
        if direction < 0 and wanted > said.month
        else 0
    )
    yield _month(year, wanted)


_READ: Final = {
    "near": _near,
    "ago": lambda match, said, _: _distance(match, said, -1),
    "ahead": lambda match, said, _: _distance(match, said, 1),
    "unit": _unit,
    "numbered": _numbered,
    "span": _span,
    "dated": _dated,
    "weekday": _weekday,
    "month": _named_month,
}
