"""The line of a text that answers a question best, and where the question's words stand in it.

Words are compared by a light stem, so that "restored" shows why a question about "restore" found
it; finding itself is the index's job.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import log
from typing import Final

from oneiro_vault.core.text.language import STOP_WORDS, stem
from oneiro_vault.core.text.query import tokens

LONGEST: Final = 240
"""Characters of a snippet."""
_SHORT: Final = 60
"""Characters below which a sentence takes the next one along."""
_MOST: Final = 2_000
_WORDS: Final = 64
_BREAK: Final = re.compile(r"\n+|[.!?…][\"'”’)\]]*[ \t]+|[。！？]\n*")
_DOUBLED: Final = re.compile(r"([b-df-hjkmnp-rtvwx])\1$")

_HEADING: Final = re.compile(r"(#{1,6})(?:\s|$)")
MARKUP: Final = re.compile(
    r"^[ \t]*(?:>[ \t]*|[-*+][ \t]+(?:\[.\][ \t]+)?|\d{1,9}[.)][ \t]+|\[![\w-]+\][+-]?[ \t]*)+"
)
"""What begins a line of a quotation, a list or a callout."""
_SHOWN_WIKI: Final = re.compile(r"!?\[\[([^\[\]|]*?)(?:\\?\|([^\[\]]*))?\]\]")
_SHOWN_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS: Final = re.compile(r"\*\*|__|~~|==|`|%%|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_MARKS: Final = frozenset("*_~=`%")

Spot = tuple[int, int]
"""Where a word stands: first and last + 1 character."""
Found = tuple[Spot, int]
"""A place and the number of the word that stands there."""


class Finder:
    """Looks for the words of one question (as `tokens` makes them) in many texts."""

    def __init__(self, words: Iterable[str], language: str = "") -> None:
        self.words = list(dict.fromkeys(words))[:_WORDS]
        self._stem = partial(stem, language=language) if language else _stem
        self._stems = {self._stem(word): number for number, word in enumerate(self.words)}
        self._pattern = _pattern(self.words, self._stem)

    def spots(self, text: str) -> list[Found]:
        """Every place of a word of the question, in order, with the number of that word."""
        if self._pattern is None:
            return []
        found: list[Found] = []
        folded = _Folded(text)
        for match in self._pattern.finditer(folded.plain):
            word = match[0]
            number = self._stems.get(word if match.lastgroup else self._stem(word))
            if number is not None and (word not in STOP_WORDS or word == self.words[number]):
                found.append(((folded.back(match.start()), folded.back(match.end())), number))
                if len(found) >= _MOST:
                    break
        return found

    def share(self, spots: Sequence[Found], *texts: str) -> float:
        """How many of the question's words (0..1) are among the places found, or stand in these
        others."""
        held = {number for found in (spots, *map(self.spots, texts)) for _, number in found}
        return len(held) / len(self.words) if self.words else 0.0

    def best(self, body: str, spots: Sequence[Found]) -> str:
        """The sentence with most of the words, rarer ones first, as one line; of a heading the
        first that stands under it; "" when there are none."""
        if not spots:
            return ""
        ends = [*(match.end() for match in _BREAK.finditer(body)), len(body)]
        common = Counter(number for _, number in spots)
        held: dict[int, set[int]] = {}
        for (start, _), number in spots:
            held.setdefault(bisect_right(ends, start), set()).add(number)
        place = max(
            held, key=lambda at: (sum(1 / (1 + log(common[number])) for number in held[at]), -at)
        )
        place = _under(body, ends, min(place, len(ends) - 1))
        first, last = ends[place - 1] if place else 0, ends[place]
        while (
            last - first < _SHORT
            and place + 1 < len(ends)
            and "\n" not in body[ends[place - 1] if place else 0 : last]
        ):
            place += 1
            last = ends[place]
        line = _line(body[first : min(last, first + 20 * LONGEST)])
        return around(line, [spot for spot, _ in self.spots(line)], LONGEST)


def _under(body: str, ends: Sequence[int], place: int) -> int:
    """The stretch itself; of a heading the first below it that is none, where there is one."""
    starts, level = (0, *ends), 0
    for at in range(place, len(ends)):
        text = body[starts[at] : ends[at]].strip()
        heading = _HEADING.match(text)
        if text and not heading:
            return at
        if heading and len(heading[1]) <= level:
            break
        level = level or (len(heading[1]) if heading else 0)
    return place


def around(text: str, spots: Sequence[Spot], width: int) -> str:
    """At most `width` characters, the first place of a word in view; `…` where something is left
    out (0: all of it)."""
    if not width or len(text) <= width:
        return text
    start = 0
    if spots and spots[0][1] > width - 2:
        start = max(0, min(spots[0][0] - width // 3, len(text) - width + 1))
        start = text.find(" ", start, spots[0][0]) + 1 or start
    head = "…" if start else ""
    room = width - len(head)
    if len(text) - start <= room:
        return head + text[start:]
    return head + text[start : start + room - 1].rstrip() + "…"


def _stem(word: str) -> str:
    """Other languages than English keep their endings, so that only exact words match."""
    if not (word.isascii() and word.isalpha()) or len(word) <= 3:
        return word
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) >= len(ending) + 3 and word.endswith(ending):
            word = word[: -len(ending)]
            word = word[:-1] if len(word) > 3 and _DOUBLED.search(word) else word
            break
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def _pattern(words: Sequence[str], stem: Callable[[str], str]) -> re.Pattern[str] | None:
    """Words that begin like one of ours (their stems decide), and pieces of scripts without spaces
    anywhere."""
    pieces = [word for word in words if _is_unspaced(word)]
    stems = {word: stem(word) for word in words if word not in pieces}
    # "studi" stands for "study" and "studies", which begin alike up to its last letter
    spaced = [
        re.escape(short[:-1] if short != word and short.endswith("i") else short)
        for word, short in stems.items()
    ]
    unspaced = [re.escape(word) for word in pieces]
    parts = [rf"(?<![^\W_])(?:{'|'.join(spaced)})[^\W_]*"] if spaced else []
    parts += [rf"(?P<piece>{'|'.join(unspaced)})"] if unspaced else []
    return re.compile("|".join(parts)) if parts else None


def _is_unspaced(word: str) -> bool:
    """`tokens` cuts words of scripts without spaces into pairs."""
    return len(list(tokens(f"{word}{word}{word}"))) > 1


class _Plain(dict[int, str]):
    """Each character as `tokens` would have it; a few letters become two."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = "".join(tokens(character)) or character
        return self[code]


_PLAIN: Final = _Plain()


class _Folded:
    """A text as `tokens` spells it, and the way back to its own places."""

    def __init__(self, text: str) -> None:
        self.plain = text.lower() if text.isascii() else text.translate(_PLAIN)
        self._wide: list[int] = []
        if len(self.plain) != len(text):
            wide = {character for character in set(text) if len(_PLAIN[ord(character)]) > 1}
            # where the second half of a letter that became two stands in `plain`
            grown = (
                place
                for place, character in enumerate(text)
                for _ in _PLAIN[ord(character)][1:]
                if character in wide
            )
            self._wide = [place + number + 1 for number, place in enumerate(grown)]

    def back(self, place: int) -> int:
        return place - bisect_right(self._wide, place)


def _line(text: str) -> str:
    """A stretch of a body as one line of plain text, without headings' and lists' marks."""
    return plain(
        " ".join(MARKUP.sub("", part.strip().lstrip("#").strip()) for part in text.splitlines())
    )


def plain(text: str) -> str:
    """Markdown as its reader sees it: links by their words, without emphasis, on one line."""
    if "[" in text:
        text = _SHOWN_LINK.sub(r"\1", _SHOWN_WIKI.sub(lambda found: found[2] or found[1], text))
    if not _MARKS.isdisjoint(text):
        text = _EMPHASIS.sub("", text)
    return " ".join(text.split())
