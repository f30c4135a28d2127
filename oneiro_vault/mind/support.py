"""Is what a judge wants written in the orientation said by what it names? A judge may say things in
other words, leave out and join; it may not bring names, numbers or whole sentences of its own. What
it argued in a debate is no ground: only notes are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import groupby, pairwise
from typing import Final

from oneiro_vault.core.text import claims, polarity
from oneiro_vault.core.text.language import CAPITALISING, STOP_WORDS, detect
from oneiro_vault.core.text.query import fold, segment
from oneiro_vault.mind.base import Note

WHOLE: Final = 0.5
"""Share of a text's content words that its ground must have, as for an insight (`synthesize`)."""
SENTENCE: Final = 0.4
"""Share that each sentence must have by itself, so that none rides along with others that are
grounded: one of two, two of three or five."""
SHORT: Final = 1
"""Sentences of so few content words are too short for a share: the ground must have them all."""
PAIRS: Final = 2 / 3
"""Share of the pairs of neighbouring characters, in a sentence without spaces between its words;
more than `SENTENCE`, as pairs overlap."""
_WORD: Final = re.compile(r"\w+")
_CASED: Final = re.compile(r"(?<!\w)[^\W\d_]\w*")
_AROUND: Final = " \t\"'“”„‘’«»()[]*_#>-"
"""What may stand between a sentence's end and the next one's first word."""
_STOPS: Final = re.compile(r"[。！？，、；\n]|(?<=[.!?])\s")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_TERM: Final = re.compile("[\u3400-\u9fff]{2,}|[\u30a1-\u30fa\u30fc]{2,}")
"""In Japanese: words of the subject stand in Chinese characters or katakana, what joins them in
hiragana."""
_ALSO_NAMES: Final = frozenset({"don", "may", "will"})
_NO_NAMES: Final = STOP_WORDS - _ALSO_NAMES
_DATA: Final[Mapping[str, str]] = tomllib.loads(
    files(__package__).joinpath("support.toml").read_text("utf-8")
)
_DAYS, _COUNTED, _OPENERS = (
    frozenset(_DATA[name].split()) for name in ("days", "counted", "openers")
)
_PRONOUN: Final = re.compile(
    rf"\b(?:(?:no|this|that|each|every|any) one\b|one\b(?=\W*$|\W*[^\w\s]|\s+(?:another|"
    rf"{'|'.join(sorted(STOP_WORDS))})\b))",
    re.IGNORECASE | re.MULTILINE,
)
"""`one` where it counts nothing: "one of them", "no one", "a good one.", not "one child"."""
_ONE: Final = re.compile(r"\bone (\w+)", re.IGNORECASE)
_SINGLE: Final = re.compile(r"\ban? (\w+)", re.IGNORECASE)
_PLURAL: Final = re.compile(r"\s+(?:are|were|have)\b")
_NOMINAL: Final = ("tion", "tions", "ment", "ments")
_ENDINGS: Final = ("ing", "ed", "es", "s", "d", "e", "ly", "er")


def unfounded(title: str, text: str, notes: Sequence[Note]) -> str:
    """What of these words the notes do not say, as the end of a sentence ("not written, because
    ..."); "" when all of it has its ground."""
    ground = "\n".join(_told(note) for note in notes)
    if strange := _numbers(f"{title}\n{text}", ground, len(notes)) - claims.numbers(ground):
        return f"what it rests on has no {', '.join(sorted(strange)[:3])}"
    nouns_too = {detect(f"{title}\n{text}"), detect(ground)} <= CAPITALISING
    inner, openers = ([], []) if nouns_too else _names(title, text, ground)
    if inner:
        return f"what it rests on names no {', '.join(inner[:3])}"
    unsaid = [
        sentence
        for sentence in claims.split_sentences(text)
        if claims.share(sentence, ground)
        < (SENTENCE if len(claims.content(sentence)) > SHORT else 1)
    ]
    if unsaid:
        return f"what it rests on does not say {', '.join(repr(one[:60]) for one in unsaid[:5])}"
    if claims.share(text, ground) < WHOLE:
        return "what it rests on does not say that"
    if openers:
        return f"what it rests on names no {', '.join(openers[:3])}"
    if denied := _denied(text, notes):
        return f"what it rests on says the contrary of {denied[:60]!r}"
    return _unspaced(f"{title}\n{text}", ground)


def strange_names(text: str, ground: str) -> list[str]:
    """Names in a text that its ground does not have; German writes too much with capitals to
    tell."""
    if detect(text) in CAPITALISING:
        return []
    inner, openers = _names("", text, ground)
    initials = "".join(word[0] for word in _WORD.findall(fold(ground)))
    return [
        name
        for name in (*inner, *openers)
        if fold(name).removesuffix("s") not in _DAYS
        and not (name.isupper() and len(name) > 2 and fold(name) in initials)
    ]


def capitalised(text: str) -> list[str]:
    """Its words with a capital letter, in order."""
    return [word for word in _CASED.findall(text) if _capital(word)]


def _numbers(said: str, ground: str, notes: int) -> set[str]:
    """Its numbers, but for how many notes it rests on ("three conversations"), and a `one` that
    counts nothing or what the ground calls `a` or `an`."""
    single = {fold(word) for word in _SINGLE.findall(ground)}
    said = _ONE.sub(
        lambda one: one[1] if fold(one[1]) in single else one[0], _PRONOUN.sub(" ", said)
    )
    found = set()
    for words in claims.sentences(said):
        for place, (word, after) in enumerate(zip(words, (*words[1:], ""), strict=True)):
            counts = after.lower() in _COUNTED or (place == 0 and after.lower() == "things")
            if any(letter.isdigit() for letter in word) and not (counts and word == str(notes)):
                found.add(word.lower())
    return found


def _told(note: Note) -> str:
    m = note.memory
    days = [day[:10] for day in (m.created, m.timestamp, m.valid_from, m.valid_until) if day]
    return "\n".join(
        (
            m.title,
            m.description,
            m.body,
            " ".join((*m.about, *m.tags, *m.topics)),
            *days,
            *(day[:4] for day in days),
        )
    )


def _names(title: str, text: str, ground: str) -> tuple[list[str], list[str]]:
    """Capitalised words that the ground has in no case: inside sentences, and those that open
    one."""
    spelled = set(_WORD.findall(ground))
    known = set(_WORD.findall(fold(ground)))
    known |= {polarity.english(word) for word in known}
    lower = {fold(word) for word in _CASED.findall(ground) if word[0].islower()}
    inner: list[str] = []
    openers: list[str] = []
    for number, line in enumerate((title, *text.split("\n"))):
        for found in _CASED.finditer(line):
            word, folded = found[0], fold(found[0])
            said = folded in known or polarity.english(folded) in known
            if (
                not _capital(word)
                or (said and not _initials(word))
                or word in spelled
                or _says_nothing(word)
            ):
                continue
            before = line[: found.start()].rstrip(_AROUND)
            opens = before[-1:] in ("", *".!?:…")
            if not (opens or number == 0) or not _ordinary(folded, line[found.end() :], lower):
                (openers if opens else inner).append(word)
    return list(dict.fromkeys(inner)), list(dict.fromkeys(openers))


def _capital(word: str) -> bool:
    return word[0].isupper() or word[0].istitle()


def _initials(word: str) -> bool:
    return len(word) > 1 and word.isupper() and word.lower() in STOP_WORDS


def _says_nothing(word: str) -> bool:
    return word.lower() in _NO_NAMES and not _initials(word)


def _ordinary(word: str, after: str, lower: set[str]) -> bool:
    if (
        word in lower
        or word in _OPENERS
        or word.endswith(_NOMINAL)
        or (word.endswith("s") and _PLURAL.match(after))
    ):
        return True
    return bool(
        _stems(word) & {stem for known in lower if known[:3] == word[:3] for stem in _stems(known)}
    )


def _stems(word: str) -> set[str]:
    return {
        word,
        *(
            word[: -len(ending)]
            for ending in _ENDINGS
            if word.endswith(ending) and len(word) - len(ending) > 2
        ),
    }


def _denied(text: str, notes: Sequence[Note]) -> str:
    """The first sentence that denies what the notes state, or states what they deny, by those of
    theirs that bear on it most."""
    language = detect("\n".join((text, *(note.memory.body for note in notes)))) or "en"
    ground = [
        one
        for note in notes
        for one in claims.split_sentences(f"{note.memory.title}\n{note.memory.body}")
    ]
    told = [(one, polarity.stems(one, language)) for one in ground]
    for sentence in claims.split_sentences(text):
        mine = polarity.stems(sentence, language)
        most = max((len(mine & stems) for _, stems in told), default=0)
        bearing = [one for one, stems in told if most and len(mine & stems) == most]
        against = (
            polarity.added(sentence, one) or polarity.contrary(sentence, one) for one in bearing
        )
        if bearing and not polarity.agree(sentence, ground, language) and all(against):
            return sentence
    return ""


def _unspaced(said: str, ground: str) -> str:
    """What the ground does not say of words that no spaces part (Chinese, Japanese, Thai), as for
    `unfounded`."""
    terms = _TERM.findall(said) if _KANA.search(said) else []
    if strange := [term for term in terms if term not in ground]:
        return f"what it rests on names no {', '.join(strange[:3])}"
    for sentence in _STOPS.split(said):
        pairs = {pair for run in _runs(sentence) for pair in map("".join, pairwise(run))}
        if pairs and sum(pair in ground for pair in pairs) < PAIRS * len(pairs):
            return f"what it rests on does not say {sentence.strip()[:60]!r}"
    return ""


def _runs(text: str) -> list[str]:
    parted = groupby(text, lambda character: segment(character) == f" {character} ")
    return ["".join(run) for unspaced, run in parted if unspaced]
