"""Which memories a line of another rests on, by its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from oneiro_vault.core.text.query import tokens

_QUOTED: Final = re.compile(r"“([^“”]+)”")
_ADDED: Final = re.compile(r"\[\d{4}-[^\]\n]*\]")
"""A date that a loop wrote beside what was quoted."""
_WORD: Final = re.compile(r"\w+")
_MOST_OF: Final = 0.6
"""The share of a line's words that a memory needs, to be taken for its ground."""


def grounds_of(line: str, sources: Mapping[str, str]) -> list[str]:
    """The keys of those `sources` (key -> what it says) that a line quotes, or else of the one that
    has most of its words; none when it says something else."""
    quotes = [_bare(quote) for quote in _QUOTED.findall(line)] or [_bare(line)]
    said = {key: _bare(text) for key, text in sources.items()}
    whole = [key for key, text in said.items() if any(quote and quote in text for quote in quotes)]
    if whole:
        return whole
    words = set(tokens(line))
    shares = {key: _share(words, text) for key, text in sources.items()}
    best = max(shares, key=lambda key: shares[key], default=None)
    return [best] if best is not None and shares[best] >= _MOST_OF else []


def _bare(text: str) -> str:
    """Its words alone, in a row."""
    return f" {' '.join(_WORD.findall(_ADDED.sub('', text).casefold()))} ".replace("  ", "")


def _share(words: set[str], text: str) -> float:
    return len(words & set(tokens(text))) / len(words) if words else 0.0
