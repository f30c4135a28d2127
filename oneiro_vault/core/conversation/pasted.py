"""Which parts of what a person typed are somebody else's words: quotations, code, mails, pages,
logs and whatever else was pasted.

Whoever plants a line chooses what it says; what can be seen is that a turn holds more than what was
typed. Where anything hints at that, only its first line is the person's, and not even that where a
later line may speak of it; what a person marks off hints at nothing. In doubt it is foreign: a fact
then has less trust than it could have, while a planted line never has more. What begins inside a
line without any mark a trained tagger tells (`tagging`); as it may be wrong, such words are only
trusted less.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from oneiro_vault.core.conversation import tagging
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect, is_english

_DATA: Final[dict[str, str | list[str]]] = tomllib.loads(
    files(__package__).joinpath("pasted.toml").read_text("utf-8")
)
_SIGNS: Final = {
    name: re.compile("".join(said).replace("{what}", "".join(_DATA["what"])))
    for name, said in _DATA.items()
}
"""How what was pasted looks, and how people speak of it."""
_LONG: Final = 500
"""Characters of a line without a first person above which it was not typed."""
_NEAR: Final = 80
"""Characters at the end of a text in which a conjunction may stand."""
_QUOTED_WORDS: Final = 4
_TITLE_WORDS: Final = 8
_FEW: Final = 30
"""Words of a lone sentence that somebody typed."""
_TURNING: Final = frozenset(("RLO", "LRO", "RLE", "LRE", "RLI", "LRI"))


ENGLISH: Final = "en"
UNKNOWN: Final = "?"
_KNOWN: Final = ("", ENGLISH, "de")
"""Languages in which it can be told whether somebody speaks of others' words."""
_SHORT: Final = 3
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
    turn = [(text[start:end], marks) for start, end, marks in lines]
    own = _typed(turn, _in_bursts(text.strip()))
    extents = [(start, end) for start, end, _ in lines]
    stretches = [Stretch(*one) for one in found + extents[own:]]
    for start, end in extents[:own]:
        stretches += [
            Stretch(start + a, start + b, doubted) for a, b, doubted in _inline(text[start:end], alone=len(extents) == 1 and not found)
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
    found += [one for one in lines if _SIGNS["quoted_line"].match(text[slice(*one)])]
    lines = [one for one in lines if one not in set(found)]
    follows = [
        any(end <= a < then for a, _ in found)
        for (_, end), (then, _) in pairwise([*lines, (len(text), 0)])
    ]
    return found, [(start, end, one) for (start, end), one in zip(lines, follows, strict=True)]


def _fenced(text: str) -> list[Extent]:
    """From the first fence to the last: what is pasted may hold fences too. An open one goes to the
    end."""
    marks = list(_SIGNS["fence"].finditer(text))
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
    first on."""
    if not turn:
        return 0
    (first, marked), *later = turn
    if _strange(first) and (later or not _answers(first)):
        return 0
    if not later:
        return 1
    if _SIGNS["greeting"].match(first) and first.rstrip().endswith(","):
        return 0
    if not marked and _introduces(first, [line for line, _ in later], burst):
        return 1
    last = len(later) - 1
    hinted = (
        _hints(line, not one and number < last, burst, before)
        for number, ((line, one), (_, before)) in enumerate(zip(later, turn, strict=False))
    )
    if not any(hinted):
        return len(turn)
    return 1 if "?" in first or not any(_speaks_of(line) for line, _ in later) else 0


def _in_bursts(text: str) -> bool:
    """In small letters, without an empty line, as people do who end no sentence with a mark: what
    they paste rarely looks like that."""
    lines = text.split("\n")
    return all(
        (line.lstrip()[:1].islower() and not _SIGNS["speaker"].match(line)) or _counts(line)
        for line in lines
    )


def _introduces(line: str, later: Sequence[str], burst: bool) -> bool:
    """Does a line speak of what comes after it? In an unknown language, in doubt yes."""
    plain = line.rstrip(" *_👇↓")
    if plain.endswith((":", "：")):
        before, listed = plain[:-1], all(map(_SIGNS["item"].match, later))
        return not (
            _SIGNS["of_oneself"].search(before) or (listed and _SIGNS["listed"].search(before))
        )
    ended = _SIGNS["known"].search(line) and _SIGNS["sentence_end"].search(line)
    if not burst and (not ended or _QUESTION.search(line)):
        return True
    last = claims.split_sentences(line)[-1]
    return any(one.search(last) for one in (_SIGNS["here"], _SIGNS["names_it"]))


def _hints(line: str, asking: bool, burst: bool, behind: bool) -> bool:
    """Does a later line look as if it had not been typed, or speak of what was not? `asking`: may
    it ask about the next one? `behind`: what it asks about was marked off right before it."""
    if item := _SIGNS["item"].match(line):
        return _strange(line[item.end() :])
    words = (
        _SIGNS["orders"],
        _SIGNS["readers"],
        *(() if burst or behind else (_SIGNS["names_it"], _QUESTION)),
    )
    if _strange(line) or len(line) > _LONG or any(one.search(line) for one in words):
        return True
    if _SIGNS["greeting"].match(line) or _SIGNS["back"].match(line):
        return True
    if asking and line.rstrip().endswith((":", "：")):
        return True
    return (
        not burst
        and not _SIGNS["sentence_end"].search(line)
        and (line.lstrip()[:1].isupper() or asking)
        and len(line.split()) <= _TITLE_WORDS
    )


def _speaks_of(line: str) -> bool:
    return bool(_SIGNS["back"].match(line) or _QUESTION.search(line))


def _strange(line: str) -> bool:
    others = [sign for sign in line[:_LONG] if not sign.isascii()]
    dressed = any(
        sign.isalpha() and unicodedata.normalize("NFKC", sign).isascii() for sign in others
    )
    return (
        bool(_SIGNS["no_prose"].match(line) and not _counts(line))
        or bool(_SIGNS["mixed"].search(line))
        or dressed
        or any(unicodedata.bidirectional(sign) in _TURNING for sign in others)
    )


def _counts(line: str) -> bool:
    """Does it begin with an amount or "&", go on in small letters, and speak of its writer? A line
    of a patch begins with "+"."""
    found = _amount(line)
    if not found or not found["next"] or found["sign"] == "+" or not _small(line, found):
        return False
    speaks = _SIGNS["claims"].search(line) and not _tells_reader(line)
    return bool(speaks or _SIGNS["alone"].search(line))


def _answers(line: str) -> bool:
    """Does it begin with an amount or a sign, as people answer: going on in small letters, or in a
    sentence in which nobody speaks; and without a word to a reader, unless somebody speaks?"""
    if not (found := _amount(line)):
        return False
    if not found["next"] or _small(line, found):
        return bool(_SIGNS["alone"].search(line)) or not _tells_reader(line)
    whole = "." in (found["ends"] or "") and not _SIGNS["numbered"].match(line)
    first, *_ = claims.split_sentences(line)
    speaks = not whole and _SIGNS["claims"].search(first) and detect(line) in ("", ENGLISH)
    return bool(found["number"]) and not speaks and not _tells_reader(line)


def _amount(line: str) -> re.Match[str] | None:
    """The amount or sign that a line begins with; none before the speaker in a chat."""
    found = _SIGNS["amount"].match(line)
    timed = found and found["time"] and found["next"]
    return None if timed and _SIGNS["speaks"].match(line, found.start("next")) else found


def _small(line: str, found: re.Match[str]) -> bool:
    """Do small letters (or "I") come next? "1. I live" is an item."""
    begins = line[found.start("next") :]
    return begins[0].islower() or bool(
        re.match(r"I\b", begins) and not _SIGNS["numbered"].match(line)
    )


def _tells_reader(line: str) -> bool:
    return bool(_SIGNS["to_reader"].search(_SIGNS["asks"].sub("", line)))


def _inline(line: str, alone: bool) -> Iterator[Stretch]:
    """Quotations; what markup or orders to a reader begin, to the end of the line; and the words
    that `tagging` takes for somebody else's, sentence by sentence."""
    quoted = _quotation(line)
    if quoted:
        yield Stretch(*quoted)
        line = line[: quoted[0]] + "." * (quoted[1] - quoted[0]) + line[quoted[1] :]
    sure = [
        found.start()
        for pattern in (_SIGNS["markup"], _SIGNS["orders"])
        for found in pattern.finditer(line)
    ]
    if len(line) > _LONG and not _SIGNS["claims"].search(line):
        sure.append(0)
    if sure and line[min(sure) :].strip(" ."):
        yield Stretch(min(sure), len(line))
        line = line[: min(sure)]
    words, parts = tagging.words(line), claims.sentence_spans(line)
    plain = not (quoted or sure) and len(line) <= _LONG
    for start, end in _doubted(line, words, parts, plain, alone and _lone(line)):
        if not (plain and _goes_on(line[:start], parts)):
            yield Stretch(start, end, doubted=True)
    if len(words) > tagging.LONGEST:
        yield Stretch(words[tagging.LONGEST][1], len(line), doubted=True)
    for copied in (_SIGNS["chat"], _SIGNS["salutation"], _SIGNS["speakers"]):
        if begins := copied.search(line):
            yield Stretch(begins.start(), len(line), doubted=True)
    if (other := _another_language([line[slice(*one)] for one in parts])) is not None:
        yield Stretch(parts[other][0], len(line), doubted=True)


def _doubted(
    line: str, words: Sequence[tagging.Word], parts: Sequence[Extent], plain: bool, alone: bool
) -> Iterator[Extent]:
    """From the first word of each sentence that `tagging` takes for somebody else's, to its end;
    behind one that is its writer's after all, what it would say without that one."""
    doubts, settled = tagging.doubtful(line), 0
    for number, (_, start, stop) in enumerate(words[: len(doubts)]):
        if start < settled or doubts[number] < tagging.SURE or not line[start].isalnum():
            continue
        settled = next((end for _, end in parts if end >= stop), len(line))
        if plain and (
            (alone and not number)
            or _breaks_off(line, start, settled, parts)
            or _dictates(line[:start], line[start:settled])
        ):
            behind = sum(begins < settled for _, begins, _ in words)
            fresh = tagging.doubtful(line[settled:])
            doubts[behind:] = map(min, doubts[behind:], fresh)
        else:
            yield start, settled


def _breaks_off(line: str, start: int, end: int, parts: Sequence[Extent]) -> bool:
    """Would somebody have pasted `line[start:end]` in the middle of a sentence of their own: without
    a mark or a word that tells of it, and what nobody begins with?"""
    begins = max((one for one, _ in parts if one < start), default=0)
    before, said = line[begins:start], line[start:end]
    known = _SIGNS["known"].search(line) and detect(line) in _KNOWN
    if not before.strip() or not known or _cued(line[:end]):
        return False
    if _tells_reader(said) or _SIGNS["utterance"].match(said):
        return False
    small = not said[:1].isupper() and _SIGNS["midway"].search(before)
    return bool(small or _SIGNS["broken_off"].search(before))


def _dictates(before: str, said: str) -> bool:
    """Does somebody say behind a colon how they do something ("how I close up: first …")?"""
    if not before.rstrip().endswith((":", "：")):
        return False
    head = _SIGNS["to_write"].sub("", before.rstrip(" :："))
    if any(_SIGNS[one].search(head) for one in ("names_it", "others_words", "elsewhere")):
        return False
    own = _SIGNS["own_way"].search(head) or _SIGNS["first_step"].match(said)
    strange = _tells_reader(said) or _SIGNS["utterance"].match(said)
    return bool(own and _SIGNS["claims"].search(head)) and not strange


def _cued(words: str) -> bool:
    """Does anything tell of others' words?"""
    return any(
        _SIGNS[sign].search(words) for sign in ("names_it", "others_words", "salutation", "greeting")
    )


def _lone(line: str) -> bool:
    """Is it one sentence, of somebody who speaks of themselves and to nobody? Who pastes, asks or
    says something, too."""
    first, *more = claims.split_sentences(line) or [""]
    speaks = _SIGNS["claims"].search(first) and len(first.split()) <= _FEW
    return bool(speaks) and not (more or _cued(line) or _tells_reader(line))


def _goes_on(before: str, parts: Sequence[Extent]) -> bool:
    """Does a clause join what its writer has just said of themselves ("my name is Jo, and I ..."),
    where nothing so far tells of others' words? Nobody pastes after an "and"."""
    begins = max((start for start, _ in parts if start < len(before)), default=0)
    if not (joint := _SIGNS["joint"].search(before, begins)):
        return False
    said = before[begins : joint.start()]
    told = any(_SIGNS[sign].search(before) for sign in ("names_it", "others_words"))
    return bool(_SIGNS["claims"].search(said)) and not told


def joint(before: str) -> int:
    """Where the conjunction stands with which a text ends, and the marks before it: its length
    when there is none."""
    found = _SIGNS["joint"].search(before, max(0, len(before) - _NEAR))
    return found.start() if found and not found["rest"] else len(before)


def _another_language(parts: Sequence[str]) -> int | None:
    """English is mixed in by everybody; and who writes it goes on in a language of their own, where
    they ask nothing about it, in small letters or with English in it."""
    language = ""
    for number, sentence in enumerate(parts):
        found = detect(sentence) if len(sentence.split()) > _SHORT else ""
        english = is_english(sentence) or bool(_SIGNS["english_words"].search(sentence))
        found = found or (ENGLISH if english else "")
        if language and found not in ("", language, ENGLISH) and _SIGNS["claims"].search(sentence):
            mixes = sentence[:1].islower() or english
            if language != ENGLISH or not mixes or _asks_about(parts, number):
                return number
        language = found or language or (UNKNOWN if sentence.endswith(("?", "？")) else "")
    return None


def _asks_about(parts: Sequence[str], number: int) -> bool:
    """Does any other sentence tell of words that are somebody else's, or ask about them?"""
    before, others = parts[number - 1], " ".join([*parts[:number], *parts[number + 1 :]])
    return _cued(before) or before.endswith("?") or bool(_SIGNS["speech"].search(others))


def _quotation(line: str) -> Extent | None:
    """From the first mark to the last where some words are between them: a word or two is a
    name."""
    ends = [found.end() for found in _SIGNS["closes"].finditer(line)]
    for opened in _SIGNS["opens"].finditer(line):
        words = line[opened.end() : ends[-1] - 1] if ends and ends[-1] > opened.end() else ""
        if len(words.split()) >= _QUOTED_WORDS or (
            len(words) > _QUOTED_WORDS and unicodedata.east_asian_width(words[0]) == "W"
        ):
            return opened.start(), ends[-1]
        if not words:
            return None
    return None


def _joined(stretches: list[Stretch], text: str) -> list[Stretch]:
    found: list[Stretch] = []
    for start, end, doubted in sorted(stretches):
        last = found[-1] if found else None
        if last and (start <= last.end or not text[last.end : start].strip()):
            found[-1] = Stretch(last.start, max(end, last.end), last.doubted and doubted)
        else:
            found.append(Stretch(start, end, doubted))
    return found
