"""`blame`: every paragraph of a memory with the commit that last changed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from oneiro_vault import answers
from oneiro_vault.core import memory as memories
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.merge import units
from oneiro_vault.core.time.date_ranges import iso
from oneiro_vault.errors import InvalidInput, OneiroError, UnreadableNote
from oneiro_vault.operations.indexing import Indexing
from oneiro_vault.operations.read import recall_show
from oneiro_vault.operations.read.readable import served
from oneiro_vault.vault.history import undo
from oneiro_vault.vault.history.commit_log import Entry, Line
from oneiro_vault.vault.vault import Vault


def blame(indexing: Indexing, /, id: str) -> answers.Blame:
    """The title and paragraphs of a memory (forgotten ones too). `learned`: the date of the commit,
    `dated`: the memory's own date of that version; `commit` is null for what is on disk only;
    `source`: the memory it was made of whose very words these are."""
    subject = _subject(indexing, id)
    lines = indexing.vault.history.blame(subject.path, subject.data, subject.start)
    entries = {
        one.commit: one
        for one in indexing.vault.history.these({line.commit for line in lines} - {""})
    }
    sources = list(_sources(indexing, subject.now))
    whose = {text: source["id"] for source, texts in sources for text in texts}
    return {
        "schema": 1,
        "id": subject.handle,
        "title": subject.now.title,
        "path": subject.path,
        "forgotten": subject.forgotten,
        "names": list(dict.fromkeys(filter(None, (subject.path, *(line.path for line in lines))))),
        "commits": len(entries),
        "pieces": [
            {
                "paragraph": number,
                "text": text,
                "source": whose.get(units.plain(text)),
                **_origin(
                    indexing.vault, max(found, key=lambda line: line.when, default=Line()), entries
                ),
            }
            for number, text, found in _paragraphs(
                subject, indexing.vault.secrets.shown(subject.data), lines
            )
        ],
        "sources": [source for source, _ in sources],
        "notice": subject.notice,
    }


@dataclass(frozen=True)
class _Subject:
    """The memory asked about: its bytes and words now (or its last ones); `start`: the commit that
    had them last, "" for what is on disk."""

    handle: str
    path: str
    data: bytes
    now: Memory
    start: str = ""
    forgotten: bool = False
    notice: answers.Notice | None = None


def _subject(indexing: Indexing, text: str) -> _Subject:
    ident, path = recall_show.anyone(indexing, text)
    if path:
        row = indexing.index.by_path(path)
        if row is None:
            raise InvalidInput(f"{path} is not indexed yet", hint="Try again in a moment.")
        data, now, notice = served(indexing, row)
        return _Subject(row.handle, path, data, now, notice=notice)
    lost = undo.lost(indexing.vault.repo, indexing.vault.history, ident)
    now = memories.parse(lost.path, indexing.vault.secrets.shown(lost.data))
    before = indexing.vault.repo.parents(lost.commit)[0]
    return _Subject(ident, lost.path, lost.data, now, before, forgotten=True)


def _paragraphs(
    subject: _Subject, shown: bytes, lines: Sequence[Line]
) -> Iterator[tuple[int, str, Sequence[Line]]]:
    text, title = yaml_block.decode(shown), subject.now.title
    start = max(text.rfind(subject.now.body), 0)
    lead, found = units.split(subject.now.body)
    first = found[0].text.lstrip("#>-*+ \t") if found else ""
    if title and not first.startswith(title.rstrip("…. ")):
        rows = enumerate(text[:start].split("\n"))
        yield -1, title, [line for at, row in rows if row.startswith("title:")
                          for line in lines[at : at + 1]]  # fmt: skip
    at = text.count("\n", 0, start) + lead.count("\n")
    for number, unit in enumerate(found):
        yield number, unit.text, lines[at : at + unit.text.count("\n") + 1]
        at += (unit.text + unit.gap).count("\n")


def _origin(vault: Vault, line: Line, entries: Mapping[str, Entry]) -> answers.Origin:
    entry = entries.get(line.commit)
    found = {
        "commit": entry.commit if entry else None,
        "learned": iso(entry.when) if entry else None,
        "dated": _dated(vault, line) if entry else None,
    }
    told = ("op", "actor", "author", "run", "loop", "judge", "reason")
    found |= {name: getattr(entry, name, None) or None for name in told}
    return cast("answers.Origin", found)


def _dated(vault: Vault, line: Line) -> str | None:
    """The memory's own date of a version: `created` of the first, of later ones `timestamp` where
    it moved."""
    try:
        note = _version(vault, line.commit, line.path)
    except (OneiroError, UnreadableNote):
        return None
    with suppress(OneiroError, UnreadableNote):
        old = _version(vault, *line.before)
        return note.timestamp if note.timestamp != old.timestamp else None
    return note.created or note.timestamp or None


def _version(vault: Vault, commit: str, path: str) -> Memory:
    entry = vault.repo.entry(commit, path) if commit else None
    if entry is None:
        raise UnreadableNote(f"{path} is not there")
    return memories.parse(path, vault.repo.data(entry.blob))


def _sources(indexing: Indexing, note: Memory) -> Iterator[tuple[answers.Source, list[str]]]:
    for relation in ("derived_from", "supersedes"):
        for ident in getattr(note, relation):
            row = indexing.index.only(ident)
            words = ""
            data: answers.Source = {
                "id": ident,
                "relation": relation,
                "title": "",
                "path": None,
                "status": "unknown",
                "created": None,
            }
            if row is not None:
                words = indexing.index.body(row.key)
                data |= {
                    "title": row.title,
                    "path": row.path,
                    "status": row.status,
                    "created": row.created or None,
                }
            else:
                with suppress(OneiroError):
                    lost = undo.lost(indexing.vault.repo, indexing.vault.history, ident)
                    old = memories.parse(lost.path, lost.data)
                    words = old.body
                    data |= {
                        "title": old.title,
                        "status": "forgotten",
                        "created": old.created or None,
                    }
            yield data, [units.plain(unit.text) for unit in units.split(words)[1]]
