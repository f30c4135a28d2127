"""What a question asks for: its content words, its names, and an FTS5 expression that no text can
break.

The index stores text under `tokenize='porter unicode61 remove_diacritics 2'`, after `segment`, so
that scripts without spaces can be found by pairs of characters.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

from oneiro_vault.core.text.language import (
    COMPOUNDING,
    STEMMED,
    STOP_WORDS,
    WHOLE_LETTERS,
    detect,
    folded,
    is_english,
    mark,
    plain,
    stem,
    stop_words,
)

_IMPERATIVES = {
    "compare",
    "describe",
    "explain",
    "find",
    "give",
    "list",
    "name",
    "recall",
    "remind",
    "search",
    "show",
    "summarize",
    "tell",
}
_NOTE_LABELS = """
action answer because conclusion context date decision description error example fact goal hint idea
important info issue lesson link note notes outcome plan problem question reason result rule see
source step steps subject summary task tip title todo topic update url warning why
"""
_LABELS = frozenset(_NOTE_LABELS.split())
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_PIECE = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}\s]+")
_UNSPACED_CHARACTER = re.compile(rf"([{_UNSPACED}])")
_DIGIT_OR_UNSPACED = re.compile(rf"[\d{_UNSPACED}]")
_LETTERS = (
    WHOLE_LETTERS
    | {"ẞ": "SS"}
    | {k.upper(): v.upper() for k, v in WHOLE_LETTERS.items() if k != "ß"}
)
_LETTER = re.compile(f"[{''.join(_LETTERS)}]")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")
_STEMMED = re.compile(r"[^\W_]+(?:[\u0300-\u036f\u064b-\u065f\u0670]+[^\W_]*)*")
"""A word with the marks over and under it."""
_CAPITAL = re.compile(r"(?<=\w )[^\W\d_a-z][^\W_]+(?:-[^\W_]+)*(?:['’]s?(?!\w))?")
_PHRASE = 4
"""Words that hardly stand in this order by chance: of 177 such phrases of six words, each in one
note of a community's 3,882, each finds its note alone."""
_QUOTED = re.compile(r'["“„«]([^"“”„«»]{2,200})["”“»]')
_SPEAKER = re.compile(
    r"\s*(?:[-*>]\s+)?(\*\*|__)?(?P<name>[^\W\d_][^:：*\n]{0,39}?)(\*\*|__)?[:：](\*\*|__)?(?=\s|$)"
)
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY = r"(?:[12]\d|3[01]|0?[1-9])"
_TH = "(?:st|nd|rd|th)?"
_DATES = re.compile(
    rf"\b(?P<y1>[12]\d{{3}})-(?P<m1>0[1-9]|1[0-2])(?:-(?P<d1>{_DAY}))?\b|\b(?P<d2>{_DAY}){_TH}(?: "
    rf"of)? (?P<m2>{_MONTH})\b\.?(?:,? (?P<y2>[12]\d{{3}})\b)?|\b(?P<m3>{_MONTH})\b\.? "
    rf"(?P<d3>{_DAY}){_TH}\b(?:,? (?P<y3>[12]\d{{3}})\b)?|\b(?P<m4>{_MONTH})\b\.?,? "
    rf"(?P<y4>[12]\d{{3}})\b|\b(?:in|of|since|during|until|till|by|before|after|last|this|early|"
    rf"late|mid)[ -](?P<m5>{_MONTH})\b(?!\.?,? \d)|\b(?:in|of|since|during|until|till|by|before|"
    rf"after) (?P<y6>(?:19|20)\d\d)\b(?!-)",
    re.IGNORECASE,
)
_WEEK = 7
_SAMPLE = 10_000
"""Characters in which a second speaker is looked for."""
_LONGEST = 20_000
_COMMON = 0.1
"""Share of the notes from which on a language is asked in though a question is in none. Rare stems
weigh most: of 50 English notes one taken for Danish came first in every fifth answer."""
_BEGINNING = 4
"""Letters from which on a word may be the beginning of others."""
MAX_TERMS = 64
"""A hook may hand over a whole page as its question, and the time of a search grows with every
term."""


@dataclass(frozen=True)
class Period:
    """A day, a month or a year; without a year, that day or month of any year."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def gap(self, when: date) -> int:
        """Days between `when` and the nearest day of the period; 0 inside it."""
        years = (
            [self.year] if self.year else range(max(when.year - 1, 1), min(when.year + 1, 9999) + 1)
        )
        return min(
            max((first - when).days, (when - last).days, 0)
            for first, last in map(self._span, years)
        )

    def _span(self, year: int) -> tuple[date, date]:
        first, last = self.month or 1, self.month or 12
        length = monthrange(year, last)[1]
        return date(year, first, min(self.day or 1, length)), date(
            year, last, min(self.day or length, length)
        )


@dataclass(frozen=True)
class QueryTerms:
    """Folded the way FTS5 folds, in the order of the question."""

    words: tuple[str, ...]
    """Content words without repetition; the stop words themselves when there is nothing else."""
    names: tuple[str, ...]
    """What the question capitalises. One entry may hold several words."""
    phrases: tuple[str, ...]
    """What stood in double quotes."""
    dates: tuple["Period", ...] = ()
    """The dates it mentions."""
    spellings: tuple[tuple[str, str], ...] = ()
    """(name, the same name with `ae`, `oe`, `ue`) for each of the names that has an umlaut."""
    language: str = ""
    """What it is asked in (`core.text.language`)."""
    languages: tuple[str, ...] = ()
    """Its own, and unless it is in English those of many notes."""
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """Word -> FTS5 phrases, where the index knows which forms of a word are worth asking for."""


def analyse(query: str, spoken: Mapping[str, float] | None = None) -> QueryTerms:
    """`spoken`: the languages beside English that notes are in, and the share of each."""
    query = query[:_LONGEST]
    spoken = spoken or {}
    common = tuple(name for name, share in spoken.items() if share >= _COMMON)
    language = detect(query, common, least=1) or detect(query, spoken) if spoken else ""
    languages = common if language or (common and not is_english(query)) else ()
    undated, dates = _dated(query, language)
    idle = stop_words(language)
    return QueryTerms(
        words=content_words(query, idle),
        names=_unique(_names(undated, idle)),
        phrases=_unique(
            phrase for quoted in _QUOTED.findall(query) if (phrase := " ".join(tokens(quoted)))
        ),
        dates=dates,
        spellings=() if query.isascii() else _respelled(undated, idle),
        language=language,
        languages=languages if not language or language in languages else (*languages, language),
    )


def of_speaker(query: str, names: Collection[str]) -> str:
    """The question as whom it names would put it, in English: "I" for "Ada", "my" for "Ada's"."""
    parts = {part for name in names for part in name.split()}

    def own(match: re.Match[str]) -> str:
        word, possessive = re.subn(r"['’]s$", "", match[0])
        return match[0] if not parts.issuperset(tokens(word)) else "my" if possessive else "I"

    return re.sub(r"\b(?:I )+(I|my)\b", r"\1", _WORD.sub(own, query))


def content_words(text: str, idle: Collection[str] = STOP_WORDS) -> tuple[str, ...]:
    """The words that are not `idle`, each once and in order; all of them when there are no
    others."""
    every = _unique(tokens(text))
    return tuple([word for word in every if word not in idle]) or every


def fts_expression(terms: QueryTerms) -> str:
    """Any of the words, as an FTS5 MATCH expression; "" when there is nothing to look for.

    OR, because joining a question's words by AND finds nothing. Every word is quoted, so it is
    never read as syntax.
    """
    every = (*terms.words[:MAX_TERMS], *terms.phrases[:MAX_TERMS])
    return " OR ".join(_unique(phrase for text in every for phrase in fitting(terms, text)))


def verbatim(query: str) -> str:
    """FTS5 phrases for the words that a query wants as they stand: what it quotes, else all of it
    from `_PHRASE` words up unless it asks something; "" for none."""
    query = query[:_LONGEST]
    wanted = _QUOTED.findall(query)
    if not wanted and not asks(query) and len([*tokens(query)]) >= _PHRASE:
        wanted = [query]
    return " OR ".join(quoted(phrase) for phrase in wanted if len([*tokens(phrase)]) > 1)


def fitting(terms: QueryTerms, text: str) -> Sequence[str]:
    """The FTS5 phrases that find a word or phrase of the question."""
    return terms.forms.get(text) or [quoted(form) for form in forms(text, terms.languages)]


def quoted(phrase: str) -> str:
    """A phrase as FTS5 reads it, whatever is in it."""
    return '"' + segment(phrase.replace('"', " ").replace("\0", " ")).strip() + '"'


def forms(text: str, languages: Collection[str]) -> Iterator[str]:
    """A folded word or phrase, and the word as notes in these languages have it beside: without its
    endings."""
    yield text
    if " " not in text and not _DIGIT_OR_UNSPACED.search(text):
        yield from (mark(text, language) for language in languages if language in STEMMED)


def beginnings(word: str, languages: Collection[str]) -> Iterator[str]:
    """FTS5 phrases for the compounds that begin with a folded word; for a word that no note has."""
    found = (
        stem(word, language)
        for language in languages
        if language in COMPOUNDING and not _DIGIT_OR_UNSPACED.search(word)
    )
    return (f"{quoted(text)}*" for text in found if len(text) >= _BEGINNING)


def tokens(text: str) -> Iterable[str]:
    """As FTS5 will see them: lower case, no Latin accents; pairs of characters where a script has
    no spaces.

    A mark stays inside its word: a quoted word with a cut in it becomes a phrase, which is exact.
    """
    return _ASCII_WORD.findall(text.lower()) if text.isascii() else _tokens(text)


def _tokens(text: str) -> Iterator[str]:
    lower = _spelled_out(text.lower())
    kept = "".join(
        plain(c) if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in lower
    )
    for piece in _PIECE.findall(kept):
        if not any(c.isalnum() for c in piece):
            continue
        if _UNSPACED_CHARACTER.match(piece) and len(piece) > 2:
            yield from (piece[i : i + 2] for i in range(len(piece) - 1))
        else:
            yield piece


def segment(text: str, language: str = "") -> str:
    """As FTS5 is to store it: a space around each character of a script that puts none between
    words, `ss` for a sharp s.

    Words of another language than English follow without their endings. The text stays: a name is
    asked for in any language, and one may be told wrongly.
    """
    if language not in STEMMED:
        return text if text.isascii() else _UNSPACED_CHARACTER.sub(r" \1 ", _spelled_out(text))
    text, idle = unicodedata.normalize("NFC", text), stop_words(language)
    stems = (
        mark(word, language)
        for word in _STEMMED.findall(text)
        if folded(word) not in idle and not _DIGIT_OR_UNSPACED.search(word)
    )
    return " ".join([segment(text), *stems])


def fold(name: str) -> str:
    """The form in which names are compared: no case, no accents, single spaces."""
    decomposed = unicodedata.normalize("NFKD", _spelled_out(name.casefold()))
    return " ".join("".join(c for c in decomposed if not unicodedata.combining(c)).split())


def spellings(name: str) -> tuple[str, ...]:
    """Folded and, if it has an umlaut, as it is written without one: `Jürgen` is `jurgen` and
    `juergen`. Never the other way round: `Michael` is not `Michäl`."""
    return (
        (fold(name),)
        if name.isascii()
        else tuple(dict.fromkeys((fold(name), fold(_widened(name)))))
    )


def capitals(question: str) -> list[str]:
    """The words that a question writes with a capital inside it, without a possessive ending."""
    return [re.sub(r"['’]s?$", "", word) for word in _CAPITAL.findall(question)]


def without(question: str, words: Collection[str]) -> str:
    """A question without some of its words, in either possessive; itself when nothing else is
    left."""
    if not words:
        return question
    some = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    rest = " ".join(re.sub(rf"\b(?:{some})(?:['’]s?)?(?!\w)", " ", question).split())
    return rest if any(letter.isalnum() for letter in rest) else question


def asks(text: str) -> bool:
    """Whether a turn of a conversation asks something, so that the next turn is its answer."""
    return any(mark in text for mark in "?？؟")


def name_shares(terms: QueryTerms, about: Sequence[Collection[str]]) -> list[float]:
    """For each memory, the share (0..1) of the question's names that it is about; `about` holds
    folded names and aliases.

    Only names that some memory is about count.
    """
    words = frozenset(terms.words)
    names = [
        (frozenset(name.split()), frozenset(spelled.split()))
        for name, spelled in (*((name, name) for name in terms.names), *terms.spellings)
    ]
    named = [_named(words, names, whom) for whom in about]
    known = set[str]().union(*named)
    return [len(found) / len(known) if known else 0.0 for found in named]


def date_shares(terms: QueryTerms, when: Sequence[date | None]) -> list[float]:
    """For each memory, how near (0..1) its date is to one that the question mentions: 1 on it, half
    as much per week beside it.

    Half a week or a month instead of a week: equal.
    """
    return [
        max((2 ** (-period.gap(day) / _WEEK) for period in terms.dates), default=0.0)
        if day
        else 0.0
        for day in when
    ]


def speaker_of(text: str) -> str | None:
    """When the text begins with `Name:` or `**Name:**`; None for `Note:`, a sentence, a URL, or
    several speakers."""
    who = _speaker(text)
    others = (_speaker(paragraph) for paragraph in text[:_SAMPLE].split("\n\n")[1:])
    return who if who and not any(other and other != who for other in others) else None


def _speaker(text: str) -> str | None:
    match = _SPEAKER.match(text)
    words = match["name"].split() if match else []
    if not 0 < len(words) <= 3 or fold(words[0]) in _LABELS | STOP_WORDS:
        return None
    named = all(not word[0].islower() for word in words) or fold(" ".join(words)) in {
        "user",
        "assistant",
        "human",
        "system",
    }
    return " ".join(words) if named else None


def _named(
    words: frozenset[str],
    names: Sequence[tuple[frozenset[str], frozenset[str]]],
    about: Collection[str],
) -> set[str]:
    """A part of a known name if it was capitalised, the whole of it in any case."""
    found: set[str] = set()
    for parts in map(_parts, about):
        if parts and parts <= words:
            found |= parts
        for name, spelled in names:
            if parts >= spelled:
                found |= name
    return found


@lru_cache(maxsize=1 << 16)
def _parts(name: str) -> frozenset[str]:
    return frozenset(tokens(name))


def _spelled_out(text: str) -> str:
    """The very same string when there is nothing to spell out."""
    return _LETTER.sub(lambda letter: _LETTERS[letter[0]], text)


def _widened(text: str) -> str:
    return unicodedata.normalize("NFC", text).translate(_UMLAUTS)


def _respelled(query: str, idle: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Widening a question moves no word, so its names stay in step."""
    pairs = zip(_names(query, idle), _names(_widened(query), idle), strict=False)
    return tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))


def _dated(query: str, language: str) -> tuple[str, tuple[Period, ...]]:
    """Months have capitals in some languages, and are no names."""
    dates = [_period(match) for match in _DATES.finditer(query)]
    query = _DATES.sub(".", query)
    if language:
        from oneiro_vault.core.time import date_words

        pattern, months = date_words.calendar(language)
        for match in pattern.finditer(query):
            found = {name: int(match[name]) for name in ("d", "y", "z") if match[name]}
            dates.append(
                Period(
                    found.get("y", found.get("z")),
                    months[match["m"].lower()] if match["m"] else None,
                    found.get("d"),
                )
            )
        query = pattern.sub(".", query)
    return query, tuple(dict.fromkeys(dates))


def _period(match: re.Match[str]) -> Period:
    found = {name[0]: value for name, value in match.groupdict().items() if value}
    month = found.get("m", "")
    number = (
        int(month)
        if month.isdigit()
        else _MONTHS.index(month[:3].lower()) // 3 + 1
        if month
        else None
    )
    return Period(
        int(found["y"]) if "y" in found else None, number, int(found["d"]) if "d" in found else None
    )


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _names(query: str, idle: Collection[str]) -> Iterator[str]:
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(query):
        word = re.sub(r"['’]s$", "", match[0])
        if run and (query[end : match.start()] != " " or not _is_name(word, idle)):
            yield " ".join(run)
            run = []
        if _is_name(word, idle):
            run.extend(tokens(word))
        end = match.end() if word == match[0] else match.start()  # nothing joins on to a possessive
    if run:
        yield " ".join(run)


def _is_name(word: str, idle: Collection[str]) -> bool:
    folded = fold(word)
    return word[0].isupper() and folded not in idle and folded not in _IMPERATIVES
