"""What a session is given, and what every line of it, or of any memory, rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from oneiro_vault import answers
from oneiro_vault.core.markdown import orientation
from oneiro_vault.core.merge import units
from oneiro_vault.core.text.query import tokens
from oneiro_vault.index.base import Row
from oneiro_vault.index.keyword.queries import Answers
from oneiro_vault.operations.read import handoff, recall_show
from oneiro_vault.operations.read.orient import listed, rendered
from oneiro_vault.operations.runtime import House

MOST: Final = 100
"""Memories of one request."""


def grounds(house: House, ids: Sequence[str]) -> answers.Grounds:
    """Memories line by line, each line with those of their sources whose words it has. Not a use.
    Raises InvalidInput, NotFound, AmbiguousId."""
    recall_show.check_few(ids, MOST)
    house.indexing.converge()
    rows = [house.indexing.resolve(one) for one in ids]
    bodies = house.index.bodies([row.key for row in rows])
    found: list[answers.Grounded] = []
    for row in rows:
        lines, sources = _grounded(house.index, row, bodies.get(row.key, ""))
        found.append({"id": row.handle, "title": row.title, "lines": lines, "sources": sources})
    return {"schema": 1, "results": found}


def wake(house: House, project: str | None = None, as_of: str | None = None) -> answers.Woken:
    """What a session that begins now is told, with the grounds of every line; how the last
    conversation of each project ended, and with a `project` that line in the text. `as_of`: what
    one that began at an earlier moment (a date, or a commit) was told, without that line. Not a
    use. Raises InvalidInput, NotFound for an `as_of` before the history."""
    with recall_show.opened(house, as_of) as view:
        found = rendered(view.index, orientation.LIMIT)
        blocks = [
            _block(view.index, one, at in found.included) for at, one in enumerate(found.blocks)
        ]
    last = {} if as_of else handoff.of_projects(house.vault, house.index, house.clock())
    ended = [_ended(*one) for one in last.items()]
    ended.sort(key=lambda one: one["day"], reverse=True)
    line = next((one["line"] for one in ended if one["project"] == project), "")
    text = "\n\n".join(filter(None, (found.text, line)))
    if orientation.units(text) > orientation.LIMIT:
        text = found.text
    return {
        "schema": 1,
        "text": text,
        "units": orientation.units(text),
        "limit": orientation.LIMIT,
        "blocks": blocks,
        "ended": ended,
        "project": project,
    }


def _block(index: Answers, one: orientation.Block, included: bool) -> answers.WokenBlock:
    row = index.by_path(one.path)
    body = one.text.strip().partition("\n")[2]
    lines, sources = _grounded(index, row, body) if row else ([], [])
    return {
        **listed(one, included),
        "id": row.handle if row else one.id,
        "units": orientation.units(one.text),
        "lines": lines,
        "sources": sources,
    }


def _ended(project: str, one: handoff.Ended) -> answers.EndedTalk:
    line = orientation.last_conversation(one["day"], one["messages"], one["id"], one["words"])
    return {
        "project": project,
        "id": one["id"],
        "day": one["day"],
        "messages": one["messages"],
        "words": one["words"],
        "line": line,
    }


def _grounded(
    index: Answers, row: Row, body: str
) -> tuple[list[answers.Line], list[answers.Ground]]:
    sources = _sources(index, row)
    bodies = index.bodies([one.key for one in sources.values()])
    said = {handle: bodies.get(one.key, "") for handle, one in sources.items()}
    texts = [unit.text for unit in units.split(body)[1]]
    lines: list[answers.Line] = [
        {"text": text, "grounds": _told(sources, grounds_of(text, said))} for text in texts
    ]
    return lines, _told(sources, sources)


def _sources(index: Answers, row: Row) -> dict[str, Row]:
    return {one.handle: one for one in map(index.only, row.derived_from) if one is not None}


def _told(rows: Mapping[str, Row], handles: Iterable[str]) -> list[answers.Ground]:
    return [
        {
            "id": rows[handle].handle,
            "title": rows[handle].title,
            "type": rows[handle].type,
            "status": rows[handle].status,
            "created": rows[handle].created,
            "trust": rows[handle].trust,
        }
        for handle in handles
    ]


_QUOTED: Final = re.compile(r"“([^“”]+)”")
_ADDED: Final = re.compile(r"\[\d{4}-[^\]\n]*\]")
"""A date that a loop wrote beside what was quoted."""
_WORD: Final = re.compile(r"\w+")
_MOST_OF: Final = 0.6
"""The share of a line's words that a memory needs, to be taken for its ground."""


def grounds_of(line: str, sources: Mapping[str, str]) -> list[str]:
    """The keys of those `sources` (key -> what it says) that a line quotes, or else of the one that
    has most of its words; none when it says something else."""
    quotes = [_bare(quote) for quote in _QUOTED.findall(line)] or [_bare(line)]
    said = {key: _bare(text) for key, text in sources.items()}
    whole = [key for key, text in said.items() if any(quote and quote in text for quote in quotes)]
    if whole:
        return whole
    words = set(tokens(line))
    shares = {key: _share(words, text) for key, text in sources.items()}
    best = max(shares, key=lambda key: shares[key], default=None)
    return [best] if best is not None and shares[best] >= _MOST_OF else []


def _bare(text: str) -> str:
    """Its words alone, in a row."""
    return f" {' '.join(_WORD.findall(_ADDED.sub('', text).casefold()))} ".replace("  ", "")


def _share(words: set[str], text: str) -> float:
    return len(words & set(tokens(text))) / len(words) if words else 0.0
