"""basic-memory's folder of notes (its database is only an index of them): observations stay list
items, relations become typed edges here, and addresses (`permalink`) stay names that links find.

Nothing says who wrote a note, a model or the person, so notes count as `external`; of chats that it
imported the speakers are known, except that a file somebody attached stands in a fence of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from oneiro_vault.core.markdown import parser
from oneiro_vault.importers.archive import Archive
from oneiro_vault.importers.memories import written_note
from oneiro_vault.importers.memories.vaults import Given, Shown, faulty, is_note, left_out, named
from oneiro_vault.importers.memories.written_note import Written, composed, moment
from oneiro_vault.importers.records import Conversation, Format, Note, Record, Skipped, Turn
from oneiro_vault.vault.worktree.files import objection

_IDENTITY: Final = ("external_id", "permalink")
_QUOTED_RELATION: Final = re.compile(
    r"(?m)^([ \t]*[-*+][ \t]+)(?:\"([^\"\r\n]{1,60})\"|'([^'\r\n]{1,60})')([ \t]+)(?=\[\[)"
)
"""Several words before a link: `- "was inspired by" [[Petrel]]`."""
_MESSAGE: Final = re.compile(r"(?m)^### ([^\r\n(]{1,40}?)[ \t]*\(([^()\r\n]{4,40})\)[ \t]*$")
_FENCE: Final = re.compile(r"(?ms)^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[ \t]*$|\Z)")
_PEOPLE: Final = frozenset(("human", "user", "you"))
_ASSISTANTS: Final = frozenset(("assistant", "claude", "chatgpt", "model"))


def _read(archive: Archive) -> Iterator[Record]:
    given, shown = Given(named(archive)), Shown(archive)
    for name in filter(is_note, archive.names()):
        written = written_note.read(archive, name)
        if isinstance(written, Skipped):
            yield written
        elif not written.body.strip():
            yield Skipped(name, "it has no text")
        elif turns := _turns(written):
            yield _conversation(written, given, turns)
        else:
            yield from _note(archive, written, given, shown)
    yield from left_out(archive, shown.taken)


def _note(archive: Archive, written: Written, given: Given, shown: Shown) -> Iterator[Record]:
    path = given.path(written.path)
    if why := objection(path):
        yield Skipped(written.path, why)
        return
    found = written_note.meant(written)
    meta = written_note.frontmatter(written, found, "basic_memory")
    title = written.text("title") or PurePosixPath(composed(written.path)).stem
    aliases = meta.get("aliases", [])
    permalink = written.text("permalink")
    if permalink and permalink != written.path[:-3].lower():
        known = aliases if isinstance(aliases, list) else []
        meta["aliases"] = written_note.names([*known, permalink])
    yield Note(
        id=given.id(written.text(*_IDENTITY), written.path),
        title=title,
        text=_related(written.body),
        at=moment(found.created) or archive.modified(written.path),
        updated=moment(found.timestamp),
        path=path,
        meta=meta,
        pictures=shown.by(written.body, written.path),
    )
    yield from faulty(written)


def _related(body: str) -> str:
    """With relations of several words as one word, which is how they are typed here."""
    if "[[" not in body:
        return body
    code = parser.code_spans(body)

    def joined(found: re.Match[str]) -> str:
        if parser.inside(found.start(), code):
            return found[0]
        words = re.sub(r"[^a-z]+", "_", (found[2] or found[3]).lower()).strip("_")
        return f"{found[1]}{words}{found[4]}" if words else found[0]

    return _QUOTED_RELATION.sub(joined, body)


def _turns(written: Written) -> tuple[Turn, ...]:
    """Of a chat that basic-memory imported, () for any other note."""
    if written.text("type").lower() != "conversation":
        return ()
    marks = list(_MESSAGE.finditer(written.body))
    if not marks:
        return ()
    ends = [*(mark.start() for mark in marks[1:]), len(written.body)]
    turns: list[Turn] = []
    for mark, end in zip(marks, ends, strict=True):
        at, speaker = moment(mark[2]), _speaker(mark[1])
        turns += _parts(written.body[mark.end() : end], speaker, at)
    return tuple(turns)


def _speaker(said: str) -> str:
    word = said.strip().lower()
    if word in _PEOPLE:
        return "user"
    return "assistant" if word in _ASSISTANTS else "tool"


def _parts(text: str, speaker: str, at: datetime | None) -> Iterator[Turn]:
    """What the person attached stands in a fence after their words."""
    position = 0
    for fence in _FENCE.finditer(text) if speaker == "user" else ():
        yield from _said(text[position : fence.start()], speaker, at)
        yield from _said(fence[0], "quoted", at)
        position = fence.end()
    yield from _said(text[position:], speaker, at)


def _said(text: str, speaker: str, at: datetime | None) -> Iterator[Turn]:
    if text.strip():
        yield Turn("", speaker, text.strip(), at)


def _conversation(written: Written, given: Given, turns: tuple[Turn, ...]) -> Conversation:
    found = written_note.meant(written)
    times = [turn.at for turn in turns if turn.at]
    return Conversation(
        id=given.id(written.text(*_IDENTITY), written.path),
        title=written.text("title") or PurePosixPath(written.path).stem,
        turns=turns,
        at=moment(found.created) or min(times, default=None),
        updated=moment(found.timestamp) or max(times, default=None),
        tags=tuple(written_note.names(found.tags)),
    )


FORMAT: Final = Format(
    "basic-memory", "basic-memory's folder of notes", written_note.has_permalinks, _read
)
