"""A captured conversation in spans: who said which words, and how far each is trusted; and when a
capture still waits to become memories.

A turn begins where a paragraph begins with its speaker, as `capture.transcripts` writes it. Within
what a person typed, foreign words (quoted, pasted) are spans of their own. A span is named by its
capture and its turn: `7k2m9x4q8w3n#3`, and `…#3.1` for the first foreign part of that turn; the
frontmatter of a fact lists those it rests on under `spans`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from oneiro_vault.core.conversation.pasted import foreign
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.memory import CAPTURE, EPISODIC, OWN_WORDS, Memory, captured, weakest
from oneiro_vault.core.text.claims import split_sentences

SOURCE: Final = CAPTURE
OWN: Final = CAPTURE
"""Tag of a person's own words, which are theirs (`source: user`) and still wait for encoding."""
REFLECTION: Final = "reflection"
"""Tag of what a conversation left behind in its model's own words."""
KIND: Final = "captured"
"""Key of the frontmatter that says what kind of capture it is: compaction, session, turns or
note."""
CLIENT: Final = "client"
"""Key of the frontmatter that names the program a conversation was held in."""
FILE: Final = "file"
"""Its value for a transcript that a person brought and that lies in no folder of their own clients:
nobody knows who speaks in it."""
IMPORT: Final = "import:"
"""How the source of what another program exported begins."""
ENCODED: Final = "encoded"
"""Key of the frontmatter of an episode that has become memories."""
KEY: Final = "spans"
"""Key of the frontmatter that lists what a fact rests on."""
GOES_ON: Final = "it begins while this one speaks"
"""What a question's note is called that names the speaker of a part which begins inside a turn."""
USER, ASSISTANT, TOOL, NOBODY = "user", "assistant", "tool", ""
_TURN: Final = re.compile(
    r"(?:\A|(?<=\n\n))(?:(User|Assistant):(?= |\n|\Z)|(\[[\w .:/-]{1,60}\])(?= ))"
)
_CONVERSATIONS: Final = frozenset(("session", "turns", "compaction"))
_DAYS: Final = re.compile(r" \[\d{4}-\d\d[\d-]*(?: to [\d-]+)?\]")
ENDS: Final = 60
"""Characters that stay of the beginning and of the end of a turn that is abridged."""


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]`; `own` is False for what the speaker took from elsewhere, or may have
    (`doubted`)."""

    name: str
    speaker: str
    start: int
    end: int
    own: bool = True
    doubted: bool = False


@lru_cache(maxsize=512)
def spans(text: str, speaker: str = NOBODY) -> tuple[Span, ...]:
    """In order, without the names of speakers; `speaker`: who speaks before anybody is named."""
    found: list[Span] = []
    marks = [
        (0, 0, speaker),
        *((mark.start(), mark.end(), _speaker(mark)) for mark in _TURN.finditer(text)),
    ]
    marks.append((len(text), len(text), NOBODY))
    number, last = 0, speaker
    for (start, said, who), (end, _, _) in pairwise(marks):
        if who == TOOL:  # one line; whoever spoke before goes on after it
            line = text.find("\n\n", said, end)
            said, stop = start, end if line < 0 else line
            number += 1
            found.append(Span(str(number), TOOL, start, stop))
            said, who = stop, last
        if text[said:end].strip():
            number += 1
            found += _parts(text, said, end, who, str(number))
        last = who
    return tuple(found)


def _speaker(mark: re.Match[str]) -> str:
    return mark[1].lower() if mark[1] else TOOL


def _parts(text: str, start: int, end: int, speaker: str, name: str) -> Iterator[Span]:
    if speaker not in (USER, NOBODY):
        yield Span(name, speaker, start, end)
        return
    position = start
    for number, (begins, stops, doubted) in enumerate(foreign(text[start:end]), 1):
        if text[position : start + begins].strip():
            yield Span(name, speaker, position, start + begins)
        position = start + stops
        yield Span(
            f"{name}.{number}", speaker, start + begins, position, own=False, doubted=doubted
        )
    if text[position:end].strip():
        yield Span(name, speaker, position, end)


def trust(memory: Memory, span: Span) -> str:
    """`said` what the person typed in a conversation or note of their own."""
    if not span.own or span.speaker == TOOL:
        return "external"
    if not captured(memory):
        return weakest(["model", memory.trust])
    from_export = imported(memory.source)
    if OWN in memory.tags and not from_export:
        # speakers in it: somebody's conversation that was put into a note
        return weakest(["said" if span.speaker == NOBODY else "external", memory.trust])
    kind = memory.extra.get(KIND)
    recorded = memory.source == SOURCE or from_export
    if not recorded or kind not in _CONVERSATIONS or memory.extra.get(CLIENT) == FILE:
        return "external"
    if not _TURN.match(
        memory.body
    ):  # no conversation as a client recorded it: its summary, or what only looks like one
        return "model" if kind == "compaction" else "external"
    return {USER: "said", ASSISTANT: "model"}.get(span.speaker, "external")


def at(text: str, start: int, end: int) -> list[Span]:
    """The spans that `text[start:end]` touches."""
    every = spans(text)
    first = max(0, bisect_right(every, start, key=lambda one: one.start) - 1)
    return [
        one
        for one in every[first:]
        if one.start < end
        and one.end > start
        and text[max(start, one.start) : min(end, one.end)].strip()
    ]


def named(memory: Memory, names: Iterable[str]) -> list[Span]:
    """The spans of a capture with these names (`id#3.1`); a turn's own words may be several."""
    wanted = {name.partition("#")[2] for name in names if name.partition("#")[0] == memory.id}
    return [one for one in spans(memory.body) if one.name in wanted]


def weakest_of(memory: Memory, found: Iterable[Span]) -> str:
    """The trust of what rests on all of these; `external` when there are none."""
    return weakest([trust(memory, one) for one in found] or ["external"])


def typed(text: str, speaker: str = NOBODY, source: str = "") -> Iterator[Span]:
    """The turns of the person; without speakers in it, a text that was not captured from elsewhere
    (`source`) is one person's."""
    speakers = (USER,) if source == SOURCE else (USER, NOBODY)
    return (one for one in spans(text, speaker) if one.speaker in speakers)


def in_own_words(fact: str, text: str, source: str = "") -> bool:
    """Does every sentence of a fact stand in what the person typed of the text it came from, apart
    from days set beside it?"""
    return quoted(fact, _stretches(text, source))


def quoted(fact: str, texts: Iterable[str]) -> bool:
    """Does every sentence of a fact stand in one of these texts, apart from days set beside it?"""
    runs = [_plain(one) for one in texts]
    said = [one for one in map(_plain, split_sentences(fact)) if one]
    return bool(said) and any(
        all(any(one in run for run in runs) for one in parts) for parts in ([_plain(fact)], said)
    )


def own_words(memory: Memory) -> str:
    """What the person typed of a conversation, apart from what they took from elsewhere; all of a
    note that is none."""
    if not captured(memory):
        return prose(memory.body)
    own = (one for one in spans(memory.body) if trust(memory, one) in OWN_WORDS)
    return "\n\n".join(without_speaker(memory.body[one.start : one.end]) for one in own)


@lru_cache(maxsize=128)
def _stretches(text: str, source: str) -> tuple[str, ...]:
    return tuple(
        " ".join(split_sentences(text[one.start : one.end]))
        for one in typed(text, source=source)
        if one.own
    )


def _plain(text: str) -> str:
    return " ".join(_DAYS.sub("", text).split())


def without_speaker(text: str) -> str:
    """The words of a turn's first sentence without the name of who says it."""
    return _TURN.sub("", text, count=1).strip()


def abridged(text: str, speaker: str = NOBODY) -> str:
    """Long turns of a model or tool are only their beginning and end: what a person says is whole,
    and what it answers to is where the turn before it ends."""
    parts: list[str] = []
    position = 0
    for one in spans(text, speaker):
        if one.speaker in (ASSISTANT, TOOL):
            parts += [text[position : one.start], _ends(text[one.start : one.end])]
            position = one.end
    return "".join([*parts, text[position:]])


def _ends(text: str) -> str:
    after = text[len(text.rstrip()) :]
    words = text.rstrip()
    first, last = words[:ENDS].rpartition(" ")[0], words[-ENDS:].partition(" ")[2]
    return f"{first} … {last}{after}" if len(words) > 3 * ENDS and first and last else text


def imported(source: str) -> bool:
    """Does it come out of an export?"""
    return source.startswith(IMPORT)


def waits(memory: Memory) -> bool:
    """Is it an episode whose facts are still to be filed?"""
    raw = captured(memory) or (memory.type == EPISODIC and REFLECTION in memory.tags)
    return raw and memory.status == "active" and ENCODED not in memory.extra
