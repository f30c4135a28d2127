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
