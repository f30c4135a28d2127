"""Words of notes in a cell of a Markdown table: escaped, on one line, and what changed between two
texts marked word by word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from oneiro_vault.core.markdown.quoting import one_line

CELL: Final = 280
"""Characters of a text that a cell shows."""
_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|~!&$])")


def cell(text: str, limit: int = CELL) -> str:
    """Cut at a word, with nothing in it that Markdown, HTML or a hosting site would take for its
    own."""
    line = one_line(text)
    if len(line) > limit:
        line = line[: limit - 1].rsplit(" ", 1)[0] + "…"
    return _MARKS.sub(r"\\\1", line).replace(
        "@", "＠"
    )  # a name after an @ would be told that it was mentioned


Change = tuple[str, str]
"""(`same`, `gone` or `new`; the characters as they are)."""


GONE: Final = "[-{}-]"
NEW: Final = "{{+{}+}}"
"""Marks in git's notation."""


def told(
    found: Sequence[Change],
    gone: str,
    new: str,
    around: int | None = None,
    limit: int | None = None,
    clean: Callable[[str], str] = str,
) -> str:
    """Changes as text, `gone` and `new` being the marks around words; blanks stay outside of them,
    and one stands between a word and what took its place, also where the texts have none.
    With `around` it is one line with so many words of what stays on each side of a change; about
    `limit` characters."""
    marks, parts = {"same": "{}", "gone": gone, "new": new}, [""]
    for at, (kind, text) in enumerate(found):
        words = bare = text.strip()
        before, _, after = text.partition(bare) if bare else (text, "", "")
        if kind == "same" and around is not None:
            words = _near(words.split(), around, at > 0, at < len(found) - 1)
        if words := clean(words):
            apart = " " * (kind == "new" and parts[-1].endswith(gone.partition("{}")[2]))
            part = f"{apart}{before}{marks[kind].format(words)}{after}"
        else:
            part = text if kind != "gone" else ""
        if limit and sum(map(len, parts)) + len(part) > limit:
            parts.append(" …")
            break
        parts.append(part)
    text = "".join(parts).strip()
    return text if around is None else " ".join(text.split())


def _near(words: Sequence[str], around: int, behind: bool, ahead: bool) -> str:
    if len(words) > 2 * around:
        words = [*words[: around * behind], "…", *words[len(words) - around * ahead :]]
    return " ".join(words)


_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")
_PRODUCT: Final = 4_000_000
"""Pairs of tokens that are compared: above it a passage counts as replaced whole."""
_MANY: Final = 90_000
"""Above it what occurs often is no anchor: at its worst that takes the product many times."""


def changes(old: str, new: str) -> list[Change]:
    """What became of a text, with nothing lost: `same` and `gone` together are the old one, `same`
    and `new` the new one. Lines first, then the words of those that differ."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found: list[Change] = []
    for kind, start, end, first, last in _opcodes(before, after):
        one, other = "".join(before[start:end]), "".join(after[first:last])
        found += [("same", one)] if kind == "equal" else _words(one, other)
    return _joined(found)


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )


def _opcodes(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[str, int, int, int, int]]:
    """As `SequenceMatcher` has them; what is alike at both ends is not compared again."""
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    inner, other = before[head : len(before) - tail], after[head : len(after) - tail]
    yield "equal", 0, head, 0, head
    many = len(inner) * len(other) > _MANY
    if len(inner) * len(other) > _PRODUCT:
        yield "replace", head, head + len(inner), head, head + len(other)
    else:
        for kind, *ends in SequenceMatcher(None, inner, other, autojunk=many).get_opcodes():
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
