"""`blame`: every sentence of a memory with the commit that brought it, who made that, when it was
learned and what it is dated itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.text.attribution import Sentence, said, sentences
from oneiro_vault.errors import InvalidInput, OneiroError, UnreadableNote
from oneiro_vault.operations.history.revisions import iso
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.runtime import House
from oneiro_vault.vault.history import undo_commit
from oneiro_vault.vault.history.memory_versions import Version, origins, versions

_WHO: Final = ("op", "actor", "author", "run", "loop", "judge", "reason")


def blame(house: House, id: str) -> answers.Blame:
    """Who said what in a memory (forgotten ones too), and since when: pieces in order, neighbours
    of one origin together.

    Of each piece: `learned` is the date of the commit, `dated` the memory's own date of that
    version, null where it gave none; `commit` is null for what is on disk only; `source` is the
    memory whose very words these are, among those it was made of.
    """
    subject = _subject(house, id)
    found = (
        versions(house.vault.repo, subject.start, subject.path, subject.ident)
        if subject.start
        else []
    )
    cut = cache(lambda one: tuple(said(each.text) for each in _cut(one.path, one.data)))
    parts = sentences(subject.now.body, subject.now.title)
    texts = [said(part.text) for part in parts]
    sources = list(_sources(house, subject.now))
    whose = {text: source["id"] for source, texts in sources for text in texts}
    came = zip(parts, texts, origins(found, texts, cut), strict=True)
    pieces = _joined(
        _Piece(part.paragraph, part.text, one, whose.get(text)) for part, text, one in came
    )
    return {
        "schema": 1,
        "id": subject.handle,
        "title": subject.now.title,
        "path": subject.path,
        "forgotten": subject.forgotten,
        "names": list(dict.fromkeys(one.path for one in found if one.path)),
        "commits": len(found),
        "pieces": [_shown(piece, found) for piece in pieces],
        "sources": [source for source, _ in sources],
        "notice": subject.notice,
    }


@dataclass(frozen=True)
class _Subject:
    """The memory asked about: its words now (or its last ones), and the commit from which its
    history is followed."""

    ident: str
    handle: str
    path: str
    now: Memory
    start: str
    forgotten: bool = False
    notice: answers.Notice | None = None


def _subject(house: House, text: str) -> _Subject:
    ident, path = recall_show.anyone(house, text)
    if path:
        row = house.index.by_path(path)
        if row is None:
            raise InvalidInput(f"{path} is not indexed yet", hint="Try again in a moment.")
        _, now, notice = served(house, row)
        return _Subject(ident, row.handle, path, now, house.vault.head(), notice=notice)
    lost = undo_commit.lost(house.vault.repo, house.vault.history, ident)
    before = house.vault.repo.parents(lost.commit)
    return _Subject(
        ident,
        ident,
        lost.path,
        memories.parse(lost.path, lost.data),
        before[0] if before else "",
        forgotten=True,
    )


def _cut(path: str, data: bytes | None) -> Sequence[Sentence]:
    """The sentences of a version; one that cannot be read says nothing."""
    try:
        note = memories.parse(path, data or b"")
    except UnreadableNote:
        return []
    return sentences(note.body, note.title)


class _Piece(NamedTuple):
    """Words of one paragraph, the version that brought them, and the memory they were taken
    from."""

    paragraph: int
    text: str
    version: Version | None
    source: str | None

    def continues(self, other: _Piece) -> bool:
        """Is it of one origin with the piece before it?"""
        return (
            self.paragraph == other.paragraph
            and self.version is other.version
            and self.source == other.source
        )


def _joined(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """Neighbours of one origin as one."""
    held: _Piece | None = None
    for piece in pieces:
        if held and piece.continues(held):
            held = held._replace(text=f"{held.text} {piece.text}")
            continue
        if held:
            yield held
        held = piece
    if held:
        yield held


def _shown(piece: _Piece, found: Sequence[Version]) -> answers.Piece:
    version = piece.version
    entry = version.entry if version else None
    return {
        "paragraph": piece.paragraph,
        "text": piece.text,
        "source": piece.source,
        "commit": entry.commit if entry else None,
        "learned": iso(entry.when) if entry else None,
        "dated": _dated(version, found) if version else None,
        "op": (entry and entry.op) or None,
        "actor": (entry and entry.actor) or None,
        "author": (entry and entry.author) or None,
        "run": (entry and entry.run) or None,
        "loop": (entry and entry.loop) or None,
        "judge": (entry and entry.judge) or None,
        "reason": (entry and entry.reason) or None,
    }


def _dated(one: Version, found: Sequence[Version]) -> str | None:
    """The memory's own date of a version: `created` of the first, of later ones `timestamp` where
    it moved."""
    with suppress(UnreadableNote):
        note = memories.parse(one.path, one.data or b"")
        before = [
            other for other in found if other.entry.commit in one.parents and other.data is not None
        ]
        if not before:
            return note.created or note.timestamp or None
        with suppress(UnreadableNote):
            old = {memories.parse(other.path, other.data or b"").timestamp for other in before}
            return note.timestamp if note.timestamp not in old else None
    return None


def _sources(house: House, note: Memory) -> Iterator[tuple[answers.Source, list[str]]]:
    """What the memory was made of and what it replaced, by name, with the sentences they
    say."""
    for relation in ("derived_from", "supersedes"):
        for ident in getattr(note, relation):
            rows = house.index.get(ident) if len(ident) >= 4 else []
            row = rows[0] if len(rows) == 1 else None
            words: Sequence[Sentence] = []
            data: answers.Source = {
                "id": ident,
                "relation": relation,
                "title": "",
                "path": None,
                "status": "unknown",
                "created": None,
            }
            if row is not None:
                words = sentences(house.index.body(row.key))
                data |= {
                    "title": row.title,
                    "path": row.path,
                    "status": row.status,
                    "created": row.created or None,
                }
            else:
                with suppress(OneiroError):
                    lost = undo_commit.lost(house.vault.repo, house.vault.history, ident)
                    old = memories.parse(lost.path, lost.data)
                    words = sentences(old.body)
                    data |= {
                        "title": old.title,
                        "status": "forgotten",
                        "created": old.created or None,
                    }
            yield data, [said(each.text) for each in words]
