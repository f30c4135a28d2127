"""Dates in words that `date_ranges` does not read itself: put into English for it, or read by
dateparser.

dateparser tries every language it knows on any text: 1.5 s for two words of nonsense. A list of the
words that dates are made of says first which few languages a text can be in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, Final

from oneiro_vault.core.text.query import fold
from oneiro_vault.core.time.date_ranges import MONTHS

LANGUAGES: Final = tuple(
    "en ru es fr de ja tr pt fa it zh nl vi pl ar ko cs id uk el he th sv ro hu da fi sk bg sr nb "
    "hr lt sl ca et lv hi".split()
)
"""dateparser's own order, which puts what is read most first."""
MOST: Final = 3
"""Languages tried: each costs about 20 ms once."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ZONES: Final = frozenset(
    "z utc gmt est edt cst cdt mst mdt pst pdt bst cet cest eet eest msk ist jst aest".split()
)
_ESCAPED: Final = re.compile(r"\\\\[a-z]")
_IDLE: Final = frozenset(
    "el la los las le les der die das den dem am im in en du au de del of il lo gli i".split()
)
_WHICH: Final = {
    word: english
    for english, words in {
        "last": "pasado pasada ultimo ultima ultimos ultimas letzten letzter letztes letzte "
        "vergangenen dernier derniere derniers dernieres passe scorso scorsa ultimi ultime "
        "passado passada",
        "this": "este esta diesen dieser dieses diese ce cet cette questo questa deze",
    }.items()
    for word in words.split()
}
"""What stands beside a weekday or a month, and dateparser does not translate."""
_CALLED: Final = {"no": "nb"}
_NOT_DATES: Final = frozenset(
    {"name", "date_order", "no_word_spacing", "skip", "simplifications", "pertain"}
)
"""A language's own name, and words around dates that say nothing by themselves."""


def read(words: str, now: datetime) -> tuple[date, str]:
    """How exact it was said: `day`, `month`, `year` or a time. Raises ValueError when it is no
    date."""
    if len(words) < 6 and not any(character.isalpha() for character in words):
        raise ValueError(words)  # dateparser takes "5" for a day
    spoken = languages(words)
    if not spoken:
        raise ValueError(words)
    import dateparser.date

    found = dateparser.date.DateDataParser(
        languages=spoken,
        settings={
            "RELATIVE_BASE": now.replace(tzinfo=None),
            "PREFER_DATES_FROM": "past",
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    ).get_date_data(words)
    if found.date_obj is None:
        raise ValueError(words)
    return found.date_obj, str(found.period)


def english(words: str) -> Iterator[str]:
    """As far as dateparser knows the words, from each language they can be in: `martes pasado`,
    `last tuesday`."""
    spoken = [name for name in languages(words) if name != "en"]
    if not spoken:
        return
    from dateparser.conf import settings
    from dateparser.languages.loader import LocaleDataLoader

    loader = LocaleDataLoader()
    bare = " ".join(
        word for word in words.split() if fold(word) not in _IDLE
    )  # "die" may be short for a Tuesday
    for name, text in product(spoken, dict.fromkeys((words, bare))):
        told = (
            fold(loader.get_locale(name).translate(text, keep_formatting=False, settings=settings))
            .replace(".", " ")
            .split()
        )
        rest = [word for word in told if word not in _IDLE]
        which = [english for word in rest if (english := _WHICH.get(word))]
        yield " ".join((*which[:1], *(word for word in rest if word not in _WHICH)))


@cache
def calendar(language: str) -> tuple[re.Pattern[str], Mapping[str, int]]:
    """What finds dates in a text of this language (day `d`, month `m`, year `y` or `z`), and month
    -> its number."""
    info: Mapping[str, Any] = import_module(
        f"dateparser.data.date_translation_data.{_CALLED.get(language, language)}"
    ).info
    months: dict[str, int] = {}
    for number, english in enumerate(MONTHS, 1):
        names = [name.lower() for name in info.get(english.lower(), ())]
        # short forms are words of their own too often: "mar" is the sea, "sept" seven
        whole = [name for name in names if len(name) > 4 or name == max(names, key=len)]
        months |= {form: number for name in whole for form in (name, fold(name))}
    either = "|".join(sorted(map(re.escape, months), key=len, reverse=True))
    day, year = r"(?P<d>[12]\d|3[01]|0?[1-9])", r"[12]\d{3}"
    return re.compile(
        rf"\b(?:{day}(?:\.|er|º|"
        rf"ª)?\s+(?:d[ei]\s+)?)?(?P<m>{either})\b\.?(?:\s+(?:del?\s+)?(?P<y>{year})\b)?|\b(?:en|"
        rf"em|in|im\s+jahre?|nel|año|année|ano|jahr|seit|desde|depuis)\s+(?P<z>{year})\b(?!-)",
        re.IGNORECASE,
    ), months


def languages(words: str) -> list[str]:
    """Likeliest first; figures alone are in English, nonsense is in none."""
    tokens = set(_LETTERS.findall(fold(words))) - _ZONES
    if not tokens:
        return ["en"]
    spaced, unspaced = _vocabulary()
    known = [(sum(token in spaced[name] for token in tokens), name) for name in spaced]
    known += [(any(word in words for word in unspaced[name]), name) for name in unspaced]
    return [name for count, name in sorted(known, key=lambda pair: -pair[0]) if count][:MOST]


@cache
def _vocabulary() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    spaced: dict[str, frozenset[str]] = {}
    unspaced: dict[str, frozenset[str]] = {}
    for name in LANGUAGES:
        info: Mapping[str, Any] = import_module(
            f"dateparser.data.date_translation_data.{name}"
        ).info
        phrases = list(_phrases(info))
        if info.get("no_word_spacing") == "True":
            unspaced[name] = frozenset(
                word for phrase in phrases for word in _LETTERS.findall(phrase)
            )
        else:
            spaced[name] = frozenset(
                word for phrase in phrases for word in _LETTERS.findall(fold(phrase))
            )
    return spaced, unspaced


def _phrases(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield _ESCAPED.sub(" ", value)
    elif isinstance(value, list):
        for entry in value:
            yield from _phrases(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _phrases(entry) if key not in _NOT_DATES else ()
