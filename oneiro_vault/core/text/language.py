"""Which language a text is in, which of its words say nothing by themselves, and what its words are
without their endings.

A language is told by its function words. "" stands for English, and for a text too short to tell.
Stemmers and lists are loaded when a text may be in another language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Any, Final

_FUNCTION_WORDS = """
a about above after again against ago ain all also am an and any are aren as at be because been
before being below between both but by can could couldn d did didn do does doesn doing don done down
during each either else ever few for from further get got had hadn has hasn have haven having he her
here hers herself him himself his how i if in into is isn it its itself just ll m many may me might
more most much must mustn my myself no nor not of off on once one ones only or other our ours
ourselves out over own re s same shall she should shouldn so some still such t than that the their
theirs them themselves then there these they this those through to too under until up us ve very was
wasn we were weren what when where which while who whom whose why will with won would wouldn yet you
your yours yourself yourselves
"""
STOP_WORDS: frozenset[str] = frozenset(_FUNCTION_WORDS.split())
"""English. Left in the query they outvote the rare words: Recall@10 .57 with them, .61 without."""

WHOLE_LETTERS: Final = {
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
    "ø": "o",
    "ł": "l",
    "đ": "d",
    "ð": "d",
    "þ": "th",
}
"""Letters without an accent to take off, which FTS5 therefore leaves as they are."""

NAMES: Final = {
    "es": "Spanish", "fr": "French", "de": "German", "pt": "Portuguese", "it": "Italian",
    "nl": "Dutch", "ru": "Russian", "pl": "Polish",
    "tr": "Turkish", "ar": "Arabic", "id": "Indonesian", "sv": "Swedish", "cs": "Czech",
    "ro": "Romanian", "hu": "Hungarian",
    "el": "Greek", "da": "Danish", "fi": "Finnish", "no": "Norwegian", "ca": "Catalan",
    "ja": "Japanese", "ko": "Korean", "th": "Thai", "zh": "Chinese",
}  # fmt: skip
"""Code -> English name, the commonest first: that decides between equals. The last four are told by
their script, and have no stems."""

_SCRIPTS: Final = {
    "ja": "[\u3040-\u30ff]",
    "ko": "[\uac00-\ud7af]",
    "th": "[\u0e00-\u0e7f]",
    "zh": "[\u3400-\u9fff]",
}
STEMMED: Final = NAMES.keys() - _SCRIPTS.keys()
"""Languages whose words have endings to take off."""
COMPOUNDING: Final = frozenset(("da", "de", "fi", "hu", "nl", "no", "sv"))
"""Languages that write several words as one: the club of those who read a `Buch` is a
`Buchclub`."""
CAPITALISING: Final = frozenset(("de",))
"""Languages that write every noun with a capital, so that one tells no name."""
_OTHER: Final = re.compile("|".join(f"(?P<{code}>{letters})" for code, letters in _SCRIPTS.items()))
_WORD: Final = re.compile(r"\w\w+|[^\W\x00-\x7f]|\b\w(?=['’]\w)")
"""Single plain letters tell nothing but before an apostrophe (l'homme): formulas are full of
them."""
_SAMPLE: Final = 2_000
_CLEAR: Final = 2
"""Different function words that English has not tell another language."""
_SHARE: Final = 0.08
"""Of a text's different words: in prose it is a fifth or more."""
_MARK: Final = "\u01c2"
"""A letter at which FTS5 neither cuts a word nor finds an English ending, and that stands in no
word."""
_ORDER: Final = {name: place for place, name in enumerate(NAMES)}


def detect(text: str, among: Collection[str] = NAMES, least: int = _CLEAR) -> str:
    """ "" where fewer than `least` words, or fewer than for English, speak for another language.

    A note in two languages is in the other one: of 6,000 paragraphs of English documentation that
    costs 18, and of a diary in German with English lines 86 of 510 notes were lost otherwise.
    """
    sample = text[:_SAMPLE]
    if not sample.isascii() and (script := _by_script(sample)):
        return script if script in among else ""
    lower = sample.lower()
    words = set(_WORD.findall(lower if lower.isascii() else unicodedata.normalize("NFC", lower)))
    telling, english = words & _speakers().keys(), words & _english()
    seen = Counter(
        name for word in telling - english for name in _speakers()[word] if name in among
    )
    if not seen:
        return ""
    shared = Counter(name for word in telling & english for name in _speakers()[word])
    best = max(seen, key=lambda name: (seen[name] + shared[name], -_ORDER[name]))
    wanted = max(least - (not sample.isascii()), _SHARE * len(words), len(english) - shared[best])
    return best if seen[best] >= wanted else ""


def is_english(text: str) -> bool:
    """One in another language seldom has a function word that only English has."""
    words = set(_WORD.findall(text[:_SAMPLE].lower()))
    return not words.isdisjoint(_english() - _speakers().keys())


@cache
def stop_words(language: str) -> frozenset[str]:
    """The words of a language that say nothing about the subject, folded."""
    return frozenset(map(folded, _listed(language))) if language in STEMMED else STOP_WORDS


@lru_cache(2**16)
def stem(word: str, language: str) -> str:
    """Folded and without its endings: `Häuser` and `Hauses` are `haus`.

    English endings are taken off last, since every language has English words.
    """
    if language not in STEMMED:
        return folded(word)
    return str(
        _stemmer("porter").stemWord(
            folded(_stemmer(NAMES[language].lower()).stemWord(folded(word)))
        )
    )


def mark(word: str, language: str) -> str:
    """As the index has it beside the word: FTS5 would take the stem for English."""
    return stem(word, language) + _MARK


@lru_cache(2**14)
def folded(word: str) -> str:
    """A word as the index has it: lower case, Latin letters without accents."""
    lower = word.lower()
    return (
        lower
        if lower.isascii()
        else "".join(WHOLE_LETTERS.get(c) or plain(c) for c in unicodedata.normalize("NFC", lower))
    )


def plain(character: str) -> str:
    """Without its accent if its base is a Latin letter: all that `remove_diacritics 2` does."""
    base = unicodedata.normalize("NFD", character)
    return base[0] if base[0].isascii() else character


def version() -> str:
    """Changes whenever texts would be stemmed otherwise."""
    import Stemmer

    return f"snowball {Stemmer.version()}, marked, beside the words"


def _by_script(text: str) -> str:
    """Japanese has its own letters between the Chinese ones."""
    found = Counter(match.lastgroup or "" for match in _OTHER.finditer(text))
    if sum(found.values()) * 4 < sum(character.isalpha() for character in text):
        return ""
    return "ja" if found["ja"] else max(found, key=lambda name: (found[name], name), default="")


@cache
def _speakers() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for name in sorted(STEMMED):
        for word in _listed(name):
            found.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in found.items()}


@cache
def _english() -> frozenset[str]:
    """Short ones only if they are ours: the list has those of other languages among its own."""
    from stop_words import get_stop_words

    return STOP_WORDS.union(word for word in get_stop_words("english") if len(word) > 3)


@cache
def _listed(language: str) -> frozenset[str]:
    from stop_words import get_stop_words

    words = get_stop_words(NAMES[language].lower())
    return frozenset(word for line in words for word in re.findall(r"\w+", line.lower()))


@cache
def _stemmer(name: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(name, 0)  # without its own memory, which threads would share
