"""What the classifier learns from: the labelled lines in `tests/corpora`, and what is made of them.

Every line is in one of `PARTS` parts, with whatever is made of it. What learned nothing of part
`HELD` says how far each opinion is to be trusted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from oneiro_vault.classify.classifier import INTENTS, SPEAKERS, TOPICS, Head
from oneiro_vault.core.conversation import personal
from tests.classify import marked_names, typed_lines

FOLDER: Final = Path(__file__).parents[1] / "corpora"
LABELS: Final[dict[Head, tuple[str, str]]] = {
    "gate": ("describes", "prescribes"),
    "keep": ("drop", "keep"),
    "history": ("other", "history"),
    "procedure": ("other", "procedure"),
    "lists": ("foreign", "own"),
}
"""Of each head with one question: what its 0 and its 1 are called."""
HEADS: Final[tuple[Head, ...]] = ("gate", "keep", "procedure", "lists", "topics", "intents")
"""Heads that the model is asked for."""
SPOKEN: Final[tuple[Head, ...]] = ("keep", "history")
"""Heads that are told who speaks."""
STANDS: Final[dict[Head, str]] = {"procedure": "procedures"}
"""Folder of the lines of a head that is not called like it."""
TYPED: Final[dict[Head, str]] = {"keep": ".", "history": ".?", "lists": ":…👇 "}
"""Heads that learn every line also in small letters and without these marks at its end."""
OTHERS: Final[dict[Head, tuple[int, int]]] = {"history": (4, 4), "procedure": (12, 2)}
"""Heads whose answer to what people say (`keep/`) and ask (`typed/`) is hardly ever yes: each how
many of these lines one is learned."""
WISHES: Final = "wishes"
"""Standing instructions worth keeping, which the gate does not learn as harmless: without whoever
said them they are orders."""
NONE: Final = "none"
PARTS: Final = 8
HELD: Final = 0
RELATIONS: Final = "relations"
NAMES: Final = "names"
"""What the tagger of names and what relates them are called among what `make train` trains, and the
file of the names' lines."""
SHORTEST: Final = 15
"""Characters of a line that may be the beginning of another."""


@dataclass(frozen=True)
class Examples:
    """What one head learns: n texts, n x k labels 0 or 1, whose each is (a place in `SPEAKERS`),
    and which part it is in."""

    texts: list[str]
    labels: Any
    speakers: list[int]
    parts: Any


@dataclass(frozen=True)
class Line:
    """A sentence, whether the answer is yes, whose it is (a place in `SPEAKERS`), its language and
    the file it stands in."""

    text: str
    label: bool
    speaker: int
    lang: str
    file: str


def part(text: str) -> int:
    """The same for a line however it is typed, in every corpus."""
    return crc32(text.lower().rstrip(".?!").encode("utf-8", "replace")) % PARTS


def examples(head: Head, *, bare: bool = True) -> Examples:
    """What a head learns from; for the gate also `bare` names."""
    if head == "topics":
        return _several([(text, [topic]) for text, topic in told()], (*TOPICS, NONE))
    if head == "intents":
        return _several(prompts(), INTENTS)
    known, parts = grown(head)
    if head == "gate" and bare:
        known += [Line(name, False, 0, "", NAMES) for name in titles()]
        parts = np.concatenate([parts, [part(name) for name in titles()]])
    labels = np.array([[line.label] for line in known], dtype=np.float32)
    speakers = [line.speaker if head in SPOKEN else 0 for line in known]
    return Examples([line.text for line in known], labels, speakers, parts)


def _several(rows: Sequence[tuple[str, Sequence[str]]], names: Sequence[str]) -> Examples:
    return Examples(
        [text for text, _ in rows],
        np.array([[name in said for name in names] for _, said in rows], dtype=np.float32),
        [SPEAKERS.index("user")] * len(rows),
        np.array([part(text) for text, _ in rows]),
    )


def unseen(head: Head) -> Iterator[tuple[str, Examples]]:
    """(file, its lines) of those that nothing is learned from."""
    if head == "intents":
        for path in sorted((FOLDER / "unseen").glob("intents*.jsonl")):
            yield path.stem, _several(_prompts(path), INTENTS)
    for path in sorted((FOLDER / "unseen").glob(f"{head}*.jsonl")) if head in LABELS else ():
        known = read(head, path)
        labels = np.array([[line.label] for line in known], dtype=np.float32)
        speakers = [line.speaker for line in known]
        yield path.stem, Examples([line.text for line in known], labels, speakers, None)


def lines(head: Head) -> list[Line]:
    """Every line of a head's corpora: one JSON object a line, with `text`, `label`, `lang`, and
    `speaker` if that matters."""
    folder = FOLDER / STANDS.get(head, head)
    return [line for path in sorted(folder.glob("*.jsonl")) for line in read(head, path)]


def read(head: Head, path: Path) -> list[Line]:
    """The lines of one file."""
    return [
        Line(
            row["text"],
            bool(LABELS[head].index(row["label"])),
            SPEAKERS.index(row.get("speaker") or "user"),
            row["lang"],
            path.stem,
        )
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def grown(head: Head) -> tuple[list[Line], Any]:
    """The lines, and the part each is in. Some are learned as many people type, too (`TYPED`). What
    people say and ask of a model is hardly ever a question about an earlier state, or how something
    is done. For the gate also what people said of themselves as
    it is quoted or told, and sentences that begin as one line and go on as another of the same
    part, so that nothing hides beside something harmless."""
    known = list(lines(head))
    if head in OTHERS:
        kept, typed = OTHERS[head]
        known += [replace(line, label=False) for line in lines("keep")[::kept]]
        known += [
            Line(line.text, False, SPEAKERS.index("user"), "", line.file)
            for line in list(typed_lines.typed())[::typed]
        ]
    if head == "procedure":
        known += list(together_said())
    if head == "gate":
        said = [line for line in lines("keep") if line.label and line.file != WISHES]
        known += [
            replace(line, text=personal.quoted(line.text, "2026-05-03"), label=False)
            for line in said[::4]
        ]
        known += [
            replace(line, text=personal.described(line.text), label=False)
            for line in said[1::4]
            if line.lang in ("en", "de")
        ]
    parts = [part(line.text) for line in known]
    if head == "procedure":
        framed = [(line, parts[place]) for place, line in in_frames()]
        known += [line for line, _ in framed]
        parts += [where for _, where in framed]
    if head in TYPED:
        small = [
            (replace(line, text=line.text.lower().rstrip(TYPED[head])), where)
            for line, where in zip(known, parts, strict=True)
        ]
        known += [line for line, _ in small]
        parts += [where for _, where in small]
    if head == "procedure":
        listed = [(as_list(line), where) for line, where in zip(known, parts, strict=True)][::2]
        known += [line for line, _ in listed if line]
        parts += [where for line, where in listed if line]
    if head == "gate":
        harmless: dict[tuple[str, int], Line] = {}
        for number, line in enumerate(tuple(known)):
            before = harmless.get((line.lang, parts[number]))
            if before and number % 4 == 0:
                one, other = (before, line) if number % 8 else (line, before)
                joint = ": " if number % 16 == 0 else ", "
                known.append(
                    replace(
                        line,
                        text=f"{one.text.rstrip('.。।')}{joint}{other.text[0].lower()}{other.text[1:]}",
                    )
                )
                parts.append(parts[number])
            if not line.label and len(line.text) > SHORTEST:
                harmless[line.lang, parts[number]] = line
    return known, np.array(parts)


def titles() -> list[str]:
    """Names as they stand above notes, which say nothing of anybody: some of those in the corpus of
    names."""
    found = {line.text[a:b] for line in marked_names.lines() for a, b, _ in line.found}
    return sorted(found)[::8]


FRAMES: Final = {
    "en": (
        "Tomorrow I'll {}.", "Yesterday we did it like this: {}.", "Can you {} please?",
        "The manual says: {}. Is that still right?", "Please {}.", "Last night I had to {}.",
        "This afternoon I want to {}.", "Should I {}?", "Let's {} and see what happens.",
        "On Friday we {} and go home.", "Next week we need to {}.", "Plan for tonight: {}.",
        "I still have to {} today.", "Before Lena comes home I have to {}.",
    ),
    "de": (
        "Morgen: {}.", "Gestern haben wir das so gemacht: {}.", "Kannst du bitte {}?",
        "In der Anleitung steht: {}. Stimmt das?", "Heute Nachmittag will ich {}.",
        "Nächste Woche müssen wir {}.", "Ich muss heute noch {}.",
    ),
    "fr": (
        "Demain je dois {}.", "Hier on a fait comme ça : {}.", "Tu peux {} s'il te plaît ?",
        "La notice dit : {}. C'est juste ?",
    ),
    "es": (
        "Mañana tengo que {}.", "Ayer lo hicimos así: {}.", "¿Puedes {} por favor?",
        "El manual dice: {}. ¿Es así?",
    ),
}  # fmt: skip
"""What the steps of a procedure stand in that make none: a plan, a story, a request, a quotation."""


def in_frames() -> Iterator[tuple[int, Line]]:
    """(place among the lines, line): the steps of each procedure behind what says when, and the
    very same in a frame that makes them none, so that the frame counts and not the subject."""
    paths = sorted((FOLDER / STANDS["procedure"]).glob("*.jsonl"))
    rows = [(row, path.stem) for path in paths for row in path.read_text("utf-8").splitlines()]
    for place, (row, file) in enumerate(rows):
        told = json.loads(row)
        frames = FRAMES.get(told["lang"], ())
        if frames and told.get("steps"):
            steps = ", ".join(one.rstrip(".") for one in told["steps"])
            line = Line("", False, SPEAKERS.index("user"), told["lang"], file)
            for frame in (frames[place % len(frames)], frames[(3 * place + 1) % len(frames)]):
                yield place, replace(line, text=frame.format(steps))
            if place % 2:
                yield place, replace(line, text=f"{told['trigger']}: {steps}.", label=True)


def as_list(line: Line) -> Line | None:
    """What it says as a list under a heading, None where it has less than three clauses for one."""
    first, *items = re.split(r"[,:;.]\s+", line.text)
    if len(items) < 3 or "\n" in line.text:
        return None
    return replace(line, text="\n- ".join([f"{first}:", *items]))


def together_said() -> Iterator[Line]:
    """What people say, three to six lines as one paragraph that says of nothing how it is done.
    Without these 26 of 630 turns of the months are taken for a procedure, with them 7."""
    said = iter([line for line in lines("keep") if SPEAKERS[line.speaker] == "user"])
    for number in count():
        paragraph = list(islice(said, 3 + number % 4))
        if not paragraph:
            return
        text = " ".join(line.text for line in paragraph)
        yield replace(paragraph[0], text=text, label=False)


def told() -> list[tuple[str, str]]:
    """(sentence, which of `TOPICS` it says or `NONE`); of those that are only known for something
    else every third."""
    labelled: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for folder in ("first", "keep", "gate"):
        for path in sorted((FOLDER / folder).glob("*.jsonl")):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                topic = row.get("topic") or {"drop": NONE}.get(row["label"], row["label"])
                if topic in (*TOPICS, NONE):
                    known = folder == "first" or (folder == "keep" and "topic" in row)
                    (labelled if known else others).append((row["text"], topic))
    return [*labelled, *others[::3]]


def prompts() -> list[tuple[str, list[str]]]:
    """(prompt, what for) of the labelled prompts that are learned."""
    paths = sorted((FOLDER / "intents").glob("intents*.jsonl"))
    return [row for path in paths for row in _prompts(path)]


def _prompts(path: Path) -> list[tuple[str, list[str]]]:
    rows = [json.loads(row) for row in path.read_text("utf-8").splitlines()]
    return [(row["text"], row["intents"]) for row in rows]
