"""Lines that people typed, with what in them is somebody else's, from the corpora."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from oneiro_vault.classify import pasted
from oneiro_vault.core.text import claims
from oneiro_vault.core.text.language import detect

CORPORA: Final = Path(__file__).parents[1] / "corpora"
UNSEEN: Final = "unseen/typed*.jsonl"
"""Lines that are never learned."""
MARKS: Final = "⟦⟧"
_MARKS: Final = re.compile(f"([{MARKS}])")
EVERY: Final = 8
"""Of the prompts one in so many is taken, where it has the `FEWEST` words."""
FEWEST: Final = 10
SAID: Final = "{said}"
TIMES: Final = 3
SWITCHED: Final = 15
"""Lines of each language that go on in another."""
_MARKED: Final = re.compile('["“”„«»:：\n]')


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


def dictated() -> Iterator[Line]:
    """The lines of what people dictated of how they do something: as orderly as what is pasted."""
    for path in sorted((CORPORA / "procedures").glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if row["label"] == "procedure":
                yield from _lines(row["text"], path.stem)


def asked() -> Iterator[Line]:
    """Some prompts that speak of nobody's words but their own."""
    for path in sorted((CORPORA / "intents").glob("*.jsonl")):
        for row in path.read_text(encoding="utf-8").splitlines()[::EVERY]:
            text = json.loads(row)["text"]
            plain = not (pasted.SIGNS["names_it"].search(text) or _MARKED.search(text))
            if plain and len(text.split()) >= FEWEST:
                yield Line(text, (), path.stem)


def told() -> Iterator[Line]:
    """Messages of one to four things that people say of themselves, one after the other: most of
    what is marked as pasted speaks as "I", too."""
    sizes, order = cycle((2, 1, 3, 4)), random.Random(EVERY)
    for said, alone in _statements():
        if alone:  # in the others, all of one person stand together
            order.shuffle(said)
        rest = iter(said)
        for size in islice(sizes, len(said) // 5):
            if some := [one for _, one in islice(rest, size)]:
                yield Line(_row(some), (), "told")


def framed() -> Iterator[Line]:
    """What people say of themselves in the middle of what shows whose words they are: each of the
    `frames` with `TIMES` others; and behind what is said in another language."""
    order = random.Random(EVERY)
    pools: dict[str, list[str]] = {}
    for said, _ in _statements():
        for language, one in said:
            pools.setdefault(language, []).append(one)
    for path in sorted((CORPORA / "frames").glob("*.jsonl")):
        for frame in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            language = frame.get("language", "en")
            for time in range(TIMES):
                other = "en" if time % 3 == 2 and not frame["own"] else language
                if pool := pools.get(other):
                    yield _framed(frame, order.sample(pool, 1 + time % 2), path.stem)
    for language, pool in pools.items():
        others = [one for one in pools if one != language]
        for one in pool[: SWITCHED if language != "en" else SWITCHED * len(others)]:
            other = _row(order.sample(pools[order.choice(others)], 1))
            own = _row([one])
            yield Line(f"{own} {other}", ((len(own) + 1, len(own) + 1 + len(other)),), "switched")


def _framed(frame: dict[str, Any], said: Sequence[str], file: str) -> Line:
    before, behind = frame["frame"].split(SAID)
    ended = behind[:1] in (",", ".", "?", "!", ";", ")")
    text = _row(said)[:-1] if ended else _row(said)
    extent = (len(before), len(before) + len(text))
    return Line(f"{before}{text}{behind}", () if frame["own"] else (extent,), file)


def _row(said: Sequence[str]) -> str:
    return " ".join(one if one[-1] in ".!?。！？" else f"{one}." for one in said)


def _statements() -> Iterator[tuple[list[tuple[str, str]], bool]]:
    """What is said in each file, with its language; is each by somebody else?"""
    for files in ("said", "first", "keep"):
        for path in sorted((CORPORA / files).glob("*.jsonl")):
            said = [
                (row.get("lang") or detect(text) or "en", text)
                for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
                for text in row.get("said", [row.get("text")])
                if row.get("label") != "none"
                and row.get("speaker", "user") == "user"
                and not _MARKED.search(text)
            ]
            yield said, files != "said"


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


def measure(lines: Sequence[Line]) -> tuple[int, int, int, int]:
    """(lines that are all one's own, how many of them are doubted in a word; stretches of others'
    words, how many of them are doubted in a word)."""
    own = touched = spans = part = 0
    for line in lines:
        sure = [one >= pasted.SURE for one in pasted.doubtful(line.text)]
        own += not line.foreign
        touched += not line.foreign and any(sure)
        for start, end in line.foreign:
            inside = [
                one
                for one, (_, at, _) in zip(sure, claims.words(line.text), strict=False)
                if start <= at < end
            ]
            spans, part = spans + 1, part + any(inside)
    return own, touched, spans, part
