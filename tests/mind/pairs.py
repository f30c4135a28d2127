"""Pairs of claims, written and labelled by hand: is one of them enough?

`held` pairs were written by somebody who had not seen the rules of the offline judge, when they
were final; of what they showed, only that two spaces are one was taken up.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("pairs.jsonl")


@dataclass(frozen=True)
class Pair:
    """Two texts; `label` is same or different, `kind` what makes them so."""

    a: str
    b: str
    label: str
    kind: str
    held: bool


def pairs() -> list[Pair]:
    """All of them, in the order of the file."""
    return [Pair(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines()]
