"""What a text speaks of: its sentences (by a kept library that knows the abbreviations of many
languages), words and numbers in one spelling, for the checks that an answer rests on what it was
shown."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Final

from oneiro_vault.core.text.language import STOP_WORDS, detect
from oneiro_vault.core.text.query import tokens as words_of

_LINE: Final = re.compile(r"[^\n]+")
_GOES_ON: Final = (
    re.compile(
        r"(?<![\d.,:])(?:[0-2]?\d|3[01])\.$"
        r"|(?<!\w)(?:geb|verh|ca|nr|evtl|ggf|inkl|zzgl|bzw|vgl|hl|drs?|prof|mrs?|approx)\.$",
        re.I,
    ),
    re.compile(
        r"(?:jan|feb|mär|mar|apr|mai|may|maj|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zäöüé]{0,7}\b|"
        r"(?:stock|etage|og|klasse|kapitel|geburtstag|platz|mal|semester|jahrhundert|weltkrieg|"
        r"schuljahr|quartal|advent)\b",
        re.I,
    ),
)
"""(end, beginning) of what the library cuts apart: the day of a month, an ordinal, an
abbreviation."""
_SMALL: Final = re.compile(
    r"(?<![\s(]\d)(?<![\s(]\d\d)(?<!\b(?:am|ab) \d\.[01]\d)(?<!\b(?:am|ab) [0-3]\d\.[01]\d)"
    r"(?<!\b(?:am|ab) \d\.\d)(?<!\b(?:am|ab) [0-3]\d\.\d)[.!?…]+[\"'”’)]*\s+([^\W\d_])"
)
"""Where somebody types without capitals; not behind the day of a month ("am 3.", "am 3.12.")."""
Word = tuple[str, int, int]
"""(word, start, end)"""
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_LEAD: Final = re.compile(r"\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+)?\s*")
_INSIDE: Final = re.compile(r"(?<=[^\W_a-zß-ÿ]\.)(?=\w)")
"""In the midst of a name or a number: "vX.Y.Z"."""
_STEP: Final = re.compile(r"(?:^|(?<=\s))(\d{1,2})[.)][ \t]+(?=[^\s\d])", re.M)
_OPENS: Final = re.compile(r"(?:^|[:;,.!?–—-])\s*$", re.M)
"""Before the first of several steps."""
_NUMBERED: Final = re.compile(r"\b(?:no|nr|vol|ch|p)\.\s*$", re.I)
"""Before a number that belongs to it."""
_BEFORE: Final = 16
"""Characters in which these stand."""


def words(text: str) -> list[Word]:
    """The words and marks of a text."""
    return [(found[0], *found.span()) for found in _WORD.finditer(text)]


@lru_cache(maxsize=2048)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """[start, end) of every sentence, without the blanks around it and the marks of lists and
    headings."""
    from sentencex import get_sentence_boundaries

    language = detect(text) or "en"
    found: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        begin = line.start() + _lead(line[0])
        whole = True
        marks = [(line.start() + one, line.start() + end) for one, end in step_marks(line[0])]
        behind, before = dict(marks), {end: one for one, end in marks}
        for one in get_sentence_boundaries(language, _capitals(text[begin : line.end()], language)):
            start, end = begin + one["start_index"], begin + one["end_index"]
            words = text[start:end]
            start, end = (
                start + len(words) - len(words.lstrip()),
                end - len(words) + len(words.rstrip()),
            )
            start = behind.get(start, start)
            if start >= end:
                continue
            if not whole and (
                found[-1][1] > before.get(start, end)
                or _INSIDE.match(text, start)
                or _goes_on(text[found[-1][0] : found[-1][1]], words)
            ):
                start = found.pop()[0]
            found.append((start, end))
            whole = False
    return tuple(found)


LIST_MARK: Final = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+", re.M)
"""What stands before the item of a list."""


def step_marks(text: str) -> list[tuple[int, int]]:
    """[start, end) of the marks "1. … 2. … 3. …" in the midst of a text that count its steps: none
    where only one number is followed by a point, as of a day or a floor."""
    found: list[tuple[int, int]] = []
    for one in _STEP.finditer(text):
        before = text[max(0, one.start() - _BEFORE) : one.start()]
        if int(one[1]) != len(found) + 1 or _GOES_ON[1].match(text, one.end()):
            continue
        if not _NUMBERED.search(before) and (found or _OPENS.search(before)):
            found.append(one.span())
    return found if len(found) > 1 else []


def steps(text: str) -> list[str]:
    """The items of a list, or steps that are counted within a line, without their marks; none of a
    text with less than two."""
    marks = {one.end(): one.start() for one in LIST_MARK.finditer(text)}
    marks = {end: start for start, end in step_marks(text)} | marks
    begins = sorted(marks)
    if len(begins) < 2:
        return []
    parts = pairwise([*begins, len(text)])
    items = (text[one : marks.get(other, other)] for one, other in parts)
    return [" ".join(one.split()).rstrip(",; ") for one in items]


def split_sentences(text: str) -> list[str]:
    """The sentences as they stand, without the marks of lists and headings; one line may hold
    several, none goes over a line's end."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _capitals(line: str, language: str) -> str:
    """A line typed in small letters with a capital wherever a sentence may begin: in most languages
    the library sees that only by a capital."""
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
    end, beginning = _GOES_ON
    cut = end.search(before)
    return bool(cut and (cut[0][0].isalpha() or beginning.match(words.lstrip())))


def _lead(line: str) -> int:
    found = _LEAD.match(line)
    return found.end() if found else 0


PERSONS: Final = frozenset("i me my mine we us our ours you your yours".split())
"""Whoever says it, and whoever is spoken to."""
POINTING: Final = frozenset(
    "he she it they him her them his hers its their theirs this these those there".split()
)
"""Somebody or something that is named elsewhere …"""
_GERMAN: Final = frozenset(
    """
    er sie ihn ihm ihr ihre ihren ihrem ihrer ihnen seine seinen seinem seiner stattdessen
    """.split()
)
"""… the same in German: "er" is another word elsewhere …"""
_POINTS: Final = re.compile(
    r"^(?:(?:and|but|so|und|aber) )?(?:that(?:['’]s| is| was| has)|"
    r"(?:der|die|das|den|dem) (?:ist|sind|war|hat|haben|wird|liegt|steht|muss|soll|kann|will|geht|"
    r"läuft|kommt|kostet|heißt|gilt|bleibt|brauch\w*|hab|nehm\w*))\b|"
    r"\b(?:for|of|about|with|from|after|before|by) that"
    r"(?= (?:is|are|was|were|will|has|and|but)\b|\W*$)|"
    r"\binstead\b(?! of)",
    re.I,
)
"""… and where a word that is often something else stands for them."""
_CONTRACTIONS: Final = (
    (re.compile(r"\bwon't\b", re.I), "will not"),
    (re.compile(r"\bshan't\b", re.I), "shall not"),
    (re.compile(r"\b(?:can't|cannot)\b", re.I), "can not"),
    (re.compile(r"(?<=\w)n't\b", re.I), " not"),
    (re.compile(r"\b(I)'m\b"), r"\1 am"),
    (re.compile(r"\b(it|that|there|what)'s\b", re.I), r"\1 is"),
    (re.compile(r"(?<=\w)'re\b", re.I), " are"),
    (re.compile(r"(?<=\w)'ve\b", re.I), " have"),
    (re.compile(r"(?<=\w)'ll\b", re.I), " will"),
)
_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_SPELLINGS: Final = {"&": "and", "percent": "%", "email": "e-mail", "emails": "e-mails"}
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_MONTH: Final = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|"
    r"Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_FIRST: Final = re.compile(rf"\b{_DAY}(?: of)? {_MONTH}(?:,? (\d{{4}}))?\b")
_MONTH_FIRST: Final = re.compile(rf"\b{_MONTH} {_DAY}(?:,? (\d{{4}}))?\b(?!:)")
_ISO: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_CLOCK: Final = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?", re.I)
_THOUSANDS: Final = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_UNIT: Final = re.compile(r"(?<=\d)(?=(?:[kKMGT]B|[kKMGT]b|ms|km|kg|cm|mm|GHz|MHz|min|px|h)\b)")
_TOKEN: Final = re.compile(
    r"https?://\S+|(?<![\w)])[-+]\d[\d.,:]*\b|[^\W_]+(?:[._:/@'][^\W_]+|"
    r"(?<=\d),(?=\d)\d+)*(?:\+\+|#)?|[^\w\s]"
)
_SIGNS: Final = frozenset("#@%/\\$€£¥☐☑")


def speaks(text: str) -> bool:
    """Does it speak of whoever says it, or to somebody ("I", "our", "you")?"""
    return any(word.lower() in PERSONS for sentence in sentences(text) for word in sentence)


def points(text: str) -> bool:
    """Does it speak of somebody or something that is named elsewhere ("she", "this")?"""
    said = split_sentences(text)
    words = [tokens(one) for one in said]
    found = {word.lower() for some in words for word in some}
    if not POINTING.isdisjoint(found) or any(map(_POINTS.search, said)):
        return True
    small = {word for some in words for word in (*some[1:], *(one.lower() for one in some[:1]))}
    return not _GERMAN.isdisjoint(small) and detect(text) == "de"  # "Sie" is who is spoken to


def sentences(text: str) -> list[tuple[str, ...]]:
    """The sentences of a text, each as its words in one spelling (their case is kept)."""
    found = [tokens(part) for part in split_sentences(text)]
    return [words for words in found if words]


def tokens(sentence: str) -> tuple[str, ...]:
    """The words of one sentence in one spelling; a question ends with `?`."""
    text = (
        unicodedata.normalize("NFC", sentence)
        .replace("’", "'")
        .replace("−", "-")
        .replace("[ ]", "☐")
        .replace("[x]", "☑")
    )
    for pattern, whole in _CONTRACTIONS:
        text = pattern.sub(whole, text)
    text = _DAY_FIRST.sub(lambda m: _iso(m[3], m[2], m[1]), text)
    text = _MONTH_FIRST.sub(lambda m: _iso(m[3], m[1], m[2]), text)
    text = _ISO.sub(r"\1.\2.\3", text)
    text = _CLOCK.sub(_hour, text)
    text = _THOUSANDS.sub(lambda m: m[0].replace(",", ""), text)
    text = _UNIT.sub(" ", text).replace("per cent", "%")
    said = [token for token in _TOKEN.findall(text) if token[0].isalnum() or _means(token)]
    spelled = [_spelled(token) for token in said]
    return (*spelled, "?") if sentence.rstrip("\"')*_ ").endswith("?") else tuple(spelled)


def numbers(text: str) -> set[str]:
    """Everything in it that holds a digit, dates and times in one spelling."""
    return {
        word.lower()
        for sentence in sentences(text)
        for word in sentence
        if any(letter.isdigit() for letter in word)
    }


def content(text: str) -> set[str]:
    """Its words that say something about the subject, without those that hold a digit."""
    return {
        word
        for word in words_of(text)
        if word not in STOP_WORDS and not any(letter.isdigit() for letter in word)
    }


def share(part: str, whole: str) -> float:
    """How much of what `part` speaks of is spoken of in `whole`: 0-1, 1 without content words."""
    wanted = content(part)
    return len(wanted & content(whole)) / len(wanted) if wanted else 1.0


def _means(sign: str) -> bool:
    return (
        len(sign) > 1
        or sign in _SIGNS
        or sign == "&"
        or (unicodedata.category(sign).startswith("S") and sign != "`")
    )


def _spelled(word: str) -> str:
    return _SPELLINGS.get(word.lower()) or _NUMBERS.get(word.lower(), word)


def _iso(year: str | None, month: str, day: str) -> str:
    return f"{year or '0000'}.{_MONTHS.index(month[:3]) + 1:02}.{int(day):02}"


def _hour(found: re.Match[str]) -> str:
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour}:{found[2] or '00'}"
