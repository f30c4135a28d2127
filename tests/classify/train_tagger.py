"""Make the weights of `core.conversation.tagging` from the corpora: `make train`; `--check`
measures it on every file left out, and as it is on lines that it never learns."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pycrfsuite

from oneiro_vault.core.conversation import tagging

WEIGHTS: Final = Path(tagging.__file__).with_name(tagging.WEIGHTS)
CORPORA: Final = Path(__file__).parents[1] / "corpora"
UNSEEN: Final = "unseen/typed*.jsonl"
SETTINGS: Final = {"c1": 0.5, "c2": 0.1, "max_iterations": 150, "feature.minfreq": 2}
MARKS: Final = "⟦⟧"
_MARKS: Final = re.compile(f"([{MARKS}])")


@dataclass(frozen=True)
class Line:
    """A line that somebody typed, and where it is not of themselves."""

    text: str
    foreign: tuple[tuple[int, int], ...]
    file: str


def typed(files: str = "typed/*.jsonl") -> Iterator[Line]:
    """The lines of these files of tests/corpora, in which ⟦ and ⟧ stand around what is not one's
    own."""
    for path in sorted(CORPORA.glob(files)):
        for row in path.read_text(encoding="utf-8").splitlines():
            yield from _lines(json.loads(row)["text"], path.stem)


def lived() -> Iterator[Line]:
    """The lines that the persons of the months typed; `marked.jsonl` has the turns of which some
    words are not theirs."""
    marked = {}
    for row in (CORPORA / "months" / "marked.jsonl").read_text(encoding="utf-8").splitlines():
        turn = json.loads(row)
        marked[turn["month"], turn["conversation"], turn["turn"]] = turn["text"]
    for path in sorted((CORPORA / "months").glob("*.json")):
        for talk in json.loads(path.read_text(encoding="utf-8"))["conversations"]:
            for number, turn in enumerate(talk["turns"]):
                if turn["who"] == "user":
                    yield from _lines(
                        marked.get((path.stem, talk["id"], number), turn["text"]), path.stem
                    )


def _lines(marked: str, file: str) -> Iterator[Line]:
    """The lines of a text; marks may reach over several of them."""
    inside = False
    for row in marked.split("\n"):
        text, spans = "", [0] if inside else []
        for part in _MARKS.split(row):
            if part in MARKS and part:
                inside = part == MARKS[0]
                spans.append(len(text))
            else:
                text += part
        spans += [len(text)] if inside else []
        if text.strip():
            yield Line(text, tuple(zip(spans[::2], spans[1::2], strict=True)), file)


def fit(lines: Iterable[Line], path: Path) -> Any:
    """Train on these lines, and give what reads the model."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for line in lines:
        found = tagging.words(line.text)
        trainer.append(list(tagging.features(found)), _labels(line, found))
    trainer.set_params(SETTINGS)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def _labels(line: Line, found: Sequence[tagging.Word]) -> list[str]:
    labels, before = [], None
    for _, start, _ in found:
        inside = next((span for span in line.foreign if span[0] <= start < span[1]), None)
        labels.append("O" if inside is None else "I" if inside == before else "B")
        before = inside
    return labels


def save(tagger: Any) -> None:
    """Write the weights as `tagging` reads them."""
    info = tagger.info()
    weights: dict[int, np.ndarray] = {}
    for (feature, label), weight in info.state_features.items():
        one = weights.setdefault(tagging.code(feature), np.zeros(len(tagging.LABELS)))
        one[tagging.LABELS.index(label)] += weight
    codes = sorted(weights)
    table = np.array([weights[one] for one in codes])
    scale = np.abs(table).max() / 127
    steps = np.array(
        [[info.transitions.get((a, b), -9.0) for b in tagging.LABELS] for a in tagging.LABELS]
    )
    np.savez_compressed(
        WEIGHTS,
        codes=np.array(codes, dtype=np.uint32),
        weights=np.round(table / scale).astype(np.int8),
        scale=np.float32(scale),
        steps=steps.astype(np.float32),
    )


def measure(lines: Sequence[Line]) -> tuple[int, int, int, int]:
    """(lines that are all one's own, how many of them are doubted in a word; stretches of others'
    words, how many of them are doubted in a word)."""
    own = touched = spans = part = 0
    for line in lines:
        found = tagging.words(line.text)
        sure = [one >= tagging.SURE for one in tagging.doubtful(line.text)]
        own += not line.foreign
        touched += not line.foreign and any(sure)
        for start, end in line.foreign:
            inside = [
                one for one, (_, at, _) in zip(sure, found, strict=False) if start <= at < end
            ]
            spans, part = spans + 1, part + any(inside)
    return own, touched, spans, part


def _tell(name: str, lines: Sequence[Line]) -> None:
    own, touched, spans, part = measure(lines)
    print(
        f"{name}: own lines doubted {touched} of {own}, of others' words found {part} of {spans}",
        flush=True,
    )


def main() -> None:
    """Write the weights, or measure with each file left out in turn."""
    lines = [*typed(), *lived()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        if "--check" in sys.argv:
            kept = WEIGHTS.read_bytes()
            _tell(UNSEEN, list(typed(UNSEEN)))
            for file in dict.fromkeys(line.file for line in lines):
                save(fit((line for line in lines if line.file != file), path))
                tagging._weights.cache_clear()
                _tell(file, [line for line in lines if line.file == file])
            WEIGHTS.write_bytes(kept)
            return
        save(fit(lines, path))


if __name__ == "__main__":
    main()
