"""What of a vault goes out: which memories, each without its secrets and what was marked as
private, with what the history says of it and the files it shows."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

from oneiro_vault.capture.privacy import redact
from oneiro_vault.core import memory as memories
from oneiro_vault.core import picture
from oneiro_vault.core.frontmatter import yaml_block
from oneiro_vault.core.frontmatter.salvage import salvage
from oneiro_vault.core.markdown import parser
from oneiro_vault.core.markdown.parser import Link
from oneiro_vault.core.memory import Memory
from oneiro_vault.core.time import date_ranges as dates
from oneiro_vault.errors import OneiroError, UnreadableNote, UnsafePath
from oneiro_vault.index.base import Row
from oneiro_vault.operations.exchange.export_target import Target
from oneiro_vault.operations.history.as_of_view import Past
from oneiro_vault.operations.read.readable import served
from oneiro_vault.operations.runtime import View
from oneiro_vault.vault.history.commit_log import Entry
from oneiro_vault.vault.secrets.secret_scan import is_utf8
from oneiro_vault.vault.vault import Vault
from oneiro_vault.vault.worktree.attachments import Attachments, sha256_of
from oneiro_vault.vault.worktree.files import checked, hidden, is_kept, is_note

STAGE: Final = "writing memories"


@dataclass(frozen=True)
class History:
    """When a memory was learned and changed last (ISO, "" where it was never committed), in how
    many commits."""

    learned: str = ""
    changed: str = ""
    commits: int = 0


@dataclass(frozen=True)
class Exported:
    """One memory as it goes out. `meta` and `body` are what its file says, nothing filled in;
    `memory` the same completed; `file`: all of the file, where its spelling says more than `meta`
    and `body`; `attachments`: paths of what it shows."""

    handle: str
    meta: Mapping[str, object]
    body: str
    memory: Memory
    file: str = ""
    history: History = History()
    attachments: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Where it is in the vault."""
        return self.memory.path


@dataclass
class Selection:
    """The memories of one export, by path. `title`: of the vault; `conversations` and `archived`
    say how many were left out; `withheld`: of which (handles) something private was; `shown`: files
    that those show that went out so far; `cut` and `kept`: of these, the ones out of which
    something private was taken, and those that stayed here because of it."""

    view: View
    rows: Sequence[Row]
    title: str
    conversations: int = 0
    archived: int = 0
    withheld: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    _places: dict[int, str] = field(default_factory=dict)

    @property
    def _vault(self) -> Vault:
        return self.view.house.vault

    def each(self, rows: Iterable[Row] | None = None) -> Iterator[Exported]:
        """One after the other, each read when its turn comes."""
        for row in self.rows if rows is None else rows:
            yield self.load(row)

    def load(self, row: Row) -> Exported:
        """One memory."""
        data = self._bytes(row)
        shown = self._vault.secrets.shown(data)
        meta, body, file = _read(row, shown)
        clean = {key: _cleaned(value) for key, value in meta.items()}
        words, path = redact(body), self.place(row)
        kept = clean == meta and words == body and (not file or redact(file) == file)
        known = memories.of(path, clean, words, lambda: _spelled(clean, shown if kept else b""))
        if not kept or shown != data:
            self.withheld.add(row.handle)
        files = tuple(self._attachments(row.path, words))
        self.shown.update(files)
        history = self._histories.get(row.handle, History())
        return Exported(row.handle, clean, words, known, file if kept else "", history, files)

    def _bytes(self, row: Row) -> bytes:
        if self.view.past:
            return self._vault.past.data(row.blob)
        try:
            return self._vault.read(row.path)
        except OneiroError:
            return served(self.view.house.indexing, row)[0]

    def place(self, row: Row) -> str:
        """Where a memory is in the vault; a name made of words that stay here is not said."""
        if row.key not in self._places:
            said = self._vault.secrets.cleaned(row.path) == row.path
            plain = said and redact(row.title) == row.title
            other = posixpath.join(posixpath.dirname(row.path), f"{row.handle}.md")
            self._places[row.key] = row.path if plain else other
        return self._places[row.key]

    def title_of(self, row: Row) -> str:
        """Its title, without what is private."""
        return redact(row.title).strip() or row.handle

    def attachment(self, path: str) -> bytes:
        """The bytes of a file that a memory shows, without what is private; b"" for one that stays
        here, or that nobody has any more."""
        try:
            named = bool(sha256_of(path))
            data = self._stored.read(path)[0] if named else self._content(path)
        except (OneiroError, OSError):
            return b""
        clean = self._vault.secrets.outgoing(path, data)
        if clean is not None and is_utf8(clean) and "<" in (text := clean.decode()):
            clean = redact(text).encode()
        if clean == data:
            return data
        if clean is None or named:  # its name says what is in it
            self.kept.add(path)
            return b""
        self.cut.add(path)
        return clean

    def _content(self, path: str) -> bytes:
        return self._vault.files.content(path) or b""

    def named(self, target: str, note: str) -> Row | None:
        """The exported memory that a link of the note at a path means, by its path, its end, its
        title, an alias or its id; None for one that is not among them."""
        name = target.removesuffix(".md").strip()
        near = posixpath.normpath(posixpath.join(posixpath.dirname(note), name))
        for key in (near, name):
            if (found := self._names.get(key.casefold())) is not None:
                return found
        return None

    def by_id(self, ident: str) -> Row | None:
        """The exported memory with this id."""
        return self._ids.get(ident)

    @cached_property
    def _ids(self) -> dict[str, Row]:
        return {row.handle: row for row in self.rows}

    @cached_property
    def _names(self) -> dict[str, Row]:
        found: dict[str, Row] = {}
        for names in (_paths, _titles, _ends):
            for row in self.rows:
                for name in names(row):
                    found.setdefault(name.casefold(), row)
        return found

    @cached_property
    def _stored(self) -> Attachments:
        return Attachments(self._vault.files, self._vault.past)

    def _attachments(self, note: str, body: str) -> Iterator[str]:
        """The files of the vault that a body shows, each once."""
        seen: set[str] = set()
        for path in _shown_files(note, body):
            if path not in seen and self._there(path):
                yield path
            seen.add(path)

    def _there(self, path: str) -> bool:
        try:
            if hidden(checked(path)) or is_note(path) or is_kept(path):
                return False
            return self._stored.here(path)
        except (UnsafePath, OneiroError, OSError):
            return False

    @cached_property
    def _histories(self) -> dict[str, History]:
        """Of every memory, in one look at the log."""
        known = {row.path: row.handle for row in self.rows}
        known |= {row.id: row.handle for row in self.rows if row.id}
        found: dict[str, list[float]] = {}
        for entry in self._log():
            handles = {known[key] for key in (*entry.memories, *entry.paths) if key in known}
            for handle in handles:
                found.setdefault(handle, []).append(entry.when)
        return {
            handle: History(dates.iso(times[-1]), dates.iso(times[0]), len(times))
            for handle, times in found.items()
        }

    def _log(self) -> Sequence[Entry]:
        vault = self._vault
        if isinstance(self.view, Past):
            return vault.history.log(start=self.view.moment.point.commit)
        return vault.log.entries()


def attach(chosen: Selection, target: Target, files: Mapping[str, None]) -> None:
    """Put files of the vault where they are in it, as far as there is a place for them."""
    for path in files if not target.single else ():
        if data := chosen.attachment(path):
            target.add(path, data)


def relinked(body: str, said: Callable[[Link, str], str | None]) -> str:
    """A body with every link as `said` writes it, of which it is told the link and its text; None
    for one that stays."""
    parts, at = [], 0
    for link in parser.parse(body).links:
        text = body[link.start : link.end]
        if link.start >= at and (new := said(link, text)) is not None:
            parts += [body[at : link.start], new]
            at = link.end
    return "".join([*parts, body[at:]])


def _read(row: Row, data: bytes) -> tuple[Mapping[str, object], str, str]:
    """What a file says, and all of it where writing that again would not give the same bytes."""
    try:
        text = yaml_block.decode(data)
        meta, body = yaml_block.read(text)
    except UnreadableNote:
        known = salvage(row.path, data, unmerged=True)
        return _stated(known), known.body, data.decode("utf-8", "ignore").replace("\0", "")
    try:
        return meta, body, "" if yaml_block.compose(meta, body) == text else text
    except OneiroError:
        return meta, body, text


def _stated(known: Memory) -> dict[str, object]:
    """What can be read of a broken block."""
    values = ((key, getattr(known, key)) for key in yaml_block.ORDER if hasattr(known, key))
    stated = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in values
        if value not in ("", (), None, False, 0)
    }
    return stated | dict(known.extra)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _cleaned(one) for key, one in value.items()}
    return value


def _spelled(meta: Mapping[str, object], data: bytes) -> Mapping[str, object]:
    """As the file has it, where all of that may be said."""
    try:
        found = yaml_block.texts(yaml_block.decode(data))
    except UnreadableNote:
        found = {}
    return found or yaml_block.texts(yaml_block.compose(meta, ""))


def _paths(row: Row) -> tuple[str, ...]:
    return (row.path[:-3], row.handle)


def _titles(row: Row) -> tuple[str, ...]:
    return (row.title, *row.aliases)


def _ends(row: Row) -> Iterator[str]:
    parts = row.path[:-3].split("/")
    return ("/".join(parts[at:]) for at in range(1, len(parts)))


def _shown_files(note: str, body: str) -> Iterator[str]:
    """Where what a body embeds may be: from its folder, and as a link gives it from the top."""
    yield from (one.path for one in picture.references(body))
    folder = posixpath.dirname(note)
    for _, _, target in picture.embedded(body):
        place = unquote(target.partition("|")[0].partition("#")[0])
        if ":" not in place and place and not place.startswith("/"):
            yield posixpath.normpath(posixpath.join(folder, place))
            yield posixpath.normpath(place)
