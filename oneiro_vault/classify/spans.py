"""Who said which words of a captured conversation, and how far each is trusted.

Within what a person typed, foreign words (quoted, pasted) are spans of their own. A span is named
by its capture and its turn: `7k2m9x4q8w3n#3`, and `…#3.1` for the first foreign part of that turn;
the frontmatter of a fact lists those it rests on under `spans`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from oneiro_vault.classify.pasted import foreign, plain
from oneiro_vault.core.conversation import turns
from oneiro_vault.core.conversation.turns import (
    ASSISTANT,
    CLIENT,
    FILE,
    KIND,
    NOBODY,
    OWN,
    SOURCE,
    TOOL,
    USER,
    imported,
    quoted,
    without_speaker,
)
from oneiro_vault.core.markdown.taxonomy import prose
from oneiro_vault.core.memory import OWN_WORDS, Memory, captured, weakest
from oneiro_vault.core.text.claims import split_sentences, tokens

_CONVERSATIONS: Final = frozenset(("session", "turns", "compaction"))
FAREWELL: Final = 5
"""Words of what is more than a farewell."""
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
    """In order, without the names of speakers; `speaker`: who speaks before anybody is named.
    Raises EmbedderProblem where the packaged model is missing: no conversation is read then."""
    return tuple(
        span
        for number, turn in enumerate(turns.turns(text, speaker), 1)
        for span in _parts(text, turn, str(number))
    )


def _parts(text: str, turn: turns.Turn, name: str) -> Iterator[Span]:
    speaker, start, end = turn
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
    if not turns.begins(memory.body):  # a summary, or what only looks like a conversation
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


def own_words(memory: Memory) -> str:
    """What the person typed of a conversation, apart from what they took from elsewhere; all of a
    note that is none."""
    if not captured(memory):
        return prose(memory.body)
    own = (one for one in spans(memory.body) if trust(memory, one) in OWN_WORDS)
    return "\n\n".join(without_speaker(memory.body[one.start : one.end]) for one in own)


def last_words(memory: Memory, longest: int) -> str:
    """What a person said last in a conversation, where that is one line of at most so many
    characters in which nothing looks like somebody else's; else "". No model is asked."""
    body = memory.body
    said = (
        body[one.start : one.end].strip()
        for one in turns.turns(body)
        if trust(memory, Span("", one.speaker, one.start, one.end)) in OWN_WORDS
    )
    telling = [one for one in said if len(tokens(one)) >= FAREWELL]
    last = telling[-1] if telling else ""
    return last if len(last) <= longest and plain(last) else ""


@lru_cache(maxsize=128)
def _stretches(text: str, source: str) -> tuple[str, ...]:
    return tuple(
        " ".join(split_sentences(text[one.start : one.end]))
        for one in typed(text, source=source)
        if one.own
    )


def abridged(text: str, speaker: str = NOBODY) -> str:
    """Long turns of a model or tool are only their beginning and end: what a person says is whole,
    and what it answers to is where the turn before it ends."""
    parts: list[str] = []
    position = 0
    for one in turns.turns(text, speaker):
        if one.speaker in (ASSISTANT, TOOL):
            parts += [text[position : one.start], _ends(text[one.start : one.end])]
            position = one.end
    return "".join([*parts, text[position:]])


def _ends(text: str) -> str:
    after = text[len(text.rstrip()) :]
    words = text.rstrip()
    first, last = words[:ENDS].rpartition(" ")[0], words[-ENDS:].partition(" ")[2]
    return f"{first} … {last}{after}" if len(words) > 3 * ENDS and first and last else text
