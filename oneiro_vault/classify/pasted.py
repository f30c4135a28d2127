"""Which parts of what a person typed are somebody else's words: quotations, code, mails, pages,
logs and whatever else was pasted.

Whoever plants a line chooses what it says; what can be seen is that a turn holds more than what was
typed. Where anything hints at that, only its first line is the person's, and not even that where a
later line may speak of it; what a person marks off hints at nothing. In doubt it is foreign: a fact
then has less trust than it could have, while a planted line never has more. What begins inside a
line without any mark is learned: the packaged model, its last layers tuned on lines in
`tests/corpora/typed` and `tests/corpora/months`, tells it of each word in its line (`GRAPH`). As it
may be wrong, such words are only trusted less.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from oneiro_vault.classify.classifier import LEARNED, layers, lists_own, sigmoid
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import STOP_WORDS, detect
from oneiro_vault.index.embed.onnx import WORDS

if TYPE_CHECKING:
    from oneiro_vault.index.embed.embedders import WorkerEmbedder

GRAPH: Final = LEARNED / "typed4.onnx"
"""Its second output says of every token for and against that it is somebody else's."""
SURE: Final = 0.75
"""Probability from which a word is not taken for the person's own …"""
DOUBT: Final = 0.3
"""… and behind a sentence that was not."""
LISTED: Final = 0.8
"""How likely a line must introduce a list of the person's own: of 200 by a hand that was not
learned, on half of which somebody else's follows, it finds 57 and is wrong of 2."""
LONGEST: Final = 400
"""Words of a line that are looked at: nobody types as many without a break."""
_TOKENS: Final = 512
"""All that the model can look at: 64 words of Japanese or of addresses are as many."""
ENGLISH: Final = "en"
Extent = tuple[int, int]
"""[start, end)"""
_NEAR: Final = 80
"""Characters at the end of a text in which a conjunction may stand."""
_LONG: Final = 500
"""Characters of a line without a first person above which it was not typed."""
_QUOTED_WORDS: Final = 4
_PAIRS: Final = """ “”\" „“”\" ‘’' ‚‘’' «» »« ‹› ❝❞ ❛❜ 「」 『』 【】 《》 """
_CLOSING: Final = {pair[0]: pair[1:] for pair in _PAIRS.split()}
"""What closes a mark that is not closed by its like."""
_QUOTED_LINES: Final = 80
"""Characters in quotation marks from which they are a letter and no title."""
_TITLE_WORDS: Final = 8
_TURNING: Final = frozenset(("RLO", "LRO", "RLE", "LRE", "RLI", "LRI"))
_SWITCHES: Final = frozenset(("up", "down", "on", "off", "out"))
"""Words that commands have, too."""
_FEW_LINES: Final = 4
_PARAGRAPH: Final = re.compile(r"\S.*(?:\n[ \t]*\S.*)*")
_QUESTION: Final = re.compile(r"[^.!?。！？][?？]")


@cache
def _data() -> dict[str, str | list[str]]:
    return tomllib.loads(files(__package__).joinpath("pasted.toml").read_text("utf-8"))


class _Signs(dict[str, re.Pattern[str]]):
    """Patterns, each made when it is first asked for: most processes that import this never ask."""

    def __missing__(self, name: str) -> re.Pattern[str]:
        data = _data()
        self[name] = re.compile("".join(data[name]).replace("{what}", "".join(data["what"])))
        return self[name]


SIGNS: Final = _Signs()
"""How what was pasted looks, and how people speak of it."""


class Stretch(NamedTuple):
    """`text[start:end]` is not the person's own, or may not be (`doubted`)."""

    start: int
    end: int
    doubted: bool = False


def foreign(text: str, learned: bool = True) -> list[Stretch]:
    """Every stretch that is not the person's own, or may not be, in order and apart from each
    other. `learned`: those, too, that only the model tells."""
    text = _without_commands(text)
    found, lines = _marked(text)
    turn = [(text[start:end], marks) for start, end, marks in lines]
    lists = _lists([line for line, _ in turn])
    own = _typed(turn, _in_bursts(text.strip()), lists)
    extents = [(start, end) for start, end, _ in lines]
    stretches = [Stretch(*one) for one in found + extents[own:]]
    for start, end in extents[:own]:
        line = text[start:end]
        item = lists and SIGNS["item"].match(line)
        stretches += [
            Stretch(start + a, start + b, doubted)
            for a, b, doubted in _inline(line, learned)
            if not (item and doubted)
        ]
    joined = _joined(stretches, text)
    if own < len(extents) and (tail := _behind_output(text, extents[own][0])):
        before = len(text[: tail[0]].rstrip())
        joined[-1:] = [joined[-1]._replace(end=before), Stretch(*tail, doubted=True)]
    return joined


def plain(line: str) -> bool:
    """Does nothing in it look like somebody else's, speak to a reader or ask to be remembered, as
    far as can be told without the model?"""
    signs = ("greeting", "speaker", "readers", "names_it")
    told = any(SIGNS[one].search(line) for one in signs)
    return not (told or _tells_reader(line) or "\n" in line or foreign(line, learned=False))


def _behind_output(text: str, start: int) -> Extent | None:
    """The last paragraph, where it speaks in plain words behind what a program printed, from a
    place on. Who pastes a trace says something about it; but a program prints what others wrote, so
    it is only doubted."""
    *before, last = [one.span() for one in _PARAGRAPH.finditer(text, start)] or [(0, 0)]
    said = text[slice(*last)]
    lines = said.splitlines()
    plain = not any(map(_printed, lines))
    tells = any(SIGNS[one].search(said) for one in ("orders", "markup", "salutation"))
    tells |= any(SIGNS[one].match(said) for one in ("greeting", "item", "quoted_line"))
    if not before or not plain or tells or len(said) > _LONG or len(lines) > _FEW_LINES:
        return None
    nearest = text[slice(*before[-1])].splitlines()
    output = text[before[0][0] : before[-1][1]].splitlines()
    printed = any(SIGNS["printed"].search(line) for line in output)
    return last if printed and any(_printed(line) for line in nearest) else None


def _printed(line: str) -> bool:
    return bool(_strange(line) or SIGNS["printed"].search(line))


def _without_commands(text: str) -> str:
    """As long, with a word for each command, path or name of code that stands in somebody's
    sentence between backticks: unlike a quotation, it states nothing."""
    return SIGNS["code"].sub(lambda one: one[0] if _states(one[1]) else "x" * len(one[0]), text)


def _states(code: str) -> bool:
    """May it be a sentence? In a command hardly a word stands that only joins others."""
    words = {word.lower() for word in claims.tokens(code)} - _SWITCHES
    told = SIGNS["claims"].search(code) or SIGNS["orders"].search(code) or _tells_reader(code)
    return bool(told or not STOP_WORDS.isdisjoint(words) or re.match(r"\W*[A-Z]\w+ \w+ ", code))


def _marked(text: str) -> tuple[list[Extent], list[tuple[int, int, bool]]]:
    """What the person marked off, and the other lines: does such a stretch follow on them?"""
    found = _fenced(text) or _in_marks(text)
    lines = [
        (start, end)
        for start, end in _lines(text)
        if not any(a < end and b > start for a, b in found)
    ]
    found += [one for one in lines if SIGNS["quoted_line"].match(text[slice(*one)])]
    lines = [one for one in lines if one not in set(found)]
    follows = [
        any(end <= a < then for a, _ in found)
        for (_, end), (then, _) in pairwise([*lines, (len(text), 0)])
    ]
    return found, [(start, end, one) for (start, end), one in zip(lines, follows, strict=True)]


def _fenced(text: str) -> list[Extent]:
    """From the first fence to the last: what is pasted may hold fences too. An open one goes to the
    end."""
    marks = list(SIGNS["fence"].finditer(text))
    if not marks:
        return []
    return [(marks[0].start(), marks[-1].end() if len(marks) % 2 == 0 else len(text))]


def _in_marks(text: str) -> list[Extent]:
    """Whole lines in quotation marks, between others and at most one: from a mark at the beginning
    of a line to the last at the end of one. A page may begin with a short quotation, too."""
    begins = SIGNS["opens_line"].search(text, len(text) - len(text.lstrip()) + 1)
    ends = list(SIGNS["closes_line"].finditer(text, begins.end())) if begins else []
    if not begins or not ends or ends[-1].end() - begins.start() < _QUOTED_LINES:
        return []
    behind = _lines(text[ends[-1].end() :])
    return [(begins.start(), ends[-1].end())] if len(behind) <= 1 else []


def _lines(text: str) -> list[Extent]:
    return [
        found.span()
        for found in re.finditer(r"[^\n\v\f\r\x85\u2028\u2029]+", text)
        if found[0].strip()
    ]


def _typed(turn: Sequence[tuple[str, bool]], burst: bool, lists: bool) -> int:
    """How many of these lines (does something marked off follow?) are the person's own, from the
    first on; does it begin a list of theirs (`lists`)?"""
    if not turn:
        return 0
    if lists:
        turn = turn[: _spoken([line for line, _ in turn])]
    (first, marked), *later = turn
    if _strange(first) and (later or not _answers(first)):
        return 0
    if not later:
        return 1
    if SIGNS["greeting"].match(first) and first.rstrip().endswith(","):
        return 0
    if not (marked or lists) and _introduces(first, [line for line, _ in later], burst):
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
    first, *later = text.split("\n")
    return all(
        (line.lstrip()[:1].islower() and not SIGNS["speaker"].match(line)) or _counts(line)
        for line in (first, *map(_listed, later))
    )


def _listed(line: str) -> str:
    """An item of a list without its mark, and without the amount it begins with; other lines as
    they are."""
    item = SIGNS["item"].match(line)
    if not item:
        return line
    found = _amount(line[item.end() :])
    counts = found and found["next"] and not found["sign"]
    return line[item.end() + (found.start("next") if found and counts else 0) :]


def _introduces(line: str, later: Sequence[str], burst: bool) -> bool:
    """Does a line speak of what comes after it? In an unknown language, in doubt yes."""
    plain = line.rstrip(" *_👇↓")
    if plain.endswith((":", "：")):
        return not SIGNS["of_oneself"].search(plain[:-1])
    ended = SIGNS["known"].search(line) and SIGNS["sentence_end"].search(line)
    if not burst and (not ended or _QUESTION.search(line)):
        return True
    last = claims.split_sentences(line)[-1]
    signs = ("here", "names_it", *(("left_by",) if any(map(SIGNS["item"].match, later)) else ()))
    return any(SIGNS[one].search(last) for one in signs)


def _spoken(lines: Sequence[str]) -> int:
    """How many lines there are before one below a list in which nobody speaks."""
    own = (SIGNS["item"].match(line) or SIGNS["claims"].search(line) for line in lines[1:])
    return next((at for at, one in enumerate(own, 1) if not one), len(lines))


def _lists(lines: Sequence[str]) -> bool:
    """Does a list of what is the writer's own follow on the first?"""
    if len(lines) < 2 or not SIGNS["item"].match(lines[1]) or SIGNS["orders"].search(lines[0]):
        return False
    return lists_own(lines[0]) >= LISTED


def _hints(line: str, asking: bool, burst: bool, behind: bool) -> bool:
    """Does a later line look as if it had not been typed, or speak of what was not? `asking`: may
    it ask about the next one? `behind`: what it asks about was marked off right before it."""
    if SIGNS["item"].match(line):
        return _strange(_listed(line))
    words = (
        SIGNS["orders"],
        SIGNS["readers"],
        *(() if burst or behind else (SIGNS["names_it"], _QUESTION)),
    )
    if _strange(line) or len(line) > _LONG or any(one.search(line) for one in words):
        return True
    if SIGNS["greeting"].match(line) or SIGNS["back"].match(line):
        return True
    if asking and line.rstrip().endswith((":", "：")):
        return True
    return (
        not burst
        and not SIGNS["sentence_end"].search(line)
        and (line.lstrip()[:1].isupper() or asking)
        and len(line.split()) <= _TITLE_WORDS
    )


def _speaks_of(line: str) -> bool:
    return bool(SIGNS["back"].match(line) or _QUESTION.search(line))


def _strange(line: str) -> bool:
    others = [sign for sign in line[:_LONG] if not sign.isascii()]
    dressed = any(
        sign.isalpha() and unicodedata.normalize("NFKC", sign).isascii() for sign in others
    )
    return (
        bool(SIGNS["no_prose"].match(line) and not _counts(line))
        or bool(SIGNS["mixed"].search(line))
        or dressed
        or any(unicodedata.bidirectional(sign) in _TURNING for sign in others)
    )


def _counts(line: str) -> bool:
    """Does it begin with an amount or "&", go on in small letters, and speak of its writer? A line
    of a patch begins with "+"."""
    found = _amount(line)
    if not found or not found["next"] or found["sign"] == "+" or not _small(line, found):
        return False
    speaks = SIGNS["claims"].search(line) and not _tells_reader(line)
    return bool(speaks or SIGNS["alone"].search(line))


def _answers(line: str) -> bool:
    """Does it begin with an amount or a sign, as people answer: going on in small letters, or in a
    sentence in which nobody speaks; and without a word to a reader, unless somebody speaks?"""
    if not (found := _amount(line)):
        return False
    if not found["next"] or _small(line, found):
        return bool(SIGNS["alone"].search(line)) or not _tells_reader(line)
    whole = "." in (found["ends"] or "") and not SIGNS["numbered"].match(line)
    first, *_ = claims.split_sentences(line)
    speaks = not whole and SIGNS["claims"].search(first) and detect(line) in ("", ENGLISH)
    return bool(found["number"]) and not speaks and not _tells_reader(line)


def _amount(line: str) -> re.Match[str] | None:
    """The amount or sign that a line begins with; none before the speaker in a chat, nor of what
    only pages count."""
    found = SIGNS["amount"].match(line)
    if not found or not found["next"] or found["sign"]:
        return found
    strange = SIGNS["speaks"] if found["time"] else SIGNS["counted"]
    return None if strange.match(line, found.start("next")) else found


def _small(line: str, found: re.Match[str]) -> bool:
    """Do small letters (or "I") come next? "1. I live" is an item."""
    begins = line[found.start("next") :]
    return begins[0].islower() or bool(
        re.match(r"I\b", begins) and not SIGNS["numbered"].match(line)
    )


def _inline(line: str, learned: bool) -> Iterator[Stretch]:
    """Quotations; what markup or orders to a reader begin, to the end of the line; and the words
    that are likely somebody else's, sentence by sentence."""
    for start, end in _quotations(line):
        yield Stretch(start, end)
        line = line[:start] + "." * (end - start) + line[end:]
    sure = [
        found.start()
        for pattern in (SIGNS["markup"], SIGNS["orders"])
        for found in pattern.finditer(line)
    ]
    if len(line) > _LONG and not SIGNS["claims"].search(line):
        sure.append(0)
    if sure and line[min(sure) :].strip(" ."):
        yield Stretch(min(sure), len(line))
        line = line[: min(sure)]
    for start, end in doubted(line) if learned else ():
        yield Stretch(start, end, doubted=True)
    if len(words := claims.words(line)) > LONGEST:
        yield Stretch(words[LONGEST][1], len(line), doubted=True)


def doubtful(line: str) -> list[float]:
    """How likely each of the first `LONGEST` words of a line is not of whoever typed it: 0-1, in
    the order of `words`; 1 for one that the model does not reach. Raises EmbedderProblem where it
    is missing: then no conversation is read, and it waits."""
    found = claims.words(line)[:LONGEST]
    if not found:
        return []
    step = WORDS // 2  # a word is told by the piece of the line in which most stands on both sides
    begins = range(0, max(len(found) - step, 1), step)
    pieces = [line[found[at][1] : found[at : at + WORDS][-1][2]] for at in begins]
    told = _model().encode(pieces, "words").reshape(len(pieces), WORDS, -1)
    likely = np.where(told.any(axis=2), sigmoid(told[:, :, 0] - told[:, :, 1]), 1)
    best = [min(max(at - step // 2, 0) // step, len(pieces) - 1) for at in range(len(found))]
    return [float(likely[piece, at - piece * step]) for at, piece in enumerate(best)]


def doubted(line: str) -> Iterator[Extent]:
    """From the first word of each sentence that is likely somebody else's, to its end. Who pastes
    one sentence pastes the next: less is enough there (`DOUBT`)."""
    words = [
        (start, likely)
        for (_, start, _), likely in zip(claims.words(line), doubtful(line), strict=False)
        if line[start].isalnum()
    ]
    least = SURE
    for begins, ends in claims.sentence_spans(line):
        inside = (at for at, likely in words if begins <= at < ends and likely >= least)
        first = next(inside, None)
        least = SURE if first is None else DOUBT
        if first is not None:
            yield first, ends
        if SIGNS["to_translate"].search(line, begins, ends) and line[ends:].strip():
            yield ends, len(line)
            return


@cache
def _model() -> WorkerEmbedder:
    return layers(GRAPH, _TOKENS)


def joint(before: str) -> int:
    """Where the conjunction stands with which a text ends, and the marks before it: its length
    when there is none."""
    found = SIGNS["joint"].search(before, max(0, len(before) - _NEAR))
    return found.start() if found and not found["rest"] else len(before)


def _tells_reader(words: str) -> bool:
    """Do they speak to a reader, and not only ask something of one?"""
    return bool(SIGNS["to_reader"].search(SIGNS["asks"].sub("", words)))


def _quotations(line: str) -> list[Extent]:
    """Every pair of marks with some words between them: a word or two is a name. Where the marks do
    not pair up, or somebody speaks between them who may be the one quoted, from the first mark to
    the last."""
    pairs = _pairs(line)
    if not pairs or _spoken_between(line, pairs):
        return _outermost(line)
    return [(start, end) for start, end in pairs if _quoted(line[start + 1 : end - 1])]


def _pairs(line: str) -> list[Extent]:
    """The outer pairs of marks; none where one closes that none opened, or opens twice. One that
    nothing closes is an apostrophe."""
    opens = {found.start() for found in SIGNS["opens"].finditer(line)}
    closes = {found.end() - 1 for found in SIGNS["closes"].finditer(line)}
    last = {line[at]: at for at in sorted(closes)}
    pairs: list[Extent] = []
    opened, closing = -1, ""
    for at in sorted(opens | closes):
        if opened >= 0 and at in closes and line[at] in closing:
            pairs.append((opened, at + 1))
            opened = -1
        elif opened < 0 and at in opens:
            closing = _CLOSING.get(line[at], line[at])
            opened = at if any(last.get(one, -1) > at for one in closing) else -1
        elif (opened < 0 and pairs) or (opened >= 0 and line[at] == line[opened]):
            return []
    return pairs


def _spoken_between(line: str, pairs: Sequence[Extent]) -> bool:
    """Does somebody speak of themselves, or to a reader, between quotations with which a line
    begins or that a colon announces? Whoever is quoted may have put marks into their words."""
    before = line[: pairs[0][0]].rstrip()
    between = [line[end:start] for (_, end), (start, _) in pairwise(pairs)]
    return (not before or before.endswith((":", "："))) and any(
        SIGNS["claims"].search(words) or _tells_reader(words) for words in between
    )


def _outermost(line: str) -> list[Extent]:
    ends = [found.end() for found in SIGNS["closes"].finditer(line)]
    for opened in SIGNS["opens"].finditer(line):
        if not ends or ends[-1] <= opened.end():
            break
        if _quoted(line[opened.end() : ends[-1] - 1]):
            return [(opened.start(), ends[-1])]
    return []


def _quoted(words: str) -> bool:
    return len(words.split()) >= _QUOTED_WORDS or (
        len(words) > _QUOTED_WORDS
        and unicodedata.east_asian_width(words.lstrip()[:1] or " ") == "W"
    )


def _joined(stretches: list[Stretch], text: str) -> list[Stretch]:
    found: list[Stretch] = []
    for start, end, doubted in sorted(stretches):
        last = found[-1] if found else None
        if last and (start <= last.end or not text[last.end : start].strip()):
            found[-1] = Stretch(last.start, max(end, last.end), last.doubted and doubted)
        else:
            found.append(Stretch(start, end, doubted))
    return found
