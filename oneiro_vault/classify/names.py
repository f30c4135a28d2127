"""Whom and what a text names: a sequence tagger over its words, learned from labelled lines.

Two opinions of every word are added: what it looks like and stands beside, and what the packaged
model makes of it in its sentence, through a narrow layer (the second output of `GRAPH`). So names
are found in small letters too, and capitals that name nobody are not.

How a sentence relates two of them, or one to whoever speaks, is learned from the same lines: from
the words between and around them, what these speak of (`relations.toml`), and what the model makes
of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from oneiro_vault.classify import pasted
from oneiro_vault.classify.classifier import LEARNED, model, softmax, trained_with
from oneiro_vault.core.text.claims import Word, sentence_spans, words
from oneiro_vault.index.embed.onnx import WORDS

Array = npt.NDArray[Any]

KINDS: Final = ("person", "organization", "place", "project", "system", "animal", "work")
"""What is named; a `system` is a program or a make of a thing, a `work` a book, law or holiday."""
LABELS: Final = ("O", *(f"{at}-{kind}" for kind in KINDS for at in "BI"))
"""No name; the first word of one of that kind; the next ones."""
WEIGHTS: Final = LEARNED / "names.npz"
TIES: Final = LEARNED / "relations.npz"
BUCKETS: Final = 1 << 14
NONE: Final = "none"
"""The answer that two are not said to be related."""
LOOSE: Final = "associated_with"
"""How two are related who surely are, where nothing tells how."""
SURE: Final = 0.85
"""How likely a relation is, at least."""
RELATED: Final = 0.93
"""How likely two are related somehow, at least."""
_OWN: Final = re.compile(r"['’]s?$", re.I)
_PARTS: Final = re.compile(r"(.)\1+")


@dataclass(frozen=True, slots=True)
class Name:
    """`text[start:end]` without what makes it a possessive, what it names, how likely it is a name,
    and how likely one of that kind (0-1)."""

    text: str
    kind: str
    start: int
    end: int
    likely: float
    sure: float = 1.0


@dataclass(frozen=True, slots=True)
class Tie:
    """What a text says of two: `subject` is of this relation to `other`; "" is whoever speaks. How
    likely it says so, 0-1."""

    subject: str
    relation: str
    other: str
    likely: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two that a sentence names, in its order (None: whoever speaks); the codes of their looks;
    what the model makes of the words before, of, between and after them, 5 x 64; and how close the
    second is to whoever speaks, where a word beside it tells ("my sister")."""

    first: Name | None
    second: Name
    looks: list[int]
    states: Array
    close: str = ""


def find(texts: Sequence[str]) -> list[list[Name]]:
    """The names in each text, in order. Raises EmbedderProblem where the packaged model is
    missing."""
    found: list[list[Name]] = [[] for _ in texts]
    for number, start, piece, states in _looked_at(texts):
        found[number] += _names(piece, start, states)
    return found


def related(texts: Sequence[str]) -> list[tuple[list[Name], list[Tie]]]:
    """The names in each text, in order, and how its sentences say that they are related. None is
    read of a question, or of a clause that denies, supposes or speaks of what is over. Raises
    EmbedderProblem as `find`."""
    found: list[tuple[list[Name], list[Tie]]] = [([], []) for _ in texts]
    for number, start, piece, states in _looked_at(texts):
        named = list(_names(piece, 0, states))
        found[number][0].extend(
            replace(one, start=start + one.start, end=start + one.end) for one in named
        )
        found[number][1].extend(_ties(pairs(piece, named, states)))
    return found


def _looked_at(texts: Sequence[str]) -> Iterator[tuple[int, int, str, Array]]:
    """(number of its text, place in it, words, states) of each sentence of texts. Names are learned
    of single lines: among other sentences, and in small letters in German above all, they are
    missed."""
    pieces = [
        (number, start, text[start:end])
        for number, text in enumerate(texts)
        for start, end in sentence_spans(text)
    ]
    for one, states in zip(pieces, _states([piece for *_, piece in pieces]), strict=True):
        yield (*one, states)


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
        kind = chosen[first][2:]
        at = [number for number, label in enumerate(LABELS) if label[2:] == kind]
        sure = float(np.min(chances[first : last + 1, at].sum(axis=1)))
        yield Name(said, kind, offset + start, offset + start + len(said), likely, sure)


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


def marginals(scores: Array, steps: Array) -> Array:
    """How likely each word of a line has each label, n x labels: of what speaks for it (`scores`),
    and for each label after each (`steps`)."""
    ahead, back = scores.copy(), np.zeros_like(scores)
    for place in range(1, len(scores)):
        ahead[place] += np.logaddexp.reduce(ahead[place - 1][:, None] + steps, axis=0)
        mirror = len(scores) - 1 - place
        back[mirror] = np.logaddexp.reduce(steps + scores[mirror + 1] + back[mirror + 1], axis=1)
    both = ahead + back
    found: Array = np.exp(both - np.logaddexp.reduce(both, axis=1)[:, None])
    return found


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


_MIDDLE: Final = 12
"""Words between two names that are looked at."""
_AROUND: Final = 6
_STOPS: Final = frozenset(
    (*",;:.!()–—", "and", "but", "und", "aber", "et", "mais", "y", "pero", "e")
)
"""Where another clause may begin."""
_OVER: Final = (("used", "to"), ("moved", "from"))
_BETWEEN: Final = "between"
_COUPLE: Final = "partner_of"
"""What a business partner is not."""
_OPEN: Final = ("related_to", "knows", "owns", LOOSE)
"""Relations that "my sister" makes closer."""


def pairs(text: str, found: Sequence[Name], states: Array) -> Iterator[Pair]:
    """What may be related in a text: two names of one sentence, or one and whoever speaks."""
    line = words(text)[:WORDS]
    for start, end in sentence_spans(text):
        if "?" not in text[start:end]:
            here = [one for one in found if start <= one.start < end]
            row = _Row(line, here, (start, end), states)
            for at, second in row.places:
                for before, first in [(-1, None), *row.places]:
                    two = first is None or apart(first.text, second.text)
                    if before < at and two and not row.unsure(before, at):
                        yield row.pair(before, first, at, second)


def apart(one: str, other: str) -> bool:
    """Is neither name a form of the other?"""
    mine, theirs = (set(_OWN.sub("", name.lower()).split()) for name in (one, other))
    return not (mine <= theirs or theirs <= mine)


class _Row:
    """The words of a sentence, a name as one: `said`, what stands for each there, and what it
    speaks of."""

    def __init__(
        self, line: Sequence[Word], found: Sequence[Name], span: tuple[int, int], states: Array
    ) -> None:
        self.places: list[tuple[int, Name]] = []
        self._said: list[str] = []
        self._at: list[list[int]] = []
        self._states = states
        for number, (word, start, end) in enumerate(line):
            name = next((one for one in found if start < one.end and end > one.start), None)
            if not span[0] <= start < span[1]:
                continue
            if name and self.places and self.places[-1][1] is name:
                self._at[self.places[-1][0]].append(number)
                continue
            if name:
                self.places.append((len(self._said), name))
            self._said.append(f"N{name.kind}" if name else word.lower().replace("’", "'"))
            self._at.append([number])
        self._kinds = [_speak().get(word, word) for word in self._said]

    def unsure(self, first: int, second: int) -> bool:
        """Does the clause with both deny, suppose or speak of the past?"""
        begins = second if first < 0 else first
        while begins > 0 and self._said[begins - 1] not in _STOPS:
            begins -= 1
        ends = second + 1
        while ends < len(self._said) and self._said[ends] not in _STOPS:
            ends += 1
        clause = self._kinds[begins:ends]
        denied = any(kind == "#unsure" or kind.endswith("n't") for kind in clause)
        return denied or any(both in _OVER for both in pairwise(self._said[begins:ends]))

    def pair(self, first: int, one: Name | None, second: int, other: Name) -> Pair:
        """What is seen of two of its places, the first -1 for whoever speaks."""
        kinds = f"{one.kind if one else 'me'} {other.kind}"
        said = {f"kinds {kinds}"}
        for row in (self._said, self._kinds):
            looks = _between(row, first, second) if one else _beside(row, second)
            for look in looks:
                said |= {look, f"{look} {kinds}"}
        codes = sorted(crc32(look.encode("utf-8", "replace")) for look in said)
        left = second if one is None else first
        parts = (
            range(max(0, left - 3), left), () if one is None else (first,), (second,),
            () if one is None else range(first + 1, second),
            range(second + 1, min(len(self._said), second + 4)),
        )  # fmt: skip
        states = np.concatenate([self._mean(part) for part in parts])
        return Pair(one, other, codes, states, "" if one else self._close(second))

    def _close(self, place: int) -> str:
        """How the one at a place is close to whoever speaks: "my little sister Ana", "Ana is my
        sister"."""
        told = _close()
        for at, word in enumerate(self._said):
            mine = at - 1 if at and self._kinds[at - 1] == "#first" else at - 2
            whose = mine >= 0 and self._kinds[mine] == "#first" and "'" not in self._said[at - 1]
            low, high = (at + 1, place) if at < place else (place + 1, mine)
            how = told.get(word, _BETWEEN)
            beside = whose and all(told.get(one) == _BETWEEN for one in self._said[low:high])
            if beside and how != _BETWEEN and (how != _COUPLE or mine == at - 1):
                return how
        return ""

    def _mean(self, places: Sequence[int]) -> Array:
        rows = [number for place in places for number in self._at[place]]
        return np.asarray(
            self._states[rows].mean(axis=0) if rows else np.zeros(self._states.shape[1])
        )


def _between(row: Sequence[str], first: int, second: int) -> Iterator[str]:
    middle = ["^", *row[first + 1 : second][:_MIDDLE], "$"]
    yield f"far {min(_MIDDLE, second - first)}"
    yield f"all {' '.join(middle)}"
    yield from _runs("m", middle, 3)
    yield from _edges(row, first, second)


def _beside(row: Sequence[str], place: int) -> Iterator[str]:
    yield from _runs("b", row[max(0, place - _AROUND) : place], 3)
    yield from _runs("a", row[place + 1 : place + 1 + _AROUND], 2)
    yield from (f"w {word}" for word in row)
    yield from _edges(row, place, place)
    spoken = [at for at, word in enumerate(row) if _speak().get(word, word) == "#first"]
    if spoken:
        near = min(spoken, key=lambda at: abs(at - place))
        low, high = sorted((near, place))
        yield f"I {max(-_AROUND, min(_AROUND, near - place))}"
        yield f"I all {near < place} {' '.join(row[low + 1 : high][:_AROUND])}"
        yield from (f"I {near < place} {word}" for word in row[low + 1 : high][:_MIDDLE])


def _edges(row: Sequence[str], first: int, second: int) -> Iterator[str]:
    before, after = ["<", "<", *row[:first]], [*row[second + 1 :], ">", ">", ">"]
    yield from (f"l {before[-1]}", f"l {' '.join(before[-2:])}", f"lr {before[-1]} {after[0]}")
    yield from (f"r {' '.join(after[:size])}" for size in (1, 2, 3))
    yield from (f"L {word}" for word in before[-_AROUND:])
    yield from (f"R {word}" for word in after[:_AROUND])


def _runs(mark: str, row: Sequence[str], longest: int) -> Iterator[str]:
    for size in range(1, longest + 1):
        for at in range(len(row) - size + 1):
            yield f"{mark} {' '.join(row[at : at + size])}"


@cache
def _speak() -> Mapping[str, str]:
    """Word -> the kind of tie that it speaks of."""
    kinds = {kind: said for kind, said in _table().items() if kind != "close"}
    return {word: f"#{kind}" for kind, said in kinds.items() for word in said.split()}


@cache
def _close() -> Mapping[str, str]:
    """Word -> the relation of one who is called so to whoever calls them that; "between": it may
    stand between that and a name."""
    return {word: kind for kind, said in _table()["close"].items() for word in said.split()}


def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("relations.toml").read_text("utf-8"))


def chances(given: Sequence[Pair], learned: Mapping[str, Array]) -> Array:
    """How likely each answer of a pair is, n x answers."""
    codes = learned["codes"]
    scores = np.stack([one.states for one in given]) @ learned["out"] + learned["bias"]
    for place, one in enumerate(given):
        at = np.searchsorted(codes, one.looks).clip(max=len(codes) - 1)
        part = learned["words"][at[codes[at] == one.looks]].sum(axis=0)
        scores[place] += part * learned["scale"] / np.sqrt(len(one.looks))
    return softmax(scores)


def _ties(given: Iterator[Pair]) -> Iterator[Tie]:
    if known := list(given):
        learned = ties()
        answers = [str(one) for one in learned["answers"]]
        for one, row in zip(known, chances(known, learned), strict=True):
            if tie := told(one, dict(zip(answers, row.tolist(), strict=True))):
                closer = one.close and tie.relation in _OPEN
                yield Tie(one.second.text, one.close, "", tie.likely) if closer else tie


def told(pair: Pair, likely: Mapping[str, float]) -> Tie | None:
    """What is said of a pair, of the chances of each answer; `~` is before a relation of the second
    to the first."""
    best = max(likely.keys() - {NONE}, key=lambda answer: (likely[answer], answer))
    sure, somehow = likely[best], 1 - likely[NONE]
    if sure < SURE:
        best, sure = LOOSE, somehow
    ends = pair.first.text if pair.first else "", pair.second.text
    subject, other = ends[::-1] if best.startswith("~") else ends
    enough = somehow >= RELATED if best == LOOSE else True
    return Tie(subject, best.removeprefix("~"), other, sure) if enough else None


@cache
def version() -> str:
    """Differs where other weights may find other names, other words are a person's own, or more
    is told of a name."""
    weights = (crc32(path.read_bytes()) for path in (WEIGHTS, pasted.GRAPH))
    return f"{trained_with()}, {', '.join(f'{one:08x}' for one in weights)}, 2"


@cache
def weights() -> dict[str, Array]:
    """The weights: `words` one row a bucket (as bytes, times `scale`), `out` and `bias` behind the
    narrow layer, which the graph has, `steps` from label to label.
    Raises ValueError for weights that were trained with another model."""
    return _read(WEIGHTS)


@cache
def ties() -> dict[str, Array]:
    """The weights of relations: `answers`; `words` (times `scale`), a row for each of `codes`;
    `out` and `bias` behind what the model makes of a pair. Raises ValueError as `weights`."""
    return _read(TIES)


def _read(path: Path) -> dict[str, Array]:
    with np.load(path) as found:
        learned = {name: found[name] for name in found.files}
    if str(learned.pop("trained with")) != trained_with():
        raise ValueError(f"{path} was trained with another model; `make train` makes it anew")
    return learned
