"""A captured conversation in turns: who speaks where; and when a capture still waits to become
memories.

A turn begins where a paragraph begins with its speaker, as `capture.transcripts` writes it. Which
words of a person's turn are their own, `classify.spans` tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from oneiro_vault.core.memory import CAPTURE, EPISODIC, Memory, captured
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
_DAYS: Final = re.compile(r" \[\d{4}-\d\d[\d-]*(?: to [\d-]+)?\]")


class Turn(NamedTuple):
    """`text[start:end]`, with the name of its speaker before it."""

    speaker: str
    start: int
    end: int


def turns(text: str, speaker: str = NOBODY) -> Iterator[Turn]:
    """In order, without the names of speakers; `speaker`: who speaks before anybody is named."""
    last = speaker
    marks = [
        (0, 0, speaker),
        *((mark.start(), mark.end(), _speaker(mark)) for mark in _TURN.finditer(text)),
    ]
    marks.append((len(text), len(text), NOBODY))
    for (start, said, who), (end, _, _) in pairwise(marks):
        if who == TOOL:  # one line; whoever spoke before goes on after it
            line = text.find("\n\n", said, end)
            said, stop = start, end if line < 0 else line
            yield Turn(TOOL, start, stop)
            said, who = stop, last
        if text[said:end].strip():
            yield Turn(who, said, end)
        last = who


def _speaker(mark: re.Match[str]) -> str:
    return mark[1].lower() if mark[1] else TOOL


def named(memory: Memory, spans: Iterable[str]) -> list[str]:
    """The whole turns in which spans of these names (`id#3.1`) stand."""
    cited = (one.partition("#") for one in spans)
    wanted = {turn.partition(".")[0] for ident, _, turn in cited if ident == memory.id}
    return [
        memory.body[one.start : one.end].strip()
        for number, one in enumerate(turns(memory.body), 1)
        if str(number) in wanted
    ]


def begins(text: str) -> bool:
    """Does it begin with a turn, as a client records it?"""
    return bool(_TURN.match(text))


def quoted(fact: str, texts: Iterable[str]) -> bool:
    """Does every sentence of a fact stand in one of these texts, apart from days set beside it?"""
    runs = [_plain(one) for one in texts]
    said = [one for one in map(_plain, split_sentences(fact)) if one]
    return bool(said) and any(
        all(any(one in run for run in runs) for one in parts) for parts in ([_plain(fact)], said)
    )


def _plain(text: str) -> str:
    return " ".join(_DAYS.sub("", text).split())


def without_speaker(text: str) -> str:
    """The words of a turn's first sentence without the name of who says it."""
    return _TURN.sub("", text, count=1).strip()


def imported(source: str) -> bool:
    """Does it come out of an export?"""
    return source.startswith(IMPORT)


def waits(memory: Memory) -> bool:
    """Is it an episode whose facts are still to be filed?"""
    raw = captured(memory) or (memory.type == EPISODIC and REFLECTION in memory.tags)
    return raw and memory.status == "active" and ENCODED not in memory.extra
