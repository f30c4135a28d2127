"""Which words of a line that somebody typed are not their own: a linear-chain sequence tagger.

Nothing marks where a mail or a chat begins within a line, so this is learned: `make train` fits a
conditional random field, from lines in `tests/corpora/typed` and `tests/corpora/months`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

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


@cache
def _weights() -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """(codes in order, weights of each for every label, weights from label to label)."""
    with files(__package__).joinpath(WEIGHTS).open("rb") as stream, np.load(stream) as found:
        return found["codes"], found["weights"].astype(np.float32) * found["scale"], found["steps"]


def _shape(word: str) -> str:
    first = word[0]
    kind = "X" if first.isupper() else "x" if first.islower() else "9" if first.isdigit() else first
    return kind + "+" * (len(word) > 1) + "U" * (len(word) > 1 and word.isupper())
