"""The words and letters of a sentence as hashed features.

Names count as one word, so that nothing is learned about anybody; words in quotation marks are
other words than the same ones without.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

BUCKETS: Final = 1 << 18
VERSION: Final = 2
"""Goes up with every change of what is counted: weights of another version fit no more."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_QUOTES: Final = {'"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "「": "」", "»": "«"}
_STARTS: Final = frozenset(".!?:;…•«")
_NAME: Final = "N"
_LETTERS: Final = range(2, 6)
"""Lengths of the runs of letters that are counted."""
_LONGEST: Final = 600
"""Characters of a sentence that are looked at."""

Sparse = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Buckets of one sentence and the value in each."""


def features(sentence: str) -> Sparse:
    """The hashed features of one sentence. Runs of words and runs of letters weigh the same,
    however long it is."""
    words = list(_words(unicodedata.normalize("NFKC", sentence)[:_LONGEST]))
    runs = set(_word_runs(words)), set(_letter_runs(words))
    codes = [
        np.array([crc32(run.encode("utf-8", "replace")) for run in sorted(kind)], dtype=np.int64)
        for kind in runs
    ]
    values = [np.where(kind & 0x80000000, 1, -1) / np.sqrt(max(len(kind), 1)) for kind in codes]
    return np.concatenate(codes) % BUCKETS, np.concatenate(values).astype(np.float32)


def score(found: Sparse, weights: npt.NDArray[Any]) -> float:
    """What weights, one a bucket, make of the features of a sentence."""
    return float(weights[found[0]] @ found[1])


def _words(text: str) -> Iterator[tuple[str, str]]:
    """(the word in small letters, the word or what stands for it: a name, a beginning, something
    quoted)."""
    closing = ""
    first = True
    for word in _WORD.findall(text):
        if not closing and word in _QUOTES:
            closing, word, quoted = _QUOTES[word], "«", ""
        elif closing and word in (closing, "”" if closing == "“" else closing):
            closing, word, quoted = "", "»", ""
        else:
            quoted = "q" if closing else ""
        low = word.lower()
        capital = word[0].isupper()
        masked = f"^{low}" if first and capital else _NAME if capital and len(word) > 1 else low
        yield quoted + low, quoted + masked
        first = word in _STARTS


def _word_runs(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    """One to three words in a row, and two with one or two between them."""
    for low, masked in words:
        yield f"1{low}"
        yield f"1{masked}"
    row = ["^", *(masked for _, masked in words), "$"]
    for one, two in pairwise(row):
        yield f"2{one} {two}"
    for one, two, three in zip(row, row[1:], row[2:], strict=False):
        yield f"3{one} {two} {three}"
        yield f"s{one} {three}"
    for one, far in zip(row, row[3:], strict=False):
        yield f"t{one} {far}"


def _letter_runs(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    text = f" {' '.join(masked.lstrip('^') for _, masked in words)} "
    for length in _LETTERS:
        for start in range(len(text) - length + 1):
            yield text[start : start + length]
