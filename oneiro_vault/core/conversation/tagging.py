"""Which words of a line that somebody typed are not their own: a linear-chain sequence tagger.

Nothing marks where a mail or a chat begins within a line, so this is learned: `make train` fits a
conditional random field, from lines in `tests/corpora/typed` and `tests/corpora/months`. What goes
on with somebody's own words, where nothing tells of others' (`pasted.toml`), is theirs after all.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect, is_english

Word = tuple[str, int, int]
"""(word, start, end)"""

WEIGHTS: Final = "tagging.npz"
"""Beside this module."""
LABELS: Final = ("O", "B", "I")
"""Own words; the first word of others'; the next ones."""
SURE: Final = 0.5
"""Probability from which a word is not taken for the person's own."""
LONGEST: Final = 400
"""Words of a line that are looked at: nobody types as many without a break."""
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_FIRST: Final = frozenset(
    """
    i im i'm ive i've i'll i'd my me mine we we're we've our us ich mein meine mir mich wir unser je
    j'ai mon ma mes nous notre yo mi mis nosotros io mio mia ik mijn wij eu meu minha jeg min vi
    """.split()
)
_SECOND: Final = frozenset(
    """
    you your you're u ur yours du dein deine dir dich sie ihr ihre ihnen vous votre tu ton ta su
    usted
    """.split()
)
ENGLISH: Final = "en"
UNKNOWN: Final = "?"
Extent = tuple[int, int]
"""[start, end)"""


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
_NEAR: Final = 80
"""Characters at the end of a text in which a conjunction may stand."""
_FEW: Final = 30
"""Words of a lone sentence that somebody typed."""
_SHORT: Final = 3
"""Words of a sentence too short to tell its language."""
_KNOWN: Final = ("", ENGLISH, "de")
"""Languages in which it can be told whether somebody speaks of others' words."""
_BEFORE, _AFTER = 12, 10
"""Words before and after one that are counted wherever they stand."""


def words(text: str) -> list[Word]:
    """The words and marks of a line."""
    return [(found[0], *found.span()) for found in _WORD.finditer(text)]


def features(line: Sequence[Word]) -> Iterator[list[str]]:
    """What is looked at for each word of a line."""
    low = [word.lower() for word, _, _ in line]
    padded = ["<"] * 4 + low + [">"] * 4
    shapes = [_shape(word) for word, _, _ in line]
    small = line[0][0][:1].islower() if line else False
    for place, word in enumerate(low):
        at = place + 4
        found = [f"{step}={padded[at + step]}" for step in range(-4, 5)]
        found += [
            f"{step}:{shapes[place + step]}"
            for step in range(-2, 3)
            if 0 <= place + step < len(low)
        ]
        found += [f"{step}&{padded[at + step]} {padded[at + step + 1]}" for step in range(-2, 2)]
        found.append(f"3&{' '.join(padded[at - 3 : at])}")
        found += [f"<{other}" for other in low[max(0, place - _BEFORE) : place]]
        found += [f">{other}" for other in low[place : place + _AFTER]]
        if place == 0 or low[place - 1] in ".!?:":
            found += ["start", f"start&{'|'.join(padded[max(4, at - 3) : at])}"]
        speaks = sum(other in _FIRST for other in low[place : place + 8])
        found += [f"speaks {speaks}", f"I {word in _FIRST}", f"you {word in _SECOND}"]
        found += [f"small {small} {shapes[place][0]}", f"place {min(5, place // 5)}"]
        found += [f"begins {word[:3]}", f"ends {word[-3:]}"]
        found += [f"{step} begins {padded[at + step][:4]}" for step in (-1, -2)]
        yield found


def code(feature: str) -> int:
    """What a feature is called among the weights."""
    return crc32(feature.encode("utf-8", "replace"))


def doubtful(text: str) -> list[float]:
    """How likely each of the first `LONGEST` words of a line is not of whoever typed it: 0-1, in
    the order of `words`."""
    line = words(text)[:LONGEST]
    if not line:
        return []
    known, weights, steps = _weights()
    scores = np.zeros((len(line), len(LABELS)))
    for place, found in enumerate(features(line)):
        codes = np.array([code(one) for one in found], dtype=np.uint32)
        at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        scores[place] = weights[at[known[at] == codes]].sum(axis=0)
    return [float(1 - one[0]) for one in marginals(scores, steps)]


def marginals(scores: npt.NDArray[Any], steps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """How likely each word of a line has each label, n x labels: of what speaks for it (`scores`),
    and for each label after each (`steps`)."""
    ahead, back = scores.copy(), np.zeros_like(scores)
    for place in range(1, len(scores)):
        ahead[place] += np.logaddexp.reduce(ahead[place - 1][:, None] + steps, axis=0)
        mirror = len(scores) - 1 - place
        back[mirror] = np.logaddexp.reduce(steps + scores[mirror + 1] + back[mirror + 1], axis=1)
    both = ahead + back
    found: npt.NDArray[Any] = np.exp(both - np.logaddexp.reduce(both, axis=1)[:, None])
    return found


def doubted(
    line: str, found: Sequence[Word], parts: Sequence[Extent], plain: bool, alone: bool
) -> Iterator[Extent]:
    """From the first word of each sentence that `tagging` takes for somebody else's, to its end;
    behind one that is its writer's after all, what it would say without that one."""
    doubts, settled = doubtful(line), 0
    for number, (_, start, stop) in enumerate(found[: len(doubts)]):
        if start < settled or doubts[number] < SURE or not line[start].isalnum():
            continue
        settled = next((end for _, end in parts if end >= stop), len(line))
        if plain and (
            (not number and alone and _lone(line))
            or _in_passing(line, start, parts)
            or _breaks_off(line, start, settled, parts)
            or _dictates(line[:start], line[start:settled])
        ):
            behind = sum(begins < settled for _, begins, _ in found)
            fresh = doubtful(line[settled:])
            doubts[behind:] = map(min, doubts[behind:], fresh)
        elif not (plain and _goes_on(line[:start], parts)):
            yield start, settled


def _breaks_off(line: str, start: int, end: int, parts: Sequence[Extent]) -> bool:
    """Do these words stand in the middle of a sentence, without a mark or a word that tells of
    others', and as nobody begins? Then nothing was pasted there."""
    begins = max((one for one, _ in parts if one < start), default=0)
    before, said = line[begins:start], line[start:end]
    known = SIGNS["known"].search(line) and detect(line) in _KNOWN
    told = cued(line[:end]) or SIGNS["left_by"].search(line[:end])
    if not before.strip() or not known or told:
        return False
    if tells_reader(said) or SIGNS["utterance"].match(said):
        return False
    small = not said[:1].isupper() and SIGNS["midway"].search(before)
    return bool(small or SIGNS["broken_off"].search(before))


def _in_passing(line: str, at: int, parts: Sequence[Extent]) -> bool:
    """Does a sentence begin here, in a line of small letters that asks or tells a reader nothing,
    nor speaks of others' words? Who pastes a sentence has something to say about it."""
    small = all(line[start].islower() for start, _ in parts) and at in dict(parts)
    told = cued(line) or any(SIGNS[one].search(line) for one in ("left_by", "elsewhere", "readers"))
    known = SIGNS["known"].search(line) and detect(line) in _KNOWN
    return bool(small and known and not told and "?" not in line and not tells_reader(line))


def _dictates(before: str, said: str) -> bool:
    """Does somebody say behind a colon how they do something ("how I close up: first …")?"""
    if not before.rstrip().endswith((":", "：")):
        return False
    head = SIGNS["to_write"].sub("", before.rstrip(" :："))
    if any(SIGNS[one].search(head) for one in ("names_it", "others_words", "elsewhere")):
        return False
    own = SIGNS["own_way"].search(head) or SIGNS["first_step"].match(said)
    strange = tells_reader(said) or SIGNS["utterance"].match(said)
    return bool(own and SIGNS["claims"].search(head)) and not strange


def _lone(line: str) -> bool:
    """Is it one sentence, of somebody who speaks of themselves and to nobody? Who pastes, asks or
    says something, too."""
    first, *more = claims.split_sentences(line) or [""]
    speaks = SIGNS["claims"].search(first) and len(first.split()) <= _FEW
    if more or "?" in first or detect(line) not in _KNOWN:
        return False
    strange = cued(line) or tells_reader(line) or SIGNS["readers"].search(line)
    return bool(speaks and not strange)


def _goes_on(before: str, parts: Sequence[Extent]) -> bool:
    """Does a clause join what its writer has just said of themselves ("my name is Jo, and I ..."),
    where nothing so far tells of others' words? Nobody pastes after an "and"."""
    begins = max((start for start, _ in parts if start < len(before)), default=0)
    if not (joint := SIGNS["joint"].search(before, begins)):
        return False
    said = before[begins : joint.start()]
    told = any(SIGNS[sign].search(before) for sign in ("names_it", "others_words"))
    return bool(SIGNS["claims"].search(said)) and not told


def joint(before: str) -> int:
    """Where the conjunction stands with which a text ends, and the marks before it: its length
    when there is none."""
    found = SIGNS["joint"].search(before, max(0, len(before) - _NEAR))
    return found.start() if found and not found["rest"] else len(before)


def another_language(parts: Sequence[str]) -> int | None:
    """English is mixed in by everybody; and who writes it goes on in a language of their own, where
    they ask nothing about it, in small letters or with English in it."""
    language = ""
    for number, sentence in enumerate(parts):
        found = detect(sentence) if len(sentence.split()) > _SHORT else ""
        english = is_english(sentence) or bool(SIGNS["english_words"].search(sentence))
        found = found or (ENGLISH if english else "")
        if language and found not in ("", language, ENGLISH) and SIGNS["claims"].search(sentence):
            mixes = sentence[:1].islower() or english
            if language != ENGLISH or not mixes or _asks_about(parts, number):
                return number
        language = found or language or (UNKNOWN if sentence.endswith(("?", "？")) else "")
    return None


def _asks_about(parts: Sequence[str], number: int) -> bool:
    """Does the sentence before tell of words that are somebody else's, or any ask about them?"""
    before = parts[number - 1]
    told = cued(before) or SIGNS["elsewhere"].search(before) or before.endswith("?")
    return bool(told or SIGNS["speech"].search(" ".join(parts)))


def tells_reader(words: str) -> bool:
    """Do they speak to a reader, and not only ask something of one?"""
    return bool(SIGNS["to_reader"].search(SIGNS["asks"].sub("", words)))


def cued(words: str) -> bool:
    """Does anything tell of others' words?"""
    return any(
        SIGNS[sign].search(words) for sign in ("names_it", "others_words", "salutation", "greeting")
    )


@cache
def _weights() -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """(codes in order, weights of each for every label, weights from label to label)."""
    with files(__package__).joinpath(WEIGHTS).open("rb") as stream, np.load(stream) as found:
        return found["codes"], found["weights"].astype(np.float32) * found["scale"], found["steps"]


def _shape(word: str) -> str:
    first = word[0]
    kind = "X" if first.isupper() else "x" if first.islower() else "9" if first.isdigit() else first
    return kind + "+" * (len(word) > 1) + "U" * (len(word) > 1 and word.isupper())
