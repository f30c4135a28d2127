"""The sentences of a text, by a kept library that knows the abbreviations of many languages; no
sentence goes over the end of a line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oneiro_vault.core.text.language import detect

_LINE: Final = re.compile(r"[^\n]+")
_GOES_ON: Final = (
    re.compile(
        r"(?<![\d.,:])(?:[0-2]?\d|3[01])\.$"
        r"|(?<!\w)(?:geb|verh|ca|nr|evtl|ggf|inkl|zzgl|bzw|vgl|hl)\.$",
        re.I,
    ),
    re.compile(
        r"(?:jan|feb|mär|mar|apr|mai|may|maj|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäöüé]{0,7}\b|"
        r"(?:stock|etage|og|klasse|kapitel|geburtstag|platz|mal|semester|jahrhundert|weltkrieg|"
        r"schuljahr|quartal|advent)\b",
        re.I,
    ),
)
"""(end, beginning) of what the library cuts apart: the day of a month, an ordinal number, an
abbreviation that it does not know."""
_SMALL: Final = re.compile(r"(?<![\s(]\d)(?<![\s(]\d\d)[.!?…]+[\"'”’)]*\s+([^\W\d_])")
"""The letter with which another sentence may begin where somebody types without capitals; not
behind the day of a month."""
_LEAD: Final = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+)?\s*")


@lru_cache(maxsize=2048)
def spans(text: str) -> tuple[tuple[int, int], ...]:
    """[start, end) of every sentence, without the blanks around it and the marks of lists and
    headings."""
    from sentencex import get_sentence_boundaries

    language = detect(text) or "en"
    found: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        begin = line.start() + _lead(line[0])
        whole = True
        for one in get_sentence_boundaries(language, _capitals(text[begin : line.end()], language)):
            start, end = begin + one["start_index"], begin + one["end_index"]
            words = text[start:end]
            start, end = (
                start + len(words) - len(words.lstrip()),
                end - len(words) + len(words.rstrip()),
            )
            if start >= end:
                continue
            if not whole and _goes_on(text[found[-1][0] : found[-1][1]], words):
                start = found.pop()[0]
            found.append((start, end))
            whole = False
    return tuple(found)


def split(text: str) -> list[str]:
    """The sentences as they stand."""
    return [text[start:end] for start, end in spans(text)]


def _capitals(line: str, language: str) -> str:
    """A line that somebody typed all in small letters with a capital wherever a sentence may begin,
    since the library sees that only by a capital in most languages but English; any other line as
    it is."""
    if language == "en":
        return line
    begins = [found.start(1) for found in _SMALL.finditer(line)]
    if not line[:1].islower() or any(not line[at].islower() for at in begins):
        return line
    letters = list(line)
    for at in begins:
        letters[at] = letters[at].upper()[:1]
    return "".join(letters)


def _goes_on(before: str, words: str) -> bool:
    """Is it one sentence, cut after a number or an abbreviation?"""
    end, beginning = _GOES_ON
    cut = end.search(before)
    return bool(cut and (cut[0][0].isalpha() or beginning.match(words.lstrip())))


def _lead(line: str) -> int:
    found = _LEAD.match(line)
    return found.end() if found else 0
