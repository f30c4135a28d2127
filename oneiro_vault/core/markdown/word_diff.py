"""Words of notes in a cell of a Markdown table: escaped, on one line, and what changed between two
texts marked word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

CELL: Final = 280
"""Characters of a text that a cell shows."""
LONGEST: Final = 700
"""Characters of what changed that a cell shows."""
_AROUND: Final = 5
_MOST: Final = 300
"""Words that are compared: at its worst that takes their product many times."""
_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|~!&$])")


def cell(text: str, limit: int = CELL) -> str:
    """Cut at a word, with nothing in it that Markdown, HTML or a hosting site would take for its
    own."""
    line = " ".join(
        "".join(
            c if c.isprintable() else " " for c in text.encode("utf-8", "replace").decode()
        ).split()
    )
    if len(line) > limit:
        line = line[: limit - 1].rsplit(" ", 1)[0] + "…"
    return _MARKS.sub(r"\\\1", line).replace(
        "@", "＠"
    )  # a name after an @ would be told that it was mentioned


def marked(old: str, new: str) -> str:
    """What became of the words: ~~gone~~, **new**, and a few of those around them."""
    before, after = old.split(), new.split()
    first = _alike(before, after)
    last = _alike(before[first:][::-1], after[first:][::-1])
    changed = before[first : len(before) - last], after[first : len(after) - last]
    parts = list(_same(before[:first], False, True)) if first else []
    inside = _parts(changed[0][:_MOST], changed[1][:_MOST], first > 0, last > 0)
    for part in (*inside, *(_same(before[len(before) - last :], True, False) if last else ())):
        parts.append(part)
        if sum(map(len, parts)) > LONGEST:
            return " ".join([*parts[:-1], "…"]) if len(parts) > 1 else cell(new)
    return " ".join(parts)


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )


def steps(old: str, new: str) -> list[tuple[str, str]]:
    """What became of the words, all of them and as they are: (`same`, `gone` or `new`, words)."""
    before, after = old.split(), new.split()
    found: list[tuple[str, str]] = []
    many = max(len(before), len(after)) > _MOST
    for kind, start, end, first, last in SequenceMatcher(
        None, before, after, autojunk=many
    ).get_opcodes():
        if kind == "equal":
            found.append(("same", " ".join(before[start:end])))
            continue
        found += [
            (name, " ".join(words))
            for name, words in (("gone", before[start:end]), ("new", after[first:last]))
            if words
        ]
    return found


def _parts(before: Sequence[str], after: Sequence[str], behind: bool, ahead: bool) -> Iterator[str]:
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for at, (kind, start, end, first, last) in enumerate(steps):
        if kind == "equal":
            yield from _same(before[start:end], behind or at > 0, ahead or at < len(steps) - 1)
        else:
            gone, new = cell(" ".join(before[start:end])), cell(" ".join(after[first:last]))
            yield " ".join(([f"~~{gone}~~"] if gone else []) + ([f"**{new}**"] if new else []))


def _same(words: Sequence[str], behind: bool, ahead: bool) -> Iterator[str]:
    if len(words) <= 2 * _AROUND:
        yield cell(" ".join(words))
        return
    if behind:
        yield cell(" ".join(words[:_AROUND]))
    yield "…"
    if ahead:
        yield cell(" ".join(words[-_AROUND:]))


Change = tuple[str, str]
"""(`same`, `gone` or `new`; the characters as they are)."""
_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")
_PRODUCT: Final = 4_000_000
"""Pairs of tokens that are compared: above it a passage counts as replaced whole."""


def changes(old: str, new: str) -> list[Change]:
    """What became of a text, with nothing lost: `same` and `gone` together are the old one, `same`
    and `new` the new one. Lines first, then the words of those that differ."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found: list[Change] = []
    for kind, start, end, first, last in _opcodes(before, after):
        one, other = "".join(before[start:end]), "".join(after[first:last])
        found += [("same", one)] if kind == "equal" else _words(one, other)
    return _joined(found)


def _opcodes(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher` has them; what is alike at both ends is not compared again."""
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    inner, other = before[head : len(before) - tail], after[head : len(after) - tail]
    yield "equal", 0, head, 0, head
    if len(inner) * len(other) > _PRODUCT:
        yield "replace", head, head + len(inner), head, head + len(other)
    else:
        for kind, *ends in SequenceMatcher(None, inner, other, autojunk=False).get_opcodes():
            start, end, first, last = (head + at for at in ends)
            yield kind, start, end, first, last
    yield "equal", len(before) - tail, len(before), len(after) - tail, len(after)


def _words(old: str, new: str) -> Iterator[Change]:
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    for kind, start, end, first, last in _opcodes(before, after):
        if kind == "equal":
            yield "same", "".join(before[start:end])
        else:
            yield "gone", "".join(before[start:end])
            yield "new", "".join(after[first:last])


def _joined(found: Sequence[Change]) -> list[Change]:
    """Blanks between two changes change with them, and neighbours of a kind are one."""
    kept: list[Change] = []
    for at, (kind, text) in enumerate(found):
        if not text:
            continue
        between = 0 < at < len(found) - 1 and found[at + 1][0] != "same" and bool(kept)
        if kind == "same" and between and text.isspace() and "\n" not in text:
            kept += [("gone", text), ("new", text)]
        else:
            kept.append((kind, text))
    return _grouped(kept)


def _grouped(found: Sequence[Change]) -> list[Change]:
    kept: list[Change] = []
    waiting = {"gone": "", "new": ""}

    def flush() -> None:
        kept.extend((kind, text) for kind, text in waiting.items() if text)
        waiting.update(gone="", new="")

    for kind, text in found:
        if kind != "same":
            waiting[kind] += text
            continue
        flush()
        if kept and kept[-1][0] == "same":
            kept[-1] = ("same", kept[-1][1] + text)
        else:
            kept.append((kind, text))
    flush()
    return kept
