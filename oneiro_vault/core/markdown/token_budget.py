"""Fitting ranked texts into a number of tokens. The counter is passed in: no tokenizer lives
here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

Counter = Callable[[str], int]

_CUT: Final = re.compile(r"\n+|(?<=[.!?])[ \t]+")


def estimate(text: str) -> int:
    """Tokens of `text` when no tokenizer is at hand: a word costs one per four characters, a CJK or
    other wide character one."""
    wide = sum(character > "\u2e7f" for character in text)
    return wide + sum((len(word) + 3) // 4 for word in re.findall(r"[^\s\u2e80-\U0010ffff]+", text))


def pack(pieces: Sequence[str], tokens: int, count: Counter = estimate, gap: int = 0) -> list[int]:
    """Positions of the pieces that fit into `tokens`, best first; one that is too large is passed
    over, `gap` is paid between two."""
    chosen: list[int] = []
    left = tokens
    for position, piece in enumerate(pieces):
        cost = count(piece) + (gap if chosen else 0)
        if cost <= left:
            chosen.append(position)
            left -= cost
    return chosen


def shorten(
    text: str, tokens: int, count: Counter = estimate, keep: str = "oldest", mark: str = "…"
) -> str:
    """`text` cut at lines and sentences to at most `tokens`. `keep`: which end survives, `oldest`
    (the start) or `newest` (the end).

    `mark` stands where words are missing and is paid for; "" when not even one sentence fits.
    """
    if count(text) <= tokens:
        return text
    cuts = [found.end() for found in _CUT.finditer(text)]
    if keep == "newest":
        return _longest([f"{mark}\n{text[cut:]}" for cut in reversed(cuts)], tokens, count)
    return _longest([f"{text[:cut].rstrip()}\n{mark}" for cut in cuts], tokens, count)


def _longest(candidates: list[str], tokens: int, count: Counter) -> str:
    """The last candidate (they grow) that fits, by bisection: counting is the expensive part."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if count(candidates[middle]) <= tokens:
            low = middle + 1
        else:
            high = middle
    return candidates[low - 1] if low else ""
