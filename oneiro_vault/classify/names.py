"""Whom and what a text names: a sequence tagger over its words, learned from labelled lines.

Two opinions of every word are added: what it looks like and stands beside, and what the packaged
model makes of it in its sentence, through a narrow layer (the second output of `GRAPH`). So names
are found in small letters too, and capitals that name nobody are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from oneiro_vault.classify.classifier import model, trained_with
from oneiro_vault.core.conversation.tagging import Word, marginals, words
from oneiro_vault.core.text.claims import sentence_spans
from oneiro_vault.index.embed.onnx import WORDS

Array = npt.NDArray[Any]

KINDS: Final = ("person", "organization", "place", "project", "system", "animal", "work")
"""What is named; a `system` is a program or a make of a thing, a `work` a book, law or holiday."""
LABELS: Final = ("O", *(f"{at}-{kind}" for kind in KINDS for at in "BI"))
"""No name; the first word of one of that kind; the next ones."""
WEIGHTS: Final = Path(__file__).with_name("names.npz")
BUCKETS: Final = 1 << 14
_OWN: Final = re.compile(r"['’]s?$", re.I)
_PARTS: Final = re.compile(r"(.)\1+")


@dataclass(frozen=True, slots=True)
class Name:
    """`text[start:end]` without what makes it a possessive, what it names, and how likely it is a
    name (0-1)."""

    text: str
    kind: str
    start: int
    end: int
    likely: float


def find(texts: Sequence[str]) -> list[list[Name]]:
    """The names in each text, in order. Raises EmbedderProblem where the packaged model is
    missing."""
    pieces = [
        (number, start, piece)
        for number, text in enumerate(texts)
        for start, piece in _pieces(text)
    ]
    found: list[list[Name]] = [[] for _ in texts]
    states = _states([piece for _, _, piece in pieces])
    for (number, start, piece), seen in zip(pieces, states, strict=True):
        found[number] += _names(piece, start, seen)
    return found


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Sentences that are close together, as many as fit: (place, words)."""
    start = end = count = 0
    for begins, stops in sentence_spans(text):
        size = len(words(text[begins:stops]))
        if count and (count + size > WORDS or "\n" in text[end:begins]):
            yield start, text[start:end]
            count = 0
        if not count:
            start = begins
        end, count = stops, count + size
    if count:
        yield start, text[start:end]


def _states(pieces: Sequence[str]) -> Sequence[Array]:
    return [one.reshape(WORDS, -1) for one in model().encode(pieces, "words")] if pieces else []


def _names(text: str, offset: int, states: Array) -> Iterator[Name]:
    line = words(text)[:WORDS]
    if not line:
        return
    learned = weights()
    chances = marginals(scores(line, states[: len(line)], learned), learned["steps"])
    chosen = [LABELS[at] for at in chances.argmax(axis=1)]
    for first, last in runs(chosen):
        start, end = line[first][1], line[last][2]
        said = _OWN.sub("", text[start:end])
        if not any(letter.isalnum() for letter in said):
            continue
        likely = float(np.min(1 - chances[first : last + 1, 0]))
        yield Name(said, chosen[first][2:], offset + start, offset + start + len(said), likely)


def runs(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first, last) word of each name."""
    first = None
    for at, label in enumerate([*labels, LABELS[0]]):
        goes_on = first is not None and label[:1] == "I" and label[1:] == labels[first][1:]
        if first is not None and not goes_on:
            yield first, at - 1
            first = None
        if first is None and label != LABELS[0]:
            first = at


def scores(line: Sequence[Word], states: Array, learned: Mapping[str, Array]) -> Array:
    """What speaks for each of `LABELS`, n words x 15."""
    found = states @ learned["out"] + learned["bias"]
    for place, codes in enumerate(features(line)):
        found[place] += learned["words"][codes].sum(axis=0) * learned["scale"]
    return np.asarray(found)


def features(line: Sequence[Word]) -> Iterator[list[int]]:
    """The buckets of what is looked at for each word of a line."""
    for found in _features(line):
        yield [crc32(one.encode("utf-8", "replace")) % BUCKETS for one in found]


def _features(line: Sequence[Word]) -> Iterator[list[str]]:
    low = [word.lower() for word, _, _ in line]
    looks = [_look(word) for word, _, _ in line]
    small = not any(word[0].isupper() for word, _, _ in line[1:] if word.isalpha())
    said, seen = (["<"] * 3 + row + [">"] * 3 for row in (low, looks))
    begins = True
    for place, word in enumerate(low):
        at = place + 3
        found = [f"{step}={said[at + step]}" for step in range(-3, 4)]
        found += [f"{step}:{seen[at + step]}" for step in range(-2, 3)]
        found += [f"look {seen[at - 1]} {seen[at]}", f"look {seen[at]} {seen[at + 1]}"]
        found += [f"{said[at - 1]} {said[at]}", f"{said[at]} {said[at + 1]}"]
        found += [f"{' '.join(said[at - 2 : at])} :{seen[at]}", f"{said[at - 1]} :{seen[at]}"]
        found += [f"{said[at + 1]} :{seen[at]}", f"{' '.join(said[at + 1 : at + 3])} :{seen[at]}"]
        found += [f"begins {word[:size]}" for size in (2, 3, 4)]
        found += [f"ends {word[-size:]}" for size in (2, 3, 4)]
        yield [*found, f"first {begins}:{looks[place]}", f"small {small}:{looks[place]}"]
        begins = word in ".!?:\n"


def _look(word: str) -> str:
    kinds = (
        "X" if one.isupper() else "x" if one.islower() else "9" if one.isdigit() else one
        for one in word
    )
    return _PARTS.sub(r"\1+", "".join(kinds))


@cache
def version() -> str:
    """Differs where other weights may find other names."""
    return f"{trained_with()}, {crc32(WEIGHTS.read_bytes()):08x}"


@cache
def weights() -> dict[str, Array]:
    """The weights: `words` one row a bucket (as bytes, times `scale`), `out` and `bias` behind the
    narrow layer, which the graph has, `steps` from label to label.
    Raises ValueError for weights that were trained with another model."""
    with np.load(WEIGHTS) as found:
        learned = {name: found[name] for name in found.files}
    if str(learned.pop("trained with")) != trained_with():
        raise ValueError(f"{WEIGHTS} was trained with another model; `make train` makes it anew")
    return learned
