"""The sentences of a text, by a kept library that knows the abbreviations of many languages; no sentence goes over the end of a line."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from oneiro_vault.core.language import detect

_LINE: Final = re.compile(r"[^\n]+")
_LEAD: Final = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+)?\s*")


@lru_cache(maxsize=2048)
def spans(text: str) -> tuple[tuple[int, int], ...]:
    """[start, end) of every sentence, without the blanks around it and the marks of lists and headings."""
    from sentencex import get_sentence_boundaries

    language, found = detect(text) or "en", []
    for line in _LINE.finditer(text):
        begin = line.start() + _lead(line[0])
        for one in get_sentence_boundaries(language, text[begin : line.end()]):
            start, end = begin + one["start_index"], begin + one["end_index"]
            words = text[start:end]
            start, end = start + len(words) - len(words.lstrip()), end - len(words) + len(words.rstrip())
            if start < end:
                found.append((start, end))
    return tuple(found)


def split(text: str) -> list[str]:
    """The sentences as they stand."""
    return [text[start:end] for start, end in spans(text)]


def _lead(line: str) -> int:
    found = _LEAD.match(line)
    return found.end() if found else 0
