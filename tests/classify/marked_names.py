"""The labelled lines of the corpus of names, `tests/corpora/names`.

Each line is a turn that somebody typed, with its names marked: `[P:Jill] moved the [X:Bluebird]
launch`. What is trained on them is in `train_names`, which takes torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oneiro_vault.classify.names import KINDS, LABELS
from oneiro_vault.core.text.claims import words
from oneiro_vault.index.embed.onnx import WORDS

FOLDER: Final = Path(__file__).parents[1] / "corpora" / "names"
MARKS: Final = dict(zip("POLXSAW", KINDS, strict=True))
_MARK: Final = re.compile(r"\[([POLXSAW]):([^\[\]]*)\]")


@dataclass(frozen=True)
class Line:
    """What somebody typed, its names as (start, end, kind), and the file it stands in."""

    text: str
    found: tuple[tuple[int, int, str], ...]
    file: str


def lines() -> Iterator[Line]:
    """Every labelled line."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        for row in path.read_text(encoding="utf-8").splitlines():
            yield marked(json.loads(row)["text"], path.stem)


def marked(raw: str, file: str = "") -> Line:
    """A line out of its marks."""
    text, found, at = "", [], 0
    for mark in _MARK.finditer(raw):
        text += raw[at : mark.start()]
        found.append((len(text), len(text) + len(mark[2]), MARKS[mark[1]]))
        text += mark[2]
        at = mark.end()
    return Line(text + raw[at:], tuple(found), file)


def labels(line: Line) -> list[int]:
    """Of each of the words that are read: its place in `LABELS`."""
    found = []
    for _, start, end in words(line.text)[:WORDS]:
        span = next((one for one in line.found if start < one[1] and end > one[0]), None)
        name = f"{'B' if start <= span[0] else 'I'}-{span[2]}" if span else LABELS[0]
        found.append(LABELS.index(name))
    return found
