"""Do two texts make the same claim? By rules that would rather not know than be wrong, for whoever must decide without a model.

Two sentences are one when they are the same words in the same order, however they are written: case, punctuation, articles, contractions,
the spelling of numbers, dates and times, or a phrase of time or place that stands in front instead of at the end. A text covers another
when it holds all its sentences and what it says besides turns nothing round.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from oneiro_vault.core.query import STOP_WORDS
from oneiro_vault.core.query import tokens as words_of

_ARTICLES: Final = frozenset("a an the that".split())
_COUNTED: Final = frozenset("few little bit lot couple".split())
"""`few` and `a few` are not the same."""
GUARDED: Final = frozenset(
    """
    no not never none nobody nothing without neither nor hardly barely rarely seldom stop stops stopped ceased false wrong untrue incorrect
    mistake mistaken cancel cancels cancelled canceled denied denies refused refuses failed fails lacks except unless until if whether when
    may might can could should would must shall will ought need needs
    said says say claims claimed thinks thought believes believed hopes hoped wants wanted plans planned promised decided told asked asks
    heard knows knew agreed suggested suggests expects expected wishes rumour rumor allegedly supposedly apparently reportedly
    was were had did used formerly previously earlier later now then currently today yesterday tomorrow tonight since ago anymore longer
    again before after already still yet soon recently next last first became becomes moved changed switched replaced instead rather but
    however although though despite only just almost nearly maybe perhaps probably likely possibly
    all some most many any every each both half always sometimes often usually more less fewer other another
    """.split()
)
"""Words that can turn round, date, limit or attribute what stands beside them."""
_PAST: Final = frozenset(
    """
    ate beat became been began begun bent bit bled blew blown born bought bound broke broken brought built burnt burst came caught chose
    chosen crept cut dealt died done drank drawn drew driven drove drunk eaten fallen fed fell felt flew flown forgot fought found frozen
    froze gave given gone got grew grown held hid hit hung hurt kept knew known laid lay led left lent let lit lost made meant met paid put
    quit ran rang read rode rose sang sank sat saw sent set shook shot shut slept sold spent split spoke spread stole stolen stood stuck
    struck sung sunk swam swept taken taught thrown threw told took tore torn understood went wept woke won wore worn wound written wrote
    """.split()
)
"""What happened to something may have ended what is said of it."""
_DEICTIC: Final = frozenset(
    "today yesterday tomorrow tonight now currently recently soon lately nowadays this next last ago here just already still yet".split()
)
"""Words whose meaning depends on the day."""
_PERSONS: Final = frozenset("i me my mine we us our ours you your yours".split())
_POINTING: Final = frozenset("he she it they him her them his hers its their theirs this these those there".split())
_ATTITUDES: Final = frozenset(
    """
    said says say claims claimed thinks thought believes believed hopes hoped wants wanted plans planned promised decided told asked asks
    heard knows knew agreed suggested suggests expects expected wishes mentioned reported reports wrote announced who which whose because
    """.split()
)
"""Behind these, a phrase at the end may belong to another verb than one in front."""
_PREPOSITIONS: Final = frozenset("on in at during since by".split())
_OPENERS: Final = tuple(
    tuple(text.split())
    for text in ("please note", "note", "fyi", "btw", "by way", "in fact", "as mentioned", "as noted", "for record", "it turns out")
)
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
    word: str(number) for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
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
_TOKEN: Final = re.compile(r"https?://\S+|(?<![\w)])[-+]\d[\d.,:]*\b|[^\W_]+(?:[._:/@'][^\W_]+|(?<=\d),(?=\d)\d+)*(?:\+\+|#)?|[^\w\s]")
_SENTENCE: Final = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=\W{0,3}[A-Z0-9À-Þ])|\n+")
_LEAD: Final = re.compile(r"^\s*(?:#{1,6}\s+|[-*+]\s+|\d{1,3}[.)]\s+)")
_SIGNS: Final = frozenset("#@%/\\$€£¥☐☑")


def covers(keeper: str, other: str) -> bool:
    """Does `keeper` say all that `other` says, and nothing besides that changes it?"""
    mine, theirs = sentences(keeper), sentences(other)
    if not theirs or not mine or _dangling(theirs) or _dangling(mine):
        return False
    found, start = set(), 0
    for wanted in theirs:
        at = next((n for n in range(start, len(mine)) if same_sentence(mine[n], wanted)), None)
        if at is None:
            return False
        found.add(at)
        start = at + 1
    said = content(other)
    return all(_harmless(sentence, said) for n, sentence in enumerate(mine) if n not in found)


def dated_by_day(text: str) -> bool:
    """Does it mean something else on another day ("this week", "yesterday")?"""
    return any(word.lower() in _DEICTIC for sentence in sentences(text) for word in sentence)


def speaks(text: str) -> bool:
    """Does it speak of whoever says it, or to somebody ("I", "our", "you")?"""
    return any(word.lower() in _PERSONS for sentence in sentences(text) for word in sentence)


def points(text: str) -> bool:
    """Does it speak of somebody or something that is named elsewhere ("she", "this")?"""
    return any(word.lower() in _POINTING for sentence in sentences(text) for word in sentence)


def sentences(text: str) -> list[tuple[str, ...]]:
    """The sentences of a text, each as its words in one spelling (their case is kept)."""
    found = [tokens(part) for part in split_sentences(text)]
    return [words for words in found if words]


def split_sentences(text: str) -> list[str]:
    """The sentences as they stand, without the marks of lists and headings; one line may hold several, none goes over a line's end."""
    parts = (_LEAD.sub("", part).strip() for part in _SENTENCE.split(text))
    return [part for part in parts if part]


def tokens(sentence: str) -> tuple[str, ...]:
    """The words of one sentence in one spelling; a question ends with `?`."""
    text = unicodedata.normalize("NFC", sentence).replace("’", "'").replace("−", "-").replace("[ ]", "☐").replace("[x]", "☑")
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
    kept = tuple(word for n, word in enumerate(spelled) if n == 0 or not _article(spelled, n))
    return (*_opened(kept), "?") if sentence.rstrip("\"')*_ ").endswith("?") else _opened(kept)


def same_sentence(one: Sequence[str], other: Sequence[str]) -> bool:
    """The same words in the same order, or with a phrase of time or place in front instead of at the end."""
    return _equal(one, other) or _moved(one, other) or _moved(other, one)


def numbers(text: str) -> set[str]:
    """Everything in it that holds a digit, dates and times in one spelling."""
    return {word.lower() for sentence in sentences(text) for word in sentence if any(letter.isdigit() for letter in word)}


def content(text: str) -> set[str]:
    """Its words that say something about the subject, without those that hold a digit."""
    return {word for word in words_of(text) if word not in STOP_WORDS and not any(letter.isdigit() for letter in word)}


def share(part: str, whole: str) -> float:
    """How much of what `part` speaks of is spoken of in `whole`: 0-1, 1 for a text without content words."""
    wanted = content(part)
    return len(wanted & content(whole)) / len(wanted) if wanted else 1.0


def _equal(one: Sequence[str], other: Sequence[str]) -> bool:
    """Behind an article, case says whether a word is a name; what merely begins a sentence says nothing."""
    articles = [bool(words) and _article(words, 0) for words in (one, other)]
    one, other = one[articles[0] :], other[articles[1] :]
    begins = not any(articles)
    return len(one) == len(other) and all(_same_word(a, b, begins and n == 0) for n, (a, b) in enumerate(zip(one, other, strict=True)))


def _article(words: Sequence[str], n: int) -> bool:
    return words[n].lower() in _ARTICLES and (n + 1 == len(words) or words[n + 1].lower() not in _COUNTED)


def _same_word(one: str, other: str, first: bool) -> bool:
    """`us` and `US`, `May` and `may`, `Go` and `go` are not the same; at the beginning of a sentence case says less."""
    if one == other:
        return True
    if one.lower() != other.lower() or (len(one) > 1 and one.isupper() != other.isupper()):
        return False
    return first or one[0].isupper() == other[0].isupper()


def _moved(front: Sequence[str], back: Sequence[str]) -> bool:
    """Is `front` the sentence `back` with its last phrase put first?"""
    if not front or front[0].lower() not in _PREPOSITIONS or {word.lower() for word in front} & (_ATTITUDES | GUARDED):
        return False
    for size in (2, 3):
        phrase, rest = front[:size], front[size:]
        if len(rest) >= 2 and _equal((front[0].lower(), *phrase[1:]), back[-size:]) and _equal(rest, back[:-size]):
            return True
    return False


def _harmless(sentence: Sequence[str], said: set[str]) -> bool:
    """May it stand beside others without changing them? Only if it is about something else, and plainly: no word in common, nobody who is
    named elsewhere, no number, no name, nothing that happened, nothing that turns round."""
    low = [word.lower() for word in sentence]
    if len(sentence) < 4 or sentence[-1] == "?" or not said.isdisjoint(content(" ".join(low))):
        return False
    if any(word != small or not word[0].isalpha() for word, small in zip(sentence[1:], low[1:], strict=True)):
        return False
    return not any(word in GUARDED or word in _POINTING or word in _PAST or word.endswith("ed") for word in low)


def _dangling(found: Sequence[Sequence[str]]) -> bool:
    """Does the first sentence speak of somebody who is named elsewhere?"""
    return found[0][0].lower() in _POINTING


def _means(sign: str) -> bool:
    """Is a sign more than punctuation: a number's sign, a currency, an emoji, a tick, what strikes out?"""
    return len(sign) > 1 or sign in _SIGNS or sign == "&" or (unicodedata.category(sign).startswith("S") and sign != "`")


def _spelled(word: str) -> str:
    return _SPELLINGS.get(word.lower()) or _NUMBERS.get(word.lower(), word)


def _opened(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without what only announces the sentence."""
    for opener in _OPENERS:
        if len(words) > len(opener) + 1 and tuple(word.lower() for word in words[: len(opener)]) == opener:
            return words[len(opener) :]
    return words


def _iso(year: str | None, month: str, day: str) -> str:
    return f"{year or '0000'}.{_MONTHS.index(month[:3]) + 1:02}.{int(day):02}"


def _hour(found: re.Match[str]) -> str:
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return f"{hour}:{found[2] or '00'}"
