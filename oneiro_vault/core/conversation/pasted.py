"""Which parts of what a person typed are somebody else's words: quotations, code, mails, pages,
logs and whatever else was pasted.

Whose words a line has cannot be seen from what it says, since whoever plants it chooses that; what
can be seen is that a turn holds more than what was typed. Where anything in it hints at that, only
its first line is the person's, and not even that where a later line may speak of it. What a person
marks off (a fence, quoted lines, quotation marks) hints at nothing. In doubt it is foreign: a fact
then has less trust than it could have, while a planted line never has more. What begins inside a
line without any mark is told from the person's words by a trained tagger (`tagging`); as it may be
wrong, such words are not passed over, only trusted less.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from oneiro_vault.core.conversation import pasted_patterns as signs
from oneiro_vault.core.conversation import tagging
from oneiro_vault.core.text import sentences
from oneiro_vault.core.text.language import detect, is_english

ENGLISH: Final = "en"
UNKNOWN: Final = "?"
_SHORT: Final = 3
"""Words of a sentence that does not tell its language."""
_QUESTION: Final = re.compile(r"[^.!?。！？][?？]")
Extent = tuple[int, int]
"""[start, end)"""


class Stretch(NamedTuple):
    """`text[start:end]` is not the person's own, or may not be (`doubted`)."""

    start: int
    end: int
    doubted: bool = False


def foreign(text: str) -> list[Stretch]:
    """Every stretch that is not the person's own, or may not be, in order and apart from each
    other."""
    found, lines = _marked(text)
    own = _typed([(text[start:end], marks) for start, end, marks in lines], _in_bursts(text))
    extents = [(start, end) for start, end, _ in lines]
    stretches = [Stretch(*one) for one in found + extents[own:]]
    for start, end in extents[:own]:
        stretches += [
            Stretch(start + a, start + b, doubted) for a, b, doubted in _inline(text[start:end])
        ]
    return _joined(stretches, text)


def _marked(text: str) -> tuple[list[Extent], list[tuple[int, int, bool]]]:
    """What the person marked off, and the other lines: does such a stretch follow on them?"""
    found = _fenced(text)
    lines = [
        (start, end)
        for start, end in _lines(text)
        if not any(a < end and b > start for a, b in found)
    ]
    found += [one for one in lines if signs.QUOTED_LINE.match(text[slice(*one)])]
    lines = [one for one in lines if one not in set(found)]
    follows = [
        any(end <= a < then for a, _ in found)
        for (_, end), (then, _) in pairwise([*lines, (len(text), 0)])
    ]
    return found, [(start, end, one) for (start, end), one in zip(lines, follows, strict=True)]


def _fenced(text: str) -> list[Extent]:
    """From the first fence to the last: what is pasted may hold fences too. One that is open is so
    to the end."""
    marks = list(signs.FENCE.finditer(text))
    if not marks:
        return []
    return [(marks[0].start(), marks[-1].end() if len(marks) % 2 == 0 else len(text))]


def _lines(text: str) -> list[Extent]:
    return [
        found.span()
        for found in re.finditer(r"[^\n\v\f\r\x85\u2028\u2029]+", text)
        if found[0].strip()
    ]


def _typed(turn: Sequence[tuple[str, bool]], burst: bool) -> int:
    """How many of these lines (does something marked off follow?) are the person's own, from the
    first on. `burst`: see `_in_bursts`."""
    if not turn:
        return 0
    (first, marked), *later = turn
    if _strange(first) and (later or not _answers(first)):
        return 0
    if not later:
        return 1
    if signs.GREETING.match(first) and first.rstrip().endswith(","):
        return 0
    if not marked and _introduces(first, [line for line, _ in later], burst):
        return 1
    last = len(later) - 1
    asking = [not one and number < last for number, (_, one) in enumerate(later)]
    if not any(_hints(line, may, burst) for (line, _), may in zip(later, asking, strict=True)):
        return len(turn)
    return 1 if "?" in first or not any(_speaks_of(line) for line, _ in later) else 0


def _in_bursts(text: str) -> bool:
    """Is a turn typed line by line: in small letters, and without an empty line, as people do who
    end no sentence with a mark? What they paste rarely looks like that."""
    lines = text.split("\n")
    return all(line.lstrip()[:1].islower() and not signs.SPEAKER.match(line) for line in lines)


def _introduces(line: str, later: Sequence[str], burst: bool) -> bool:
    """Does a line speak of what comes after it? In another language than these words are of, in
    doubt yes. `burst`: as for `_hints`."""
    plain = line.rstrip(" *_👇↓")
    if plain.endswith((":", "：")):
        before, listed = plain[:-1], all(map(signs.ITEM.match, later))
        return not (signs.OF_ONESELF.search(before) or (listed and signs.LISTED.search(before)))
    ended = signs.KNOWN.search(line) and signs.SENTENCE_END.search(line)
    if not burst and (not ended or _QUESTION.search(line)):
        return True
    last = sentences.split(line)[-1]
    return any(one.search(last) for one in (signs.HERE, signs.NAMES_IT))


def _hints(line: str, asking: bool, burst: bool) -> bool:
    """Does a later line look as if it had not been typed, or speak of what was not? `asking`: may
    it ask about the next one? `burst`: as for `_typed`."""
    if item := signs.ITEM.match(line):
        return _strange(line[item.end() :])
    words = (signs.ORDERS, signs.READERS, *(() if burst else (signs.NAMES_IT, _QUESTION)))
    if _strange(line) or len(line) > signs.LONG or any(one.search(line) for one in words):
        return True
    if signs.GREETING.match(line) or signs.BACK.match(line):
        return True
    if asking and line.rstrip().endswith((":", "：")):
        return True
    return (
        not burst
        and not signs.SENTENCE_END.search(line)
        and (line.lstrip()[:1].isupper() or asking)
        and len(line.split()) <= signs.TITLE_WORDS
    )


def _speaks_of(line: str) -> bool:
    """May a line speak of one above it?"""
    return bool(signs.BACK.match(line) or _QUESTION.search(line))


def _strange(line: str) -> bool:
    """No sentence that somebody types: it begins with marks or numbers, or its letters are dressed
    up or turned around."""
    others = [sign for sign in line[: signs.LONG] if not sign.isascii()]
    dressed = any(
        sign.isalpha() and unicodedata.normalize("NFKC", sign).isascii() for sign in others
    )
    return (
        bool(signs.NO_PROSE.match(line))
        or bool(signs.MIXED.search(line))
        or dressed
        or any(unicodedata.bidirectional(sign) in signs.TURNING for sign in others)
    )


def _answers(line: str) -> bool:
    """Does somebody begin with a number, as people answer: of nobody who speaks or is spoken to?"""
    speaks = signs.CLAIMS.search(line) or signs.TO_READER.search(line)
    return bool(signs.SENTENCE_OF_NUMBERS.match(line)) and not speaks


def _inline(line: str) -> Iterator[Stretch]:
    """Quotations, from the first mark to the last; what markup or orders to a reader begin, to the
    end of the line; and the words that `tagging` takes for somebody else's, sentence by
    sentence."""
    quoted = _quotation(line)
    if quoted:
        yield Stretch(*quoted)
        line = line[: quoted[0]] + "." * (quoted[1] - quoted[0]) + line[quoted[1] :]
    sure = [
        found.start()
        for pattern in (signs.MARKUP, signs.ORDERS)
        for found in pattern.finditer(line)
    ]
    if len(line) > signs.LONG and not signs.CLAIMS.search(line):
        sure.append(0)
    if sure and line[min(sure) :].strip(" ."):
        yield Stretch(min(sure), len(line))
        line = line[: min(sure)]
    words, parts = tagging.words(line), sentences.spans(line)
    for (_, start, stop), doubt in zip(words, tagging.doubtful(line), strict=False):
        if doubt >= tagging.SURE and line[start].isalnum():
            yield Stretch(
                start, next((end for _, end in parts if end >= stop), len(line)), doubted=True
            )
    if len(words) > tagging.LONGEST:
        yield Stretch(words[tagging.LONGEST][1], len(line), doubted=True)
    for copied in (signs.CHAT, signs.SALUTATION, signs.SPEAKERS):
        if begins := copied.search(line):
            yield Stretch(begins.start(), len(line), doubted=True)
    if (other := _another_language([line[slice(*one)] for one in parts])) is not None:
        yield Stretch(parts[other][0], len(line), doubted=True)


def _another_language(parts: Sequence[str]) -> int | None:
    """The first sentence that is in another language than the ones before it, of whoever says it;
    English is mixed in by everybody."""
    language = ""
    for number, sentence in enumerate(parts):
        found = detect(sentence) if len(sentence.split()) > _SHORT else ""
        found = found or (ENGLISH if is_english(sentence) or signs.ENGLISH.search(sentence) else "")
        if language and found not in ("", language, ENGLISH) and signs.CLAIMS.search(sentence):
            return number
        language = found or language or (UNKNOWN if sentence.endswith(("?", "？")) else "")
    return None


def _quotation(line: str) -> Extent | None:
    """From the first quotation mark to the last where some words are between them: a word or two in
    marks is a name."""
    ends = [found.end() for found in signs.CLOSES.finditer(line)]
    for opened in signs.OPENS.finditer(line):
        words = line[opened.end() : ends[-1] - 1] if ends and ends[-1] > opened.end() else ""
        if len(words.split()) >= signs.QUOTED_WORDS or (
            len(words) > signs.QUOTED_WORDS and unicodedata.east_asian_width(words[0]) == "W"
        ):
            return opened.start(), ends[-1]
        if not words:
            return None
    return None


def _joined(stretches: list[Stretch], text: str) -> list[Stretch]:
    """In order, what touches or has only blanks between as one: in no doubt where a part of it is
    in none."""
    found: list[Stretch] = []
    for start, end, doubted in sorted(stretches):
        last = found[-1] if found else None
        if last and (start <= last.end or not text[last.end : start].strip()):
            found[-1] = Stretch(last.start, max(end, last.end), last.doubted and doubted)
        else:
            found.append(Stretch(start, end, doubted))
    return found
