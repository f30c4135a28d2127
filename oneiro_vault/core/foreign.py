"""Dates in words that are not read by `when` itself, through dateparser, within bounds.

dateparser by itself tries every language it knows on any text and builds a dictionary for each: 1.5 s for two words of nonsense. Here a
list of the words that date expressions are made of says first which few languages a text can be in; nonsense is in none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import cache
from importlib import import_module
from typing import Any, Final

from oneiro_vault.core.query import fold

LANGUAGES: Final = tuple(
    "en ru es fr de ja tr pt fa it zh nl vi pl ar ko cs id uk el he th sv ro hu da fi sk bg sr nb hr lt sl ca et lv hi".split()
)
"""dateparser's own order, which puts what is read most first."""
MOST: Final = 3
"""Languages tried: each costs about 20 ms once."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_ZONES: Final = frozenset("z utc gmt est edt cst cdt mst mdt pst pdt bst cet cest eet eest msk ist jst aest".split())
_ESCAPED: Final = re.compile(r"\\\\[a-z]")
_NOT_DATES: Final = frozenset({"name", "date_order", "no_word_spacing", "skip", "simplifications", "pertain"})
"""What a language's data holds beside the words of dates: its own name, and words around dates that say nothing by themselves."""


def read(words: str, now: datetime) -> tuple[date, str]:
    """The day that is meant, and how exact it was said: `day`, `month`, `year` or a time. Raises ValueError when it is no date."""
    if len(words) < 6 and not any(character.isalpha() for character in words):
        raise ValueError(words)  # dateparser takes "5" for a day
    spoken = languages(words)
    if not spoken:
        raise ValueError(words)
    import dateparser.date

    found = dateparser.date.DateDataParser(
        languages=spoken,
        settings={"RELATIVE_BASE": now.replace(tzinfo=None), "PREFER_DATES_FROM": "past", "RETURN_AS_TIMEZONE_AWARE": False},
    ).get_date_data(words)
    if found.date_obj is None:
        raise ValueError(words)
    return found.date_obj, str(found.period)


def languages(words: str) -> list[str]:
    """The languages a date in these words can be in, likeliest first; figures alone are in English, nonsense is in none."""
    tokens = set(_LETTERS.findall(fold(words))) - _ZONES
    if not tokens:
        return ["en"]
    spaced, unspaced = _vocabulary()
    known = [(sum(token in spaced[name] for token in tokens), name) for name in spaced]
    known += [(any(word in words for word in unspaced[name]), name) for name in unspaced]
    return [name for count, name in sorted(known, key=lambda pair: -pair[0]) if count][:MOST]


@cache
def _vocabulary() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """language -> the words its dates are made of: folded, and for languages without spaces as they are written."""
    spaced: dict[str, frozenset[str]] = {}
    unspaced: dict[str, frozenset[str]] = {}
    for name in LANGUAGES:
        info: Mapping[str, Any] = import_module(f"dateparser.data.date_translation_data.{name}").info
        phrases = list(_phrases(info))
        if info.get("no_word_spacing") == "True":
            unspaced[name] = frozenset(word for phrase in phrases for word in _LETTERS.findall(phrase))
        else:
            spaced[name] = frozenset(word for phrase in phrases for word in _LETTERS.findall(fold(phrase)))
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
